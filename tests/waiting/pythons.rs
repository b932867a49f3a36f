//! What Python code does with the session's input.

use crate::judge::In::Python;
use crate::judge::Right::{Alone, Listens, No, Waits};
use crate::judge::{Situation, case, judge, place, undecidable};

const SITUATIONS: &[Situation] = &[
    case("input", Python, "input('name: ')", Waits),
    case("input beside a working thread", Python, "import threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
input()", Waits),
    case("sys.stdin.read", Python, "import sys; sys.stdin.read()", Waits),
    case("os.read", Python, "import os; os.read(0, 5)", Waits),
    case("preadv2 is a read", Python, "import os
try: os.preadv(0, [bytearray(3)], 0)
except OSError: os.readv(0, [bytearray(3)])", Waits),
    case("select", Python, "import select; select.select([0], [], [])", Waits),
    case("poll", Python, "import select; p = select.poll(); p.register(0, 1); p.poll()", Waits),
    case("epoll of a number that is closed", Python, "import os, select
fd = os.dup(0); p = select.epoll(); p.register(fd, select.EPOLLIN)
keep = os.dup(fd); os.close(fd); p.poll()", Waits),
    case("epoll that does not watch for input", Python, "import os, select, time
p = select.epoll(); p.register(0, 0); print('up', flush=True); p.poll(1.2)", No),
    case("select with a limit", Python, "import select
print('up', flush=True); select.select([0], [], [], 1.5)", No),
    case("select with a long limit", Python, "import select; select.select([0], [], [], 600)", Alone),
    case("poll of a silent loop", Python, "import select
while not select.select([0], [], [], .5)[0]: pass", Alone),
    case("poll of a loop that prints", Python, "import select
print('up', flush=True)
for i in range(9): select.select([0], [], [], .5); print(i, flush=True)", No),
    case("poll of a loop that computes", Python, "import select, time
print('up', flush=True); end = time.time() + 5
while time.time() < end:
    select.select([0], [], [], .05); sum(range(400000))", No),
    case("asyncio reader", Python, "import asyncio
loop = asyncio.get_running_loop(); f = loop.create_future()
loop.add_reader(0, lambda: f.done() or f.set_result(1)); await f", Waits),
    case("asyncio reader and a timer that prints", Python, "import asyncio
loop = asyncio.get_running_loop(); loop.add_reader(0, lambda: None); print('up', flush=True)
for i in range(5): await asyncio.sleep(.4); print(i, flush=True)
loop.remove_reader(0)", No),
    case("asyncio reader and a far timer", Python, "import asyncio
loop = asyncio.get_running_loop(); loop.add_reader(0, lambda: None); await asyncio.sleep(3000)", Alone),
    case("asyncio reader and a server", Python, "import asyncio
loop = asyncio.get_running_loop(); loop.add_reader(0, lambda: None)
s = await asyncio.start_server(lambda r, w: None, '127.0.0.1', 0)
print('up', flush=True); await asyncio.sleep(4.5); s.close(); loop.remove_reader(0)", No),
    case("asyncio reader and a child", Python, "import asyncio
loop = asyncio.get_running_loop(); loop.add_reader(0, lambda: None); print('up', flush=True)
p = await asyncio.create_subprocess_exec('sleep', '1.2', stdin=asyncio.subprocess.DEVNULL)
await p.wait(); loop.remove_reader(0)", No),
    case("asyncio reader and an executor at work", Python, "import asyncio, time
loop = asyncio.get_running_loop(); loop.add_reader(0, lambda: None)
await loop.run_in_executor(None, time.sleep, 600)", Listens),
    case("asyncio input in a thread", Python, "import asyncio; await asyncio.to_thread(input, 'n: ')", Waits),
    case("asyncio input in a thread beside a timer", Python, "import asyncio
t = asyncio.create_task(asyncio.sleep(600)); await asyncio.to_thread(input, 'n: '); await t", Listens),
    case("a thread in input that is joined", Python, "import threading
t = threading.Thread(target=input); t.start(); t.join()", Waits),
    case("a thread in input beside a computing main thread", Python, "import threading
threading.Thread(target=input, daemon=True).start()
while True: pass", Listens),
    case("a thread in input while the main thread sleeps", Python, "import threading, time
threading.Thread(target=input, daemon=True).start(); time.sleep(600)", Listens),
    case("a thread in input beside a server", Python, "import http.server, threading
threading.Thread(target=input, daemon=True).start()
http.server.HTTPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler).serve_forever()", Listens),
    case("select beside a thread that works", Python, "import select, threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
select.select([0], [], [])", Listens),
    case("select beside a timed queue", Python, "import queue, select, threading
threading.Thread(target=lambda: queue.Queue().get(timeout=600), daemon=True).start()
select.select([0], [], [])", Alone),
    case("selectors with a socket pair", Python, "import select, socket
a, b = socket.socketpair(); select.select([0, a], [], [])", Waits),
    case("select with a socket to a child at work", Python, "import select, socket, subprocess
a, b = socket.socketpair(); print('up', flush=True)
p = subprocess.Popen(['sleep', '1.2'], stdin=b, stdout=b); b.close(); select.select([0, a], [], [])", No),
    case("a child that reads", Python, "import subprocess; subprocess.run(['cat'])", Waits),
    case("a child that reads, its output taken", Python, "import subprocess; subprocess.check_output(['cat'])", Waits),
    case("a child that reads beside a main thread at work", Python, "import subprocess, time
p = subprocess.Popen(['cat']); time.sleep(600)", Listens),
    case("a child that sleeps", Python, "import subprocess
print('up', flush=True); subprocess.run(['sleep', '1'])", No),
    case("a pool that works", Python, "import concurrent.futures as c, time
print('up', flush=True)
with c.ThreadPoolExecutor() as e: e.submit(time.sleep, 1).result()", No),
    case("a main thread that computes", Python, "print('up', flush=True)
import time; end = time.time() + 1
while time.time() < end: pass", No),
    case("a timer of the kernel's", Python, "import os, select
r, w = os.pipe(); p = select.poll(); p.register(0, 1); p.register(r, 1); print('up', flush=True)
import threading; threading.Timer(1.2, os.write, (w, b'x')).start(); p.poll()", No),
    case("pty.spawn around a reader", Python, "import pty; pty.spawn(['cat'])", Waits),
    case("pty.spawn around a sleep", Python, "import pty
print('up', flush=True); pty.spawn(['sleep', '1.2'])", No),
    undecidable("an alarm beside a read", Python, "import signal, sys
def stop(*_): raise TimeoutError
signal.signal(signal.SIGALRM, stop); signal.alarm(600); sys.stdin.readline()", Alone, Waits),
    undecidable("an interval timer beside select", Python, "import select, signal
signal.signal(signal.SIGALRM, lambda *_: print('tick', flush=True))
signal.setitimer(signal.ITIMER_REAL, 600, 600); select.select([0], [], [])", Alone, Waits),
];

#[test]
fn e8_python_code_gets_the_right_answer() {
    judge(&place(), SITUATIONS, str::to_owned);
}

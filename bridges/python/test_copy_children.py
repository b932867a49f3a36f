"""Checkpoints and children: copies are children of the interpreter, and code of the user's must not notice them."""
import os
import signal
import sys

from nest import NestTest, wait_gone


class Children(NestTest):
    def test_st3_waiting_for_children_finds_no_copy(self):
        host = self.start()
        self.ok(host, "import os, subprocess, time")
        copy = host.checkpoint()
        for call in ("os.wait()", "os.waitpid(-1, 0)", "os.waitpid(0, 0)", "os.waitpid(-1, os.WNOHANG)", "os.wait3(0)", "os.wait4(-1, os.WNOHANG)",
                     "os.waitid(os.P_ALL, 0, os.WEXITED)", "os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)", "os.waitid(os.P_PGID, os.getpgrp(), os.WEXITED)", "__import__('posix').wait()"):
            result = self.fails(host, call, "ChildProcessError")
            self.assertEqual(result.event("error")["message"], "[Errno 10] No child processes", call)
        for call in ("os.wait()", "os.waitpid(-1, 0)", "os.wait3(0)[:2]", "os.wait4(-1, 0)[:2]", "os.waitpid(0, 0)"):
            self.ok(host, "p = subprocess.Popen(['sh', '-c', 'exit 3'])\nresult = %s\nresult[0] == p.pid, result[1] >> 8" % call, "(True, 3)")
        self.ok(host, "p = subprocess.Popen(['sh', '-c', 'exit 3'])\nr = os.waitid(os.P_ALL, 0, os.WEXITED)\nr.si_pid == p.pid, r.si_status", "(True, 3)")
        self.ok(host, "p = subprocess.Popen(['sleep', '1000'])\nos.waitpid(-1, os.WNOHANG), os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG), os.wait4(-1, os.WNOHANG)[:2]", "((0, 0), None, (0, 0))")
        result = host.submit("print('up', flush=True); os.wait()")  # blocks, and a copy that ends meanwhile is no answer
        host.pump_until_text(result, "up\n")
        copy.drop()
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.ok(host, "p.kill(); p.wait()", "-9")
        self.fails(host, "os.wait()", "ChildProcessError")
        self.ok(host, "class A:\n    wait = os.waitpid\ntry: A().wait(-1, 0)\nexcept ChildProcessError: print('as a builtin')", None, "as a builtin\n")

    def test_st3_e6_an_interrupt_while_the_children_are_read_is_not_lost(self):
        host = self.start()
        host.checkpoint()
        self.ok(host, "import os, posix, signal, subprocess\np = subprocess.Popen(['sleep', '1000'])\nreal, struck = posix.open, []\n"
                      "def strike(path, *args, **options):\n    if not struck and str(path).endswith('/children'):\n"
                      "        struck.append(path)\n        os.kill(os.getpid(), signal.SIGINT)\n    return real(path, *args, **options)")
        for call in ("os.wait()", "os.waitpid(-1, 0)", "os.waitid(os.P_ALL, 0, os.WEXITED)"):
            result = host.eval("posix.open = strike\ntry: %s\nfinally: posix.open = real" % call)
            self.assertEqual((result.status, host.eval("len(struck)").value), ("interrupted", "1"), call)
            self.ok(host, "struck.clear()")
        self.ok(host, "p.kill(); p.wait()", "-9")

    def test_st3_copies_that_end_are_waited_for(self):
        host = self.start()
        copies = [host.checkpoint() for _ in range(5)]
        for copy in copies:
            copy.drop()
        self.ok(host, "import os\ntry: os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError: print('none')", None, "none\n")
        for copy in copies:
            self.assertFalse(os.path.exists("/proc/%d" % copy.pid))
        host.copies.clear()

    def test_st3_a_handler_of_sigchld_does_not_hear_of_copies(self):
        for first in (True, False):
            host = self.start()
            copies = [host.checkpoint()] if first else []
            self.ok(host, "import signal, subprocess\nheard = []\ndef handler(*_): heard.append(1)\nold = signal.signal(signal.SIGCHLD, handler)")
            copies += [host.checkpoint() for _ in range(3)]
            self.ok(host, "signal.getsignal(signal.SIGCHLD) is handler, old", "(True, <Handlers.SIG_DFL: 0>)")
            for copy in copies[:2]:
                copy.drop()
                del host.copies[copy.number]
            self.ok(host, "heard", "[]")
            self.ok(host, "subprocess.run(['true']).returncode, len(heard)", "(0, 1)")
            self.back(host, list(host.copies.values())[-1])
            self.ok(host, "list(heard), subprocess.run(['true']).returncode, len(heard)", "([], 0, 1)")
            self.ok(host, "signal.signal(signal.SIGCHLD, signal.SIG_DFL) is handler", "True")

    def test_st3_a_handler_of_sigchld_does_not_hear_of_copies_that_end_at_once(self):
        host = self.start()
        self.ok(host, "import signal, subprocess\nheard = []\nold = signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))")
        for _ in range(20):
            copies = [host.checkpoint() for _ in range(5)]
            for copy in copies:
                copy.wake.close()
            for copy in copies:
                copy.drop()
                del host.copies[copy.number]
            self.ok(host, "heard", "[]")
            self.ok(host, "subprocess.run(['true']).returncode, len(heard), heard.clear()", "(0, 1, None)")

    def test_st3_processes_from_before_are_told_and_do_not_lie(self):
        host = self.start()
        self.ok(host, "import subprocess, os, asyncio\np = subprocess.Popen(['sleep', '1000']); q = await asyncio.create_subprocess_exec('sleep', '1000', stdout=-1)")
        copy = host.checkpoint()
        self.assertEqual(sum("the process sleep (" in text for text in copy.lost), 2)
        restored = self.back(host, copy)
        self.assertEqual(restored.get("lost", []), copy.lost)
        self.ok(host, "p.poll()", "-9")
        self.ok(host, "p.kill(); p.terminate(); p.wait()", "-9")
        self.ok(host, "await q.communicate(), q.returncode", "((b'', None), -9)")
        self.fails(host, "os.wait()", "ChildProcessError")

    def test_st3_a_manager_is_refused_and_other_processes_are_told(self):
        host = self.start(env={"PYTHONUNBUFFERED": "1"})
        self.ok(host, "import multiprocessing as mp\nctx = mp.get_context('fork')\nm = ctx.Manager(); d = m.dict()")
        self.assertIn("multiprocessing.Manager", host.refused())
        self.assertIn("multiprocessing.Manager", host.copy())
        self.ok(host, "m.shutdown()")
        self.ok(host, "pool = ctx.Pool(2); pool.map(abs, [-1, -2])", "[1, 2]")
        self.assertIn("threads of yours run", host.copy())
        copy = host.checkpoint()
        self.assertEqual(copy.told["threads"], 3)
        self.ok(host, "pool.map(abs, [-3])", "[3]")
        self.back(host, copy)
        self.fails(host, "pool.map(abs, [-3])", "ValueError")
        self.ok(host, "with ctx.Pool(2) as new: print(new.map(abs, [-4]))", None, "[4]\n")
        self.ok(host, "q = ctx.Queue(); q.put(1); q.get()", "1")
        copy = host.checkpoint()
        self.back(host, copy)
        self.ok(host, "q.put(2); q.get(), mp.active_children()", "(2, [])")
        result = host.submit("exit()")
        host.pump(result, lambda event: False)
        self.assertEqual((result.out, result.err), ("", ""))

    def test_st3_a_pool_of_processes_says_that_it_is_broken(self):
        host = self.start()
        self.ok(host, "from concurrent.futures import ProcessPoolExecutor\nimport multiprocessing as mp\nfrom multiprocessing.pool import ThreadPool\n"
                      "threads = ThreadPool(1); e = ProcessPoolExecutor(1, mp_context=mp.get_context('fork')); e.submit(abs, -1).result()", "1")
        copy = host.checkpoint()
        self.ok(host, "e.submit(abs, -2).result(), threads.map(abs, [-3])", "(2, [3])")
        self.back(host, copy)
        if sys.version_info >= (3, 9):
            self.fails(host, "e.submit(abs, -2)", "BrokenProcessPool")
        self.fails(host, "threads.map(abs, [-3])", "ValueError")

    def test_st3_an_alarm_is_told(self):
        host = self.start()
        self.ok(host, "import signal; old = signal.signal(signal.SIGALRM, lambda *_: None); _ = signal.setitimer(signal.ITIMER_REAL, 1000)")
        copy = host.checkpoint()
        self.assertEqual(copy.lost, ["an alarm (signal.alarm, signal.setitimer)"])
        self.back(host, copy)
        self.ok(host, "signal.getitimer(signal.ITIMER_REAL)", "(0.0, 0.0)")

    def test_st3_a_child_that_the_user_forks_has_nothing_of_ours(self):
        host = self.start()
        host.checkpoint()
        self.ok(host, "import os\npid = os.fork()\nif not pid:\n    try: os.wait()\n    except ChildProcessError: os._exit(5)\nos.waitpid(pid, 0)[1] >> 8", "5")

    def test_st3_a_copy_that_the_user_kills_is_gone(self):
        host = self.start()
        copy = host.checkpoint()
        os.kill(copy.pid, signal.SIGKILL)
        wait_gone(copy.pid)
        self.assertEqual(copy.wake.recv(10), b"")
        self.ok(host, "1+1", "2")
        host.checkpoint()

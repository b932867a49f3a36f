"""What goes on while no eval runs: the session's loop, its context variables, and signal handlers."""
import os
import shutil
import signal
import socket
import tempfile

from driver import DEADLINE, BridgeTest


class Idle(BridgeTest):
    def told(self, host, end):
        """Waits for background output with such an end, and returns all that came by then."""
        pieces = []

        def ends(event):
            if event["ev"] == "background":
                pieces.append(event["text"])
            return "".join(pieces).endswith(end)

        self.assertIsNotNone(host.pump(host.idle, ends), host.idle.events)
        return "".join(pieces)


class Loop(Idle):
    def fifo(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "fifo")
        os.mkfifo(path)
        return path

    def tell(self, path, text):
        fifo = os.open(path, os.O_RDWR)  # opened for both, which waits for nobody
        self.addCleanup(os.close, fifo)
        os.write(fifo, text.encode())

    def test_py4_context_variables_are_the_same_with_an_await_and_without(self):
        host = self.start()
        self.ok(host, "import asyncio, contextvars, decimal\nvariable = contextvars.ContextVar('variable')")
        self.ok(host, "variable.set(1) and None\ndecimal.getcontext().prec = 5\nawait asyncio.sleep(0)")
        self.ok(host, "variable.get(), decimal.Decimal(1) / 3", "(1, Decimal('0.33333'))")
        self.ok(host, "variable.set(2) and None")
        self.ok(host, "await asyncio.sleep(0); variable.get()", "2")
        self.fails(host, "variable.set(3)\nawait asyncio.sleep(0)\n1 / 0", "ZeroDivisionError")
        self.ok(host, "variable.get()", "3")
        result = host.submit("variable.set(4)\nprint('up', flush=True)\nawait asyncio.sleep(1000)")
        host.pump_until_text(result, "up")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.ok(host, "variable.get()", "4")
        self.ok(host, "async def sets(): variable.set(5)\nawait asyncio.gather(sets()) and None\nvariable.get()", "4")
        self.ok(host, "variable.get()", "4")

    def test_py4_a_server_answers_while_the_session_is_idle(self):
        host = self.start()
        host.eval("import asyncio\nasync def answer(reader, writer):\n    writer.write(await reader.readline()); writer.close()\nserver = await asyncio.start_server(answer, '127.0.0.1', 0)")
        port = int(host.eval("server.sockets[0].getsockname()[1]").value)
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port), DEADLINE) as client:
                client.sendall(b"hello\n")
                self.assertEqual(client.recv(100), b"hello\n")
            self.ok(host, "1 + 1", "2")

    def test_py4_a_thread_can_run_coroutines_while_the_session_is_idle(self):
        host, path = self.start(), self.fifo()
        self.ok(host, "import asyncio, os, threading\nasync def answer(): return 'answered'\nloop = asyncio.get_running_loop()\n"
                      "fifo = os.open(%r, os.O_RDWR)\ndef ask():\n    while os.read(fifo, 1):\n        print(asyncio.run_coroutine_threadsafe(answer(), loop).result())\nthread = threading.Thread(target=ask, daemon=True)\nthread.start()\nawait asyncio.sleep(0)" % path)
        for _ in range(2):
            self.tell(path, "x")
            self.assertEqual(self.told(host, "\n"), "answered\n")

    def test_py4_a_reader_is_called_while_the_session_is_idle(self):
        host, path = self.start(), self.fifo()
        self.ok(host, "import asyncio, os\nfifo = os.open(%r, os.O_RDWR | os.O_NONBLOCK)\nasyncio.get_running_loop().add_reader(fifo, lambda: print(os.read(fifo, 100)))\nawait asyncio.sleep(0)" % path)
        for text in ("one", "two"):
            self.tell(path, text)
            self.assertEqual(self.told(host, "\n"), "b'%s'\n" % text)

    def test_py4_an_error_of_a_callback_is_told_and_the_loop_goes_on(self):
        host, path = self.start(), self.fifo()
        self.ok(host, "import asyncio, os\nfifo = os.open(%r, os.O_RDWR | os.O_NONBLOCK)\nasyncio.get_running_loop().add_reader(fifo, lambda: print(1 // int(os.read(fifo, 1))))\nawait asyncio.sleep(0)" % path)
        for text, told in (("0", "ZeroDivisionError: integer division or modulo by zero\n"), ("1", "1\n")):
            self.tell(path, text)
            self.assertNotIn("<stead>", self.told(host, told.rpartition(" ")[2]))


class Handlers(Idle):
    RAISES = (("1 / 0", "ZeroDivisionError: division by zero\n"), ("open('/nowhere')", "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'\n"),
              ("raise SystemExit(3)", "SystemExit: 3\n"), ("raise KeyboardInterrupt", "KeyboardInterrupt\n"))

    def check_handlers(self, host, wait):
        for code, end in self.RAISES:
            self.ok(host, "def handler(*_):\n    %s\nbefore = signal.signal(signal.SIGUSR1, handler)" % code)
            for _ in range(3):
                wait()
                host.signal_main(signal.SIGUSR1)
                text = self.told(host, end)
                self.assertTrue(text.startswith("Traceback (most recent call last):\n  File \"<py:"), text)
                self.assertIn(code, text)
                self.assertNotIn("<stead>", text)
            self.ok(host, "1 + 1", "2")
        self.assertEqual({event["stream"] for event in host.idle.events if event["ev"] == "background"}, {"err"})

    def test_py7_the_error_of_a_signal_handler_is_told_while_the_session_is_idle(self):
        host = self.start()
        self.ok(host, "import signal")
        self.check_handlers(host, host.wait_idle)

    def test_py7_the_error_of_a_signal_handler_is_told_where_the_session_has_a_loop(self):
        host = self.start()
        self.ok(host, "import asyncio, signal\nkeep = asyncio.get_running_loop().call_later(1000, print); await asyncio.sleep(0)")
        self.check_handlers(host, host.wait_in_loop)

    def test_py7_handlers_that_raise_again_and_again_do_not_end_the_session(self):
        host = self.start()
        self.ok(host, "import signal\ndef handler(*_): raise ValueError('again')\nbefore = signal.signal(signal.SIGUSR1, handler)")
        for _ in range(60):
            host.wait_idle()
            host.signal_main(signal.SIGUSR1)
            self.told(host, "ValueError: again\n")
        self.ok(host, "1 + 1", "2")

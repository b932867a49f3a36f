"""Checkpoints, threads, and what is called at a fork."""
import os
import shutil
import tempfile
import unittest

from nest import NestTest

GOMP = """
import ctypes
gomp = ctypes.CDLL('libgomp.so.1')
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
def parallel():
    gomp.GOMP_parallel(ctypes.cast(work, ctypes.c_void_p), None, 4, 0)
    return 'done'
"""


def has_gomp():
    try:
        __import__("ctypes").CDLL("libgomp.so.1")
        return True
    except (ImportError, OSError):
        return False


class Threads(NestTest):
    def test_st3_threads_are_told_and_missing_afterwards(self):
        host = self.start()
        self.ok(host, "import threading, _thread, sys\ngo = threading.Event()\nt = threading.Thread(target=go.wait, name='worker', daemon=True); t.start()")
        copy = host.checkpoint()
        self.assertEqual((copy.told["threads"], copy.lost), (1, ["1 thread of yours runs (worker)"]))
        self.assertIn("1 thread of yours runs (worker)", host.copy())
        self.ok(host, "t.is_alive()", "True")
        self.back(host, copy)
        self.ok(host, "t.is_alive(), threading.active_count()", "(False, 1)")
        self.ok(host, "u = threading.Thread(target=print, args=('new',)); u.start(); u.join()", None, "new\n")
        self.assertEqual(host.copy().told["threads"], 0)
        self.ok(host, "lock = _thread.allocate_lock(); _ = lock.acquire(); _ = _thread.start_new_thread(lock.acquire, ())")
        self.assertEqual(host.checkpoint().told["threads"], 1)

    def test_st3_threads_that_write_meanwhile_lock_nothing(self):
        host = self.start()
        host.eval("import threading, sys, logging\nstop = False\ndef write():\n    while not stop:\n        print('x' * 50); sys.stdout.buffer.write(b'y' * 5000); sys.stdout.buffer.flush(); logging.warning('z')\n"
                      "threads = [threading.Thread(target=write, daemon=True) for _ in range(3)]\nfor t in threads: t.start()")
        for _ in range(15):
            copy = host.checkpoint()
            self.back(host, copy)
            result = host.eval("print('here'); sys.stdout.buffer.write(b'raw '); logging.error('log'); input()", ["in\n"])
            self.assertEqual((result.out, result.value), ("here\nraw ", "'in'"))
            self.assertIn("log", result.err)
            host.eval("for i in range(3): threading.Thread(target=write, daemon=True).start()")
        host.eval("stop = True")
        result = host.submit("exit()")
        host.pump(result, lambda event: False)

    def test_st3_a_pool_of_threads_works_again(self):
        host = self.start()
        self.ok(host, "from concurrent.futures import ThreadPoolExecutor\nimport asyncio\npool = ThreadPoolExecutor(2); pool.submit(abs, -1).result()", "1")
        self.ok(host, "await asyncio.get_running_loop().run_in_executor(None, abs, -2)", "2")
        copy = host.copy()  # its threads have nothing to do, so that nothing is lost
        self.assertEqual((copy.told["threads"], copy.lost), (0, []))
        self.back(host, copy)
        self.ok(host, "[f.result(5) for f in [pool.submit(abs, -i) for i in range(5)]]", "[0, 1, 2, 3, 4]")
        self.ok(host, "await asyncio.get_running_loop().run_in_executor(None, abs, -2)", "2")
        self.ok(host, "import threading\ngo = threading.Event(); busy = [pool.submit(go.wait) for _ in range(2)]; queued = pool.submit(abs, -7)\nwhile not all(one.running() for one in busy): pass")
        self.assertIn("of yours run", host.copy())
        copy = host.checkpoint()
        self.assertEqual(copy.told["threads"], 2)
        self.back(host, copy)
        self.ok(host, "queued.result(5), pool.submit(abs, -8).result(5)", "(7, 8)")
        result = host.submit("exit()")
        host.pump(result, lambda event: False)
        self.assertEqual((result.out, result.err), ("", ""))

    def test_st3_no_warning_about_forks(self):
        for setup in ("warnings.simplefilter('always')", "warnings.simplefilter('error')", "warnings.filters = [('always', None, Warning, None, 0)]"):
            host = self.start()
            self.ok(host, "import warnings, threading, os\n%s\nfilters = list(warnings.filters)\nthreading.Thread(target=threading.Event().wait, daemon=True).start()" % setup)
            self.ok(host, "os.register_at_fork(before=lambda: warnings.warn('deprecated', DeprecationWarning), after_in_child=lambda: warnings.warn('child', RuntimeWarning))")
            result = host.work("checkpoint", "a")
            copy = host.take_packet()
            self.assertEqual((result.status, result.err, host.idle.order), ("ok", "", []))
            self.ok(host, "warnings.filters == filters", "True")
            self.back(host, copy)
            self.assertEqual(host.idle.order, [])
            self.ok(host, "warnings.filters == filters", "True")

    @unittest.skipUnless(has_gomp(), "no libgomp")
    def test_st3_openmp_works_on_both_sides(self):
        host = self.start()
        self.ok(host, GOMP)
        self.ok(host, "parallel()", "'done'")
        copy = host.checkpoint()
        for _ in range(2):
            self.ok(host, "parallel()", "'done'")
            self.back(host, copy)
        self.ok(host, "parallel()", "'done'")

    def test_st3_threads_of_a_library_that_never_come_back_are_refused(self):
        host = self.start()
        # A thread is joined a moment before the kernel lists it no longer.
        self.ok(host, "import os, threading\ndef end():\n    go.set(); t.join()\n    while len(os.listdir('/proc/self/task')) > 1: pass\n")
        self.ok(host, "go = threading.Event()\ndef named(name):\n    open('/proc/self/task/%d/comm' % threading.get_native_id(), 'w').write(name); told.set(); go.wait()\n"
                      "def start(name):\n    global told, t\n    told = threading.Event(); t = threading.Thread(target=named, args=(name,)); t.start(); told.wait()\nstart('polars-ooc-clean')")
        host.checkpoint()
        for name, said in (("polars-0", "polars has started its threads"), ("tokio-rt-worker", "(tokio)"), ("rayon", "(rayon)")):
            self.ok(host, "end(); go.clear(); start(%r)" % name)
            self.assertIn(said, host.refused())
            self.assertIn(said, host.copy())
        self.ok(host, "end()")
        self.assertEqual(host.checkpoint().lost, [])

    def test_st3_libraries_that_forbid_forks_are_refused_by_name(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        fakes = {"grpc/__init__.py": "", "grpc/_cython/__init__.py": "", "grpc/_cython/cygrpc.py": "", "tensorflow.py": "", "ray.py": "on = False\ndef is_initialized(): return on",
                 "pyspark.py": "class SparkContext: _active_spark_context = None"}
        for name, text in fakes.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        for code, name in (("import grpc._cython.cygrpc", "grpc"), ("import tensorflow", "tensorflow"), ("import ray; ray.on = True", "ray"), ("import pyspark; pyspark.SparkContext._active_spark_context = 1", "pyspark")):
            host = self.start(cwd=folder)
            self.ok(host, code)
            self.assertIn(name + " ", host.refused())
            self.assertIn(name + " ", host.copy())
        host = self.start(cwd=folder)
        self.ok(host, "import ray, pyspark")
        host.checkpoint()


class Hooks(NestTest):
    def test_st5_hooks_of_the_users_run_for_checkpoints_only(self):
        host = self.start()
        self.ok(host, "import os, sys\nlog = []\nos.register_at_fork(before=lambda: print('before'), after_in_parent=lambda: print('parent'), after_in_child=lambda: (log.append(1), print('child'), print('e', file=sys.stderr), 1/0))")
        self.assertIn("os.register_at_fork", host.copy())
        result = host.work("checkpoint", "a")
        copy = host.take_packet()
        self.assertEqual((result.status, result.out, result.err), ("ok", "before\nparent\n", ""))
        self.ok(host, "log", "[]")
        self.back(host, copy)
        self.assertEqual(host.idle.order, [])
        self.ok(host, "log[:1]", "[1]")

    def test_st3_a_hook_that_blocks_can_be_interrupted(self):
        for when in ("before", "after_in_parent"):
            host = self.start()
            self.ok(host, "import os, time\nblocks = True\ndef block():\n    if blocks: print('blocks', flush=True); time.sleep(1000)\nos.register_at_fork(%s=block)" % when)
            host.count += 1
            host.send("work py:%d checkpoint" % host.count, "a")
            result = type(host.idle)()
            host.pump_until_text(result, "blocks\n")
            host.interrupt()
            host.finish(result)
            if result.status == "ok":  # the hook was left, and the copy was taken all the same
                host.take_packet().drop()
                host.copies.clear()
            self.ok(host, "blocks = False")
            self.back(host, host.checkpoint())
            self.ok(host, "1+1", "2")

    def test_st3_a_hook_that_blocks_or_ends_a_copy_costs_only_the_copy(self):
        host = self.start()
        self.ok(host, "import os, time\nbad = 'sleep'\ndef hook():\n    if bad == 'sleep': time.sleep(1000)\n    elif bad: os._exit(1)\nos.register_at_fork(after_in_child=hook)\nx = 5")
        for bad in ("sleep", "exit"):
            self.ok(host, "bad = %r" % bad)
            self.assertIn("did not come to rest", host.refused())
        self.ok(host, "bad = ''\ntry: os.wait()\nexcept ChildProcessError: print('none')", None, "none\n")
        self.back(host, host.checkpoint())
        self.ok(host, "x", "5")

    def test_st3_no_more_processes_is_a_reason(self):
        host = self.start()
        self.ok(host, "import os, posix, resource\nold = resource.getrlimit(resource.RLIMIT_NOFILE); fd = os.open('/dev/null', 0)")
        self.ok(host, "resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 2, old[1]))")
        result = host.work("checkpoint", "a")
        self.ok(host, "resource.setrlimit(resource.RLIMIT_NOFILE, old)")
        self.assertEqual(result.status, "error", result.events)
        self.assertIn("does not let this process be copied", result.event("error")["message"])
        host.checkpoint()

"""Tests of what runs the tests: a hang is ended and named, signals are ordinary, nothing passes by not being run."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))

import rust  # noqa: E402
import suites  # noqa: E402
import tiers  # noqa: E402
from jobs import Job, Pool, Result  # noqa: E402


def ran(*jobs):
    """Runs jobs; gives (job, result, output) of each."""
    ends = []
    pool = Pool(2, lambda job, result, took, output: ends.append((job, result, output)))
    assert pool.run(list(jobs))
    return ends


def python(code, read=None, **options):
    argv = [sys.executable, "-c", code]
    return Job("a job", argv, read or (lambda job, code, output: Result(code == 0, [] if code == 0 else [("it", "failed")])), **options)


def lives(pid):
    """Whether a process is there and no mere zombie of whoever took it over."""
    try:
        with open("/proc/%s/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Jobs(unittest.TestCase):
    def test_a_job_that_hangs_is_killed_with_its_children_and_named(self):
        code = """
import os, subprocess, sys, time
print("test one ... ok")
child = subprocess.Popen(["sleep", "600"])
away = subprocess.Popen(["sleep", "600"], start_new_session=True, env={"STEAD_TEST": "%d-0-x" % os.getpid()})
print("test two ... ", child.pid, away.pid, flush=True)
time.sleep(600)
"""
        [(_, result, output)] = ran(python(code, tests=["one", "two"], timeout=6))
        self.assertEqual(result.failed, [("a two", "no end within 6 s")])
        deadline = time.monotonic() + 60
        for pid in output.split()[-2:]:
            while lives(pid):
                self.assertLess(time.monotonic(), deadline, pid)

    def test_a_hanging_unittest_is_named(self):
        code = """
import time, unittest
class Case(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): time.sleep(600)
unittest.main(verbosity=2)
"""
        [(_, result, _)] = ran(python(code, timeout=6))
        self.assertRegex(result.failed[0][0], r"Case.*test_b|test_b")

    def test_jobs_run_side_by_side(self):
        # Each waits until the other has begun: one after the other they would never end.
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            ends = ran(python("open(%r, 'w')" % fifo, timeout=60), python("open(%r)" % fifo, timeout=60))
        self.assertEqual([result.passed for _, result, _ in ends], [1, 1])

    def test_what_is_started_can_be_interrupted_though_we_were_told_to_ignore_it(self):
        inner = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGHUP) == signal.SIG_DFL)"
        code = """
import signal, subprocess, sys
sys.path.insert(0, %r)
from jobs import default_signals
default_signals(print)
subprocess.run([sys.executable, "-c", %r])
""" % (HERE, inner)
        argv = ["sh", "-c", "trap '' INT HUP; exec \"$0\" -c \"$1\"", sys.executable, code]
        self.assertEqual(subprocess.run(argv, stdout=subprocess.PIPE, text=True).stdout, "True True\n")

    def test_a_signal_ends_the_run_and_what_it_started(self):
        pool = Pool(2, lambda *_: None)
        before = signal.signal(signal.SIGUSR1, lambda number, _: setattr(pool, "stopped", number))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        self.assertFalse(pool.run([python("import os, signal, time; os.kill(os.getppid(), signal.SIGUSR1); time.sleep(600)")]))
        self.assertEqual(pool.running[0].process.returncode, -signal.SIGKILL)
        pool.running[0].output.close()

    def test_a_program_that_is_not_there_fails(self):
        [(_, result, _)] = ran(Job("x", ["/nowhere/x"], None))
        self.assertEqual(len(result.failed), 1)


class Readers(unittest.TestCase):
    def rust(self, tests, code, output):
        result = rust.read(Job("e2e some", ["x"], rust.read, tests), code, output)
        return result.passed, [name for name, _ in result.failed]

    def test_libtest(self):
        good = "test a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n"
        self.assertEqual(self.rust(["a"], 0, good), (1, []))
        # A test that was asked for and not run has not passed.
        self.assertEqual(self.rust(["a"], 0, "test result: ok. 0 passed; 0 failed; 0 ignored\n"), (0, ["e2e some"]))
        bad = "failures:\n\n---- b stdout ----\nno\n\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n"
        self.assertEqual(self.rust(["a", "b"], 101, bad), (1, ["e2e b"]))
        self.assertEqual(self.rust(["a"], -6, "test a ... "), (0, ["e2e some"]))

    def test_a_test_that_needs_hooks_is_left_out_of_the_shipped_ones_and_fails_elsewhere(self):
        why = "panicked at x.rs:1:\n[needs test hooks] `STEAD_PAUSE_AT` of a binary that has none\n"
        said = why + "\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed;"
        job = Job("shipped e2e a", ["x"], rust.read_shipped, ["a"])
        left_out = rust.read_shipped(job, 101, said)
        self.assertEqual((left_out.passed, left_out.failed, left_out.hooked), (0, [], ["shipped e2e a"]))
        self.assertEqual(rust.read(job, 101, said).failed, [("shipped e2e a", "failed")])
        other = rust.read_shipped(job, 101, said.replace("[needs test hooks]", "no"))
        self.assertEqual(len(other.failed), 1)

    def test_the_words_for_it_are_those_of_the_testkit(self):
        with open(os.path.join(HERE, "../../crates/testkit/src/program.rs")) as file:
            self.assertIn(rust.NEEDS_HOOKS, file.read())

    def test_unittest(self):
        read = lambda code, output: suites.read_unittest(Job("m", ["x"], None), code, output)  # noqa: E731
        self.assertEqual(read(0, "Ran 3 tests in 1s\n\nOK\n").passed, 3)
        self.assertEqual(len(read(0, "Ran 0 tests in 0s\n\nOK\n").failed), 1)
        self.assertEqual(len(read(1, "ImportError").failed), 1)
        failed = read(1, "ERROR: test_a (m.C)\nFAIL: test_b (m.C)\nRan 3 tests in 1s\n\nFAILED (failures=1, errors=1)\n")
        self.assertEqual((failed.passed, len(failed.failed)), (1, 2))
        skipped = read(0, "test_a (m.C) ... skipped 'why'\nRan 2 tests in 1s\n\nOK (skipped=1)\n")
        self.assertEqual((skipped.passed, len(skipped.skipped)), (1, 1))


class Tiers(unittest.TestCase):
    def test_a_new_test_is_in_the_default_tier(self):
        for label in ("e2e new_file::new_test", "mcp new::test", "stress new::storm", "peers test_new", "stead_new a::b"):
            self.assertTrue(tiers.has("default", label), label)
            self.assertTrue(tiers.has("all", label), label)

    def test_the_longest_prefix_counts(self):
        self.assertEqual(tiers.rule("stress interrupts::x").per, "pythons")
        self.assertFalse(tiers.has("quick", "peers test_calls"))


if __name__ == "__main__":
    unittest.main()

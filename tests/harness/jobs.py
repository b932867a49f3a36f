"""Runs jobs side by side, each in a session of its own, and ends those that take too long.

A job's output goes to a file, so nothing has to be pumped and a job that hangs can still be read.
"""

import os
import re
import select
import signal
import subprocess
import tempfile
import time

# Signals that a caller may have told us to ignore (`nohup`, `trap '' INT`, some CI): user code in
# sessions must be interruptible, so what we start gets the default for each of them.
ORDINARY = [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM]


class Job:
    """A process that runs one or more tests."""

    def __init__(self, label, argv, read, tests=(), cwd=None, env=None, timeout=180):
        self.label = label
        self.argv = [str(word) for word in argv]
        self.read = read  # Makes a `Result` of (job, exit code, output).
        self.tests = list(tests)  # Names, where they are known before the run.
        self.cwd = cwd
        self.env = env or {}
        self.timeout = timeout


class Result:
    """What a job's tests came to. `failed` has (name, why) pairs; `hooked` cannot be run with this binary."""

    def __init__(self, passed=0, failed=(), skipped=(), hooked=()):
        self.passed = passed
        self.failed = list(failed)
        self.skipped = list(skipped)
        self.hooked = list(hooked)


class Running:
    def __init__(self, job):
        self.job = job
        self.output = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the job runs)
        self.began = time.monotonic()
        self.deadline = self.began + job.timeout
        try:
            self.process = subprocess.Popen(
                job.argv, cwd=job.cwd, env={**os.environ, **job.env}, stdin=subprocess.DEVNULL,
                stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError:
            self.output.close()
            raise

    def text(self):
        self.output.seek(0)
        return self.output.read().decode("utf-8", "replace")

    def kill(self):
        """Ends the job and what it started: its own session, and hosts, which have left it."""
        for pid in {self.process.pid, *of_job(self.process.pid)}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def of_job(leader):
    """Processes of the job's session, and those that a test environment of that process marked."""
    mark = b"STEAD_TEST=%d-" % leader
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry) as file:
                session = int(file.read().rpartition(")")[2].split()[3])
            with open("/proc/%s/environ" % entry, "rb") as file:
                marked = any(line.startswith(mark) for line in file.read().split(b"\0"))
        except (OSError, ValueError):
            continue
        if session == leader or marked:
            found.append(int(entry))
    return found


class Pool:
    """Runs a list of jobs, `width` at a time; `done` is called with each one's end."""

    def __init__(self, width, done):
        self.width = width
        self.done = done
        self.running = []
        self.stopped = None

    def run(self, jobs):
        """Whether all of them were run."""
        waiting = list(reversed(jobs))
        heard, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(heard, False)
        before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            while (waiting or self.running) and self.stopped is None:
                while waiting and len(self.running) < self.width:
                    self.start(waiting.pop())
                self.sleep(heard)
                for running in list(self.running):
                    self.look(running)
        finally:
            for running in self.running:
                running.kill()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.set_wakeup_fd(before)
            os.close(heard)
            os.close(wake)
        return self.stopped is None

    def start(self, job):
        try:
            self.running.append(Running(job))
        except OSError as error:
            self.done(job, Result(failed=[(job.label, "it cannot be started")]), 0, str(error))

    def sleep(self, heard):
        """Until a process ends, a signal comes or the next job is over its time."""
        if not self.running:
            return
        nearest = min(running.deadline for running in self.running)
        ready, _, _ = select.select([heard], [], [], max(0, nearest - time.monotonic()))
        if ready:
            os.read(heard, 4096)

    def look(self, running):
        code, now = running.process.poll(), time.monotonic()
        if code is None and now < running.deadline:
            return
        job = running.job
        if code is None:
            running.kill()
            output = running.text()
            result = Result(failed=[(hung(job, output), "no end within %d s" % job.timeout)])
        else:
            output = running.text()
            result = job.read(job, code, output)
        running.output.close()
        self.running.remove(running)
        self.done(job, result, now - running.began, output)


def hung(job, output):
    """The test that had begun and not ended when the job was killed, as far as its output tells."""
    begun = re.findall(r"^test (\S+) \.\.\. (ok|FAILED|ignored)?", output, re.M)
    if begun and not begun[-1][1] and len(job.tests) > 1:
        return "%s %s" % (job.label.split(" ")[0], begun[-1][0])
    last = re.findall(r"^(test_\w+) \(([\w.]+)\)(?:\n[^\n]*?)? \.\.\. (?!ok|FAIL|ERROR|skipped)", output, re.M)
    if last:
        return "%s %s.%s" % (job.label, last[-1][1], last[-1][0])
    return job.label


def default_signals(stop):
    """Lets what we start be interrupted, and calls `stop` for what we were not told to ignore.

    A handler, unlike `SIG_IGN`, does not survive the start of a program.
    """
    for number in ORDINARY:
        ignored = signal.getsignal(number) == signal.SIG_IGN
        signal.signal(number, (lambda *_: None) if ignored else (lambda number, _: stop(number)))
    signal.pthread_sigmask(signal.SIG_SETMASK, [])

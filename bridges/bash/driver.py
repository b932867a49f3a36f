"""The fake host of ../python/driver.py, playing to the Bash bridge. STEAD_TEST_BASH names another Bash."""
import ctypes
import importlib.util
import os
import select
import shutil
import signal

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("shared_driver", os.path.join(os.path.dirname(HERE), "python", "driver.py"))
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)

BASH = os.environ.get("STEAD_TEST_BASH") or shutil.which("bash")


# PR_SET_CHILD_SUBREAPER, as the host is: what a subshell was starting when it died falls to us.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


class Host(shared.Host):
    argv = [BASH, "--posix", "-c", shared.contents("bash/boot.bash").decode().strip()]
    bridge = shared.bridge("BASH")
    session = "sh"
    pipes = False

    def children(self, pid=None):
        pid = pid or self.process.pid
        try:
            listed = shared.contents("/proc/%d/task/%d/children" % (pid, pid)).split()
        except OSError:
            return []
        return [one for child in listed for one in [int(child), *self.children(int(child))]]

    def interrupt(self, spared=()):
        """Names the eval, then signals the shell and its children, as the host does."""
        self.control.sendall(b"interrupt %s:%d 0\n" % (self.session.encode(), self.count))
        self.signal_eval(spared)

    def strike(self):
        """For a transcript, in which code that is interrupted says first that it runs."""
        said = b""
        while b"up\n" not in said and select.select([self.out], [], [], shared.DEADLINE)[0]:
            said += os.read(self.out, 4096)
        self.signal_eval()

    def signal_eval(self, spared=()):
        while not self.held():
            os.kill(self.process.pid, signal.SIGCONT)
        children = self.children()
        os.kill(self.process.pid, signal.SIGINT)
        os.kill(self.process.pid, signal.SIGCONT)
        self.signal(children, spared)
        self.spared, self.nudging = spared, True

    def held(self):
        """Stops the shell; whether it is ready for SIGINT: it catches or ignores it, and has not just begun to."""
        os.kill(self.process.pid, signal.SIGSTOP)
        while True:
            status = shared.contents("/proc/%d/status" % self.process.pid).decode()
            if "State:\tT" in status:
                masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigIgn", "SigCgt"))]
                changing = shared.contents("/proc/%d/syscall" % self.process.pid).split()[:1] == [b"%d" % shared.CALLS["rt_sigaction"]]
                return not changing and any(mask & 1 << signal.SIGINT - 1 for mask in masks)

    def nudge(self):
        os.kill(self.process.pid, signal.SIGURG)
        self.signal(self.children(os.getpid()), {self.process.pid, *self.spared})

    def signal(self, children, spared):
        for pid in children:
            if pid not in spared:
                try:
                    os.kill(pid, signal.SIGINT)
                except ProcessLookupError:
                    pass


class BashTest(shared.BridgeTest):
    def start(self, **options):
        host = Host(**options)
        self.addCleanup(host.close)
        return host

    def gives(self, host, code, out="", err="", status=0):
        """Runs code that must end by itself so."""
        result = host.eval(code)
        got = (result.out, result.err, result.done and result.done.get("exit_code"))
        self.assertEqual(got, (out, err, status), (code, result.order, result.events))
        self.assertEqual(result.status, "error" if status else "ok")
        return result

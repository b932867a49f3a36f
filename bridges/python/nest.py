"""A fake host that takes copies: it is a subreaper, holds the wake sockets, and rolls back as the lower half does."""
import ctypes
import json
import os
import select
import signal
import socket
import sys
import time

from driver import DEADLINE, BridgeTest, Host, Pipes, Result

PR_SET_CHILD_SUBREAPER = 36


def is_alive(pid):
    """Whether a process runs: one that has ended and was not waited for does not."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_gone(pid):
    """Waits until a process has ended, whoever its parent is."""
    end = time.monotonic() + DEADLINE
    try:
        fd = os.pidfd_open(pid)
    except AttributeError:  # Python 3.8
        while is_alive(pid):
            assert time.monotonic() < end, pid
        return
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], DEADLINE)[0], "%d lives on" % pid
    finally:
        os.close(fd)


class Copy:
    def __init__(self, told, wake):
        self.told, self.wake = told, wake
        self.pid, self.number, self.lost = told["pid"], told["copy"], told["lost"]

    def drop(self):
        self.wake.close()
        wait_gone(self.pid)


class Nest(Host):
    """A Host whose interpreter can be copied. `pid` is the one that is live."""

    def __init__(self, **options):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.nest_near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.nest, self.copies, self.next = far.fileno(), {}, 1
        super().__init__(**options)
        far.close()
        self.pid = self.process.pid

    def close(self):
        for copy in self.copies.values():
            copy.wake.close()
        self.nest_near.close()
        if self.pid != self.process.pid:
            self.kill()
        super().close()
        for copy in self.copies.values():
            wait_gone(copy.pid)
            self.reap(copy.pid)

    def kill(self):
        """Ends the live one, and all that it has started except the copies."""
        spared = {copy.pid for copy in self.copies.values()}
        doomed, found = [self.pid], []
        while doomed:
            found.append(doomed.pop())
            doomed += [child for child in children_of(found[-1]) if child not in spared]
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for pid in found:
            wait_gone(pid)
        if self.pid == self.process.pid:
            self.process.wait()
        for pid in found:
            self.reap(pid)

    def reap(self, pid):
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)
        self.nudging = True

    def nudge(self):
        os.kill(self.pid, signal.SIGWINCH)

    def restored(self):
        """For a golden transcript: goes back to the newest copy."""
        while self.has_packet():
            self.take_packet()
        return self.rollback(self.copies[max(self.copies)])

    def has_packet(self):
        return bool(select.select([self.nest_near], [], [], 0)[0])

    def take_packet(self):
        """The copy that the bridge hands over."""
        assert select.select([self.nest_near], [], [], DEADLINE)[0], "no copy came"
        data, ancillary, _, _ = self.nest_near.recvmsg(1 << 16, socket.CMSG_SPACE(4))
        assert len(ancillary) == 1, (data, ancillary)
        copy = Copy(json.loads(data), socket.socket(fileno=int.from_bytes(ancillary[0][2][:4], sys.byteorder)))
        assert is_alive(copy.pid)
        self.copies[copy.number] = copy
        self.next = max(self.next, copy.number + 1)
        return copy

    def work(self, what, argument=""):
        self.count += 1
        self.send("work %s:%d %s" % (self.session, self.count, what), argument)
        return self.finish(Result())

    def checkpoint(self, label="a"):
        result = self.work("checkpoint", label)
        assert result.status == "ok", result.events
        copy = self.take_packet()
        assert result.event("report")["data"] == copy.told, (result.events, copy.told)
        return copy

    def refused(self, label="a"):
        """The reason for which a checkpoint is refused."""
        result = self.work("checkpoint", label)
        assert (result.status, result.error) == ("error", "CopyRefused"), result.events
        assert not self.has_packet()
        return result.event("error")["message"]

    def copy(self):
        """A copy that nobody asked for, or why there is none."""
        reply = self.ask("copy 1")
        return reply["error"] if "error" in reply else self.take_packet()

    def rollback(self, copy, kill=True):
        """Kills the live one, unless it has ended already, and wakes a copy in its place; what that says."""
        if kill:
            self.kill()
        for fd in (self.stdin, self.out, self.err):
            os.close(fd)
        self.control.close()
        self.nest_near.close()
        self.nest_near, nest = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (stdin, self.stdin), (self.out, out), (self.err, err) = os.pipe(), os.pipe(), os.pipe()
        if self.pipes:
            (hears, says), (hears_far, says_far) = os.pipe(), os.pipe()
            self.control, given = Pipes(hears, says_far), [hears_far, says]
        else:
            self.control, far = socket.socketpair()
            given = [far.detach()] * 2
        given = [stdin, out, err, *given, nest.detach()]
        self.copies.pop(copy.number, None)
        packed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in given)
        copy.wake.sendmsg([b"wake %d" % self.next], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)])
        copy.wake.close()
        for fd in set(given):
            os.close(fd)
        self.inbox, self.idle, self.nudging = b"", Result(), False
        restored = self.pump(self.idle, lambda event: True)
        assert restored is not None and restored["ev"] == "restored", (restored, self.idle.order)
        self.pid = restored["pid"]
        assert self.pid == copy.pid
        if self.has_packet():
            again = self.take_packet()
            assert again.number == copy.number and again.pid != copy.pid
        return restored


def children_of(pid):
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


class NestTest(BridgeTest):
    def start(self, **options):
        host = Nest(**options)
        self.addCleanup(host.close)
        return host

    def back(self, host, copy):
        """Rolls back to the copy that has this number, and gives what the woken one said."""
        return host.rollback(host.copies[copy.number])

"""Starts processes the same way for every side, and ends them."""

import fcntl
import os
import signal
import time

# Python ignores the first two, a shell the others in what runs in its background; what we start would do so too.
DEFAULTS = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP]
# Where a child may be given descriptors; our own ends are put above.
HIGH = 64
NOWHERE = []


def pipe():
    """A pipe whose ends are in nobody's way when a child's descriptors are put in place."""
    ends = []
    for low in os.pipe():
        ends.append(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, HIGH))
        os.close(low)
    return ends


def spawn(argv, env, descriptors, **options):
    """Starts a program with the given descriptors, a dict of its number to ours; those missing below 3 are /dev/null."""
    actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in descriptors.items()]
    actions += [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in (0, 1) if number not in descriptors]
    return os.posix_spawn(argv[0], argv, env, file_actions=actions, setsigdef=DEFAULTS, **options)


def timed(argv, env):
    """Runs a program to its end and reads what it prints: seconds, output, exit status."""
    began = time.perf_counter()
    ours, theirs = pipe()
    pid = spawn(argv, env, {1: theirs})
    os.close(theirs)
    pieces = []
    while True:
        piece = os.read(ours, 262144)
        if not piece:
            break
        pieces.append(piece)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - began
    os.close(ours)
    return took, b"".join(pieces), status


def nowhere():
    """A descriptor that swallows everything."""
    if not NOWHERE:
        NOWHERE.append(fcntl.fcntl(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), fcntl.F_DUPFD_CLOEXEC, HIGH))
    return NOWHERE[0]


class Child:
    """A process that is talked to by lines on raw descriptors."""

    def __init__(self, argv, env, answers=1, stdout=None, quiet=False):
        theirs_in, self.to = pipe()
        self.back, theirs_out = pipe()
        descriptors = {0: theirs_in, answers: theirs_out}
        if stdout is not None:
            descriptors[1] = stdout
        if quiet:
            descriptors[2] = nowhere()
        # A group of its own: Ctrl-C is for the benchmark, which ends its children by itself.
        self.pid = spawn(argv, env, descriptors, setpgroup=0)
        self.argv = argv
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer = b""

    def send(self, data):
        """Writes all of it."""
        while data:
            data = data[os.write(self.to, data):]

    def line(self):
        """The next line, without its end."""
        while True:
            line, end, rest = self.buffer.partition(b"\n")
            if end:
                self.buffer = rest
                return line
            self.more()

    def more(self):
        """Reads what there is; waits if there is nothing."""
        piece = os.read(self.back, 262144)
        if not piece:
            raise EOFError(f"{self.argv[0]} closed its answers")
        self.buffer += piece

    def close(self):
        """Ends it: no more input, then the signal that nothing survives."""
        if self.pid is None:
            return
        for descriptor in (self.to, self.back):
            os.close(descriptor)
        pid, self.pid = self.pid, None
        end(pid)


def end(pid):
    """Kills a child of ours and takes its status."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass

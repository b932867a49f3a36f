"""Python bridge: runs evals in the user's interpreter and reports to the session host.

Wire:   words and bytes in on STEAD_BRIDGE_FD, one JSON object per line out on STEAD_BRIDGE_OUT, or the same socket
        if there is none (docs/PROTOCOL.md).
Needs:  CPython 3.8+, standard library only; leaves no name behind in the user's namespace.
Tested: bridges/golden/*.jsonl, ../test_bridge.py, and tests/conformance.

lib.rs joins the files of this folder into one text, this one first: what all the others use, and the
control channel. boot.py runs it with a copy of the builtins as its own, so that user code which
breaks a builtin breaks it for itself only. For the same reason everything used from other modules is
bound here once, and modules that user code may replace are imported late and never trusted.
"""
import builtins
import posix
import sys

# A user's fcntl.py in cwd or on PYTHONPATH must not be taken for the real one.
USER_PATH = sys.path
_os = sys.modules.get("os")
_home = getattr(_os, "__file__", "").rpartition("/")[0] or "%s/lib/python%d.%d" % ((sys.base_prefix, *sys.version_info[:2]))
STDLIB = [p for p in sys.path if p == _home or p.endswith("/lib-dynload")] or [_home, _home + "/lib-dynload"]
sys.path = STDLIB

import _ast
import _io
import _signal
import _thread
import time  # noqa: F401  (loaded here, where it cannot be a file of the user's; names are taken from it below)
from fcntl import fcntl, ioctl
from gc import get_referents

sys.path = USER_PATH

from _collections import deque
from _operator import is_not
from _signal import SIGINT, SIGURG, SIGWINCH, default_int_handler, getsignal, signal
from _thread import allocate_lock, get_ident
from _weakref import ref
from posix import O_NONBLOCK, _exit, access, close, dup2, fstat, getcwd, getpid, read, set_blocking, stat, write
from time import clock_gettime_ns, monotonic, process_time, sleep

getframe, gettrace, settrace, modules = sys._getframe, sys.gettrace, sys.settrace, sys.modules
get_native_id = getattr(_thread, "get_native_id", lambda: 0)
sched_yield = getattr(posix, "sched_yield", lambda: None)
TextIOWrapper = _io.TextIOWrapper
text_write, text_flush, text_readline, text_read, text_next = (
    TextIOWrapper.write, TextIOWrapper.flush, TextIOWrapper.readline, TextIOWrapper.read, TextIOWrapper.__next__)
buffered_write, buffered_flush = _io.BufferedWriter.write, _io.BufferedWriter.flush
ModuleType, CodeType = type(sys), type((lambda: None).__code__)
SYS, BUILTINS = vars(sys), vars(builtins)
OWN_BUILTINS = __builtins__  # a copy from before any code of the user's ran (boot.py)

BRIDGE_FILE = "<stead>"
STDLIB_FILE = "<stdlib>"  # the user's standard library in tracebacks
PROJECT_FILE = "<project stdlib>"  # the project's standard library, which is loaded after the user's
VALUE = "<value>"       # what an eval's last value is bound to until run_codes takes it; no identifier, so no name of the user's
FIONREAD = 0x541B if sys.platform.startswith("linux") else 0x4004667F
F_GETFL, F_SETFL, F_DUPFD_CLOEXEC = 3, 4, 1030 if sys.platform.startswith("linux") else 67
EMPTY = bytes(4)
VALUE_BUDGET = 2000
MANY_WRITES, SHORT = 64, 0.00002    # code that writes 64 times in a row, each time within 20 µs, writes many lines (look_across)
TRACEBACK_BUDGET = 64 * 1024
MESSAGE_BUDGET = 8 * 1024
SOURCES_KEPT, SOURCE_BYTES_KEPT = 10_000, 64 * 1024 * 1024
CHANGES_LISTED, VARS_LISTED, COMPLETIONS_LISTED = 50, 500, 200
MAIN = get_ident()
PID = getpid()


THREADS = {}            # ident of a live thread -> the eval that started it
BORN = set()            # one token for each thread from its start to its end
QUICK = {}              # stream -> the `write` that it has while its writes are not looked at (make_plain)
READERS = {}            # idents of threads inside a read of stdin, with their kernel ids
KNOWN = {}              # user's name -> id of its value; no reference, so nothing is kept alive
BOUND = {}              # user's name -> the eval that bound it last
STOPPED = {}            # file name of an eval -> the line at which an error left it; code below has not run
GIVEN = {}              # name -> value, of what the user's standard library has defined
GLOBALS = set()         # names that functions of earlier evals declare global
SOURCES = {}            # file name of an eval -> its source, or the linecache entry made of it
RECENT = deque()        # the keys of SOURCES, oldest first: a dict is slow to find its first key once many were deleted


# ---- the control channel ---------------------------------------------------------------------

def move_high(fd):
    for lowest in (512, 128, 32, 10):
        try:
            return fcntl(fd, F_DUPFD_CLOEXEC, lowest)
        except OSError:
            pass
    return fd


_in, _out = CONTROL, int(posix.environ.get(b"STEAD_BRIDGE_OUT", CONTROL))
CONTROL = REPORT = move_high(_in)
if _out != _in:
    REPORT = move_high(_out)
    if _out != REPORT:
        close(_out)
if _in != CONTROL:
    close(_in)
NEST = None             # where copies of this process are handed to the host
if b"STEAD_NEST_FD" in posix.environ:
    _nest = int(posix.environ[b"STEAD_NEST_FD"])
    NEST = move_high(_nest)
    if _nest != NEST:
        close(_nest)
SAVED = [move_high(_fd) for _fd in (0, 1, 2)]
LOCK = allocate_lock()
INBOX = bytearray()
WRITING = _thread.RLock()  # held by a thread that writes to the running eval's output
WRITING_SECONDS = 1     # after which a thread that waits for that asks whether the eval is over
WRITERS = []            # the thread of each such write; a finalizer that prints can start a write within another
EXCHANGING = _thread.RLock()  # held by a thread that waits for the host's answer to a frame
LATER = []              # frames that came up while one was being sent

def die():
    """The host cannot be reached any more."""
    flush_own()
    _exit(70)


def transmit(line):
    if S.life != Life.CHILD and getpid() == PID:
        transmit_own(line)


def transmit_own(line):
    """Critical: an interrupt in here would tear a frame or leave the lock locked. A forked child must not call it."""
    me, data = get_ident(), line.encode("utf-8")
    if S.holder == me:  # a finalizer that prints has run in the middle of this very function
        LATER.append(line)
        return
    with LOCK:
        S.holder = me
        try:
            while data:
                data = data[write(REPORT, data):]
        except OSError:
            die()
        finally:
            S.holder = None
    while LATER:
        transmit(LATER.pop(0))


def receive():
    """Critical. The next command: its words, and the bytes that follow them."""
    if not INBOX:
        data = read_control()
        head, _, payload = data.partition(b"\n")
        if len(head) < len(data):
            words = head.decode("ascii", "replace").split(" ")
            if int(words[-1]) == len(payload):  # nearly always one whole command has come, and nothing else
                return words, payload
        INBOX.extend(data)
    while True:
        end = INBOX.find(b"\n")
        if end >= 0:
            words = INBOX[:end].decode("ascii", "replace").split(" ")
            need = end + 1 + int(words[-1])
            while len(INBOX) < need:
                fill()
            payload = bytes(INBOX[end + 1:need])
            del INBOX[:need]
            return words, payload
        fill()


def fill():
    INBOX.extend(read_control())


def read_control():
    try:
        data = read(CONTROL, 1 << 16)
    except OSError as error:
        if error.__traceback__.tb_next is not None:  # a signal handler of the user's raised it
            raise
        die()
    return data or _exit(0)


def await_ack():
    """Critical."""
    if S.life == Life.CHILD or getpid() != PID:
        return
    while receive()[0][0] != "ack":
        pass


def send(line):
    """Sends a frame from user code's side: an interrupt meanwhile is raised afterwards."""
    transmit(line)
    if S.pending:
        raise_pending()


def raise_pending():
    """Raises the interrupt that was held back, if user code of the main thread has called the bridge."""
    if get_ident() == MAIN and S.phase != Phase.IDLE and S.pending:
        S.pending = False
        S.interrupt = Interrupt.RAISED
        raise KeyboardInterrupt

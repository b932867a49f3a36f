"""Python bridge: runs evals in the user's interpreter and reports to the session host.

Wire:   words and bytes in, one JSON object per line out, on STEAD_BRIDGE_FD (docs/PROTOCOL.md).
Needs:  CPython 3.8+, standard library only; leaves no name behind in the user's namespace.
Tested: golden/*.jsonl and test_bridge.py here, and tests/conformance.

boot.py runs this file with a copy of the builtins as its own, so that user code which breaks a
builtin breaks it for itself only. For the same reason everything used from other modules is
bound here once, and modules that user code may replace are imported late and never trusted.
"""
import builtins
import posix
import sys

# A user's fcntl.py in cwd or on PYTHONPATH must not be taken for the real one.
USER_PATH = sys.path
_os = sys.modules.get("os")
_home = getattr(_os, "__file__", "").rpartition("/")[0] or "%s/lib/python%d.%d" % ((sys.base_prefix,) + sys.version_info[:2])
STDLIB = [p for p in sys.path if p == _home or p.endswith("/lib-dynload")] or [_home, _home + "/lib-dynload"]
sys.path = STDLIB

import _ast
import _io
import _signal
import _thread
import time
from fcntl import fcntl, ioctl

sys.path = USER_PATH

from _signal import SIGINT, SIGURG, SIGWINCH, default_int_handler, getsignal, signal
from _thread import allocate_lock, get_ident
from posix import _exit, close, dup2, fstat, getpid, read, write
from time import monotonic, sleep

getframe, gettrace, settrace, modules = sys._getframe, sys.gettrace, sys.settrace, sys.modules
get_native_id = getattr(_thread, "get_native_id", lambda: 0)
sched_yield = getattr(posix, "sched_yield", lambda: None)
TextIOWrapper = _io.TextIOWrapper
text_write, text_readline, text_read, text_next = (
    TextIOWrapper.write, TextIOWrapper.readline, TextIOWrapper.read, TextIOWrapper.__next__)
ModuleType = type(sys)

BRIDGE_FILE = "<stead>"
FIONREAD = 0x541B if sys.platform.startswith("linux") else 0x4004667F
F_GETFD, F_DUPFD_CLOEXEC = 1, 1030 if sys.platform.startswith("linux") else 67
EMPTY = bytes(4)
VALUE_BUDGET = 2000
TRACEBACK_BUDGET = 64 * 1024
MESSAGE_BUDGET = 8 * 1024
SOURCES_KEPT, SOURCE_BYTES_KEPT = 10_000, 64 * 1024 * 1024
CHANGES_LISTED, VARS_LISTED = 50, 500
MAIN = get_ident()
PID = getpid()


class State:
    """What the bridge knows between two lines of user code."""
    eval = None         # id of the running or last eval
    running = False     # an eval is under way
    last = None         # stream written last in the running eval; None makes every write ask
    pending = False     # an interrupt came while the bridge could not be interrupted
    swallowed = False   # it could not leave the finalizer that it hit
    fired = False       # an interrupt reached the running eval
    user_sigint = None  # the user's own SIGINT handler, installed only while user code runs
    lent = False        # it is installed now
    child = False       # this is a forked child: the control channel is not ours
    finishing = False   # exit handlers run: output goes to the pipes as it is
    draining = False    # stdin is being emptied: reads answer end of file
    hung_up = False     # an interrupt ended a nested prompt: reads of this eval answer end of file
    stdin_used = False  # something was read from stdin since it was last emptied
    final = None        # the value of the eval's last expression, rendered
    flags = 0           # compiler flags of __future__ imports so far
    loop = None         # the session's asyncio loop, once there was an await
    task = None         # the task of the running eval, while it awaits
    cancelled = False   # that task was cancelled by an interrupt
    holder = None       # ident of the thread that is sending a frame
    names = 0           # len() of the namespace as last seen


S = State()
THREADS = {}            # ident of a live thread -> the eval that started it
READERS = set()         # idents of threads inside a read of stdin
KNOWN = {}              # user's name -> id of its value; no reference, so nothing is kept alive
GLOBALS = set()         # names that functions of earlier evals declare global
SOURCES = {}            # file name of an eval -> linecache entry
SOURCE_BYTES = [0]


class Leave(SystemExit):
    """exit() and quit(): ends the session, where a plain SystemExit ends the eval only."""


# ---- the control channel ---------------------------------------------------------------------

def move_high(fd):
    for lowest in (512, 128, 32, 10):
        try:
            return fcntl(fd, F_DUPFD_CLOEXEC, lowest)
        except OSError:
            pass
    return fd


_fd, CONTROL = CONTROL, move_high(CONTROL)
if _fd != CONTROL:
    close(_fd)
SAVED = [move_high(_fd) for _fd in (0, 1, 2)]
LOCK = allocate_lock()
INBOX = bytearray()
WRITING = _thread.RLock()  # held by a thread that writes to the running eval's output
LATER = []              # frames that came up while one was being sent

ESCAPES = {c: "\\u%04x" % c for c in range(32)}
ESCAPES.update({10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 92: "\\\\"})


def quote(text):
    """A JSON string. Lone surrogates are no JSON, so they are spelled out."""
    if text.isascii():
        if text.isprintable() and '"' not in text and "\\" not in text:
            return '"' + text + '"'
    else:
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return '"' + text.translate(ESCAPES) + '"'


def dump(value):
    kind = type(value)
    if kind is str:
        return quote(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is dict:
        return "{" + ",".join([quote(k) + ":" + dump(v) for k, v in value.items() if v is not None]) + "}"
    if kind is list:
        return "[" + ",".join([dump(v) for v in value]) + "]"
    return str(value)


def die():
    """The host cannot be reached any more."""
    flush_own()
    _exit(70)


def transmit(line):
    """Critical: an interrupt in here would tear a frame or leave the lock locked."""
    if S.child or getpid() != PID:
        return
    me, data = get_ident(), line.encode("utf-8")
    if S.holder == me:  # a finalizer that prints ran inside this very function
        LATER.append(line)
        return
    with LOCK:
        S.holder = me
        try:
            while data:
                data = data[write(CONTROL, data):]
        except OSError:
            die()
        finally:
            S.holder = None
    while LATER:
        transmit(LATER.pop(0))


def receive():
    """Critical. The next command: its words, and the bytes that follow them."""
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
    try:
        data = read(CONTROL, 1 << 16)
    except OSError:
        die()
    if not data:
        _exit(0)
    INBOX.extend(data)


def await_ack():
    """Critical."""
    if S.child or getpid() != PID:
        return
    while receive()[0][0] != "ack":
        pass


def send(line):
    """Sends a frame from user code's side: an interrupt meanwhile is raised afterwards."""
    transmit(line)
    if S.pending:
        raise_pending()


def raise_pending():
    if get_ident() == MAIN and S.running and S.pending:
        S.pending = False
        S.fired = True
        raise KeyboardInterrupt


# ---- interrupts ------------------------------------------------------------------------------

CRITICAL = {f.__code__ for f in (transmit, receive, fill, await_ack)}
# Loops that answer an interrupt with their next prompt, so that only an end of file ends them.
PROMPTS = {"_cmdloop": "/pdb.py", "interact": "/code.py"}


def on_sigint(signum, frame):
    """Raises only in user code. Frames tell where we are; flags could lag behind."""
    in_callback = reads = False
    while frame is not None:
        code = frame.f_code
        if code in CRITICAL:
            break
        if code is READ_INPUT:
            reads = True
        elif reads and code.co_name in PROMPTS and code.co_filename.endswith(PROMPTS[code.co_name]):
            S.hung_up = True
        if code is RUN_ASYNC and not in_callback and S.task is not None:
            S.fired = S.cancelled = True
            S.loop.call_soon_threadsafe(S.task.cancel)
            return
        if code is RUN_USER:
            S.fired = True
            raise KeyboardInterrupt
        if code is IDLE_LOOP and in_callback and ioctl(CONTROL, FIONREAD, EMPTY) != EMPTY:
            raise KeyboardInterrupt  # a background task keeps an eval from starting
        if code.co_name == "_run" and code.co_filename.endswith("asyncio/events.py"):
            in_callback = True
        frame = frame.f_back
    S.pending = True


def on_sigurg(signum, frame):
    """Comes in SIGINT's place while that is ignored below Python, in C's system(): no Python code ran since."""
    handler = getsignal(SIGINT)
    if callable(handler):
        handler(SIGINT, frame)


def on_nudge(signum, frame):
    """Ends a system call that an interrupt came just too early for, and tries again one that was swallowed."""
    if S.swallowed and S.running:
        S.swallowed = False
        on_sigint(SIGINT, frame)


def on_unraisable(unraisable):
    """An interrupt that hits a finalizer or a weakref callback cannot leave it; the next nudge repeats it."""
    if unraisable.exc_type is KeyboardInterrupt and S.fired and get_ident() == MAIN:
        S.swallowed = True
    else:
        sys.__unraisablehook__(unraisable)


def run_user(call, *args):
    """The one door to user code: below this frame an interrupt is raised, above it is held back."""
    if S.pending:
        raise_pending()
    # pdb would step out of user code into this frame: tracing ends on the line of the call itself,
    # before there is an event to stop at (3.13 undoes f_trace_lines).
    here = getframe()
    here.f_trace_lines = False
    if S.user_sigint is not None and not S.lent:
        S.lent = True
        signal(SIGINT, S.user_sigint)
    try:
        return (call(*args), here.f_trace is None or settrace(None))[0]
    except BaseException:
        if here.f_trace is not None:
            settrace(None)
        raise


RUN_USER = run_user.__code__


def reclaim_sigint():
    """Takes SIGINT back after user code and remembers what the user made of it."""
    for _ in range(100):
        try:
            handler = getsignal(SIGINT)
            if handler is not on_sigint:
                # pdb's `continue` leaves a handler of its own behind, which would stop a later eval at
                # a prompt and not end it.
                debugger = getattr(handler, "__func__", None)
                ours = handler is default_int_handler or handler is None or (
                    getattr(debugger, "__qualname__", None) == "Pdb.sigint_handler")
                S.user_sigint = None if ours else handler
                signal(SIGINT, on_sigint)
            elif S.lent:  # the user gave it up
                S.user_sigint = None
            S.lent = False
            return
        except BaseException:  # the user's handler ran here, once more
            pass


def guarded(call, *args):
    """Runs something of the user's that must not end the bridge; None if it failed."""
    try:
        return run_user(call, *args)
    except BaseException:
        leave_child()
        return None


# ---- streams ---------------------------------------------------------------------------------

class Output(TextIOWrapper):
    """sys.stdout and sys.stderr: plain text files, except that a write knows its eval."""

    def write(self, text):
        if S.last is self and get_ident() == MAIN:
            return text_write(self, text)
        return write_elsewhere(self, text)


def write_elsewhere(stream, text):
    """A write that changes the stream, or comes from a thread, or from nobody's eval."""
    if S.child or S.finishing or not isinstance(text, str):
        return text_write(stream, text)
    me = get_ident()
    if me == MAIN:
        return write_switching(stream, text) if S.running else send_background(stream, text, None)
    tag = THREADS.get(me, S.eval)
    with WRITING:  # the eval cannot end between the question and the write
        if S.running and tag == S.eval:
            return write_switching(stream, text)
    return send_background(stream, text, tag)


def write_switching(stream, text):
    last = S.last
    if last is not stream:
        if last is not None:
            barrier(last)
        S.last = stream
    return text_write(stream, text)


def send_background(stream, text, tag):
    name = "err" if stream is ERR else "out"
    owner = '"eval":' + quote(tag) + "," if tag else ""
    for start in range(0, len(text), 1 << 16):
        send('{"ev":"background",%s"stream":"%s","text":%s}\n' % (owner, name, quote(text[start:start + (1 << 16)])))
    return len(text)


def barrier(other):
    """Waits until the host has read the other pipe, so that it sees both in order."""
    try:
        other.flush()
        fd = 2 if other is ERR else 1
        if ioctl(fd, FIONREAD, EMPTY) == EMPTY:
            return
        for _ in range(50):
            sched_yield()
            if ioctl(fd, FIONREAD, EMPTY) == EMPTY:
                return
        deadline = monotonic() + 0.02
        while monotonic() < deadline:
            sleep(0.00005)
            if ioctl(fd, FIONREAD, EMPTY) == EMPTY:
                return
    except (OSError, ValueError):  # closed, or no pipe any more
        pass


class RawInput(_io._RawIOBase):
    """Descriptor 0, announcing a wait before it blocks. End of file is not remembered."""
    name = "<stdin>"
    mode = "rb"
    # Builtins, because an interrupt raised below input()'s own call of fileno() would be swallowed there.
    file = _io.FileIO(0, "rb", closefd=False)
    readable, fileno = file.readable, file.fileno

    def readinto(self, buffer):
        if S.draining:
            return 0
        if S.child:
            return self.file.readinto(buffer)
        me = get_ident()
        if S.hung_up and me == MAIN:
            return 0
        READERS.add(me)
        try:
            S.stdin_used = True
            flush_all()
            announce_wait(me)
            return self.file.readinto(buffer)
        finally:
            READERS.discard(me)


READ_INPUT = RawInput.readinto.__code__


class Input(TextIOWrapper):
    """sys.stdin. Threads take turns here, because the wait for C's own lock cannot be interrupted."""

    def readline(self, *args):
        take_turn()
        return text_readline(self, *args)

    def read(self, *args):
        take_turn()
        return text_read(self, *args)

    def __next__(self):
        take_turn()
        return text_next(self)


def take_turn():
    if READERS and not S.draining and not S.child:
        while READERS:
            sleep(0.02)


def announce_wait(me):
    try:
        if ioctl(0, FIONREAD, EMPTY) != EMPTY:
            return
    except OSError:
        return
    tag = (S.eval if S.running else None) if me == MAIN else THREADS.get(me)
    owner = ',"eval":' + quote(tag) if tag else ""
    send('{"ev":"stdin_wait","tid":%d%s}\n' % (get_native_id(), owner))


def flush_all():
    for stream in (sys.stdout, sys.stderr, OUT, ERR):
        try:
            stream.flush()
        except KeyboardInterrupt:
            raise
        except BaseException:  # None, closed, or the user's own object
            pass


def flush_own():
    for stream in (OUT, ERR):
        try:
            stream.flush()
        except BaseException:
            pass


def make_output(fd, name, errors):
    raw = _io.FileIO(fd, "wb", closefd=False)
    raw.name = name
    stream = Output(_io.BufferedWriter(raw), encoding="utf-8", errors=errors, newline="\n", line_buffering=True)
    stream.mode = "w"
    return stream


def make_input():
    stream = Input(_io.BufferedReader(RawInput()), encoding="utf-8", errors="surrogateescape", newline="\n")
    stream.mode = "r"
    return stream


def open_streams():
    global IN, OUT, ERR
    IN = sys.stdin = sys.__stdin__ = make_input()
    OUT = sys.stdout = sys.__stdout__ = make_output(1, "<stdout>", "surrogateescape")
    ERR = sys.stderr = sys.__stderr__ = make_output(2, "<stderr>", "backslashreplace")


def is_dead(stream):
    try:
        return stream is None or stream.closed is True
    except ValueError:  # what a detached one says
        return isinstance(stream, TextIOWrapper)
    except BaseException:
        return False


def repair_streams():
    """Gives back what an earlier eval closed or set to None; a replacement by the user stays."""
    global IN, OUT, ERR
    for fd in (0, 1, 2):
        try:
            fcntl(fd, F_GETFD)
        except OSError:
            try:
                dup2(SAVED[fd], fd)
            except OSError:
                pass
    if is_dead(getattr(sys, "stdin", None)):
        if is_dead(IN):
            IN = sys.__stdin__ = make_input()
        sys.stdin = IN
    if is_dead(getattr(sys, "stdout", None)):
        if is_dead(OUT):
            OUT = sys.__stdout__ = make_output(1, "<stdout>", "surrogateescape")
        sys.stdout = OUT
    if is_dead(getattr(sys, "stderr", None)):
        if is_dead(ERR):
            ERR = sys.__stderr__ = make_output(2, "<stderr>", "backslashreplace")
        sys.stderr = ERR


def drop_input():
    """Forgets what was read ahead and not used (the host empties the pipe)."""
    READERS.discard(MAIN)  # an interrupt may have cut the read's own bookkeeping
    if not S.stdin_used or READERS:  # a thread inside the read holds the buffer's lock
        return
    S.stdin_used = False
    S.draining = True
    for _ in range(2):  # strict decoding may fail on the first half of a character
        try:
            text_read(IN)
            break
        except BaseException:
            pass
    S.draining = False


# ---- threads, children, exit -----------------------------------------------------------------

def owner():
    me = get_ident()
    return S.eval if me == MAIN else THREADS.get(me, S.eval)


def run_thread(tag, function, args, kwargs):
    me = get_ident()
    if not S.child:
        THREADS[me] = tag
    try:
        return function(*args, **kwargs)
    except SystemExit:
        pass
    except BaseException as error:  # only raw _thread users get here; threading has its own
        try:
            clean(error)
            sys.stderr.write("Exception ignored in thread started by: %r\n%s" % (function, format_error(error)))
        except BaseException:
            pass
    finally:
        THREADS.pop(me, None)


def patch_threads():
    """Threads must know their eval from birth; threading starts its own through these."""
    start = _thread.start_new_thread

    def start_new_thread(function, args, kwargs={}, /):
        if not callable(function) or not isinstance(args, tuple) or not isinstance(kwargs, dict):
            return start(function, args, kwargs)
        return start(run_thread, (owner(), function, args, kwargs))

    _thread.start_new_thread = _thread.start_new = start_new_thread
    threading = modules.get("threading")
    if hasattr(threading, "_start_new_thread"):
        threading._start_new_thread = start_new_thread
    start_joinable = getattr(_thread, "start_joinable_thread", None)
    if start_joinable is None:
        return

    def start_joinable_thread(function, *args, **kwargs):
        tag = owner()
        return start_joinable(lambda: run_thread(tag, function, (), {}), *args, **kwargs)

    _thread.start_joinable_thread = start_joinable_thread
    if hasattr(threading, "_start_joinable_thread"):
        threading._start_joinable_thread = start_joinable_thread


def after_fork():
    S.child = True
    S.last = None
    THREADS.clear()
    READERS.clear()
    for fd in [CONTROL] + SAVED:
        try:
            close(fd)
        except OSError:
            pass


def leave_child(error=None):
    """A forked child that comes back from user code ends here and never speaks to the host."""
    if getpid() == PID:
        return
    code = 0
    try:
        if isinstance(error, SystemExit):
            code, message = exit_code(error)
            if message:
                sys.stderr.write(message + "\n")
        elif error is not None:
            code = 1
            clean(error)
            sys.stderr.write(format_error(error))
        flush_all()
    except BaseException:
        pass
    _exit(code & 0xFF)


class Quitter:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "Use %s() to end this session" % self.name

    def __call__(self, code=None):
        raise Leave(code)


def exit_code(error):
    """The code and the message of a SystemExit, as Python itself takes them."""
    code = getattr(error, "code", None)
    if code is None:
        return 0, ""
    if isinstance(code, int):
        code = int(code)
        return (code if -2**31 <= code < 2**31 else -1), ""
    return 1, safe_str(code)


def leave_session(error):
    """Lets the interpreter finish as any Python does; what it still prints is the eval's."""
    code, _ = exit_code(error)
    guarded(flush_all)
    S.finishing = True
    transmit('{"ev":"exiting","code":%d}\n' % (code & 0xFF))
    try:
        signal(SIGINT, S.user_sigint or default_int_handler)
    except BaseException:
        pass
    raise Finish(error.code)


class Finish(SystemExit):
    """Ends the command loop."""


# ---- errors ----------------------------------------------------------------------------------

def import_stdlib(name):
    """Imports from the standard library only, whatever lies in cwd or on PYTHONPATH."""
    module = modules.get(name)
    if module is not None:
        return module
    path = sys.path
    sys.path = STDLIB
    try:
        return __import__(name)
    finally:
        sys.path = path


class SourceFinder:
    """Hands the sources of the evals so far to linecache when it is first imported.

    Importing linecache at start would cost a third of the start time on 3.8 to 3.12.
    """

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "linecache":
            return None
        try:
            sys.meta_path.remove(cls)
            for finder in sys.meta_path:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                register_sources(module)

            spec.loader.exec_module = exec_module
            return spec
        except Exception:
            return None


def register_sources(linecache):
    try:
        linecache.cache.update(SOURCES)
    except Exception:  # a module of the user's with that name
        pass


def remember_source(name, source):
    # linecache's own entries end in a line feed too; carets are off by one without.
    lines = [line + "\n" for line in source.replace("\r\n", "\n").split("\n")]
    entry = (len(source), None, lines, name)
    previous = next(reversed(SOURCES), None)
    SOURCES[name] = entry
    SOURCE_BYTES[0] += len(source)
    linecache = modules.get("linecache")
    cache = getattr(linecache, "cache", None)
    if type(cache) is not dict:
        cache = {}
    elif previous is not None and previous not in cache:
        register_sources(linecache)  # the user cleared it
    cache[name] = entry
    while len(SOURCES) > SOURCES_KEPT or SOURCE_BYTES[0] > SOURCE_BYTES_KEPT and len(SOURCES) > 1:
        oldest = next(iter(SOURCES))
        SOURCE_BYTES[0] -= SOURCES.pop(oldest)[0]
        cache.pop(oldest, None)


def clean(error):
    """Takes the bridge's frames out of an exception and all that hang on it."""
    todo, seen = [error], set()
    while todo:
        error = todo.pop()
        if not isinstance(error, BaseException) or id(error) in seen:
            continue
        seen.add(id(error))
        try:
            error.__traceback__ = without_bridge(error.__traceback__)
            todo += [error.__cause__, error.__context__]
            inner = getattr(error, "exceptions", None)
            if type(inner) is tuple:
                todo.extend(inner)
        except Exception:
            pass


def without_bridge(traceback):
    first = last = None
    while traceback is not None:
        following = traceback.tb_next
        if traceback.tb_frame.f_code.co_filename != BRIDGE_FILE:
            if last is None:
                first = traceback
            elif last.tb_next is not traceback:
                last.tb_next = traceback
            last = traceback
        traceback = following
    if last is not None and last.tb_next is not None:
        last.tb_next = None
    return first


def format_error(error):
    try:
        module = import_stdlib("traceback")
        if sys.version_info >= (3, 11):  # it imports these in the middle of its work, from the user's path
            attempt(import_stdlib, "ast")
            attempt(import_stdlib, "unicodedata")
        text = "".join(module.format_exception(type(error), error, error.__traceback__))
    except KeyboardInterrupt:
        raise
    except BaseException:  # user code broke traceback, or the exception breaks it
        text = format_plainly(error)
    return cut(text, TRACEBACK_BUDGET)


def format_plainly(error):
    lines = []
    traceback = error.__traceback__
    while traceback is not None and len(lines) < 200:
        code = traceback.tb_frame.f_code
        lines.append('  File "%s", line %s, in %s\n' % (code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    if lines:
        lines.insert(0, "Traceback (most recent call last):\n")
    message = safe_str(error)
    return "".join(lines) + type_name(error) + (": " + message if message else "") + "\n"


def safe_str(value):
    try:
        text = str(value)
        return cut(text if type(text) is str else str.__str__(text), MESSAGE_BUDGET)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return "<%s object, str raised %s>" % (type_name(value), type_name(error))


def type_name(value):
    return type.__dict__["__name__"].__get__(type(value))


def cut(text, budget):
    """Keeps the head and the tail of a text and says how much is left out."""
    if len(text) <= budget:
        return text
    mark = " … (%d characters) … " % len(text)
    room = max(budget - len(mark), 2)
    return text[:room - room // 2] + mark + text[len(text) - room // 2:]


def report_error(error, events, source):
    """Adds the error event and sets sys.last_*; the user's own excepthook prints by itself."""
    clean(error)
    if isinstance(error, SyntaxError) and error.filename == file_name() and error.text is None:
        try:  # compiling from a tree, Python does not know the text
            error.text = source.splitlines(True)[error.lineno - 1]
        except Exception:
            pass
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    hook = getattr(sys, "excepthook", None)
    event = {"ev": "error", "name": type_name(error), "message": ""}
    try:
        event["message"] = run_user(safe_str, error)
        if hook is not sys.__excepthook__ and callable(hook):
            run_user(hook, type(error), error, error.__traceback__)
        else:
            event["traceback"] = run_user(format_error, error)
    except BaseException as trouble:
        leave_child(trouble)
        if isinstance(trouble, KeyboardInterrupt) and S.fired and not isinstance(error, KeyboardInterrupt):
            event["traceback"] = "%s (an interrupt stopped the report)\n" % type_name(error)
        else:
            event["traceback"] = guarded(format_plainly, error) or type_name(error) + "\n"
    events.append(dump(event))


# ---- values ----------------------------------------------------------------------------------

class TooLong(Exception):
    pass


BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}"), set: ("{", "}"), frozenset: ("frozenset({", "})")}


def render(value, budget=VALUE_BUDGET):
    """Exactly repr(value) if that fits; otherwise containers are cut structurally, with counts."""
    try:
        parts = []
        render_whole(value, [budget], parts, ())
        return "".join(parts)
    except TooLong:
        pass
    except RecursionError:
        return "<%s object, repr raised RecursionError>" % type_name(value)
    return cut(render_cut(value, budget, 0), budget + 80)


def render_whole(value, left, parts, outer):
    kind = type(value)
    brackets = BRACKETS.get(kind)
    if brackets is None:
        text = render_leaf(value, left[0])
        return put(text, left, parts)
    if not value:
        return put(repr(value), left, parts)
    if len(value) * 3 - 2 > left[0] or len(outer) > 200:
        raise TooLong
    if id(value) in outer:
        return put("[...]" if kind is list else "(...)" if kind is tuple else "{...}", left, parts)
    outer += (id(value),)
    put(brackets[0], left, parts)
    first = True
    for item in list(value):
        if not first:
            put(", ", left, parts)
        first = False
        render_whole(item, left, parts, outer)
        if kind is dict:
            put(": ", left, parts)
            render_whole(value[item], left, parts, outer)
    put(",)" if kind is tuple and len(value) == 1 else brackets[1], left, parts)


def put(text, left, parts):
    left[0] -= len(text)
    if left[0] < 0:
        raise TooLong
    parts.append(text)


def render_leaf(value, limit):
    kind = type(value)
    if kind is str or kind is bytes or kind is bytearray:
        if len(value) > limit:
            raise TooLong
    elif kind is int and value.bit_length() > 14_000:  # repr is quadratic, and refused by 3.11+
        raise TooLong
    return safe_repr(value)


def safe_repr(value):
    try:
        text = repr(value)
        return text if type(text) is str else str.__str__(text)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        name = type_name(value)
        return cut("<%s object, repr raised %s: %s>" % (name, type_name(error), safe_str(error)), 500)


def render_cut(value, budget, depth):
    kind = type(value)
    brackets = BRACKETS.get(kind)
    if kind is str or kind is bytes or kind is bytearray:
        if len(value) <= budget:
            return cut(repr(value), budget)
        half = max(budget // 2 - 20, 8)
        unit = "characters" if kind is str else "bytes"
        head, tail = value[:half], value[-half:]
        if kind is not str:
            head, tail = bytes(head), bytes(tail)
        head, tail = repr(head)[:-1], repr(tail).lstrip("b")[1:]
        return "%s … %s (%d %s)" % (cut(head, budget // 2), cut(tail, budget // 2), len(value), unit)
    if kind is int and value.bit_length() > 14_000:
        return cut(hex(value), budget) + " (%d bits)" % value.bit_length()
    if brackets is None or not value:
        return cut(safe_repr(value), budget)
    if depth > 20 or depth and budget <= 30:
        return "%s…%s (%d items)" % (brackets[0], brackets[1], len(value))
    return render_some(value, kind, brackets, budget, depth)


def render_some(value, kind, brackets, budget, depth):
    size = len(value)
    share = max(budget // min(size, 8), 30)

    def one(item):
        try:
            parts = []
            render_whole(item, [share], parts, ())
            return "".join(parts)
        except (TooLong, RecursionError):
            return render_cut(item, share, depth + 1)

    def entry(item):
        return one(item) + ": " + one(value[item]) if kind is dict else one(item)

    tail = ""
    if size == 1:
        return "%s%s%s" % (brackets[0], entry(next(iter(value))), brackets[1])
    if kind is list or kind is tuple:
        tail = one(value[-1])
    elif kind is dict:
        tail = entry(next(reversed(value)))
    room = budget - len(tail) - 40
    shown, used = [], 0
    for item in value:
        text = entry(item)
        used += len(text) + 2
        if shown and used > room or len(shown) >= size - 1:
            break
        shown.append(text)
    middle = [] if len(shown) == size - 1 and tail else ["…"]
    text = ", ".join(shown + middle + ([tail] if tail else []))
    return "%s%s%s (%d items)" % (brackets[0], text, brackets[1], size)


def displayhook(value):
    """sys.displayhook of the session; user code may call it on the way."""
    if value is None:
        return
    builtins._ = None
    text, kind = render(value), type_name(value)
    builtins._ = value
    if S.child or not S.running or get_ident() != MAIN:
        sys.stdout.write(text + "\n")
        return
    flush_all()
    transmit('{"ev":"value","text":%s,"type":%s,"ack":true}\n' % (quote(text), quote(kind)))
    await_ack()
    if S.pending:
        raise_pending()


def show_last(value):
    """The value of the last expression: ours travels with `done`, so that it costs no wait."""
    hook = getattr(sys, "displayhook", None)
    if hook is displayhook or hook is None:
        if value is not None:
            builtins._ = None
            S.final = '{"ev":"value","text":%s,"type":%s}' % (quote(render(value)), quote(type_name(value)))
            builtins._ = value
    else:
        hook(value)


# ---- names -----------------------------------------------------------------------------------

REFLECTIVE = {"globals", "exec", "vars", "setattr", "delattr", "locals", "eval", "__main__", "__dict__", "modules", "runpy"}
SIZED = (list, tuple, dict, set, frozenset, str, bytes, bytearray)
SHAPED = ("numpy", "pandas", "polars", "torch", "tensorflow", "jax", "jaxlib", "pyarrow", "xarray", "scipy", "cupy")


def size_of(value):
    """A size that costs nothing to know; no __len__ of the user's is called."""
    kind = type(value)
    try:
        if kind in SIZED:
            return str(len(value))
        if kind.__module__.partition(".")[0] in SHAPED:
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape):
                return "×".join([str(int(n)) for n in shape]) or None
    except Exception:
        pass
    return None


def is_user_name(name):
    return type(name) is str and not (name.startswith("__") and name.endswith("__"))


def names_of(code):
    """Every name the code mentions, also in the functions it defines."""
    found, todo = {}, [code]
    while todo:
        code = todo.pop()
        found.update(dict.fromkeys(code.co_names))
        todo.extend([c for c in code.co_consts if type(c) is type(code)])
    return found


def find_globals(tree):
    """Remembers names declared global in functions: a later call may bind them."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, _ast.Global):
            GLOBALS.update(node.names)
        for field in node._fields:
            child = getattr(node, field, None)
            if isinstance(child, list):
                todo.extend([c for c in child if isinstance(c, _ast.AST)])
            elif isinstance(child, _ast.AST):
                todo.append(child)


def changes(codes, source):
    """What the eval did to the names, at the cost of the names it mentions."""
    candidates = {}
    for code in codes:
        candidates.update(names_of(code))
    candidates.update(dict.fromkeys(GLOBALS))
    whole = not REFLECTIVE.isdisjoint(candidates) or "import *" in source
    added, rebound, removed = [], [], []
    if not whole:
        compare(candidates, added, rebound, removed)
        whole = S.names + len(added) - len(removed) != len(SPACE)
    if whole:
        compare(dict.fromkeys([*KNOWN, *SPACE]), added, rebound, removed)
    S.names = len(SPACE)
    if not (added or rebound or removed):
        return None
    more, room, listed = 0, CHANGES_LISTED, {}
    for key, names in (("added", added), ("rebound", rebound), ("removed", removed)):
        more += max(len(names) - room, 0)
        names = names[:room]
        room -= len(names)
        if names:
            listed[key] = names if key == "removed" else [describe(name) for name in names]
    if more:
        listed["more"] = more
    return listed


def compare(candidates, added, rebound, removed):
    for name in candidates:
        if not is_user_name(name):
            continue
        if name in SPACE:
            now = id(SPACE[name])
            before = KNOWN.get(name)
            if before != now:
                (added if before is None else rebound).append(name)
                KNOWN[name] = now
        elif KNOWN.pop(name, None) is not None:
            removed.append(name)


def describe(name):
    value = SPACE.get(name)
    return {"name": name, "type": type_name(value), "size": size_of(value)}


# ---- evals -----------------------------------------------------------------------------------

def file_name():
    return "<" + S.eval + ">"


def compile_all(source):
    """The whole code, before any of it runs: statements, and the last expression by itself."""
    flags = S.flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(source, file_name(), "exec", flags | _ast.PyCF_ONLY_AST, True)
    body, last = tree.body, None
    if body and isinstance(body[-1], _ast.Expr):
        last = _ast.Expression(body.pop().value)
    if "global" in source:
        find_globals(tree)
    code = None
    if body:
        code = compile(tree, file_name(), "exec", flags, True)
        if "__future__" in source:
            future = import_stdlib("__future__")
            for name in future.all_feature_names:
                flags |= code.co_flags & getattr(future, name).compiler_flag
    if last is not None:
        last = compile(last, file_name(), "eval", flags, True)
    S.flags = flags & ~_ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return code, last


def run_codes(codes):
    """Runs compiled code; if there is a top-level await anywhere, all of it on the session's loop."""
    value = None
    for code in codes:
        if code.co_flags & 0x80:  # CO_COROUTINE
            return run_user(run_async, codes)
    for code in codes:
        value = run_user(eval, code, SPACE)
    return value


def is_aimed_at(eval_id):
    """Whether an interrupt that came before the code could run was meant for it, and not for the last eval."""
    if ioctl(CONTROL, FIONREAD, EMPTY) != EMPTY:
        fill()
    return INBOX.startswith(b"interrupt " + eval_id.encode("ascii") + b" 0\n")


def do_eval(eval_id, payload):
    if S.pending:  # else nothing is stored: one may come right here
        S.pending = False
        if is_aimed_at(eval_id):
            S.pending = True
    S.fired = S.cancelled = S.swallowed = S.hung_up = False
    S.eval, S.final = eval_id, None
    SPACE["__builtins__"] = builtins  # without them no code could even import
    repair_streams()
    drop_input()
    S.last = OUT
    S.running = True
    events, codes, source, error = [], [], "", None
    status, code = "ok", None
    try:
        source = payload.decode("utf-8", "replace")
        if source[:1] == "\ufeff":
            source = source[1:]
        remember_source(file_name(), source)
        body, last = compile_all(source)
        codes = [part for part in (body, last) if part is not None]
        value = run_codes(codes)
        if last is not None:
            run_user(show_last, value)
        value = None
    except BaseException as caught:
        error = caught
    leave_child(error)
    reclaim_sigint()
    if isinstance(error, Leave):
        leave_session(error)
    if error is not None:
        status, code = end_with(error, events, source)
        error = None
    elif S.final is not None:
        events.append(S.final)
    guarded(flush_all)
    reclaim_sigint()
    drop_input()
    with WRITING:
        S.running = False
        S.last = None
    flush_own()  # what a thread wrote since the last flush is this eval's too
    finish_eval(status, code, codes, source, events)


def end_with(error, events, source):
    """Reports how the eval failed: its status, and the code if it was an exit."""
    if S.hung_up and not isinstance(error, KeyboardInterrupt):  # bdb.BdbQuit, or sys.exit of 3.14
        report_error(error, events, source)
        return "interrupted", None
    if isinstance(error, SystemExit):
        code, message = exit_code(error)
        if code == 0:
            return "ok", 0
        events.append(dump({"ev": "error", "name": "SystemExit", "message": message or str(code)}))
        return "error", code
    interrupted = isinstance(error, KeyboardInterrupt) and (S.fired or S.user_sigint is not None)
    report_error(error, events, source)
    return ("interrupted" if interrupted else "error"), None


def finish_eval(status, code, codes, source, events):
    changed = None
    try:
        changed = changes(codes, source)
    except BaseException:  # a namespace with strange keys
        pass
    done = '{"ev":"done","eval":%s,"status":"%s"' % (quote(S.eval), status)
    if code is not None:
        done += ',"exit_code":%d' % code
    if changed:
        done += ',"changed":' + dump(changed)
    events.append(done + ',"variables":%d}\n' % len(KNOWN))
    transmit("\n".join(events))


def make_namespace():
    """A fresh __main__, as a script would find it but without __file__."""
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    modules["__main__"] = main
    return main


def read_line(prompt="", /):
    """Read a string from standard input.  The trailing newline is stripped.

    The prompt string, if given, is printed to standard output without a
    trailing newline before reading input.

    If the user hits EOF, raise EOFError."""
    # The builtin drops an interrupt that comes while it flushes its prompt.
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name, None) is None:
            raise RuntimeError("input(): lost sys." + name)
    guarded_flush(sys.stderr)
    sys.stdout.write(str(prompt))
    guarded_flush(sys.stdout)
    line = sys.stdin.readline()
    if not isinstance(line, str):
        raise TypeError("object.readline() returned non-string")
    if not line:
        raise EOFError("EOF when reading a line")
    return line[:-1] if line[-1] == "\n" else line


read_line.__name__ = read_line.__qualname__ = "input"
read_line.__module__ = "builtins"


def guarded_flush(stream):
    try:
        stream.flush()
    except Exception:
        pass


def reset_builtins():
    builtins.input = read_line
    builtins.exit, builtins.quit = Quitter("exit"), Quitter("quit")
    sys.displayhook, sys.excepthook, sys.unraisablehook = displayhook, sys.__excepthook__, on_unraisable


# ---- await -----------------------------------------------------------------------------------

def session_loop():
    """Critical: half a loop is of no use."""
    asyncio = import_stdlib("asyncio")
    if S.loop is None or S.loop.is_closed():
        S.loop = asyncio.new_event_loop()
    asyncio.set_event_loop(S.loop)
    return S.loop


CRITICAL.add(session_loop.__code__)


def run_async(codes):
    """Runs code to its end on the loop that all evals share."""
    loop = session_loop()
    if S.pending:
        raise_pending()
    kept, raised = [], None

    async def keep():
        value = None
        try:
            for code in codes:
                value = eval(code, SPACE)
                if code.co_flags & 0x80:
                    value = await value
            return value
        except BaseException as error:  # before the loop's frames are added to its traceback
            kept[:] = [error, error.__traceback__]
            raise

    task = S.task = loop.create_task(keep())
    task.add_done_callback(lambda _: loop.stop())
    while not task.done():
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit) as error:
            raised = error
            task.cancel()
    S.task = None
    if task.cancelled():
        error = raised or (KeyboardInterrupt() if S.cancelled else kept[0] if kept else task.exception())
        raise error.with_traceback(kept[1] if kept and raised is None else error.__traceback__)
    if task.exception() is not None:
        # An interrupt on its very first line comes before anything could be kept.
        raise kept[0].with_traceback(kept[1]) if kept else task.exception()
    if raised is not None:
        raise raised
    return task.result()


RUN_ASYNC = run_async.__code__


def idle_loop():
    """Lets background tasks go on until the host has a command."""
    loop = S.loop
    try:
        asyncio = modules["asyncio"]
        arrived = list(INBOX[:1])
        while not arrived and not loop.is_closed() and (asyncio.all_tasks(loop) or loop._scheduled or loop._ready):
            loop.add_reader(CONTROL, lambda: (arrived.append(1), loop.stop()))
            try:
                loop.run_forever()
            except (SystemExit, KeyboardInterrupt):  # of a task; the others go on
                pass
            finally:
                leave_child()
                loop.remove_reader(CONTROL)
    except BaseException:  # a broken loop: the command will come anyway
        pass


IDLE_LOOP = idle_loop.__code__


# ---- queries ---------------------------------------------------------------------------------

def do_query(seq, what, argument):
    S.pending = S.fired = False
    repair_streams()
    running, S.running = S.running, True
    try:
        answer = {"seq": int(seq), "data": run_user(ask, what, argument)}
    except KeyboardInterrupt:
        answer = {"seq": int(seq), "error": "interrupted"}
    except BaseException as error:
        leave_child(error)
        answer = {"seq": int(seq), "error": guarded(safe_str, error) or type_name(error)}
    S.running = running
    reclaim_sigint()
    answer = dump(answer)
    transmit('{"ev":"reply",' + answer[1:] + "\n")


def ask(what, argument):
    if what == "vars":
        names = [name for name in list(SPACE) if is_user_name(name)]
        listed = [dict(describe(name), value=cut(render(SPACE.get(name), 100), 120)) for name in names[:VARS_LISTED]]
        return {"vars": listed, "more": max(len(names) - VARS_LISTED, 0)}
    if what == "inspect":
        return inspect_name(argument)
    if what == "code":
        return {"code": compiled_bridge()}
    raise ValueError("unknown query `%s`" % what)


def compiled_bridge():
    """This bridge as `code` for boot.py: compiling it costs more than all the rest of the start."""
    magic = modules["_frozen_importlib_external"].MAGIC_NUMBER
    return (magic + import_stdlib("marshal").dumps(CODE)).hex()


def inspect_name(dotted):
    first, *rest = dotted.strip().split(".")
    if first in SPACE:
        value = SPACE[first]
    elif first in vars(builtins):
        value = vars(builtins)[first]
    else:
        raise NameError("name '%s' is not defined" % first)
    for attribute in rest:
        value = getattr(value, attribute)
    answer = {"name": dotted.strip(), "type": type_name(value), "value": render(value), "size": size_of(value)}
    members = [name for name in attempt(dir, value) or [] if type(name) is str and not name.startswith("_")]
    answer["members"] = members[:200]
    inspect = attempt(import_stdlib, "inspect")
    if inspect is None or not (callable(value) or isinstance(value, ModuleType)):
        return answer
    answer["doc"] = bounded(attempt(inspect.getdoc, value))
    answer["file"] = bounded(attempt(inspect.getsourcefile, value))
    if callable(value):
        answer["signature"] = bounded(attempt(lambda: str(inspect.signature(value))))
        answer["source"] = bounded(attempt(inspect.getsource, value))
    return answer


def bounded(text):
    return cut(text, MESSAGE_BUDGET) if type(text) is str else None


def attempt(call, *args):
    try:
        return call(*args)
    except Exception:
        return None


def do_clear(seq):
    S.pending = S.fired = False
    old = dict(SPACE)
    SPACE.clear()
    SPACE.update(vars(ModuleType("__main__")))
    SPACE["__builtins__"] = builtins
    modules["__main__"] = MODULE
    S.flags, S.names, S.final = 0, len(SPACE), None
    KNOWN.clear()
    GLOBALS.clear()
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    vars(builtins).pop("_", None)
    reset_builtins()
    guarded(old.clear)  # finalizers of the user's run here
    del old
    reclaim_sigint()
    transmit('{"ev":"reply","seq":%d,"data":{}}\n' % int(seq))


# ---- the loop --------------------------------------------------------------------------------

def step():
    if S.loop is not None:
        idle_loop()
    words, payload = receive()
    if words[0] == "eval":
        do_eval(words[1], payload)
    elif words[0] == "query":
        do_query(words[1], words[2], payload.decode("utf-8", "replace"))
    elif words[0] == "clear":
        do_clear(words[1])
    elif words[0] == "exit":
        S.finishing = True
        signal(SIGINT, default_int_handler)
        raise Finish(0)


def serve():
    while True:
        try:
            step()
        except Finish:
            raise
        except BaseException as error:  # nothing of the user's should get here; go on all the same
            leave_child(error)
            reclaim_sigint()
            try:
                transmit(dump({"ev": "log", "text": "bridge: " + format_plainly(error)}) + "\n")
                if S.running:
                    S.running, S.last = False, None
                    transmit(dump({"ev": "error", "name": type_name(error), "message": safe_str(error)}) + "\n")
                    transmit(dump({"ev": "done", "eval": S.eval, "status": "error"}) + "\n")
            except BaseException:
                pass


def start():
    signal(SIGINT, on_sigint)
    signal(SIGURG, on_sigurg)
    signal(SIGWINCH, on_nudge)
    if _os is not None:
        _os.environ.pop("STEAD_BRIDGE_FD", None)
    else:
        posix.environ.pop(b"STEAD_BRIDGE_FD", None)
        posix.unsetenv("STEAD_BRIDGE_FD")
    open_streams()
    sys.argv = [""]
    if "" not in sys.path[:1] and not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path.insert(0, "")
    if "linecache" not in modules:
        sys.meta_path.insert(0, SourceFinder)
    patch_threads()
    if hasattr(posix, "register_at_fork"):
        posix.register_at_fork(after_in_child=after_fork)
    reset_builtins()
    transmit(dump({
        "ev": "hello", "protocol": 1, "language": "python", "version": sys.version.split()[0],
        "executable": sys.executable or "", "pid": PID, "can": ["clear", "vars", "inspect", "changed", "code"]}) + "\n")


MODULE = make_namespace()
SPACE = MODULE.__dict__
S.names = len(SPACE)
start()
try:
    serve()
except Finish as finish:
    code = finish.code
raise SystemExit(code)

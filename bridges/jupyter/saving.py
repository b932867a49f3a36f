"""Saving in the Python of a Jupyter kernel: what the part `saving` of the Python bridge asks of its bridge, answered by a kernel.

Wire:   `work` is called by the jupyter adapter through the helper (names.py); the repr of its answer is JSON.
Needs:  CPython 3.8+, standard library only; runs in a namespace that nobody else sees, which the helper gives `NAMES`, itself.
Tested: test_saving.py beside it, tests/e2e/kernel_saving.rs, and tests/conformance.

lib.rs joins this file, plain.py and the files of that part into one text: they are one namespace, which the adapter sends when
it is first needed.
"""
import _ast
import _io
import _thread
import builtins
import posix
import signal
import sys
from _collections import deque
from _operator import is_not
from gc import get_referents
from posix import close, fstat, getcwd, getpid, read, stat, write
from time import monotonic

NAMES = globals()["NAMES"]      # the helper
modules, getframe = sys.modules, sys._getframe
ModuleType, CodeType = type(sys), type((lambda: None).__code__)
_home = getattr(modules.get("os"), "__file__", "").rpartition("/")[0]
STDLIB = [folder for folder in sys.path if folder == _home or (type(folder) is str and folder.endswith("/lib-dynload"))] or [_home, _home + "/lib-dynload"]
MAGIC_NUMBER = modules["_frozen_importlib_external"].MAGIC_NUMBER
BRIDGE_FILE = "<stead>"         # the file that this code is of, in tracebacks
MESSAGE_BUDGET, TRACEBACK_BUDGET = 8 * 1024, 64 * 1024
PID = getpid()
MODULE, SPACE = None, {}        # the user's module and namespace, while something is saved or loaded

SOURCES = {}                    # file name of a cell, or of a text that was loaded -> its source
RECENT = deque()                # the keys of SOURCES, oldest first
STOPPED = {}                    # file name of a cell -> the line at which an error left it
CELLS = {}                      # number of a cell -> the name of its file
LOADED_TEXTS = {}               # the part of SOURCES that loads have brought
TEXT_NAMED_MOST = 100_000       # characters of a cell whose file's name is computed, which takes long
GIVEN_PATH = NAMES.PATH         # folders on `sys.path` that the kernel has put there
CRITICAL, LIMITED = set(), set()
CHANGED = {"before": {}}        # the figures that pyplot had before a load; never empty, so that it is looked each time


class State:
    eval = None         # id of the work that runs
    flags = 0           # compiler flags of __future__ imports so far
    pending = False     # an interrupt came while it could not be raised
    interrupt = 0
    show_until = 0.0    # when the texts of values are given up; 0 while none are made


class Interrupt:
    NONE = 0
    RAISED = 1


class Trouble(Exception):
    """Why work could not be done. It is told as it is, without a traceback."""

    report = None       # what is reported of it all the same


class Leave(SystemExit):
    """What exit() raises in a session of the bridge; nothing raises it in a kernel."""


class TooSlow(BaseException):
    """Raised in user code whose result is not worth more time."""


S = State()
STOPS = (KeyboardInterrupt, TooSlow)


# ---- interrupts ------------------------------------------------------------------------------

def run_user(call, *args):
    """The one door to what may be interrupted: below this frame an interrupt is raised, above it is held back."""
    if S.pending:
        raise_pending()
    return call(*args)


RUN_USER = run_user.__code__


def raise_pending():
    S.pending, S.interrupt = False, Interrupt.RAISED
    raise KeyboardInterrupt


def on_interrupt(_number, frame):
    while frame is not None and frame.f_code not in CRITICAL:
        if frame.f_code is RUN_USER:
            S.interrupt = Interrupt.RAISED
            raise KeyboardInterrupt
        frame = frame.f_back
    S.pending = True


def take_signals():
    """Puts handlers of ours in the place of the kernel's; what was there. Only the main thread can do that, and only there do they run."""
    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGURG):
            handler = signal.getsignal(number)
            # None is a handler that Python does not know and could not give back.
            if handler is not None and (number == signal.SIGINT or handler is NAMES.interrupt):
                before[number] = signal.signal(number, on_interrupt)
    except ValueError:
        pass
    return before


def give_back(before):
    for number, handler in before.items():
        signal.signal(number, handler)


def leave_child(error=None):
    """A forked child that comes back from user code ends here: the file and the kernel's connections are not its own."""
    if getpid() != PID:
        for stream in (sys.stdout, sys.stderr):
            attempt(stream.flush)
        posix._exit(1 if error is not None else 0)


def within(seconds, call, *args):
    """What a call gives; raises TooSlow in what it has called through a function of LIMITED, after that time."""
    done, main = _thread.allocate_lock(), _thread.get_ident()
    try:
        before = signal.signal(signal.SIGWINCH, give_up)
    except ValueError:  # not the main thread: then without a limit
        return call(*args)
    S.show_until = monotonic() + seconds
    done.acquire()
    _thread.start_new_thread(watch_time, (done, seconds, main))
    try:
        return call(*args)
    finally:
        S.show_until = 0.0
        done.release()
        signal.signal(signal.SIGWINCH, signal.SIG_DFL if before is None else before)


def watch_time(done, seconds, main):
    while not done.acquire(True, seconds):
        signal.pthread_kill(main, signal.SIGWINCH)
        seconds = 0.5   # an `except` of the user's may have stopped it


def give_up(_number, frame):
    while S.show_until and monotonic() >= S.show_until and frame is not None:
        if frame.f_code in LIMITED:
            raise TooSlow
        frame = frame.f_back


# ---- names and values ------------------------------------------------------------------------

def is_user_name(name):
    return NAMES.is_user_name(SPACE, name)


def is_hidden(name):
    """Whether a name is the kernel's own, like `In`, `_3`, `exit` and `get_ipython`."""
    return name in SPACE and not is_user_name(name)


def describe(name):
    return NAMES.describe(SPACE, name)


def render(value, budget, _brief):
    try:
        text = NAMES.SHORT.repr(value)
    except STOPS:
        raise
    except BaseException as error:
        text = "<%s object, repr raised %s>" % (type_name(value), type_name(error))
    return cut(" ".join(text.split()), budget)


def open_figures():
    return getattr(getattr(modules.get("matplotlib._pylab_helpers"), "Gcf", None), "figs", None) or {}


def set_aside():
    """Takes figures that a load has brought from pyplot, which would show them with the next cell."""
    figures = open_figures()
    for number in [number for number in figures if number not in CHANGED["before"]]:
        figures.pop(number, None)


# ---- sources ---------------------------------------------------------------------------------

def remember_source(name, text):
    SOURCES[name] = LOADED_TEXTS[name] = text
    RECENT.append(name)
    cache = getattr(modules.get("linecache"), "cache", None)
    if type(cache) is dict:
        cache[name] = len(text), None, [line + "\n" for line in text.split("\n")], name


def files_bound(name):
    """The cells that may have bound a name last, the newest first, by the names of their files."""
    bound = NAMES.BOUND.get(name)
    if type(bound) is str:
        return [file for file in [LOADED.get((bound, name))] if file is not None]
    if not CELLS:
        return list(reversed(RECENT))
    first, last = bound or (1, max(CELLS))
    return list(dict.fromkeys([CELLS[number] for number in range(last, first - 1, -1) if number in CELLS]))


def take_cells():
    """Notes the sources of all cells that have run. IPython has a list of them, with numbers and without the names of their
    files; linecache has the names. Cells that are in no history, and what was loaded, count as older than those that are."""
    shell = NAMES.current_shell()
    compiler, history = getattr(shell, "compile", None), getattr(shell, "history_manager", None)
    numbers = getattr(compiler, "_filename_map", None) or {}
    S.flags = getattr(compiler, "flags", 0)
    cache = getattr(modules.get("linecache"), "cache", None) or {}
    texts = {file: "".join(cache[file][2]) for file in list(cache) if is_cell(file, numbers) and len(cache[file]) > 2}
    by_text = {}
    for file, text in texts.items():
        by_text.setdefault(text, []).append(file)
    for state in (SOURCES, CELLS, STOPPED):
        state.clear()
    SOURCES.update({**texts, **LOADED_TEXTS})
    raw = getattr(history, "input_hist_raw", ())
    for number, text in enumerate(getattr(history, "input_hist_parsed", ())):
        lines = "".join([line + "\n" for line in text.splitlines()])
        files = [file for file in by_text.get(lines, ()) if numbers.get(file) == number] or by_text.get(lines)
        if not files and 0 < number < len(raw) and 0 < len(text) < TEXT_NAMED_MOST:
            files = [attempt(compiler.get_code_name, raw[number], text, number)]
        if number and files and type(files[-1]) is str:
            add_cell(number, files[-1], text)
    RECENT.clear()
    RECENT.extend(SOURCES)


def add_cell(number, file, text):
    """One with the same text as an earlier one has the same file, and takes its place."""
    SOURCES.pop(file, None)
    SOURCES[file], CELLS[number] = text, file
    STOPPED.pop(file, None)
    if number in NAMES.STOPPED:
        STOPPED[file] = NAMES.STOPPED[number]


def is_cell(file, numbers):
    return type(file) is str and (file in numbers or "/ipykernel_" in file or "/xpython_" in file or file.startswith("<ipython-input-"))


# ---- work ------------------------------------------------------------------------------------

def work(space, eval_id, what, argument, place, sent=""):
    """Saves or loads. Whatever happens, the answer says it: an error in an expression would be told with a traceback of ours.
    `sent` is the copy of a file to load that lies here, if this is not where that file is."""
    global SPACE
    before, CHANGED["before"] = take_signals(), dict(open_figures())
    try:
        answer = do_work(space, eval_id, what, argument, place, sent)
        told = NAMES.changes(space, eval_id)
        return told_as_json({**answer, **told})
    finally:
        SPACE = {}
        give_back(before)


def do_work(space, eval_id, what, argument, place, sent):
    global MODULE, SPACE, PID
    S.eval, S.pending, S.interrupt, PID = eval_id, False, Interrupt.NONE, getpid()
    MODULE, SPACE = modules.get("__main__"), space
    remove_folders(sent)
    copy = ""
    try:
        if vars(MODULE) is not SPACE:
            failure = SaveError if what == "save" else LoadError
            raise failure("the names of this kernel are not those of its module `__main__`, where saved values are found again")
        if place and not sent and not is_same_place(place):
            answer = save_for_elsewhere(argument) if what == "save" else {"status": "elsewhere"}
            copy = answer.get("copy", "")
            return answer
        take_cells()
        path = argument.partition("\n")[0]
        return {"status": "ok", "report": save_session(argument) if what == "save" else load_as(path, sent or path)}
    except BaseException as error:
        leave_child(error)
        return told_error(error)
    finally:
        # A copy stays only if it is to be fetched.
        remove_folders(copy)


def told_as_json(answer):
    """`dump` spells out what is no text; the kernel shows nothing but ASCII in one line as it is."""
    return NAMES.Answer(NAMES.json.loads(dump(answer)))


def told_error(error):
    if isinstance(error, KeyboardInterrupt) and S.interrupt != Interrupt.NONE:
        return {"status": "interrupted"}
    trouble = {"name": type_name(error), "message": attempt(safe_str, error) or ""}
    if isinstance(error, Trouble):
        return {"status": "error", "trouble": trouble, "report": error.report}
    lines = attempt(real_module("traceback").format_exception, type(error), error, error.__traceback__)
    trouble["traceback"] = cut("".join(lines or ()), TRACEBACK_BUDGET)
    return {"status": "error", "trouble": trouble}


# ---- files of another machine ----------------------------------------------------------------
# A path that the kernel is given is one of the machine that the adapter runs on. Where that is another one, or another user's,
# the adapter writes and reads the file there, and the kernel has a copy for as long as it takes.

FOLDERS = []                    # where such copies lie


def is_same_place(place):
    """Whether a path means the same file here as where it was asked for: to the same user, on the same machine, from the same
    directory on."""
    boot, user, device, inode, folder = place.split(" ", 4)
    try:
        status = stat(folder)
        return boot == NAMES.boot_id() and posix.geteuid() == int(user) and (status.st_dev, status.st_ino) == (int(device), int(inode))
    except (OSError, ValueError):
        return False


def make_copy(path):
    """The path of a copy that is to be made; it has the name of the file itself, which tracebacks show."""
    folder = real_module("tempfile").mkdtemp(prefix="stead-")
    FOLDERS.append(folder)
    return folder + "/" + path.rpartition("/")[2]


def remove_folders(but):
    for folder in [folder for folder in FOLDERS if not but.startswith(folder + "/")]:
        FOLDERS.remove(folder)
        real_module("shutil").rmtree(folder, True)


def save_for_elsewhere(argument):
    path, _, rest = argument.partition("\n")
    copy = make_copy(path)
    take_cells()
    report = save_session("\n".join([copy, "force", rest.partition("\n")[2]]))
    report["path"] = path
    return {"status": "elsewhere", "copy": copy, "size": report["bytes"], "report": report}


def load_as(path, copy):
    """Loads a file that is known by another path."""
    try:
        report = load_session(copy)
        report["path"] = path
        return report
    except Trouble as error:
        again = type(error)(str(error).replace(copy, path))
        again.report = error.report and {**error.report, "path": path}
        raise again from None


def give_piece(copy, at, most):
    """A piece of a file that was saved here; behind the last one it is removed."""
    try:
        with _io.open(copy, "rb") as file:
            file.seek(at)
            data = file.read(most)
    except OSError as error:
        return told_as_json(told_error(error))
    if len(data) < most:
        remove_folders("")
    return told_as_json({"status": "piece", "data": real_module("binascii").b2a_base64(data, newline=False).decode()})


def take_piece(path, copy, data):
    """Adds a piece to the copy of a file that is to be loaded here."""
    try:
        if not copy:
            remove_folders("")
            copy = make_copy(path)
        with _io.open(copy, "ab") as file:
            file.write(real_module("binascii").a2b_base64(data))
    except OSError as error:
        return told_as_json(told_error(error))
    return told_as_json({"status": "taken", "copy": copy})


def drop_copies():
    remove_folders("")
    return told_as_json({})

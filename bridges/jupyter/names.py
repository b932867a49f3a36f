"""Names of a Jupyter kernel's Python: what an eval changed, what there is, and how to forget it.

Wire:   called by the jupyter adapter in `user_expressions`; the repr of each answer is JSON (crates/adapters/jupyter/src/python.rs).
        What a cell did is put into the `payload` of its reply, where the kernel lets us: an expression takes it much longer.
Needs:  Python 3.8+, standard library only; lives in a module of its own and leaves no name behind in the user's namespace.
Tested: test_names.py beside it, and tests/conformance.

lib.rs puts incomplete.py of the Python bridge behind this file: both are one namespace.
"""
import _ast
import builtins
import difflib
import fcntl
import inspect as _inspect
import itertools
import json
import keyword
import operator
import os
import reprlib
import signal
import sys
import termios
import threading
import time
import types

CHANGES_LISTED, VARS_LISTED, NAMES_LISTED, MEMBERS_LISTED = 50, 500, 200, 200
TEXT_BUDGET, VALUE_BUDGET, BRIEF = 8 * 1024, 2000, 100
SIZED = (list, tuple, dict, set, frozenset, str, bytes, bytearray)
SHAPED = ("numpy", "pandas", "polars", "torch", "tensorflow", "jax", "jaxlib", "pyarrow", "xarray", "scipy", "cupy")
HISTORY = ("In", "Out", "get_ipython", "exit", "quit", "open")  # IPython's own, unless the user has bound them anew
COLUMNS_COMPARED = 500
CHECKED = 1 << 20       # longer code is not looked at for whether it only ends too early
CHILDREN_WITHIN = 1.0
READ_CALL = b"0" if os.uname().machine == "x86_64" else b"63"    # the number of `read`, on other machines as on all newer ones
KERNELS = ("IPython", "ipykernel", "tornado", "zmq", "anyio", "asyncio", "xeus_python_shell")   # whose threads are not the user's

KNOWN = {}      # name -> id of its value; no reference, so nothing is kept alive
GIVEN = {}      # name -> id, of what was there before the user's first code
WATCHED = [[], []]  # all names but those of IPython's history, and the ids of their values
LAST = [None, 0]    # the last name of the namespace, and how many there are
MARKS = {}      # name -> shape and columns of a frame or array
BOUND = {}      # name -> numbers of the first and last cell of those that may have bound it; the eval's id for what was loaded
STOPPED = {}    # number of a cell -> the line at which an error left it
SEEN = [1]      # the number of the first cell whose names were not looked at yet
PATH = []       # what `sys.path` of a new kernel has, before any code of the user's
SHOWN = [0]     # the number of the last value in `Out`
SAVING = {}     # the namespace of saving.py, once that was sent
SESSION = [None]    # the id by which requests of the adapter are known
BORN = set()    # threads and children that were there before the user's first code
import_stdlib = __import__


class S:
    """What incomplete.py wants to know of the bridge that it was written for."""
    flags = 0


def file_name():
    return "<cell>"


class Answer:
    """Something whose repr is JSON, however the kernel shows it."""

    def __init__(self, content):
        self.text = json.dumps(content)

    def __repr__(self):
        return self.text


def begin(space, session=None):
    """Remembers what is there: of a new kernel all of it is the kernel's, of another one what IPython hides.

    `session` is the id by which the adapter's requests are known.
    """
    shell = current_shell()
    hidden = getattr(shell, "user_ns_hidden", None)
    names = [name for name in list(space) if isinstance(name, str)]
    given = names if hidden is None else [name for name in names if name in hidden or name in HISTORY]
    GIVEN.update({name: id(space[name]) for name in given})
    note_all(space)
    SEEN[0] = next_number(shell)
    if SEEN[0] == 1:
        PATH.extend(sys.path)
    BORN.update(threads(), children())
    SESSION[0] = session
    try:
        shell.events.register("post_run_cell", end_of_cell)
    except Exception:   # another kernel, which publishes what children write in another way
        pass
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGURG) is signal.SIG_DFL:
        signal.signal(signal.SIGURG, interrupt)
    return Answer({})


def interrupt(*_):
    """C's `system()` ignores SIGINT while its command runs. The adapter then sends SIGURG, which means the same while code runs."""
    __tracebackhide__ = True
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        raise KeyboardInterrupt


def current_shell():
    module = sys.modules.get("IPython")
    try:
        return module.get_ipython() if module is not None else None
    except Exception:
        return None


def next_number(shell):
    number = getattr(shell, "execution_count", 1)
    return number if isinstance(number, int) else 1


def end_of_cell(result=None, *_):
    """Puts what `after` says into the reply. Whatever goes wrong here is not the user's: without a word from us the adapter asks."""
    try:
        take_output_of_children()
        shell = current_shell()
        note_end(result, shell.user_ns)
        if SESSION[0] is not None and shell.parent_header["header"]["session"] == SESSION[0]:
            told = after(shell.user_ns, uncompiled(result))
            shell.payload_manager.write_payload({"source": "stead", "text": told.text})
    except (Exception, KeyboardInterrupt):
        pass


def uncompiled(result):
    """The source of a cell that could not be compiled."""
    source = getattr(getattr(result, "info", None), "raw_cell", None)
    return source if isinstance(getattr(result, "error_before_exec", None), SyntaxError) and isinstance(source, str) and len(source) <= CHECKED else None


def note_end(result, space):
    """Remembers where an error left a cell: what stands below has not run. The outermost frame of the user's is the cell's."""
    number, error = getattr(result, "execution_count", None), getattr(result, "error_in_exec", None)
    traceback = getattr(error, "__traceback__", None)
    while number is not None and traceback is not None:
        if traceback.tb_frame.f_globals is space:
            STOPPED[number] = traceback.tb_lineno
            return
        traceback = traceback.tb_next


def take_output_of_children():
    """Waits until what children have written to the kernel's standard streams is taken, so that it is published before the eval ends.

    ipykernel reads it in a thread for each stream, which may come to that only after the end. A thread that blocks in a read of
    an empty pipe has handed on all that was in it.
    """
    until = time.monotonic() + CHILDREN_WITHIN
    for stream in (sys.stdout, sys.stderr):
        source, thread = getattr(stream, "_fid", None), getattr(stream, "watch_fd_thread", None)
        if not isinstance(source, int) or not getattr(stream, "_should_watch", False):
            continue
        while not is_read_empty(source, getattr(thread, "native_id", None)) and time.monotonic() < until:
            time.sleep(0.0002)


def is_read_empty(source, thread):
    try:
        file = os.open("/proc/self/task/%d/syscall" % thread, os.O_RDONLY)
        try:
            waits = os.read(file, 200).split()[:2] == [READ_CALL, b"%#x" % source]
        finally:
            os.close(file)
        return waits and fcntl.ioctl(source, termios.FIONREAD, bytes(4)) == bytes(4)
    except (OSError, TypeError):
        return True     # it cannot be known


def is_user_name(space, name):
    if not isinstance(name, str) or (name.startswith("__") and name.endswith("__")):
        return False
    if name in GIVEN and GIVEN[name] == id(space[name]):
        return False
    return not is_history(name) and (name not in HISTORY or name not in GIVEN)


def is_history(name):
    """`_`, `__`, `_1`, `_i`, `_i1`, `_ih`, `_oh`, `_dh`, `_exit_code`: where IPython keeps its history."""
    if not name.startswith("_"):
        return False
    rest = name.lstrip("_")
    return not rest or rest.isdigit() or rest in ("ih", "oh", "dh", "exit_code") or (rest[0] == "i" and not rest.strip("i0123456789"))


def user_names(space):
    return [name for name in list(space) if is_user_name(space, name)]


def touched(space):
    """Names that were bound, or may have been deleted, since the last time; all of them where names have gone.

    New names stand behind the others. IPython adds two for each cell, which are not looked at again: code of a long session
    would wait for that.
    """
    new = names_behind(space)
    names, ids = WATCHED
    try:
        now = None if new is None else list(map(id, map(space.__getitem__, names)))
    except KeyError:    # a thread has deleted one in between
        now = None
    if now is None:
        watch(space)
        return {**dict.fromkeys(KNOWN), **dict.fromkeys(WATCHED[0])}
    found = dict.fromkeys(itertools.compress(names, map(operator.ne, ids, now)))
    ids[:] = now
    for name in new:
        if isinstance(name, str) and not is_history(name):
            names.append(name)
            ids.append(id(space.get(name)))
            found[name] = None
    return found


def names_behind(space):
    """The names behind the one that was the last; None if names have gone, or a thread is binding others."""
    last, count = LAST
    found = []
    try:
        for name in reversed(space):
            if name is last:
                break
            found.append(name)
    except RuntimeError:
        return None
    if len(space) != count + len(found):
        return None
    found.reverse()
    LAST[:] = found[-1] if found else last, count + len(found)
    return found


def watch(space):
    """Begins to watch all names that there are."""
    names = list(space)
    LAST[:] = names[-1] if names else None, len(names)
    names = [name for name in names if isinstance(name, str) and not is_history(name)]
    WATCHED[:] = names, [id(space.get(name)) for name in names]


def note_all(space):
    KNOWN.clear()
    MARKS.clear()
    watch(space)
    for name in user_names(space):
        KNOWN[name] = id(space[name])
        mark = mark_of(space[name])
        if mark is not None:
            MARKS[name] = mark


def after(space, source=None):
    """What has changed since the last time; of source that could not be compiled also whether it only ends too early."""
    answer = changes(space)
    if source is not None:
        error = refusal(source, _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | _ast.PyCF_ONLY_AST)  # noqa: F821
        if error is not None:
            error.__traceback__ = None
            answer["incomplete"] = is_incomplete(error, source)  # noqa: F821
    kind = type_of_last(space)
    if kind is not None:
        answer["type"] = kind
    return Answer(answer)


def changes(space, loaded=None):
    """What has changed since the last time; by `loaded`, if that is the id of a load."""
    seen, SEEN[0] = SEEN[0], next_number(current_shell())
    bound = loaded or (seen, SEEN[0] - 1)
    added, rebound, removed, told = [], [], [], {}
    # A frame or array may have been changed in place, which its id does not tell.
    for name in {**touched(space), **dict.fromkeys(MARKS)}:
        if name not in space or not is_user_name(space, name):
            if name in KNOWN:
                removed.append(name)
                del KNOWN[name]
                BOUND.pop(name, None)
                MARKS.pop(name, None)
            continue
        value, before = space[name], KNOWN.get(name)
        mark, old = mark_of(value), MARKS.get(name)
        if before is None:
            added.append(name)
        elif before != id(value) or (mark is not None and old is not None and mark != old):
            rebound.append(name)
            if mark is not None and old is not None and mark != old:
                told[name] = difference(old, mark)
        if before != id(value):
            BOUND[name] = bound
        KNOWN[name] = id(value)
        if mark is not None:
            MARKS[name] = mark
        elif old is not None:
            del MARKS[name]
    changed, room, more = {}, CHANGES_LISTED, 0
    for key, some in (("added", added), ("rebound", rebound), ("removed", removed)):
        listed = some[:room]
        room -= len(listed)
        more += len(some) - len(listed)
        if listed:
            changed[key] = listed if key == "removed" else [describe(space, name, told.get(name)) for name in listed]
    if more:
        changed["more"] = more
    return {"changed": changed, "variables": len(KNOWN)}


def type_of_last(space):
    """The type of the value that the last code had, by IPython's numbered history of values."""
    values = space.get("_oh")
    try:
        number = next(reversed(values)) if values else 0
        if number == SHOWN[0]:
            return None
        SHOWN[0] = number
        return type_name(values[number])
    except Exception:
        return None


def type_name(value):
    return type(value).__name__


def describe(space, name, change=None):
    value = space[name]
    told = {"name": name, "type": type_name(value)}
    size = size_of(value)
    if size is not None:
        told["size"] = size
    if change:
        told["change"] = change
    return told


def shape_of(value):
    if (type(value).__module__ or "").partition(".")[0] not in SHAPED:
        return None
    try:
        shape = tuple(int(n) for n in value.shape)
    except Exception:
        return None
    return shape


def size_of(value):
    if type(value) in SIZED:
        return str(len(value))
    shape = shape_of(value)
    return "×".join(map(str, shape)) if shape else None


def mark_of(value):
    """What of a frame or array can be compared at no cost."""
    shape = shape_of(value)
    if shape is None:
        return None
    try:
        columns = tuple(map(str, list(value.columns)[:COLUMNS_COMPARED]))
    except Exception:
        columns = ()
    return shape, columns


def difference(old, new):
    parts = []
    if old[0] != new[0]:
        parts.append("%s→%s" % ("×".join(map(str, old[0])), "×".join(map(str, new[0]))))
    parts += ["+" + column for column in new[1] if column not in old[1]][:5]
    parts += ["-" + column for column in old[1] if column not in new[1]][:5]
    return " ".join(parts)


# ---- questions -------------------------------------------------------------------------------

def cut(text, budget):
    if len(text) <= budget:
        return text
    head = budget * 2 // 3
    return "%s…%s" % (text[:head], text[len(text) - (budget - head - 1):])


SHORT = reprlib.Repr()
SHORT.maxlist = SHORT.maxtuple = SHORT.maxset = SHORT.maxfrozenset = SHORT.maxdict = 20
SHORT.maxstring, SHORT.maxother, SHORT.maxlong = 80, 120, 80
WHOLE = reprlib.Repr()
WHOLE.maxlist = WHOLE.maxtuple = WHOLE.maxset = WHOLE.maxfrozenset = WHOLE.maxdict = 200
WHOLE.maxstring, WHOLE.maxother, WHOLE.maxlong, WHOLE.maxlevel = 1800, 1800, 400, 10


def render(how, value, budget):
    try:
        return cut(how.repr(value), budget)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return "<%s object, repr raised %s>" % (type_name(value), type_name(error))


def guarded(function):
    """An answer that says what went wrong, since an error in an expression would be told with a traceback of ours."""
    def call(*args):
        try:
            return Answer(function(*args))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Answer({"error": cut(str(error) or type_name(error), TEXT_BUDGET)})
    return call


@guarded
def vars(space):
    names = user_names(space)
    listed = [dict(describe(space, name), value=" ".join(render(SHORT, space[name], BRIEF).split())) for name in names[:VARS_LISTED]]
    return {"vars": listed, "more": max(len(names) - VARS_LISTED, 0)}


def find(space, dotted):
    first, *rest = [part.strip() for part in dotted.split(".")]
    known = builtins.__dict__
    if first not in space and first not in known:
        raise NameError("name '%s' is not defined%s" % (cut(first, 200), near(first, [*space, *known])))
    value = space[first] if first in space else known[first]
    for at, attribute in enumerate(rest):
        try:
            value = getattr(value, attribute)
        except AttributeError:
            owner = cut(".".join([first, *rest[:at]]), 200)
            raise AttributeError("`%s`, of type %s, has no attribute '%s'%s" % (
                owner, type_name(value), cut(attribute, 200), near(attribute, dir(value)))) from None
    return value


def near(name, names):
    names = [other for other in dict.fromkeys(names[:20_000]) if isinstance(other, str) and (name.startswith("_") or not other.startswith("_"))]
    found = difflib.get_close_matches(name[:100], names, 3, 0.6)
    found += [other for other in names if other.lower() == name.lower() and other not in found][:1]
    return "; near: " + ", ".join(found) if found else ""


def asked(call, value):
    try:
        text = call(value)
    except Exception:
        return None
    return cut(text, TEXT_BUDGET) if isinstance(text, str) else None


@guarded
def inspect(space, dotted):
    value = find(space, dotted)
    members = [name for name in dir(value) if not name.startswith("_")]
    told = {"name": dotted.strip(), "type": type_name(value), "value": render(WHOLE, value, VALUE_BUDGET), "size": size_of(value)}
    told["members"] = members[:MEMBERS_LISTED]
    if len(members) > MEMBERS_LISTED:
        told["more_members"] = len(members) - MEMBERS_LISTED
    if callable(value) or isinstance(value, types.ModuleType):
        told["doc"] = asked(_inspect.getdoc, value)
        told["file"] = asked(_inspect.getsourcefile, value)
        told["source"] = asked(_inspect.getsource, value)
        told["signature"] = None if isinstance(value, types.ModuleType) else asked(lambda one: str(_inspect.signature(one)), value)
    elif type(value).__module__ != "builtins":
        told["type_doc"] = asked(_inspect.getdoc, type(value))
    return {key: one for key, one in told.items() if one is not None}


@guarded
def complete(space, text):
    head, dot, prefix = text.strip().rpartition(".")
    names = dir(find(space, head)) if dot else [*space, *builtins.__dict__, *keyword.kwlist]
    private = prefix.startswith("_")
    found = sorted({name for name in names if isinstance(name, str) and name.startswith(prefix) and (private or not name.startswith("_"))})
    return {"names": [head + dot + name for name in found[:NAMES_LISTED]], "more": max(len(found) - NAMES_LISTED, 0)}


@guarded
def clear(space):
    """Forgets the user's names and the history of values, which would keep them alive."""
    for name in user_names(space):
        del space[name]
    values = space.get("_oh")
    if isinstance(values, dict):
        values.clear()
    for name in [name for name in list(space) if isinstance(name, str) and name.startswith("_") and name.lstrip("_").isdigit()]:
        del space[name]
    for name in ("_", "__", "___"):
        if name in space:
            space[name] = ""
    shell = current_shell()
    hook = getattr(shell, "displayhook", None)
    for name in ("_", "__", "___"):
        if hasattr(hook, name):
            setattr(hook, name, "")
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)
    SHOWN[0] = 0
    note_all(space)
    parts = [many(len(threads() - BORN), "thread", "threads"), many(len(children() - BORN), "child process", "child processes")]
    parts = [part for part in parts if part]
    if not parts:
        return {}
    goes = "goes" if len(parts) == 1 and parts[0].startswith("1 ") else "go"
    return {"notice": "%s of earlier evals %s on" % (" and ".join(parts), goes)}


def many(number, one, others):
    return "%d %s" % (number, one if number == 1 else others) if number else ""


def threads():
    return {("thread", thread.ident) for thread in threading.enumerate() if not is_of_kernel(thread)}


def is_of_kernel(thread):
    """Whether the kernel has started it for itself, which it may do at any time."""
    owners = (type(thread).__module__, getattr(getattr(thread, "_target", None), "__module__", None))
    return any([str(owner).partition(".")[0] in KERNELS for owner in owners])


def children():
    """Processes that were started here and have not ended."""
    found = set()
    try:
        for task in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/children" % task) as file:
                found.update(file.read().split())
        return {("child", pid) for pid in found if is_live(pid)}
    except OSError:
        return set()


def is_live(pid):
    try:
        with open("/proc/%s/stat" % pid) as file:
            return file.read().rpartition(")")[2][1:2] not in ("Z", "X", "")
    except OSError:
        return False


# ---- saving ----------------------------------------------------------------------------------

def saving(space, text, function, *arguments):
    """Calls a function of saving.py, which is sent when it is first needed."""
    if text is not None:
        SAVING.update({"__name__": "<stead>", "__builtins__": dict(builtins.__dict__), "NAMES": types.SimpleNamespace(**globals())})
        exec(compile(text, "<stead>", "exec", 0, True), SAVING)
    if function not in SAVING:
        return Answer({"status": "needs"})
    return SAVING[function](*([space] if function == "work" else []), *arguments)


def boot_id():
    """What tells this machine from all others, and from itself before it was last started."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


# ---- below stands incomplete.py --------------------------------------------------------------

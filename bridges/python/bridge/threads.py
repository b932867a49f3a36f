# Threads, children, exit: whose eval a thread belongs to, and how forked children and sessions end.

def owner():
    me = get_ident()
    return S.eval if me == MAIN else THREADS.get(me, S.eval)


def run_thread(token, tag, function, args, kwargs):
    me = get_ident()
    if S.life != Life.CHILD:
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
        BORN.discard(token)


def bear(start, token):
    """Starts a thread; from here on it may write."""
    BORN.add(token)
    make_knowing()
    try:
        return start()
    except BaseException:
        BORN.discard(token)
        raise


def patch_threads():
    """Threads must know their eval from birth; threading starts its own through these."""
    start = _thread.start_new_thread

    def start_new_thread(function, args, kwargs={}, /):  # noqa: B006  (as Python's own has it; it is not changed)
        if not callable(function) or not isinstance(args, tuple) or not isinstance(kwargs, dict):
            return start(function, args, kwargs)
        token = object()
        return bear(lambda: start(run_thread, (token, owner(), function, args, kwargs)), token)

    _thread.start_new_thread = _thread.start_new = start_new_thread
    threading = modules.get("threading")
    if hasattr(threading, "_start_new_thread"):
        threading._start_new_thread = start_new_thread
    start_joinable = getattr(_thread, "start_joinable_thread", None)
    if start_joinable is None:
        return

    def start_joinable_thread(function, *args, **kwargs):
        tag, token = owner(), object()
        return bear(lambda: start_joinable(lambda: run_thread(token, tag, function, (), {}), *args, **kwargs), token)

    _thread.start_joinable_thread = start_joinable_thread
    if hasattr(threading, "_start_joinable_thread"):
        threading._start_joinable_thread = start_joinable_thread


# ---- children --------------------------------------------------------------------------------

def before_child():
    """What was written so far comes before what the child writes, and from here on every write looks for that."""
    S.children = True
    if S.life == Life.CHILD or S.phase == Phase.IDLE:
        return
    make_knowing()
    if get_ident() == MAIN:
        flush_ours()
        for fd in (1, 2):
            try:
                wait_taken(fd)
            except OSError:  # closed
                pass


def may_have_children():
    if S.children:
        try:
            posix.waitid(posix.P_ALL, 0, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT)
        except ChildProcessError:
            S.children = False
        except Exception:
            pass
    return S.children


def announcing(start):
    """A function that starts a child, with the look at the streams before it."""
    def started(*args, **kwargs):
        before_child()
        return start(*args, **kwargs)

    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__text_signature__"):
        try:
            setattr(started, name, getattr(start, name))
        except (AttributeError, TypeError):
            pass
    return started


def hook_fork_exec(module):
    """All of subprocess, asyncio and multiprocessing starts its children here."""
    module.fork_exec = announcing(module.fork_exec)
    subprocess = modules.get("subprocess")
    if hasattr(subprocess, "_fork_exec"):
        subprocess._fork_exec = module.fork_exec


def watch_children():
    if hasattr(posix, "register_at_fork"):
        posix.register_at_fork(before=before_child, after_in_child=after_fork)
    for name in ("system", "posix_spawn", "posix_spawnp"):
        if hasattr(posix, name):
            announced = announcing(getattr(posix, name))
            for module in (posix, _os):
                if module is not None:
                    setattr(module, name, announced)
    if "_posixsubprocess" in sys.builtin_module_names:
        __import__("_posixsubprocess")  # there is no loader of its own that could be met; it costs nothing


def after_fork():
    S.life = Life.CHILD
    S.last = None
    THREADS.clear()
    READERS.clear()
    for fd in {CONTROL, REPORT, *SAVED}:
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
    S.life = Life.FINISHING
    transmit('{"ev":"exiting","code":%d}\n' % (code & 0xFF))
    try:
        signal(SIGINT, (S.user_sigint.call if S.user_sigint is not None else None) or default_int_handler)
    except BaseException:
        pass
    raise Finish(error.code)


class Finish(SystemExit):
    """Ends the command loop."""

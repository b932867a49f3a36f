# Children: what was written comes before what a child writes, and a forked child never speaks to the host.

def before_child():
    """Waits until the host has taken what was written so far, so that it comes before what the child writes."""
    if S.copying is not None and get_ident() == MAIN:
        S.copying.before_fork()
        return
    S.children = True
    if S.life == Life.CHILD:
        return
    unblock(0, 1, 2)
    if S.phase == Phase.IDLE:
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
    """Whether there may be a child that writes; the system is asked until it says that there is none."""
    if S.children:
        try:
            posix.waitid(posix.P_ALL, 0, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT)
        except ChildProcessError:
            S.children = False
        except Exception:
            pass
    return S.children


def announcing(start):
    """Wraps a function that starts a child: before_child comes first."""
    def started(*args, **kwargs):
        __tracebackhide__ = True
        before_child()
        return start(*args, **kwargs)

    return StandIn(started, start)


def hook_fork_exec(module):
    """All of subprocess, asyncio and multiprocessing starts its children here."""
    module.fork_exec = announcing(module.fork_exec)
    subprocess = modules.get("subprocess")
    if hasattr(subprocess, "_fork_exec"):
        subprocess._fork_exec = module.fork_exec


def watch_children():
    if hasattr(posix, "register_at_fork"):
        posix.register_at_fork(before=before_child, after_in_child=after_fork, after_in_parent=after_child)
    for name in ("system", "posix_spawn", "posix_spawnp"):
        if hasattr(posix, name):
            announced = announcing(getattr(posix, name))
            for module in (posix, _os):
                if module is not None:
                    setattr(module, name, announced)
    if "_posixsubprocess" in sys.builtin_module_names:
        __import__("_posixsubprocess")  # a builtin module has no loader whose import could be noticed later


def after_child():
    if S.copying is not None and get_ident() == MAIN:
        S.copying.after_fork()


def after_fork():
    if S.copying is not None and get_ident() == MAIN:
        S.copying.in_copy()
        return
    S.copying = None
    FROZEN.clear()
    S.life = Life.CHILD
    S.last = None
    THREADS.clear()
    READERS.clear()
    for fd in {CONTROL, REPORT, *SAVED, *([] if NEST is None else [NEST])}:
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

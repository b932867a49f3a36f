# Copies: the session as it is now can be kept by a fork that freezes, and is woken to go back (the part `copies`, which runs
# when the first one is taken). What must be known before that is here: a copy is a child of this process, and code of the
# user's that waits for children must find only its own.

class Restored(BaseException):
    """Raised in a copy that was woken, to leave the command in which it was taken."""


FROZEN = {}             # pid of a copy that is a child of this process -> its number
GONE = set()            # children of the process that this one was copied from: they ended with it
FORK_HOOKS = []         # what was registered to be called at a fork, by others than the bridge


class Reaping:
    """What keeps the user's SIGCHLD handler from hearing of copies (reap, ChildHandler)."""
    active = False      # the main thread looks for copies that have ended
    count = 0           # copies that were found to have ended
    known = 0           # that count when the last look was over
    heard = None        # a SIGCHLD that came and is not dealt with: the user's handler and its arguments


fork, kill, waitpid, waitid, wait4, register_at_fork = (
    getattr(posix, _name, None) for _name in ("fork", "kill", "waitpid", "waitid", "wait4", "register_at_fork"))


def can_copy():
    return NEST is not None and None not in (fork, waitid, wait4, register_at_fork)


def watch_copies():
    """Only where copies can be taken: from here on code of the user's does not see those that are children of this process."""
    if not can_copy():
        return
    replaced = {"wait": wait_all, "wait3": wait_all_3, "wait4": wait_any_4, "waitpid": wait_any, "waitid": wait_any_id, "register_at_fork": note_hooks}
    for name, call in replaced.items():
        stands = StandIn(call, getattr(posix, name))
        for module in (posix, _os):
            if module is not None:
                setattr(module, name, stands)


def note_hooks(**hooks):
    register_at_fork(**hooks)
    FORK_HOOKS.extend(hooks.values())


# ---- waiting for children ----------------------------------------------------------------------

def wait_all():
    return wait_any(-1, 0)


def wait_all_3(options):
    return wait_any_4(-1, options)


def wait_any(pid, options, /):
    if FROZEN and type(pid) is int and pid <= 0:
        return wait_others(waitpid, pid, options) or (0, 0)
    try:
        return waitpid(pid, options)
    except ChildProcessError:
        if pid not in GONE:
            raise
        GONE.discard(pid)
        return pid, 9  # the child was killed with the process that had it


def wait_any_4(pid, options):
    if FROZEN and type(pid) is int and pid <= 0:
        return wait_others(wait4, pid, options) or (0, 0, wait4(next(iter(FROZEN)), posix.WNOHANG)[2])
    return wait4(pid, options)


def wait_any_id(kind, number, options, /):
    if not FROZEN or kind not in (posix.P_ALL, posix.P_PGID):
        return waitid(kind, number, options)
    while True:
        pid = peek(kind, number or posix.getpgrp(), options)
        if pid is None:
            return None
        found = attempt_wait(waitid, posix.P_PID, pid, options | posix.WNOHANG)
        if found is not None:
            return found


def wait_others(call, pid, options):
    """What a call that waits for any child answers if copies are none; None if nothing has happened to one yet."""
    kind = posix.P_ALL if pid == -1 else posix.P_PGID
    events = posix.WEXITED | options & (posix.WNOHANG | posix.WCONTINUED) | (posix.WSTOPPED if options & posix.WUNTRACED else 0)
    while True:
        pid_of_other = peek(kind, -pid or posix.getpgrp(), events)
        if pid_of_other is None:
            return None
        found = attempt_wait(call, pid_of_other, options | posix.WNOHANG)
        if found is not None and found[0]:
            return found


def attempt_wait(call, *args):
    try:
        return call(*args)
    except ChildProcessError:  # another thread has waited for the child
        return None


def peek(kind, number, events):
    """The child that a wait would find, left as it is; None if there is none yet and the wait is not to block."""
    while True:
        other = find_other(kind, number)
        if S.pending:  # an interrupt that was held back while the children were read
            raise_pending()
        if other is None:
            reap()
            raise ChildProcessError(10, "No child processes")
        found = waitid(kind, number, events | posix.WNOWAIT)
        if found is None:
            return None
        if found.si_pid not in FROZEN:
            return found.si_pid
        # The child is a copy that ended, or that was stopped or resumed with all others: its event is taken out of the way.
        attempt_wait(waitid, posix.P_PID, found.si_pid, events | posix.WNOHANG)
        reap()


def find_other(kind, number):
    """A child of this process that is no copy, if there is one."""
    for pid in children():
        if pid not in FROZEN:
            try:
                if kind == posix.P_ALL or posix.getpgid(pid) == number:
                    return pid
            except OSError:
                pass
    return None


def children():
    found = []
    for task in posix.listdir("/proc/self/task"):
        found += map(int, (contents("/proc/self/task/%s/children" % task) or "").split())
    return found


def contents(path):
    """A file of /proc as a text, or None if it is gone or nobody may read it."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = [b""]
        while True:
            parts.append(read(fd, 1 << 16))
            if not parts[-1]:
                return b"".join(parts).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        close(fd)


CRITICAL.add(contents.__code__)  # an interrupt between open and close would leave the file open


def reap(known=None):
    """Forgets copies that have ended; `known` ends were known when a SIGCHLD was noticed. One that comes meanwhile is dealt with at
    the end, when it is known whether only copies have sent it; the look is repeated until none comes during it."""
    if get_ident() != MAIN:
        forget_ended()
        return
    if Reaping.active:
        return
    known, heard, other = Reaping.known if known is None else known, None, None
    while True:
        now = Reaping.heard
        heard = now or heard
        Reaping.active = True
        try:
            forget_ended()
            if heard is not None:
                other = other or find_ended()
        finally:
            Reaping.active = False
        if Reaping.heard is now:
            break
    Reaping.heard = None
    is_for_user = other is not None or Reaping.count == known
    Reaping.known = Reaping.count
    if heard is not None and is_for_user:
        handler, *arguments = heard
        handler(*arguments)


def find_ended():
    """A child that has something to tell and is no copy."""
    events = posix.WEXITED | posix.WSTOPPED | posix.WCONTINUED
    while True:
        try:
            found = waitid(posix.P_ALL, 0, events | posix.WNOHANG | posix.WNOWAIT)
        except ChildProcessError:
            return None
        if found is None or found.si_pid not in FROZEN:
            return found
        attempt_wait(waitid, posix.P_PID, found.si_pid, events | posix.WNOHANG)
        forget_ended()


def forget_ended():
    try:
        if waitid(posix.P_ALL, 0, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT) is None:
            return
    except ChildProcessError:
        FROZEN.clear()
        return
    ended = []
    for pid in list(FROZEN):
        try:
            if waitpid(pid, posix.WNOHANG)[0]:
                ended.append(pid)
        except ChildProcessError:
            ended.append(pid)
    for pid in ended:
        FROZEN.pop(pid, None)
    Reaping.count += len(ended)


# ---- commands ----------------------------------------------------------------------------------

def do_checkpoint(label):
    """The label is the host's: here it is a copy like any other."""
    return copied(False)


def copied(automatic):
    """Takes a copy, and gives what is told of it."""
    if not can_copy():
        raise Unsupported("this session was started without a way to keep copies of it")
    need_part("copies")
    taken, rewritten = [], brake() if automatic else 0
    try:
        run_user(take_copy, automatic, taken)
    except KeyboardInterrupt:
        if not taken:  # else the interrupt came too late: the host has the copy
            raise
        S.pending = automatic  # the interrupt may be for the eval that was sent behind this command
    return {**taken[0], "rewritten": rewritten} if rewritten else taken[0]


def do_copy(seq):
    """A copy that nobody asked for, taken while nothing runs."""
    early, S.pending = S.pending, False  # an interrupt that has come already may be for the eval that was sent behind this
    forget_interrupt()
    repair_streams()
    S.phase = Phase.ASKED  # no eval runs, so what a thread writes meanwhile belongs to none
    try:
        answer = {"seq": int(seq), "data": copied(True)}
    except Restored:
        raise
    except KeyboardInterrupt:
        S.pending = True  # the interrupt may be for the eval that was sent behind this, which checks that
        answer = {"seq": int(seq), "error": "interrupted"}
    except BaseException as error:
        leave_child(error)
        answer = {"seq": int(seq), "error": guarded(safe_str, error) or type_name(error)}
        if isinstance(error, Trouble) and error.answer is not None:
            answer["data"] = error.answer
    S.phase = Phase.IDLE
    reclaim_sigint()
    S.pending = S.pending or early
    transmit('{"ev":"reply",' + dump(answer)[1:] + "\n")

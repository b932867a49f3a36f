# Interrupts: a signal is raised in user code only, and held back while the bridge itself is at work.

# Code of the bridge that an interrupt must not leave halfway: the interrupt is held back until the bridge returns to user code.
CRITICAL = {f.__code__ for f in (transmit, transmit_own, receive, fill, read_control, await_ack)}
# Loops that answer an interrupt with their next prompt, so that only an end of file ends them.
PROMPTS = {"_cmdloop": "/pdb.py", "interact": "/code.py"}


def on_sigint(signum, frame, again=False):
    """Raises KeyboardInterrupt where user code runs, and else notes it. The stack tells which: a flag would be set too early or late.

    In a callback of the asyncio loop it is raised only once the callback's own code runs. Before that the loop has taken the
    callback from its queue and would lose it, and the task that it was to wake would sleep for ever.
    """
    in_callback = in_own_code = called = reads = False
    while frame is not None:
        code = frame.f_code
        if code in CRITICAL:
            break
        if code is READ_STDIN:
            reads = True
        elif reads and code.co_name in PROMPTS and code.co_filename.endswith(PROMPTS[code.co_name]):
            S.hung_up = True
        if code is RUN_ASYNC and not in_callback and S.task is not None and not (again and called):
            if not again:
                S.interrupt, S.cancel = Interrupt.RAISED, Cancel.ASKED
                S.loop.call_soon_threadsafe(cancel_task, S.task)
            return
        if code is RUN_USER or code is FLUSH_OURS or code is INTERRUPTIBLE:
            S.interrupt = Interrupt.RAISED
            raise KeyboardInterrupt
        if code is IDLE_LOOP and (in_callback or (again and called)) and ioctl(CONTROL, FIONREAD, EMPTY) != EMPTY:
            # A background task keeps an eval from starting, and the interrupt is meant for that eval.
            S.pending = True
            raise KeyboardInterrupt
        if code.co_name == "_run" and code.co_filename.endswith("asyncio/events.py"):
            called, in_callback = True, in_callback or in_own_code
        elif "/asyncio/" not in code.co_filename:
            in_own_code = True
        frame = frame.f_back
    S.pending = True


def cancel_task(task):
    """The interrupt of an await, once the loop has come to it. A loop that comes to it after the eval does nothing."""
    if S.task is task:
        S.cancel = Cancel.DELIVERED
        task.cancel()


def forget_interrupt():
    """Before an eval or a question: what happened to the last one is over."""
    S.interrupt, S.cancel, S.hung_up = Interrupt.NONE, Cancel.NOT_ASKED, False


def on_sigurg(signum, frame):
    """Sent by the host in place of SIGINT while C's system() has that ignored. Python has not run any code since."""
    handler = getsignal(SIGINT)
    if callable(handler):
        handler(SIGINT, frame)


def on_nudge(signum, frame):
    """SIGWINCH, which the host sends while an interrupted eval goes on: it ends a system call that began just after the interrupt.

    An interrupt that a finalizer swallowed, or that the loop cannot act on because a callback runs, is repeated. The bridge
    sends it to itself when a figure or a value takes too long to be shown."""
    if S.show_until and monotonic() >= S.show_until:
        give_up(frame)
    if S.phase == Phase.IDLE:
        if S.pending:
            on_sigint(SIGINT, frame, True)
    elif S.interrupt == Interrupt.SWALLOWED:
        S.interrupt = Interrupt.RAISED
        on_sigint(SIGINT, frame)
    elif S.phase == Phase.REPORTING:
        # The report of the interrupt calls `__str__` of an error in its chain, and that may never return.
        if S.interrupt == Interrupt.RAISED and is_in_user_code(frame):
            on_sigint(SIGINT, frame)
    elif S.phase == Phase.RUNNING and S.cancel == Cancel.ASKED:
        on_sigint(SIGINT, frame, True)
    elif S.phase == Phase.RUNNING and S.pending:  # critical code that user code had called held the interrupt back, and is over now
        S.pending = False
        on_sigint(SIGINT, frame)


def is_in_user_code(frame):
    """Whether the report of an error has called code that is neither the bridge's nor the standard library's."""
    while frame is not None and frame.f_code is not RUN_USER:
        name = frame.f_code.co_filename
        if name != BRIDGE_FILE and not name.startswith(_home) and not name.startswith("<frozen"):
            return True
        frame = frame.f_back
    return False


def on_unraisable(unraisable):
    """An interrupt that hits a finalizer or a weakref callback cannot leave it; the next nudge repeats it."""
    if unraisable.exc_type is KeyboardInterrupt and S.interrupt != Interrupt.NONE and get_ident() == MAIN:
        S.interrupt = Interrupt.SWALLOWED
    elif unraisable.exc_type is not TooSlow:  # TooSlow is raised again too, so it is not printed
        clean(unraisable.exc_value)
        kind, error, _, *rest = unraisable
        sys.__unraisablehook__(type(unraisable)((kind, error, getattr(error, "__traceback__", None), *rest)))


class TooSlow(BaseException):
    """Raised in user code whose result is not worth more time: a picture, a rich form of a value. No `except Exception` stops it."""


STOPS = (KeyboardInterrupt, TooSlow)    # no error of the code in which they are raised
LIMITED = set()         # code below whose frames TooSlow is raised (rendering.py)


def interruptible(call, *args):
    """Calls something from critical code that can be interrupted all the same."""
    if S.pending:
        raise_pending()
    return call(*args)


INTERRUPTIBLE = interruptible.__code__


def run_user(call, *args):
    """The one door to user code: below this frame an interrupt is raised, above it is held back."""
    if S.pending:
        raise_pending()
    # pdb would step out of user code into this frame: tracing ends on the line of the call itself,
    # before there is an event to stop at (3.13 undoes f_trace_lines).
    # The frame gets no name: a frame that refers to itself would keep its arguments alive until gc comes.
    getframe().f_trace_lines = False
    if S.user_sigint is not None and not S.user_sigint.installed:
        S.user_sigint.installed = True
        signal(SIGINT, S.user_sigint.call)
    try:
        if S.traced is not None and call in TRACED:
            resume_tracing()
        return (call(*args), gettrace() is None is getprofile() or suspend_tracing(getframe().f_trace is not None))[0]
    except BaseException:
        if not gettrace() is None is getprofile():
            suspend_tracing(getframe().f_trace is not None)
        raise


RUN_USER = run_user.__code__


SIGNALS = range(1, _signal.NSIG)
HARMLESS = []           # the handlers of all signals when it was last found that none of them is the user's


def has_handlers():
    """Whether a signal runs code of the user's while nothing else does."""
    if HARMLESS and True not in map(is_not, map(getsignal, SIGNALS), HARMLESS):
        return False
    HARMLESS.clear()
    handlers = [getsignal(number) for number in SIGNALS]
    for handler in handlers:
        if callable(handler) and handler is not on_sigint and handler is not on_sigurg and handler is not on_nudge:
            return True
    HARMLESS.extend(handlers)
    return False


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
                S.user_sigint = None if ours else UserHandler(handler)
                signal(SIGINT, on_sigint)
            elif S.user_sigint is not None and S.user_sigint.installed:  # the user gave up the handler
                S.user_sigint = None
            return
        except BaseException:  # a signal came before the handler was taken back, and the user's handler raised
            pass


def guarded(call, *args):
    """Runs something of the user's that must not end the bridge; None if it failed."""
    try:
        return run_user(call, *args)
    except BaseException:
        leave_child()
        return None

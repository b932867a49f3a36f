# Threads: which eval a thread belongs to.

def owner():
    """The eval that the calling thread belongs to: the running one, or the one that started the thread."""
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
            if not hand_to_hook(error, function):
                sys.stderr.write("Exception ignored in thread started by: %r\n%s" % (function, format_error(error)))
        except BaseException:
            pass
    finally:
        THREADS.pop(me, None)
        BORN.discard(token)


def hand_to_hook(error, function):
    """Gives the error that ended a thread to the hook of the user's, if there is one and it does not fail."""
    if sys.unraisablehook is on_unraisable:
        return False
    try:
        # `sys` does not have this type, though its documents name it.
        args = next(kind for kind in tuple.__subclasses__() if kind.__name__ == "UnraisableHookArgs")
        sys.unraisablehook(args((type(error), error, error.__traceback__, "Exception ignored in thread started by", function)))
        return True
    except BaseException:
        return False


def bear(start, token):
    """Starts a thread. It counts as alive (BORN) before it runs, and from then on every write is looked at."""
    BORN.add(token)
    make_knowing()
    try:
        return start()
    except BaseException:
        BORN.discard(token)
        raise


def patch_threads():
    """Replaces the functions that start threads, also for the module threading, so that a thread knows its eval before it runs."""
    start = _thread.start_new_thread

    def start_new_thread(function, args, kwargs={}, /):  # noqa: B006  (as Python's own has it; it is not changed)
        if not callable(function) or not isinstance(args, tuple) or not isinstance(kwargs, dict):
            return start(function, args, kwargs)
        token = object()
        return bear(lambda: start(run_thread, (token, owner(), function, args, kwargs)), token)

    stands = StandIn(start_new_thread, start)
    _thread.start_new_thread = _thread.start_new = stands
    threading = modules.get("threading")
    if hasattr(threading, "_start_new_thread"):
        threading._start_new_thread = stands
    start_joinable = getattr(_thread, "start_joinable_thread", None)
    if start_joinable is None:
        return

    def start_joinable_thread(function, *args, **kwargs):
        tag, token = owner(), object()
        return bear(lambda: start_joinable(lambda: run_thread(token, tag, function, (), {}), *args, **kwargs), token)

    stands = StandIn(start_joinable_thread, start_joinable)
    _thread.start_joinable_thread = stands
    if hasattr(threading, "_start_joinable_thread"):
        threading._start_joinable_thread = stands


def hook_threading(module):
    """The error that ends a thread is cleaned before `threading.excepthook` is called, whether that is Python's or the user's."""
    make = module._make_invoke_excepthook

    def make_invoke_excepthook():
        invoke = make()

        def invoke_excepthook(thread):
            clean(sys.exc_info()[1])
            invoke(thread)

        return invoke_excepthook

    module._make_invoke_excepthook = make_invoke_excepthook

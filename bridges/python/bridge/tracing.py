# Tracing: the user's tracers, profilers and debuggers see code of the user's and no line of the bridge.
#
# Tracing functions are taken off while the bridge itself is at work and put back for user code (run_user). User code calls
# the bridge too, with every print, so each call of such a function is first checked for frames of the bridge (Filter).

getprofile, setprofile = sys.getprofile, sys.setprofile


class Filter:
    """What is given to Python in the place of the user's function."""
    __slots__ = ("user",)

    def __init__(self, user):
        self.user = user

    def __call__(self, frame, event, arg):
        if frame.f_code.co_filename == BRIDGE_FILE:
            return None
        try:
            return self.user(frame, event, arg)
        except Exception as error:
            # As in Python, a tracing function that fails is taken off, and its error is raised in the traced code. At the very
            # beginning of an eval that would keep all of the eval from running, so there the error is only printed.
            if event != "call" or frame.f_back is None or frame.f_back.f_code.co_filename != BRIDGE_FILE:
                raise
            take_off(self, error)


def take_off(broken, error):
    if gettrace() is broken:
        settrace(None)
    if getprofile() is broken:
        setprofile(None)
    error.__traceback__ = without_bridge(error.__traceback__)
    guarded(print_error, error)


def print_error(error):
    sys.stderr.write("the tracing function failed and was taken off:\n" + format_error(error))


TRACED = set()          # functions that run_user calls to run user code, and not a library's code for the bridge


def users(function):
    """The user's own function behind a Filter."""
    return function.user if type(function) is Filter else function


def set_trace(function, /):
    """Set the global debug tracing function.

    It will be called on each function call.  See the debugger chapter
    in the library manual."""
    settrace(None if function is None else Filter(function))


def get_trace():
    """Return the global debug tracing function set with sys.settrace.

    See the debugger chapter in the library manual."""
    return users(gettrace())


def set_profile(function, /):
    """Set the profiling function.

    It will be called on each function call and return.  See the profiler
    chapter in the library manual."""
    setprofile(None if function is None else Filter(function))


def get_profile():
    """Return the profiling function set with sys.setprofile.

    See the profiler chapter in the library manual."""
    return users(getprofile())


def suspend_tracing(stepped_out):
    """After user code. A debugger that would step out of it into the bridge is given up."""
    tracer, profiler = gettrace(), getprofile()
    settrace(None)
    setprofile(None)
    S.traced = None if stepped_out and profiler is None else (None if stepped_out else tracer, profiler)


def resume_tracing():
    tracer, profiler = S.traced
    S.traced = None
    if profiler is not None:
        setprofile(profiler)
    if tracer is not None:
        settrace(tracer)


def watch_monitoring(monitoring):
    """Keeps code of the bridge from callbacks of sys.monitoring: for each place in it the event is switched off the first time."""
    register, given = monitoring.register_callback, {}
    events, disable = monitoring.events, monitoring.DISABLE
    local = sum([getattr(events, name, 0) for name in (
        "PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD", "CALL", "LINE", "INSTRUCTION", "JUMP", "BRANCH", "STOP_ITERATION",
        "BRANCH_LEFT", "BRANCH_RIGHT")])

    def register_callback(tool_id, event, func, /):
        answer = disable if type(event) is int and event & local else None

        def filtered(code, *args):
            if code.co_filename == BRIDGE_FILE:
                return answer
            return func(code, *args)

        before = register(tool_id, event, None if func is None else filtered)
        known, given[tool_id, event] = given.get((tool_id, event)), (filtered, func)
        return known[1] if known is not None and known[0] is before else before

    register_callback.__doc__ = register.__doc__
    monitoring.register_callback = register_callback


def watch_tracing():
    for name, function in (("settrace", set_trace), ("gettrace", get_trace), ("setprofile", set_profile), ("getprofile", get_profile)):
        function.__name__ = function.__qualname__ = name
        function.__module__ = "sys"
        setattr(sys, name, function)
    if hasattr(sys, "monitoring"):
        watch_monitoring(sys.monitoring)


# ---- stacks ----------------------------------------------------------------------------------

def hook_bdb(module):
    """Debuggers show the stack from the user's outermost frame on."""
    original = module.Bdb.get_stack

    def get_stack(self, f, t):
        stack, at = original(self, f, t)
        kept, current = [], 0
        for place, entry in enumerate(stack):
            code = entry[0].f_code
            if code is CODE:
                kept, current = [], 0  # the frames before this one have started the bridge
            elif code.co_filename != BRIDGE_FILE:
                current += place < at
                kept.append(entry)
        return kept, min(current, max(len(kept) - 1, 0))

    module.Bdb.get_stack = alike(get_stack, original)


def hook_traceback(module):
    """The same for print_stack() and its like, and for errors that others than the bridge report: print_exc(), logging, asyncio."""
    original = module.walk_stack

    def walk_stack(f):
        return original(f) if f is None else users_frames(original(f))

    module.walk_stack = alike(walk_stack, original)
    for name in ("walk_tb", "_walk_tb_with_full_positions"):  # the second since 3.11
        if hasattr(module, name):
            setattr(module, name, alike(users_lines_of(getattr(module, name)), getattr(module, name)))


def users_lines_of(walk):
    def walk_tb(tb):
        return (entry for entry in walk(tb) if entry[0].f_code.co_filename != BRIDGE_FILE)

    return walk_tb


def users_frames(frames):
    for frame, line in frames:
        if frame.f_code is CODE:
            return
        if frame.f_code.co_filename != BRIDGE_FILE:
            yield frame, line

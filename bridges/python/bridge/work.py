# Work: what the session does in its turn and is not code of the user's. It runs as an eval does: output, interrupts and
# changed names are told in the same way.

class Trouble(Exception):
    """Why work could not be done. It is told as it is: no traceback, no `sys.last_value`."""

    report = None       # what is reported of the work in spite of its failure
    answer = None       # what the answer to a request says besides


class Unsupported(Trouble):
    """A kind of work that a newer host knows."""


PARTS = {}              # part of the bridge -> its text, which runs when it is first needed (lib.rs), or what that was compiled to (compiled_bridge)
RUNNING = set()         # parts of the bridge that were needed and have run


def need_part(name):
    """Runs a part of the bridge that would cost every start something and is needed by few sessions."""
    if name not in RUNNING:
        part = PARTS[name]
        exec(unpack(part) if type(part) is bytes else compile(part, BRIDGE_FILE, "exec", 0, True), globals())
        RUNNING.add(name)


def unpack(part):
    return real_module("marshal").loads(real_module("zlib").decompress(part))


def do_work(eval_id, what, payload):
    """Each kind of work calls run_user for all that may take long or run code of the user's; what it does outside of that
    cannot be interrupted."""
    begin_eval(eval_id)
    S.report, events = None, []
    try:
        call = WORK.get(what)
        if call is None:
            raise Unsupported("this bridge does not know the work `%s`" % what)
        report = call(payload.decode("utf-8", "surrogateescape"))
        if report is not None:
            events.append('{"ev":"report","data":%s}' % dump(report))
    except Restored:
        raise
    except BaseException as caught:
        S.failed = caught
        report = (caught.report if isinstance(caught, Trouble) else None) or S.report
        if report is not None:
            events.append('{"ev":"report","data":%s}' % dump(report))
    conclude(None, "", events)


GIVEN_PATH = ()         # folders on `sys.path` that are neither the user's nor Python's: there are none


def files_bound(name):
    """The eval that bound a name last, by the name of its file; a load has one for each text that it took from its file."""
    eval_id = BOUND.get(name)
    return [STDLIB_FILE if name in GIVEN and is_given(name) else LOADED.get((eval_id, name)) or "<%s>" % eval_id]


def is_hidden(name):
    """Whether a name of the user's namespace is whose code this runs in: here it is all the user's."""
    return False


def do_save(argument):
    need_part("saving")
    return save_session(argument)


def do_load(argument):
    need_part("saving")
    return load_session(argument)


# Each function is given the work's argument and returns what is to be reported, or None.
WORK = {"save": do_save, "load": do_load, "checkpoint": do_checkpoint}

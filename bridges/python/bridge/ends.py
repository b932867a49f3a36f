# Ends: what ends an eval with a code, and what ends the session.

class Leave(SystemExit):
    """exit() and quit(): ends the session, where a plain SystemExit ends the eval only."""


class Finish(SystemExit):
    """Ends the command loop."""


class Quitter:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "Use %s() to end this session" % self.name

    def __call__(self, code=None):
        # In a thread, exit() ends that thread only: `threading` is silent about a SystemExit, but not about its subclasses.
        raise Leave(code) if get_ident() == MAIN else SystemExit(code)


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

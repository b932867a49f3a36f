# Stdlib: the user's standard library, run at the start of a session. What it defines is not reported as the user's.

class ExitCalled(Trouble):
    """The library asked for an exit in the middle, which ends neither the session nor its start."""


def load_stdlib(text):
    """Runs the whole library in the user's namespace; what came of it, for the host."""
    before = dict(SPACE)
    name = PROJECT_FILE if STDLIB_FILE in SOURCES else STDLIB_FILE
    SOURCES[name] = text  # not among the recent ones: it is kept as long as the session
    if "linecache" in modules:
        show_source(name)
    report, S.nothing_ran = {}, True
    S.report = report  # told also if the library fails
    try:
        flags = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(text, name, "exec", flags, True)
        if "global" in text:
            find_globals(compile(text, name, "exec", flags | _ast.PyCF_ONLY_AST, True))
        S.nothing_ran = False
        run_codes([code])
    except SystemExit as error:
        raise ExitCalled("it called exit(%s): what stands below that was not defined" % (safe_str(error.code) if error.code is not None else "")) from None
    except BaseException as error:
        report["line"] = attempt(line_in, name, error)
        raise
    finally:
        take_given(before)
        report["names"] = len(GIVEN)
    return report


def line_in(name, error):
    """The line of the library at which an error left it, or that cannot be compiled."""
    if S.nothing_ran:
        return error.lineno if isinstance(error, SyntaxError) else None
    return line_of(error, name)


def take_given(before):
    """Notes what the library has bound, also as far as it came."""
    missing = object()
    for name in [name for name in list(SPACE) if is_user_name(name)]:
        if SPACE[name] is not before.get(name, missing):
            GIVEN[name] = SPACE[name]
            KNOWN.pop(name, None)
    S.names = len(SPACE)


WORK["stdlib"] = load_stdlib

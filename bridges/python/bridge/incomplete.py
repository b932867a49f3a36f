# Incomplete code: whether a text that does not compile ends too early, or is wrong however it goes on.

ALLOW_INCOMPLETE = 0x4000  # PyCF_ALLOW_INCOMPLETE_INPUT, which 3.10 and newer know
OPEN_STRING = ("unterminated string", "unterminated f-string", "unterminated t-string", "EOL while scanning string")


def is_incomplete(error, source):
    """Whether more text could make the code right, which the compiler has refused with this error."""
    if error.filename != file_name() or error.__traceback__ is not None:
        return False  # the error is of other code, which this code has run
    warnings = import_stdlib("warnings")
    with warnings.catch_warnings():  # warnings about this code were given before
        warnings.simplefilter("ignore")
        if ends_early(source):
            return True
        if not str(error.msg).startswith(OPEN_STRING):
            return False
        # A string that must end on its line has to be closed first: `print('a` can go on, `print('it's')` cannot.
        text = source.rstrip("\r\n")
        return any([ends_early(text + mark) is not False for mark in ("'", '"', "}'", '}"')])


def ends_early(source):
    """Whether the compiler comes to the end of the text and wants more; None if nothing is amiss."""
    flags = S.flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | _ast.PyCF_ONLY_AST
    try:
        compile(source, file_name(), "exec", flags | ALLOW_INCOMPLETE, True)
    except SyntaxError as error:
        return error.msg == "incomplete input"
    except ValueError:  # an older compiler does not know the flag and tells it in other words
        error = refusal(source, flags)
        return None if error is None else is_of_the_end(error, source, flags)
    return None


def refusal(source, flags):
    try:
        compile(source, file_name(), "exec", flags, True)
    except SyntaxError as error:
        return error
    return None


def is_of_the_end(error, source, flags):
    if error.filename != file_name():  # the inside of an f-string
        return False
    if error.msg.startswith(("unexpected EOF", "EOF while scanning triple-quoted", "unterminated triple-quoted")):
        return True
    if error.msg.endswith("was never closed"):
        return True
    # A block without a body: if the body is missing at the end of the text, more text gives another error.
    after = refusal(source + "\n$", flags)
    return isinstance(error, IndentationError) and (after.msg, after.lineno) != (error.msg, error.lineno)

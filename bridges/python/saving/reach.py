# Reach: what definitions use and are made of, which names and libraries there are.

def version_of(root):
    """The version of a loaded library; None for a module of the standard library or of the user's own."""
    module = modules.get(root)
    version = attempt(getattr, module, "__version__")
    return cut(version, 40) if type(version) is str and is_text(root) and root.isidentifier() and not is_real(module) else None


def is_text(name):
    try:
        return "\n" not in name and name.encode("utf-8") is not None
    except UnicodeError:
        return False


def is_pythons_own(name):
    return type(name) is not str or (name.startswith("__") and name.endswith("__")) or is_hidden(name)


def own_path():
    """What the user has put on the path that modules are found by."""
    folders = [folder for folder in sys.path if type(folder) is str and folder.startswith("/") and is_text(folder)]
    given = variable("PYTHONPATH").split(":")
    return [folder for folder in folders if folder not in STDLIB and folder not in given and folder not in GIVEN_PATH and "-packages" not in folder
            and not folder.startswith((sys.prefix + "/", sys.base_prefix + "/"))]


def is_definition(value):
    """Whether a function that uses this cannot do without: code and modules, no data."""
    return issubclass(type(value), (FunctionType, type, ModuleType)) or callable(attempt(getattr, value, "__wrapped__"))


def codes_of(value):
    """The code that may run when a function is called or a class is derived from or made."""
    if issubclass(type(value), type):
        members = [getattr(member, "__func__", member) for member in list(space_of(value).values())] if module_name_of(value) == "__main__" else []
        return [member.__code__ for member in members if type(member) is FunctionType]
    value = attempt(innermost, value)
    return [value.__code__] if type(value) is FunctionType and value.__globals__ is SPACE else []


def innermost(value):
    """The function of the user's that decorators have wrapped."""
    for _ in range(100):
        if "__wrapped__" not in (getattr(value, "__dict__", None) or ()):
            break
        value = value.__wrapped__
    return value


def origin_of(value):
    """The files that the code of an object is in, and its lines there."""
    codes = codes_of(value)
    return {code.co_filename for code in codes if code.co_filename in SOURCES}, {(code.co_filename, code.co_firstlineno) for code in codes}

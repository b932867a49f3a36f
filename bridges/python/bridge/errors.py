# Errors: tracebacks that show user code only, with the sources of the evals so far.

def import_stdlib(name):
    """Imports from the standard library only, whatever lies in cwd or on PYTHONPATH."""
    module = modules.get(name)
    if module is not None:
        return module
    path = sys.path
    sys.path = STDLIB
    try:
        return __import__(name)
    finally:
        sys.path = path


class SourceFinder:
    """Hands the sources of the evals so far to linecache when it is first imported.

    Importing linecache at start would cost a third of the start time on 3.8 to 3.12.
    """

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "linecache":
            return None
        try:
            sys.meta_path.remove(cls)
            for finder in sys.meta_path:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                register_sources(module)

            spec.loader.exec_module = exec_module
            return spec
        except Exception:
            return None


def forget_boot(linecache):
    """Python 3.13 and newer keep the text after `-c`, boot.py's, as the source of `<string>`. Code that the user gives to
    eval() is of that name too, and its errors would show a line of ours."""
    linecache.cache.pop("<string>", None)
    getattr(linecache, "_interactive_cache", {}).clear()


def register_sources(linecache):
    try:
        for name in list(SOURCES):
            linecache.cache[name] = entry_of(name)
    except Exception:  # the user has a module of that name
        pass


def entry_of(name):
    """The source as linecache has it, made when that is there to have it."""
    entry = SOURCES[name]
    if type(entry) is str:
        # linecache's own lines end in a line feed too; without it, carets are off by one.
        lines = entry.replace("\r\n", "\n").split("\n") if "\n" in entry else [entry]
        entry = SOURCES[name] = (len(entry), None, [line + "\n" for line in lines], name)
    return entry


def remember_source(name, source):
    if name not in SOURCES:
        RECENT.append(name)
    SOURCES[name] = source
    S.source_size += len(source)
    if "linecache" in modules:
        show_source(name)


def show_source(name):
    linecache = modules.get("linecache")
    cache = getattr(linecache, "cache", None)
    if type(cache) is dict:
        if len(RECENT) > 1 and RECENT[-2] not in cache:
            register_sources(linecache)  # the user cleared the cache
        cache[name] = entry_of(name)


def forget_sources():
    """Keeps the sources within their bounds."""
    while len(SOURCES) > SOURCES_KEPT or (S.source_size > SOURCE_BYTES_KEPT and len(SOURCES) > 1):
        cache = getattr(modules.get("linecache"), "cache", None)
        oldest = RECENT.popleft()
        source = SOURCES.pop(oldest)
        STOPPED.pop(oldest, None)
        S.source_size -= len(source) if type(source) is str else source[0]
        if type(cache) is dict:
            cache.pop(oldest, None)


def clean(error):
    """Takes the bridge's frames out of an exception and all that hang on it."""
    todo, seen = [error], set()
    while todo:
        error = todo.pop()
        if not isinstance(error, BaseException) or id(error) in seen:
            continue
        seen.add(id(error))
        try:
            error.__traceback__ = without_bridge(error.__traceback__)
            todo += [error.__cause__, error.__context__]
            inner = getattr(error, "exceptions", None)
            if type(inner) is tuple:
                todo.extend(inner)
        except Exception:
            pass


def without_bridge(traceback):
    first = last = None
    while traceback is not None:
        following = traceback.tb_next
        if traceback.tb_frame.f_code.co_filename != BRIDGE_FILE:
            if last is None:
                first = traceback
            elif last.tb_next is not traceback:
                last.tb_next = traceback
            last = traceback
        traceback = following
    if last is not None and last.tb_next is not None:
        last.tb_next = None
    return first


def format_error(error):
    try:
        module = import_stdlib("traceback")
        if sys.version_info >= (3, 11):  # traceback imports these in the middle of its work, from the user's path
            attempt(import_stdlib, "ast")
            attempt(import_stdlib, "unicodedata")
        text = "".join(module.format_exception(type(error), error, error.__traceback__))
    except KeyboardInterrupt:
        raise
    except BaseException:  # user code broke traceback, or the exception breaks it
        text = format_plainly(error)
    return cut(text, TRACEBACK_BUDGET)


def format_plainly(error):
    lines = []
    traceback = error.__traceback__
    while traceback is not None and len(lines) < 200:
        code = traceback.tb_frame.f_code
        lines.append('  File "%s", line %s, in %s\n' % (code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    if lines:
        lines.insert(0, "Traceback (most recent call last):\n")
    message = safe_str(error)
    return "".join(lines) + type_name(error) + (": " + message if message else "") + "\n"


def report_error(error, events, source):
    """Adds the error event and sets sys.last_*; the user's own excepthook prints by itself."""
    clean(error)
    if isinstance(error, SyntaxError) and error.filename == file_name() and error.text is None:
        try:  # Python does not know the text of code that is compiled from a tree
            error.text = source.splitlines(True)[error.lineno - 1]
        except Exception:
            pass
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    hook = getattr(sys, "excepthook", None)
    event = {"ev": "error", "name": type_name(error), "message": ""}
    if isinstance(error, SyntaxError):
        event["incomplete"] = guarded(is_incomplete, error, source) or None
    try:
        event["message"] = run_user(safe_str, error)
        if hook is not sys.__excepthook__ and callable(hook):
            run_user(hook, type(error), error, error.__traceback__)
        else:
            event["traceback"] = run_user(format_error, error)
    except BaseException as trouble:
        leave_child(trouble)
        if isinstance(trouble, KeyboardInterrupt) and S.interrupt != Interrupt.NONE and not isinstance(error, KeyboardInterrupt):
            event["traceback"] = "%s (an interrupt stopped the report)\n" % type_name(error)
        else:
            event["traceback"] = guarded(format_plainly, error) or type_name(error) + "\n"
    if isinstance(error, (ImportError, SyntaxError)):
        event["missing"] = guarded(missing_package, error, source)
    events.append(dump(event))

# Kinds: what pickle is told of objects by their kind, and which of them nobody should restore.

class Refused(Exception):
    """An object that cannot be saved. `text` says what it is, or for a class what is the matter with it."""

    def __init__(self, what, text):
        super().__init__(text)
        self.what, self.text = what, text


# Straight from C: `pickle` may be the user's own.
_pickle, crc32 = real_module("_pickle"), real_module("binascii").crc32
CellType, MethodType, ProxyType = real_module("types").CellType, real_module("types").MethodType, real_module("types").MappingProxyType
HELPERS = "<stead>"     # the module that our own functions are of, as pickle sees it
UNKNOWN = object()
type_flags, HEAP_TYPE = type.__dict__["__flags__"].__get__, 1 << 9
# Kinds that cannot be saved: how they are called, their module, and the names of its classes. A module that is not loaded has no objects.
TEXTS_OF_KINDS = (
    ("a socket", "_socket", "socket"),
    ("a lock", "_thread", "lock", "LockType", "RLock"),
    ("a lock", "threading", "_RLock"),
    ("data of a thread", "_thread", "_local"),
    ("a thread", "threading", "Thread"),
    ("a pool of workers", "concurrent.futures", "Executor"),
    ("a pool of workers", "multiprocessing.pool", "Pool"),
    ("a process", "multiprocessing.process", "BaseProcess"),
    ("a process", "subprocess", "Popen"),
    ("a connection to a process", "multiprocessing.connection", "_ConnectionBase"),
    ("a result that is not there yet", "concurrent.futures", "Future"),
    ("a task or future of an event loop", "_asyncio", "Future", "Task"),
    ("an event loop", "asyncio.events", "AbstractEventLoop"),
    ("a database connection", "sqlite3", "Connection"),
    ("a database cursor", "sqlite3", "Cursor"),
    ("a weak reference", "_weakref", "ReferenceType", "ProxyType", "CallableProxyType"),
    ("a dictionary of weak references", "weakref", "WeakValueDictionary", "WeakKeyDictionary"),
    ("a set of weak references", "weakref", "WeakSet"),
    ("a finalizer", "weakref", "finalize"),
    ("a memory map", "mmap", "mmap"),
    ("an SSL context", "_ssl", "_SSLContext"),
    ("a context variable", "_contextvars", "ContextVar", "Token", "Context"),
    ("a match of a regular expression", "re", "Match"),
    ("a traceback", "types", "TracebackType"),
    ("a hash that is being computed", "_hashlib", "HASH", "HMAC"),
    ("a queue", "_queue", "SimpleQueue"),
    ("a queue", "queue", "Queue"),
)
PLAIN_KINDS = {id(kind) for kind in (int, float, bool, complex, str, bytes, type(None))}  # by id: a class of the user's can break `==`


def refuse_as(text):
    def refuse(_pickling, value):
        raise Refused(value, text)

    return refuse


def refuse_file(_pickling, value):
    raise Refused(value, "a closed file" if attempt(getattr, value, "closed") is True else "an open file")


def refusing_rules():
    """The rules for what cannot be saved, by the id of a class; None for a class that can be although one above it cannot."""
    rules = {id(_io._IOBase): refuse_file, id(_io.StringIO): None, id(_io.BytesIO): None}
    for text, module, *names in TEXTS_OF_KINDS:
        for name in names:
            kind = getattr(modules.get(module), name, None)
            if issubclass(type(kind), type):
                rules[id(kind)] = refuse_as(text)

    async def coroutine():
        pass

    async def asynchronous():
        yield

    made = coroutine()
    made.close()
    for text, kind in (("a generator", type(iter_of())), ("a coroutine", type(made)), ("an async generator", type(asynchronous())),
                       ("a memoryview", memoryview), ("a code object", CodeType), ("a frame of running code", type(getframe()))):
        rules[id(kind)] = refuse_as(text)
    return rules


def iter_of():
    yield


# ---- rules -----------------------------------------------------------------------------------

def rule_of(kind, refusing):
    """How objects of a kind are reduced; None if pickle does it right by itself. No metaclass is asked."""
    for base in mro_of(kind):
        if id(base) in refusing:
            return refusing[id(base)]
    for base, rule in ((FunctionType, reduce_function), (type, reduce_class), (ModuleType, reduce_module), (CellType, reduce_cell)):
        if issubclass(kind, base):
            return rule
    for exact, rule in ((property, reduce_property), (staticmethod, reduce_around), (classmethod, reduce_around), (MethodType, reduce_method),
                        (ProxyType, reduce_proxy), (getattr(modules.get("functools"), "cached_property", None), reduce_cached)):
        if kind is exact:
            return rule
    for registered in list(modules["copyreg"].dispatch_table):
        if registered is kind:
            return None
    if kind is getattr(modules.get("typing"), "ForwardRef", None):
        return reduce_forward
    by = found(kind, "__reduce__")[1] if found(kind, "__reduce_ex__")[1] is object else None
    if by is not None and issubclass(by, BaseException) and not type_flags(by) & HEAP_TYPE and module_name_of(kind) == "__main__":
        return reduce_error
    if by is object:
        return reduce_raw if needs_arguments(kind) else None
    return reduce_own_way


def reduce_property(_pickling, value):
    return property, (value.fget, value.fset, value.fdel, value.__doc__)


def reduce_around(_pickling, value):
    return type(value), (value.__func__,)


def reduce_method(_pickling, value):
    """Pickle finds a method by its name, which need not lead to the same function."""
    owner, function = value.__self__, value.__func__
    name = attempt(getattr, function, "__name__")
    again = attempt(getattr, owner, name) if type(name) is str else None
    own = attempt(object.__getattribute__, owner, "__dict__") or ()
    if type(again) is MethodType and again.__func__ is function and again.__self__ is owner and name not in own:
        return NotImplemented
    return MethodType, (function, owner)


def reduce_proxy(_pickling, value):
    return ProxyType, (get_referents(value)[0],)


def reduce_cached(_pickling, value):
    """Without its lock, which some versions have."""
    return type(value), (value.func,), {"attrname": value.attrname, "__doc__": value.__doc__}


def reduce_forward(_pickling, value):
    """Without its code, which is compiled again."""
    module = getattr(value, "__forward_module__", None)
    return type(value), (value.__forward_arg__, value.__forward_is_argument__, *([module] if module is not None else []))


def builtin_base(kind):
    """The class of C that objects of a kind have their memory from."""
    for base in mro_of(kind):
        if not type_flags(base) & HEAP_TYPE:
            return base
    return object


def needs_arguments(kind):
    """Whether a `__new__` of the user's cannot be called with what pickle would give it: then objects are made without it, as
    they are without `__init__`."""
    made, owner = found(kind, "__new__")
    if module_name_of(owner) != "__main__" or type_flags(found(kind, "__getnewargs_ex__")[1] or found(kind, "__getnewargs__")[1] or object) & HEAP_TYPE:
        return False
    function = own_function(made)
    if type(function) is not FunctionType:
        return False
    code, given = function.__code__, 1 if builtin_base(kind) is object else 2
    required = code.co_argcount - len(function.__defaults__ or ())
    return required > given or code.co_kwonlyargcount > len(function.__kwdefaults__ or ())


def reduce_raw(_pickling, value):
    """As pickle does it, with the `__new__` of the class of C below."""
    made, args, *rest = object.__reduce_ex__(value, 5)
    if made is not modules["copyreg"].__newobj__:
        return (made, args, *rest)
    return (STAND_INS["make_raw"], (builtin_base(type(value)), *args), *rest)


def reduce_error(_pickling, value):
    """An error of the user's own kind: its `__init__` may want other arguments than those that it has given to the one above it."""
    _, args, *state = value.__reduce__()
    return (STAND_INS["make_error"], (builtin_base(type(value)), type(value), args), *state)


def reduce_own_way(pickling, value):
    """An object with a `__reduce__` of its own. If that answers with a name, the object is found by name again: then its
    definition must be saved if it is the user's (functools.lru_cache, typing.TypeVar)."""
    reduced = value.__reduce_ex__(5)
    if type(reduced) is str:
        home = getattr(value, "__module__", None)
        if home is None and is_at(builtins, reduced, value):  # NotImplemented
            return getattr, (builtins, reduced)
        if home in ("__main__", None) or not is_at(modules.get(home), reduced, value):
            return pickling.refer(value, reduced, "`%s`" % cut(reduced, 100))
    return reduced


def reduce_class(pickling, kind):
    home, path = module_name_of(kind), qualified_name_of(kind)
    if home != "__main__":
        if type(home) is str and is_at(modules.get(home), path, kind):
            return NotImplemented
        if kind is type(None) or kind is type(...) or kind is type(NotImplemented):
            return NotImplemented
        if home == "builtins":  # a kind without a name in builtins, like that of functions
            types = real_module("types")
            for name, named in vars(types).items():
                if named is kind:
                    return getattr, (types, name)
    return pickling.refer(kind, path, None)


def reduce_module(_pickling, module):
    name = module_key(module)
    if name is None:
        raise Refused(module, "a module that was not imported")
    return STAND_INS["import_named"], (name,)


def module_key(module):
    """The name by which a module can be imported."""
    name = attempt(getattr, module, "__name__")
    if type(name) is str and modules.get(name) is module:
        return name
    for key, loaded in list(modules.items()):
        if loaded is module and type(key) is str:
            return key
    return None


def reduce_cell(pickling, cell):
    """Without its content, which the function that it belongs to has: a function can be in its own cell."""
    if id(cell) not in pickling.cells:
        raise Refused(cell, "a variable of a function")
    return STAND_INS["make_cell"], ()


def is_at(home, path, value):
    """Whether an object is what a path of names in a module leads to."""
    try:
        for name in path.split("."):
            home = getattr(home, name)
        return home is value
    except Exception:
        return False


def stand_in(name):
    """What pickle finds in place of a function of loading.py, which is not called while something is saved."""
    def stands(*args):
        raise TypeError(name)

    stands.__module__, stands.__name__, stands.__qualname__ = HELPERS, name, name
    return stands


STAND_INS = {name: stand_in(name) for name in ("recall", "make_function", "set_function", "make_cell", "import_named", "make_raw", "make_error")}


class Pickling(_pickle.Pickler):
    """The one that writes, or one that only tries. `needs` are the names of definitions that what it wrote is found by."""

    def __init__(self, saving, sink, callback):
        super().__init__(sink, 5, buffer_callback=callback)
        self.saving, self.rules = saving, saving.rules
        self.needs, self.cells, self.last = set(), set(), None

    def reducer_override(self, value):
        self.last = value
        kind = type(value)
        rule = self.rules.get(id(kind), UNKNOWN)
        if rule is UNKNOWN:
            rule = self.saving.learn(kind)
        return NotImplemented if rule is None else rule(self, value)

    def refer(self, value, path, text):
        """An object that is made again by its definition: it is found by its name."""
        name = self.saving.name_of(value, path, text)
        self.needs.add(name.partition(".")[0])
        return STAND_INS["recall"], (name,)

    def forget(self):
        self.clear_memo()
        vars(self).clear()


def explain(error, value, pickling):
    """Why a value could not be saved, in a few words."""
    if isinstance(error, Refused):
        if error.what is value:
            return error.text
        if issubclass(type(error.what), type):
            return ("its " if error.what is type(value) else "holds an object whose ") + error.text
        return "holds " + error.text
    if isinstance(error, RecursionError):
        return "is too deeply nested"
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    if isinstance(error, Leave):
        error = SystemExit(*error.args)
    culprit = pickling.last
    message = cut(" ".join((guarded_text(error) or "").split()), 200)
    said = type_name(error) + (": " + message if message else "")
    if isinstance(error, (TypeError, _pickle.PicklingError, AttributeError)) and is_pickles_own(error):
        if culprit is value or culprit is None:
            return "cannot be pickled" + (": " + message if message else "")
        return "holds a `%s`, which cannot be pickled%s" % (type_name(culprit), ": " + message if message else "")
    who = "" if culprit is value or culprit is None else " of the `%s` that it holds" % type_name(culprit)
    return "pickling%s raised %s" % (who, said)


def is_pickles_own(error):
    """Whether an error came from no code but pickle's and ours."""
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if name != BRIDGE_FILE and not name.startswith(_home + "/copyreg") and not name.startswith("<frozen"):
            return False
        traceback = traceback.tb_next
    return True


def guarded_text(error):
    try:
        return safe_str(error)
    except Exception:
        return None

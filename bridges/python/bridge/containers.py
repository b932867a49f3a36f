# Containers: what is inside a list, a dict or their like, without code of the user's and without walking all of it.

SlotType = type(list.__repr__)
MOST_COMMON_SORTED = 100_000


class Shape:
    """A container as its repr shows it. An entry is a tuple of literal texts and of values, each in a 1-tuple."""
    __slots__ = ("open", "close", "size", "first", "last", "again", "ident", "unit", "bulk")

    def __init__(self, value, open, close, size, first, last=None, again="...", unit="items"):
        self.open, self.close, self.size, self.first, self.last = open, close, size, first, last
        self.again, self.ident, self.unit = again, id(value), unit
        self.bulk = None  # gives the first items as a list or dict of their own


def take(count, items):
    return [item for _, item in zip(range(count), items)]  # one step in C, so that no thread comes between


def plain(items):
    return [((item,),) for item in items]


def pairs(items):
    return [((key,), ": ", (value,)) for key, value in items]


def shape_of(value):
    """The shape of a container whose repr is known to be its contents; None for anything else."""
    kind = type(value)
    make = EXACT.get(kind)
    if make is not None:
        return make(value, kind)
    own, base = found(kind, "__repr__")
    if type(own) is SlotType:
        make = BY_SLOT.get(id(own))
        if make is not None:
            return make(value, kind) if own.__objclass__ in mro_of(kind) else None
        make = BY_NAME.get((module_name_of(base), type_name_of(base)))
        return make(value, kind, base) if make is not None else None
    if type(own) is FunctionType:
        try:
            return shape_of_python(value, kind, own, base)
        except Exception:  # the class looks like a known one and is none
            pass
    return None


def of_list(value, kind):
    shape = Shape(value, "[", "]", list.__len__(value), lambda n: plain(list.__getitem__(value, slice(n))),
                  lambda: plain([list.__getitem__(value, -1)])[0], "[...]")
    shape.bulk = lambda n: list.__getitem__(value, slice(n))
    return shape


def of_tuple(value, kind):
    size = tuple.__len__(value)
    shape = Shape(value, "(", ",)" if size == 1 else ")", size, lambda n: plain(tuple.__getitem__(value, slice(n))),
                  lambda: plain([tuple.__getitem__(value, -1)])[0], "(...)")
    shape.bulk = lambda n: list(tuple.__getitem__(value, slice(n)))
    return shape


def of_dict(value, kind):
    shape = Shape(value, "{", "}", dict.__len__(value), lambda n: pairs(take(n, dict.items(value))),
                  lambda: pairs(take(1, reversed(dict.items(value))))[0], "{...}")
    shape.bulk = lambda n: dict(take(n, dict.items(value)))
    return shape


def of_set(value, kind):
    base = set if set in mro_of(kind) else frozenset
    name = type_name_of(kind)
    around = ("{", "}") if kind is set else (name + "({", "})")
    shape = Shape(value, around[0], around[1], base.__len__(value), lambda n: plain(take(n, base.__iter__(value))),
                  None, name + "(...)")
    shape.bulk = lambda n: take(n, base.__iter__(value))
    return shape


def of_proxy(value, kind):
    inner = get_referents(value)
    shape = shape_of(inner[0]) if len(inner) == 1 else None
    if shape is not None:
        name = type_name_of(kind)
        shape.open, shape.close, shape.again = name + "(" + shape.open, shape.close + ")", name + "(" + shape.again + ")"
    return shape


def of_view(value, kind):
    return Shape(value, type_name_of(kind) + "([", "])", len(value), lambda n: plain(take(n, value)),
                 lambda: plain(take(1, reversed(value)))[0])


def of_ordered(value, kind, base):
    name, items = type_name_of(kind), space_of(base)["items"]
    if sys.version_info >= (3, 12):
        around, entries = (name + "({", "})"), pairs
    else:
        around, entries = (name + "([", "])"), plain
    return Shape(value, around[0], around[1], dict.__len__(value), lambda n: entries(take(n, items(value))),
                 lambda: entries(take(1, reversed(items(value))))[0])


def of_default(value, kind, base):
    shape = of_dict(value, kind)
    start = "%s(%s, " % (type_name_of(kind), render(space_of(base)["default_factory"].__get__(value), 200))
    shape.open, shape.close, shape.again = start + "{", "})", start + "{...})"
    return shape


def of_deque(value, kind, base):
    space = space_of(base)
    most = space["maxlen"].__get__(value)
    close = "])" if most is None else "], maxlen=%d)" % most
    return Shape(value, type_name_of(kind) + "([", close, space["__len__"](value),
                 lambda n: plain(take(n, space["__iter__"](value))), lambda: plain([space["__getitem__"](value, -1)])[0], "[...]")


def of_array(value, kind, base):
    if value.typecode in "uw":  # shown as a text
        return None
    return Shape(value, "%s('%s', [" % (type_name_of(kind), value.typecode), "])", space_of(base)["__len__"](value),
                 lambda n: plain(space_of(base)["__getitem__"](value, slice(n))),
                 lambda: plain([space_of(base)["__getitem__"](value, -1)])[0])


def shape_of_python(value, kind, own, base):
    """Classes of the standard library whose repr is written in Python."""
    code = own.__code__
    if code.co_freevars == ("repr_fmt",) and tuple in mro_of(kind):
        return of_namedtuple(value, kind, found(kind, "_fields")[0])
    if "user_function" in code.co_freevars and "__dataclass_fields__" in space_of(base):
        if own.__wrapped__.__code__.co_filename == "<string>":  # made by dataclasses
            return of_dataclass(value, kind, space_of(base)["__dataclass_fields__"])
        return None
    if own.__module__ != "collections":
        return None
    if own.__qualname__ == "Counter.__repr__" and dict in mro_of(kind):
        return of_counter(value, kind)
    if own.__qualname__ in ("UserDict.__repr__", "UserList.__repr__"):
        return shape_of(vars(value)["data"])
    if own.__qualname__ == "ChainMap.__repr__":
        maps = list(vars(value)["maps"])
        return Shape(value, type_name_of(kind) + "(", ")", len(maps), lambda n: plain(maps[:n]), None, unit="maps")
    return None


def of_namedtuple(value, kind, names):
    entries = [(name + "=", (item,)) for name, item in zip(names, tuple.__iter__(value))]
    shape = of_fields(value, type_name_of(kind), entries)
    shape.ident = object()  # a namedtuple's repr does not check whether it is inside itself; only the reprs of its items do
    return shape


def of_dataclass(value, kind, fields):
    entries = []
    for name, field in fields.items():
        if field.repr and field._field_type.name == "_FIELD":
            try:
                entries.append((name + "=", (getattr(value, name),)))
            except Exception as error:
                entries.append((name + "=", "<%s>" % type_name(error)))
    return of_fields(value, qualified_name_of(kind), entries)


def of_fields(value, name, entries):
    return Shape(value, name + "(", ")", len(entries), lambda n: entries[:n], None, unit="fields")


def of_counter(value, kind):
    def first(count):
        if size <= MOST_COMMON_SORTED:
            try:
                return pairs(sorted(dict.items(value), key=lambda item: item[1], reverse=True)[:count])
            except TypeError:
                pass
        return pairs(take(count, dict.items(value)))

    size = dict.__len__(value)
    name = type_name_of(kind)
    return Shape(value, name + "({", "})", size, first, None, name + "(...)")


EXACT = {list: of_list, tuple: of_tuple, dict: of_dict, set: of_set, frozenset: of_set, type(type.__dict__): of_proxy,
         type({}.keys()): of_view, type({}.values()): of_view, type({}.items()): of_view}
BY_SLOT = {id(kind.__repr__): make for kind, make in EXACT.items() if make is not of_proxy}
BY_NAME = {("collections", "OrderedDict"): of_ordered, ("collections", "defaultdict"): of_default,
           ("collections", "deque"): of_deque, ("array", "array"): of_array}

# Plain: small things that ask nothing of the bridge. The helper of Jupyter kernels has them too (bridges/jupyter/saving.py).

mro_of = type.__dict__["__mro__"].__get__
space_of = type.__dict__["__dict__"].__get__
module_name_of = type.__dict__["__module__"].__get__
FunctionType = type(lambda: 0)
type_name_of = type.__dict__["__name__"].__get__
qualified_name_of = type.__dict__["__qualname__"].__get__


def found(kind, name):
    """An attribute of a class as it lies there, and where: no metaclass and no descriptor is asked."""
    for base in mro_of(kind):
        space = space_of(base)
        if name in space:
            return space[name], base
    return None, None


def attempt(call, *args):
    try:
        return call(*args)
    except Exception:
        return None


def children_of(node):
    """The nodes of a syntax tree that are directly below one."""
    for field in node._fields:
        child = getattr(node, field, None)
        if isinstance(child, list):
            for one in child:
                if isinstance(one, _ast.AST):
                    yield one
        elif isinstance(child, _ast.AST):
            yield child


def exists(path):
    try:
        stat(path)
        return True
    except (OSError, ValueError):
        return False


def variable(name):
    value = getattr(modules.get("os"), "environ", {}).get(name)
    return value if type(value) is str else ""


def names_of(code):
    """Every name the code mentions, also in the functions it defines."""
    found, todo = {}, [code]
    while todo:
        code = todo.pop()
        found.update(dict.fromkeys(code.co_names))
        todo.extend([c for c in code.co_consts if type(c) is CodeType])
    return found


# ---- JSON ------------------------------------------------------------------------------------

ESCAPES = {c: "\\u%04x" % c for c in range(32)}
ESCAPES.update({10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 92: "\\\\"})
ESCAPED = [(chr(c), ESCAPES[c]) for c in (92, 34, *range(32))]  # the backslash first: the others bring more


def quote(text):
    """A JSON string. Lone surrogates are no JSON, so they are spelled out."""
    printable = text.isprintable()  # so it has neither control characters nor surrogates
    if printable and '"' not in text and "\\" not in text:
        return '"%s"' % (text,)  # with a tuple Python makes one step of it
    if len(text) < 24 and text.isascii():
        return '"' + text.translate(ESCAPES) + '"'
    # Of a longer text translate() would look at each character by itself, which takes long.
    if not printable:
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    for char, escape in ESCAPED:
        if char in text:
            text = text.replace(char, escape)
    return '"' + text + '"'


def dump(value):
    kind = type(value)
    if kind is str:
        return quote(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is dict:
        return "{" + ",".join(['"%s":%s' % (k, dump(v)) for k, v in value.items() if v is not None]) + "}"  # our own keys
    if kind is list:
        return "[" + ",".join([dump(v) for v in value]) + "]"
    return str(value)


# ---- texts of things -------------------------------------------------------------------------

def safe_str(value):
    try:
        text = str(value)
        return cut(text if type(text) is str else str.__str__(text), MESSAGE_BUDGET)
    except STOPS:
        raise
    except BaseException as error:
        return "<%s object, str raised %s>" % (type_name(value), type_name(error))


def type_name(value):
    return type_name_of(type(value))


def cut(text, budget):
    """Keeps the head and the tail of a text and says how long it was; never longer than the budget."""
    if len(text) <= budget:
        return text
    mark = " … (%d characters) … " % len(text)
    room = budget - len(mark)
    if room < 12:
        return text[:max(budget - 1, 0)] + "…"
    return text[:room - room // 2] + mark + text[len(text) - room // 2:]


# ---- modules of the standard library ---------------------------------------------------------

def is_real(module):
    """Whether a loaded module is the standard library's, and no file of the user's with the same name."""
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return origin in ("built-in", "frozen") or (
        type(origin) is str and "-packages/" not in origin and any([origin.startswith(folder + "/") for folder in STDLIB]))


def real_module(name):
    """A module of the standard library, also where user code has put another one in its place."""
    module = modules.get(name)
    if module is not None and is_real(module):
        return module
    aside = {} if module is None else {key: modules.pop(key) for key in list(modules) if is_within(key, name)}
    path, sys.path = sys.path, STDLIB
    try:
        return __import__(name)
    finally:
        sys.path = path
        if aside:
            for key in [key for key in list(modules) if is_within(key, name)]:
                modules.pop(key, None)
            modules.update(aside)


def is_within(key, name):
    return type(key) is str and (key == name or key.startswith(name + "."))

# Describing: names with their values, for questions. Whatever the user's classes do when they are looked at, the rest is told.

LIST_SECONDS, LOOK_SECONDS = 4.0, 1.0   # for all values of a list, and for one answer of one value
MEMBERS_LISTED = 200
NEAR_NAMES, NEAR_AMONG = 3, 20_000      # how many near names an error tells, and among how many they are looked for
TOO_SLOW = "<showing it takes too long>"


def list_values(names):
    """Names with type, size and a short value. One that takes too long is passed over, and so are all when the time is over."""
    listed, began, until = [], [0.0], monotonic() + LIST_SECONDS
    while len(listed) < len(names):
        left = until - monotonic()
        if left <= 0:
            listed.extend([dict(describe(name), value=TOO_SLOW) for name in names[len(listed):]])
            break
        try:
            within(min(LOOK_SECONDS, left), list_more, names, listed, began)
        except TooSlow:
            if len(listed) < len(names) and monotonic() - began[0] > LOOK_SECONDS / 2:
                listed.append(dict(describe(names[len(listed)]), value=TOO_SLOW))
    return listed


def list_more(names, listed, began):
    for name in names[len(listed):]:
        began[0], value = monotonic(), SPACE.get(name)
        text = lazy_text(value) if is_lazy(value) else render(value, 100, True)
        listed.append(dict(describe(name), value=text))


def look(call, *args):
    """What something of the user's gives; None if it fails or takes too long."""
    try:
        return within(LOOK_SECONDS, call_slowly, call, *args)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        leave_child(error)
        return None


def call_slowly(call, *args):
    return call(*args)


LIMITED.update((list_more.__code__, call_slowly.__code__))


def is_lazy(value):
    """Whether it is a module that is loaded when somebody asks it for anything, even for its repr."""
    kind = type(value)
    return kind is not ModuleType and ModuleType in mro_of(kind) and type(found(kind, "__getattribute__")[0]) is FunctionType


def lazy_text(module):
    return "<module %s, not loaded yet>" % repr(space_of_module(module).get("__name__"))


# ---- one name --------------------------------------------------------------------------------

def find_value(dotted):
    first, *rest = [part.strip() for part in dotted.split(".")]
    if first in SPACE:
        value = SPACE[first]
    elif first in vars(builtins):
        value = vars(builtins)[first]
    else:
        raise NameError("name '%s' is not defined%s" % (cut(first, 200), near_names(first, [*SPACE, *vars(builtins)])))
    for at, attribute in enumerate(rest):
        try:
            value = within(LOOK_SECONDS, call_slowly, getattr, value, attribute)
        except AttributeError as error:
            if is_member(value, attribute):  # the attribute is there, and its own code has raised the error
                raise RuntimeError("`%s` raised %s" % (".".join([first, *rest[:at + 1]]), in_short(error))) from None
            raise AttributeError("`%s`, of type %s, has no attribute '%s'%s" % (
                cut(".".join([first, *rest[:at]]), 200), type_name(value), cut(attribute, 200), near_names(attribute, members_of(value)))) from None
        except TooSlow:
            raise TimeoutError("looking at `%s` takes too long" % ".".join([first, *rest[:at + 1]])) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            leave_child(error)
            raise RuntimeError("`%s` raised %s" % (".".join([first, *rest[:at + 1]]), in_short(error))) from None
    return value


def is_member(value, name):
    return found(type(value), name)[1] is not None


def near_names(name, names):
    """What the user may have meant."""
    difflib = attempt(import_stdlib, "difflib")
    if difflib is None:
        return ""
    names = [other for other in names[:NEAR_AMONG] if type(other) is str and (name.startswith("_") or not other.startswith("_"))]
    near = difflib.get_close_matches(name[:100], names, NEAR_NAMES, 0.6)
    near += [other for other in names if other.lower() == name.lower() and other not in near][:1]
    return "; near: " + ", ".join(near) if near else ""


def members_of(value):
    """Names of attributes: what `dir` gives, or what lies in the object and its classes if that fails."""
    if is_lazy(value):
        return list(space_of_module(value))
    names = look(sorted_dir, value)
    if names is None:
        names = {name for base in mro_of(type(value)) for name in space_of(base)}
        own = found(type(value), "__dict__")[0]
        if type(own) is GetSetType:
            names.update(own.__get__(value))
        names = sorted([name for name in names if type(name) is str])
    return names


def sorted_dir(value):
    return [str.__str__(name) for name in dir(value) if str in mro_of(type(name))]


def inspect_name(dotted):
    value = find_value(dotted)
    lazy = is_lazy(value)
    text = lazy_text(value) if lazy else look(render, value)
    answer = {"name": dotted.strip(), "type": type_name(value), "value": TOO_SLOW if text is None else text, "size": size_of(value)}
    members = [name for name in members_of(value) if not name.startswith("_")]
    answer["members"], more = members[:MEMBERS_LISTED], len(members) - MEMBERS_LISTED
    if more > 0:
        answer["more_members"] = more
    inspect = attempt(import_stdlib, "inspect")
    if inspect is None or lazy:
        return answer
    is_module = ModuleType in mro_of(type(value))
    if not (callable(value) or is_module):
        if module_name_of(type(value)) != "builtins":
            answer["type_doc"] = bounded(look(inspect.getdoc, type(value)))
        return answer
    answer["doc"] = bounded(look(inspect.getdoc, value))
    answer["file"] = bounded(look(inspect.getsourcefile, value))
    if is_module:
        answer["source"] = bounded(file_text(answer["file"])) if answer["file"] else None
    else:
        answer["signature"] = bounded(look(signature_text, value))
        answer["source"] = bounded(look(inspect.getsource, value))
    if type in mro_of(type(value)) and not answer["source"]:
        name, source = attempt(class_source, value) or (None, None)
        answer["file"], answer["source"] = answer["file"] or name, bounded(source)
    return answer


def signature_text(value):
    return str(modules["inspect"].signature(value))


def class_source(kind):
    """Name and text of the eval that defined a class: inspect.getsource looks only for a file of its module."""
    if module_name_of(kind) != "__main__":
        return None
    methods = [getattr(member, "__func__", member) for member in space_of(kind).values()]
    files = {method.__code__.co_filename for method in methods if isinstance(method, FunctionType)}
    path = [part for part in qualified_name_of(kind).split(".") if part != "<locals>"]
    known = [*reversed(RECENT), PROJECT_FILE, STDLIB_FILE]
    for name in [name for name in known if name in files] + [name for name in known if name not in files]:
        entry = SOURCES.get(name)
        text = entry if type(entry) is str else "".join(entry[2]) if entry is not None else ""
        if "class" not in text or path[-1] not in text:
            continue
        for node in named(attempt(compile, text, name, "exec", S.flags | _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True), path):
            first = min([node.lineno] + [mark.lineno for mark in node.decorator_list])
            return name, "\n".join(text.replace("\r\n", "\n").split("\n")[first - 1:node.end_lineno]) + "\n"
    return None


def named(tree, path):
    """Definitions with this path of names, the last one first, since that is the one which holds."""
    todo, reached = [(tree, 0)], []
    while todo:
        node, depth = todo.pop()
        for child in getattr(node, "_fields", ()):
            inner = getattr(node, child, None)
            for item in inner if isinstance(inner, list) else [inner]:
                if not isinstance(item, _ast.AST):
                    continue
                definition = isinstance(item, (_ast.ClassDef, _ast.FunctionDef, _ast.AsyncFunctionDef))
                if definition and item.name != path[depth]:
                    continue
                if definition and depth + 1 == len(path):
                    reached += [item] if isinstance(item, _ast.ClassDef) else []
                else:
                    todo.append((item, depth + definition))
    return sorted(reached, key=lambda node: -node.lineno)


def complete(text):
    """Names that begin with the last part of a dotted expression."""
    head, dot, prefix = text.strip().rpartition(".")
    if dot:
        names = members_of(find_value(head))
    else:
        keywords = attempt(import_stdlib, "keyword")
        names = [*SPACE, *vars(builtins), *getattr(keywords, "kwlist", ())]
    # Private names are offered only to a prefix that begins with an underscore.
    private = prefix.startswith("_")
    found = {name for name in names if type(name) is str and name.startswith(prefix) and (private or not name.startswith("_"))}
    found = sorted(found)
    return {"names": [head + dot + name for name in found[:COMPLETIONS_LISTED]], "more": max(len(found) - COMPLETIONS_LISTED, 0)}


def bounded(text):
    return cut(text, MESSAGE_BUDGET) if type(text) is str else None

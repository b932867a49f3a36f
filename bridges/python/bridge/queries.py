# Queries: what the session knows of names and values, and `clear`, which forgets it.

def do_query(seq, what, argument):
    if what == "code":
        # The host asks for its own cache, when an eval may already stand behind: an interrupt that comes now is for that one.
        transmit('{"ev":"reply","seq":%d,"data":%s}\n' % (int(seq), dump({"code": attempt(compiled_bridge)})))
        return
    S.pending = False
    forget_interrupt()
    repair_streams()
    S.phase = Phase.RUNNING
    try:
        answer = {"seq": int(seq), "data": run_user(ask, what, argument)}
    except KeyboardInterrupt:
        answer = {"seq": int(seq), "error": "interrupted"}
    except BaseException as error:
        leave_child(error)
        answer = {"seq": int(seq), "error": guarded(safe_str, error) or type_name(error)}
    S.phase = Phase.IDLE
    reclaim_sigint()
    answer = dump(answer)
    transmit('{"ev":"reply",' + answer[1:] + "\n")


def ask(what, argument):
    if what == "vars":
        names = [name for name in list(SPACE) if is_user_name(name)]
        listed = [dict(describe(name), value=render(SPACE.get(name), 100, True)) for name in names[:VARS_LISTED]]
        return {"vars": listed, "more": max(len(names) - VARS_LISTED, 0)}
    if what == "inspect":
        return inspect_name(argument)
    if what == "complete":
        return complete(argument)
    raise ValueError("unknown query `%s`" % what)


def compiled_bridge():
    """This bridge as `code` for boot.py: compiling it costs more than all the rest of the start. Its parts that run later are
    compiled too, each to one constant that costs a start nothing."""
    magic, dumps = modules["_frozen_importlib_external"].MAGIC_NUMBER, import_stdlib("marshal").dumps
    texts = {part for part in PARTS.values() if type(part) is str}
    constants = [dumps(compile(one, BRIDGE_FILE, "exec", 0, True)) if type(one) is str and one in texts else one for one in CODE.co_consts]
    return (magic + dumps(CODE.replace(co_consts=tuple(constants)))).hex()


def find_value(dotted):
    first, *rest = dotted.strip().split(".")
    if first in SPACE:
        value = SPACE[first]
    elif first in vars(builtins):
        value = vars(builtins)[first]
    else:
        raise NameError("name '%s' is not defined" % first)
    for attribute in rest:
        value = getattr(value, attribute)
    return value


def inspect_name(dotted):
    value = find_value(dotted)
    answer = {"name": dotted.strip(), "type": type_name(value), "value": render(value), "size": size_of(value)}
    members = [name for name in attempt(dir, value) or [] if type(name) is str and not name.startswith("_")]
    answer["members"] = members[:200]
    inspect = attempt(import_stdlib, "inspect")
    if inspect is None or not (callable(value) or isinstance(value, ModuleType)):
        return answer
    answer["doc"] = bounded(attempt(inspect.getdoc, value))
    answer["file"] = bounded(attempt(inspect.getsourcefile, value))
    if callable(value):
        answer["signature"] = bounded(attempt(lambda: str(inspect.signature(value))))
        answer["source"] = bounded(attempt(inspect.getsource, value))
    if isinstance(value, type) and not answer["source"]:
        name, source = attempt(class_source, value) or (None, None)
        answer["file"], answer["source"] = answer["file"] or name, bounded(source)
    return answer


def class_source(kind):
    """Name and text of the eval that defined a class: inspect.getsource looks only for a file of its module."""
    if module_name_of(kind) != "__main__":
        return None
    methods = [getattr(member, "__func__", member) for member in space_of(kind).values()]
    files = {method.__code__.co_filename for method in methods if isinstance(method, FunctionType)}
    path = [part for part in qualified_name_of(kind).split(".") if part != "<locals>"]
    for name in [name for name in reversed(RECENT) if name in files] + [name for name in reversed(RECENT) if name not in files]:
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
        names = attempt(dir, find_value(head)) or []
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


def attempt(call, *args):
    try:
        return call(*args)
    except Exception:
        return None


def do_clear(seq):
    S.pending = False
    forget_interrupt()
    old = dict(SPACE)
    SPACE.clear()
    SPACE.update(vars(ModuleType("__main__")))
    SPACE["__builtins__"] = builtins
    modules["__main__"] = MODULE
    S.flags, S.names, S.final = 0, len(SPACE), None
    KNOWN.clear()
    MARKS.clear()
    GLOBALS.clear()
    forget_figures()
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    vars(builtins).pop("_", None)
    reset_builtins()
    guarded(old.clear)  # finalizers of the user's run here
    del old
    reclaim_sigint()
    transmit('{"ev":"reply","seq":%d,"data":{}}\n' % int(seq))

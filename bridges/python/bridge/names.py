# Names: what an eval added, rebound or removed in the user's namespace.

REFLECTIVE = {"globals", "exec", "vars", "setattr", "delattr", "locals", "eval", "__main__", "__dict__", "modules", "runpy"}
SIZED = (list, tuple, dict, set, frozenset, str, bytes, bytearray)
SHAPED = ("numpy", "pandas", "polars", "torch", "tensorflow", "jax", "jaxlib", "pyarrow", "xarray", "scipy", "cupy")


def size_of(value):
    """A size that costs nothing to know; no __len__ of the user's is called."""
    kind = type(value)
    try:
        if kind in SIZED:
            return str(len(value))
        if module_name_of(kind) == "collections" and type(found(kind, "__len__")[0]) is SlotType:
            return str(len(value))
        if library_root(kind) is not None:
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape):
                return "×".join([str(int(n)) for n in shape]) or None
    except Exception:
        pass
    return None


def is_user_name(name):
    return type(name) is str and not (name.startswith("__") and name.endswith("__")) and not (name in GIVEN and is_given(name))


def is_given(name):
    """Whether a name still means what the user's standard library has defined."""
    return name in SPACE and SPACE[name] is GIVEN[name]


def is_flat(code):
    """Whether it has no function in it."""
    for constant in code.co_consts:
        if type(constant) is CodeType:
            return False
    return True


def find_globals(tree):
    """Remembers names declared global in functions: a later call may bind them."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, _ast.Global):
            GLOBALS.update(node.names)
        todo.extend(children_of(node))


def changes(codes, source):
    """What the eval did to the user's names. Only names that its code mentions are compared, unless others can have changed."""
    if codes is None:  # the eval was no code of the user's
        candidates = {}
    elif len(codes) == 1 and not GLOBALS and is_flat(codes[0]):
        candidates = codes[0].co_names
        if not candidates and S.names == len(SPACE) and "import *" not in source:
            return None
    else:
        candidates = {}
        for code in codes:
            candidates.update(names_of(code))
        candidates.update(dict.fromkeys(GLOBALS))
    whole = codes is None or not REFLECTIVE.isdisjoint(candidates) or "import *" in source
    added, rebound, removed = [], [], []
    if not whole:
        compare(candidates, added, rebound, removed)
        whole = S.names + len(added) - len(removed) != len(SPACE)
    if whole:
        compare(dict.fromkeys([*KNOWN, *GIVEN, *SPACE]), added, rebound, removed)
    S.names = len(SPACE)
    told = compare_marks(added, rebound, candidates) if MARKS else None
    if not (added or rebound or removed):
        return None
    more, room, listed = 0, CHANGES_LISTED, {}
    marked = (added or rebound) and may_be_marked()
    for key, names in (("added", added), ("rebound", rebound), ("removed", removed)):
        if names:
            shown = names[:room]
            room -= len(shown)
            more += len(names) - len(shown)
            if shown and key == "removed":
                listed[key] = shown
            elif shown:
                listed[key] = [describe(name) for name in shown]
                if marked:
                    add_marks(listed[key], told)
                    for name in names[len(shown):MARKED_MOST]:
                        note_mark(name)
    if more:
        listed["more"] = more
    return listed


def add_marks(entries, told):
    """Says how frames and arrays differ from what they were, and marks those that are new."""
    for entry in entries:
        name = entry["name"]
        if name not in MARKS:
            note_mark(name)
        elif told:
            entry["change"] = told.get(name)


def compare(candidates, added, rebound, removed):
    for name in candidates:
        if type(name) is not str:
            continue
        before = KNOWN.get(name)
        if name in SPACE:
            now = id(SPACE[name])
            if before != now and is_user_name(name):
                (added if before is None and name not in GIVEN else rebound).append(name)
                GIVEN.pop(name, None)
                KNOWN[name], BOUND[name] = now, S.eval
        elif before is not None or name in GIVEN:
            KNOWN.pop(name, None)
            BOUND.pop(name, None)
            GIVEN.pop(name, None)
            removed.append(name)


def describe(name):
    value = SPACE.get(name)
    return {"name": name, "type": type_name(value), "size": size_of(value)}

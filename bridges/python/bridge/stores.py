# Stores: frames and arrays that the code writes into. Their marks do not show it, the text of the code does.

STORES_READ = 20_000    # characters of code; longer code is not looked through
ACCESSORS = {"loc", "iloc", "at", "iat", "values"}
ASIDE = {"attrs", "flags", "index", "columns", "name", "names", "style", "coords", "dims"}  # what belongs to a frame beside its values
# Methods that write into their object, by library: `sort` changes an array of numpy, but returns a copy of a tensor.
ARRAY_METHODS = {"sort", "fill", "put", "partition", "itemset", "resize"}
IN_PLACE = {"numpy": ARRAY_METHODS, "cupy": ARRAY_METHODS, "scipy": {"setdiag", "resize"}, "tensorflow": {"assign", "assign_add", "assign_sub"},
            "pandas": {"update"}, "xarray": {"update"}, "polars": {"replace_column", "scatter", "set_at_idx", "extend", "append"}}
FILLED_FIRST = {"shuffle", "copyto", "put", "place", "putmask", "fill_diagonal"}  # functions that write into their first argument
FILLED_BY = ("numpy", "random", "cupy")  # where these functions do that; in other libraries they return a copy
SIGNS = ("=", "_(", "byteswap", *FILLED_FIRST, *{name for names in IN_PLACE.values() for name in names})  # code that writes has one of these
MethodType = type(Mark.__init__.__get__(0))
SCOPES = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef, _ast.Lambda)


def may_store(source):
    """Whether code may write into a frame or array that is there before it runs; then its tree is wanted afterwards."""
    return MARKS and len(source) <= STORES_READ and any([sign in source for sign in SIGNS])


def stored_into(names, mentioned, tree, stopped):
    """Which of the names are written into by code that ran up to a line, also under another name of the same object, or of
    a part of it."""
    if tree is None:
        return []
    wanted = wanted_names(names, mentioned, tree)
    if not wanted:
        return []
    found, todo = set(), list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, SCOPES):
            continue
        if stopped is None or getattr(node, "lineno", 0) < stopped:
            note_stores(node, wanted, found)
        todo.extend(children_of(node))
    if not found:
        return []
    objects = {MARKS[wanted[name]].of for name in found}
    parts = [SPACE[name] for name in found if name in SPACE]
    return [name for name in names if MARKS[name].of in objects or shares_values(SPACE[name], parts)]


def wanted_names(names, mentioned, tree):
    """Each mentioned name that holds one of the marked objects, or has held one in this code, or holds a part of one, with the
    marked name that it stands for."""
    wanted = {name: name for name in names if name in mentioned}
    objects, array = {MARKS[name].of: name for name in names}, getattr(modules.get("numpy"), "ndarray", None)
    others = [name for name in mentioned if name not in wanted and name in SPACE and (id(SPACE[name]) in objects or type(SPACE[name]) is array)]
    copies = [node for node in tree.body if isinstance(node, _ast.Assign) and isinstance(node.value, _ast.Name)]
    if not others and not (wanted and copies):
        return wanted
    bound = bound_once(tree)
    for name in others:
        if name in bound:
            value = SPACE[name]
            marked = objects.get(id(value)) or next(iter([marked for marked in names if shares_values(value, [SPACE[marked]])]), None)
            if marked is not None:
                wanted[name] = marked
    for node in copies:
        if node.value.id in wanted:
            for target in node.targets:
                if isinstance(target, _ast.Name) and target.id in bound:
                    wanted.setdefault(target.id, wanted[node.value.id])
    return wanted


def bound_once(tree):
    """Names that the code binds once, so that they hold the same object wherever they are written into."""
    counts, todo = {}, list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, _ast.AugAssign):
            todo.append(node.value)
            continue
        if isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Store):
            counts[node.id] = counts.get(node.id, 0) + 1
        todo.extend(children_of(node))
    return {name for name, count in counts.items() if count == 1}


def shares_values(value, others):
    """Whether an array of numpy has values in common with one of the others, of which one may be a part of the other."""
    numpy = modules.get("numpy")
    if numpy is None or type(value) is not numpy.ndarray:
        return False
    for other in others:
        if type(other) is numpy.ndarray and owner_of(value) is owner_of(other):
            try:
                if numpy.shares_memory(value, other, max_work=1000):
                    return True
            except Exception:  # it would take too long to know
                pass
    return False


def owner_of(array):
    """The object whose memory an array lies in."""
    while array.base is not None:
        if type(array.base) is not type(array):
            return array.base
        array = array.base
    return array


def note_stores(node, wanted, found):
    if isinstance(node, _ast.Assign):
        targets = list(node.targets)
        while targets:
            target = targets.pop()
            if isinstance(target, (_ast.Tuple, _ast.List)):
                targets.extend(target.elts)
            elif isinstance(target, _ast.Subscript):
                note_target(target, wanted, found)
    elif isinstance(node, _ast.AugAssign):
        note_target(node.target, wanted, found)
    elif isinstance(node, _ast.Call):
        note_call(node, wanted, found)


def way_to(node):
    """The name at the root of an expression, and the attributes from there; `[]` for a subscript."""
    way = []
    while not isinstance(node, _ast.Name):
        if isinstance(node, _ast.Attribute):
            way.append(node.attr)
        elif isinstance(node, _ast.Subscript):
            way.append("[]")
        else:
            return None, way
        node = node.value
    way.reverse()
    return node.id, way


def note_target(target, wanted, found):
    name, way = way_to(target)
    if name in wanted and ASIDE.isdisjoint(way) and not is_of_a_copy(MARKS[wanted[name]].sort, way):
        found.add(name)


def is_of_a_copy(sort, way):
    """`df['a'][0] = 1` writes into a copy of the column since pandas 3."""
    if not sort.startswith("pandas") or len(way) < 2 or way[0] in ACCESSORS:
        return False
    version = str(getattr(modules.get("pandas"), "__version__", ""))
    return not version.startswith(("0.", "1.", "2."))


def note_call(node, wanted, found):
    for keyword in node.keywords:
        if keyword.arg == "out" and isinstance(keyword.value, _ast.Name) and keyword.value.id in wanted:
            found.add(keyword.value.id)
    if isinstance(node.func, _ast.Name):
        called, name, way = node.func.id, None, []
    elif isinstance(node.func, _ast.Attribute):
        called = node.func.attr
        name, way = way_to(node.func.value)
    else:
        return
    if name in wanted and not way and is_done_in_place(MARKS[wanted[name]].root, called, node):
        found.add(name)
    first = node.args[0].id if node.args and isinstance(node.args[0], _ast.Name) else None
    if called in FILLED_FIRST and first in wanted and MARKS[wanted[first]].root in FILLED_BY and is_filling(called, node, name, way):
        found.add(first)


def is_done_in_place(root, called, node):
    if called in IN_PLACE.get(root, ()):
        return True
    if root == "torch" and called[-1:] == "_" and called[:1] != "_":  # `x.add_(1)`
        return True
    if root == "numpy" and called == "byteswap" and node.args:
        return getattr(node.args[0], "value", None) is True
    return any([keyword.arg in ("inplace", "in_place") and getattr(keyword.value, "value", None) is True for keyword in node.keywords])


def is_filling(called, node, name, way):
    """Whether a function of that name writes into its first argument: `shuffle(x, y)` of scikit-learn does not, and what a
    function of the user's does is not known."""
    if called == "shuffle" and len(node.args) > 1 and not isinstance(node.args[1], _ast.Constant):
        return False
    function = SPACE.get(name or called)
    for part in [*way, called] if name is not None else []:
        if ModuleType not in mro_of(type(function)):
            return True  # a method of an object, such as a generator of random numbers
        function = space_of_module(function).get(part)
    function = getattr(function, "__func__", function) if type(function) is MethodType else function
    if type(function) is not FunctionType:
        return True
    module = function.__module__
    return type(module) is str and module.partition(".")[0] in FILLED_BY


def line_of(error, name):
    """The line of this file, an eval's or a library's, at which an error left it; code below has not run."""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == name:
            return traceback.tb_lineno
        traceback = traceback.tb_next
    return None

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
    """Which of the names are written into by code that ran up to a line, also under another name of the same object."""
    wanted = {name for name in names if name in mentioned}
    if not wanted or tree is None:
        return []
    found, todo = set(), list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, SCOPES):
            continue
        if stopped is None or getattr(node, "lineno", 0) < stopped:
            note_stores(node, wanted, found)
        todo.extend(children_of(node))
    objects = {MARKS[name].of for name in found}
    return [name for name in names if MARKS[name].of in objects]


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
    if name in wanted and ASIDE.isdisjoint(way) and not is_of_a_copy(MARKS[name].sort, way):
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
    if name in wanted and not way and is_done_in_place(MARKS[name].root, called, node):
        found.add(name)
    first = node.args[0].id if node.args and isinstance(node.args[0], _ast.Name) else None
    if called in FILLED_FIRST and first in wanted and MARKS[first].root in FILLED_BY and is_filling(called, node, name, way):
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

# Stores: frames and arrays that the code writes into. Their marks do not show it, the text of the code does.

STORES_READ = 20_000    # characters of code; longer code is not looked through
ACCESSORS = {"loc", "iloc", "at", "iat", "values"}
ASIDE = {"attrs", "flags", "index", "columns", "name", "names", "style", "coords", "dims"}  # what belongs to a frame beside its values
ARRAY_METHODS = {"sort", "fill", "put", "partition", "itemset", "resize", "byteswap"}
FILLED_FIRST = {"shuffle", "copyto", "put", "place", "putmask", "fill_diagonal"}  # functions that write into their first argument
SIGNS = ("=", "_(", "update", *ARRAY_METHODS, *FILLED_FIRST)  # code that writes has one of these
SCOPES = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef, _ast.Lambda)


def stored_into(names, mentioned, source, stopped):
    """Which of the names are written into by code that ran up to a line, also under another name of the same object."""
    wanted = {name for name in names if name in mentioned}
    if not wanted or len(source) > STORES_READ or not any([sign in source for sign in SIGNS]):
        return []
    tree = compile_tree(source)
    found, todo = set(), list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, SCOPES):
            continue
        if stopped is None or getattr(node, "lineno", 0) < stopped:
            note_stores(node, wanted, found)
        for field in node._fields:
            child = getattr(node, field, None)
            if isinstance(child, list):
                todo.extend([c for c in child if isinstance(c, _ast.AST)])
            elif isinstance(child, _ast.AST):
                todo.append(child)
    objects = {MARKS[name].of for name in found}
    return [name for name in names if MARKS[name].of in objects]


def compile_tree(source):
    """The tree of code that has been compiled before; what there is to warn of has been said then."""
    warnings = import_stdlib("warnings")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, file_name(), "exec", S.flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | _ast.PyCF_ONLY_AST, True)


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
    if name in wanted and not way and is_done_in_place(MARKS[name].sort, called, node):
        found.add(name)
    if called in FILLED_FIRST and node.args and isinstance(node.args[0], _ast.Name) and node.args[0].id in wanted:
        found.add(node.args[0].id)


def is_done_in_place(sort, called, node):
    if sort == "array":
        return called in ARRAY_METHODS or (called[-1:] == "_" and called[:1] != "_")  # torch: `x.add_(1)`
    return called == "update" or any([keyword.arg in ("inplace", "in_place") and getattr(keyword.value, "value", None) is True for keyword in node.keywords])


def line_of(error):
    """The line of the eval at which an error left it; code below has not run."""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file_name():
            return traceback.tb_lineno
        traceback = traceback.tb_next
    return None

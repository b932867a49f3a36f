# Definitions: what the statements of a source text define, and what is wrong with it. None of it is run.

SHORT_LINE = 200    # characters of a signature or of a line that stands for something
DEFINITIONS_LISTED = 20_000


def definitions(text):
    """The statements at the top of a text, in order: which names each binds, and on which lines it stands."""
    flags = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        tree = compile(text, STDLIB_FILE, "exec", flags | _ast.PyCF_ONLY_AST, True)
        compile(text, STDLIB_FILE, "exec", flags, True)  # finds what is wrong beyond the grammar: a `return` outside of functions
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise ValueError("line %s: %s%s" % (error.lineno or 1, error.msg, ": " + cut(line, SHORT_LINE) if line else "")) from None
    if len(tree.body) > DEFINITIONS_LISTED:
        raise ValueError("it has %d statements, and at most %d are listed" % (len(tree.body), DEFINITIONS_LISTED))
    lines, found, last = text.encode("utf-8", "replace").split(b"\n"), [], 0
    for number, node in enumerate(tree.body):
        marks = [mark.lineno for mark in getattr(node, "decorator_list", ())]
        first = min([node.lineno, *marks])
        place = {"from": first, "to": node.end_lineno, "comment": comment_above(lines, first, last)}
        found += [dict(entry, **place) for entry in defined_by(node, lines, number == 0)]
        last = node.end_lineno
    return {"definitions": found}


def comment_above(lines, first, last):
    """The first line of the comment right above a statement; the head of the file (`#!`, its encoding) is not one."""
    at = first
    while at - 1 > last and lines[at - 2].startswith(b"#"):
        line = lines[at - 2]
        if at - 1 <= 2 and (line.startswith(b"#!") or b"coding:" in line or b"coding=" in line):
            break
        at -= 1
    return at if at < first else None


def defined_by(node, lines, is_first):
    """What a statement defines: an entry for each name, or one without a name."""
    if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef)) and node.name != "_":
        return [{"name": node.name, "kind": "function", "signature": signature_in(node, lines), "doc": doc_in(node)}]
    if isinstance(node, _ast.ClassDef) and node.name != "_":
        return [{"name": node.name, "kind": "class", "doc": doc_in(node)}]
    text = first_text(lines, node)
    if isinstance(node, (_ast.Import, _ast.ImportFrom)):
        # A `__future__` import is allowed only at the beginning of a file.
        future = getattr(node, "module", None) == "__future__" or None
        bound = [alias.asname or (alias.name.partition(".")[0] if isinstance(node, _ast.Import) else alias.name) for alias in node.names]
        named = [{"name": name, "kind": "module", "signature": text, "head": future} for name in bound if name != "*"]
        return named or [{"name": "", "kind": "module", "signature": text}]
    if is_first and isinstance(node, _ast.Expr) and type(getattr(node.value, "value", None)) is str:
        return [{"name": "", "kind": "head"}]
    return [{"name": name, "kind": "other", "signature": text} for name in bound_by(node)] or [{"name": "", "kind": "other", "signature": text}]


def bound_by(node):
    """Names that an assignment binds, if it binds nothing else."""
    if isinstance(node, _ast.Assign):
        todo, names = list(node.targets), []
    elif isinstance(node, _ast.AnnAssign) and node.value is not None:
        todo, names = [node.target], []
    elif type(node).__name__ == "TypeAlias":  # 3.12
        todo, names = [node.name], []
    else:
        return []
    while todo:
        target = todo.pop(0)
        if isinstance(target, _ast.Name):
            names.append(target.id)
        elif isinstance(target, (_ast.Tuple, _ast.List)):
            todo = list(target.elts) + todo
        elif isinstance(target, _ast.Starred):
            todo.insert(0, target.value)
        else:
            return []
    return list(dict.fromkeys(names))


def signature_in(node, lines):
    """The parameters as they are written, on one line."""
    given, parts = node.args, []
    before = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(before) - len(given.defaults)) + given.defaults
    for number, (parameter, default) in enumerate(zip(before, defaults), 1):
        parts.append(parameter_text(parameter, default, lines))
        if number == len(given.posonlyargs):
            parts.append("/")
    if given.vararg is not None:
        parts.append("*" + parameter_text(given.vararg, None, lines))
    elif given.kwonlyargs:
        parts.append("*")
    parts += [parameter_text(parameter, default, lines) for parameter, default in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg is not None:
        parts.append("**" + parameter_text(given.kwarg, None, lines))
    returns = " -> " + text_in(lines, node.returns) if node.returns is not None else ""
    return cut("(" + ", ".join(parts) + ")" + returns, SHORT_LINE)


def parameter_text(parameter, default, lines):
    text = parameter.arg
    if parameter.annotation is not None:
        text += ": " + text_in(lines, parameter.annotation)
    if default is not None:
        text += (" = " if parameter.annotation is not None else "=") + text_in(lines, default)
    return text


def text_in(lines, node):
    """The text of a node with single spaces; columns count bytes."""
    taken = lines[node.lineno - 1:node.end_lineno]
    taken[-1] = taken[-1][:node.end_col_offset]
    taken[0] = taken[0][node.col_offset:]
    return cut(" ".join(b"\n".join(taken).decode("utf-8", "replace").split()), SHORT_LINE)


def first_text(lines, node):
    """The first line of a statement."""
    line = lines[node.lineno - 1][node.col_offset:node.end_col_offset if node.end_lineno == node.lineno else None]
    return cut(line.decode("utf-8", "replace").strip(), SHORT_LINE)


def doc_in(node):
    """The first line of a docstring."""
    first = node.body[0]
    doc = getattr(first.value, "value", None) if isinstance(first, _ast.Expr) else None
    return cut(doc.strip().partition("\n")[0].strip(), SHORT_LINE) or None if type(doc) is str else None

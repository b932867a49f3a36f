# Sources: the definitions that the user's code has made, as the text of its evals has them.

WRITTEN = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)
SCOPED = (*WRITTEN, _ast.Lambda)
ASKED_ONE_BY_ONE = 50
WITHIN = {}             # package -> modules of it that a load has imported
LOADED = {}             # eval of a load and name -> the file name of the saved source whose statement bound it


def source_text(file):
    entry = SOURCES.get(file)
    if entry is None:
        return None
    text = entry if type(entry) is str else "".join(entry[2])
    return text.replace("\r\n", "\n").replace("\r", "\n")


def quietly(call, *args):
    """What there is to warn of has been said when the code ran."""
    warnings = real_module("warnings")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args)


def dump_of(node):
    """A text that two nodes have in common if they mean the same."""
    if isinstance(node, list):
        return "[%s]" % ",".join([dump_of(one) for one in node])
    if not isinstance(node, _ast.AST):
        return repr(node)
    return "%s(%s)" % (type(node).__name__, ",".join([dump_of(getattr(node, field, None)) for field in node._fields]))


def first_line(node):
    return min([node.lineno] + [mark.lineno for mark in getattr(node, "decorator_list", ())])


class Source:
    """The text of one eval and what is made of it, each when it is first asked for."""

    def __init__(self, file, text):
        self.file, self.text, self.parsed, self.codes = file, text, UNKNOWN, {}
        self.lines, self.bound, self.kept = None, None, set()

    def tree(self):
        """Its tree, or None if it cannot be compiled."""
        if self.parsed is UNKNOWN:
            flags = S.flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | _ast.PyCF_ONLY_AST
            self.parsed = attempt(quietly, compile, self.text, self.file, "exec", flags, True)
        return self.parsed

    def functions(self, sign, flags):
        """The code of all functions in it with a sign."""
        if flags not in self.codes:
            wanted = flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            self.codes[flags] = attempt(lambda: by_sign(quietly(compile, self.text, self.file, "exec", wanted, True))) or {}
        return self.codes[flags].get(key_of(sign), ())

    def statements(self, name):
        """The statements that bind a name, in their order."""
        if self.bound is None:
            self.bound = {}
            for node in statements_of(self.tree()):
                for bound in names_bound(node):
                    self.bound.setdefault(bound, []).append(node)
        return self.bound.get(name, ())

    def groups(self):
        """The lines of each top-level statement, from and to; statements that share a line are one."""
        if self.lines is None:
            self.lines = []
            for node in self.tree().body:
                first, last = first_line(node), node.end_lineno
                if self.lines and first <= self.lines[-1][1]:
                    self.lines[-1][1] = max(last, self.lines[-1][1])
                else:
                    self.lines.append([first, last])
        return self.lines

    def keep(self, line):
        """Has the statement around a line saved. Whether there is one."""
        for number, (first, last) in enumerate(self.groups()):
            if first <= line <= last:
                self.kept.add(number)
                return True
        return False

    def saved(self):
        """What is kept of it: pairs of a line's number and the text from there on."""
        lines = self.text.split("\n")
        return [[first, "\n".join(lines[first - 1:last])] for first, last in [self.groups()[number] for number in sorted(self.kept)]]


class Definition:
    """A statement that makes what a name is bound to."""

    def __init__(self, source, node):
        self.source, self.node = source, node
        self.at = [node.lineno, node.col_offset]

    def is_simple(self):
        """Whether it makes something and binds it to a name: an assignment, or a `def` or `class`. Another name for what there is makes nothing."""
        if isinstance(self.node, _ast.Assign):
            looked_up = isinstance(self.node.value, (_ast.Name, _ast.Attribute, _ast.Subscript)) and not has_call(self.node.value)
            return all([isinstance(target, _ast.Name) for target in self.node.targets]) and not looked_up
        return isinstance(self.node, (*WRITTEN, _ast.AnnAssign)) or type(self.node).__name__ == "TypeAlias"

    def names_at_once(self, bare=()):
        """Names that are looked up when the statement runs, and not later in a function. `bare` are methods that run without their defaults."""
        found, todo = {}, [self.node]
        while todo:
            node = todo.pop()
            if isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Load):
                found[node.id] = None
            elif isinstance(node, SCOPED) and not isinstance(node, _ast.ClassDef):
                todo.extend(getattr(node, "decorator_list", ()))
                skipped = [*node.args.defaults, *node.args.kw_defaults] if [node.lineno, node.col_offset] in bare else ()
                todo.extend([child for child in children_of(node.args) if not any([child is one for one in skipped])])
                todo.extend([node.returns] if getattr(node, "returns", None) is not None else [])
                continue
            todo.extend(children_of(node))
        return found

    def names_within(self):
        """All names that it mentions."""
        found, todo = {}, [self.node]
        while todo:
            node = todo.pop()
            if isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Load):
                found[node.id] = None
            todo.extend(children_of(node))
        return found


def has_call(node):
    """Whether a call is in an expression."""
    todo = [node]
    while todo:
        node = todo.pop()
        if isinstance(node, _ast.Call):
            return True
        todo.extend(children_of(node))
    return False


def names_bound(node):
    """The names that a statement binds. What its blocks do is asked of each statement in them."""
    if isinstance(node, WRITTEN):
        return [node.name]
    if isinstance(node, (_ast.Import, _ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    found, todo = {}, [node]
    while todo:
        node = todo.pop()
        if isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Store):
            found[node.id] = None
        todo.extend([child for child in children_of(node) if not isinstance(child, (_ast.stmt, _ast.Lambda))])
    return list(found)


def statements_of(tree):
    """All statements in their order, those in blocks too, but not those in functions and classes."""
    todo = list(reversed(tree.body))
    while todo:
        node = todo.pop()
        if isinstance(node, _ast.stmt):
            yield node
        if not isinstance(node, WRITTEN):
            todo.extend(reversed([child for child in children_of(node) if isinstance(child, _ast.stmt) or hasattr(child, "body")]))


class Sources:
    def __init__(self):
        self.known, self.asked, self.words = {}, 0, None

    def files_with(self, word):
        """The evals whose text has a word, the newest first. Which words there are is noted when many have been asked for."""
        self.asked += 1
        if self.asked < ASKED_ONE_BY_ONE:
            return [file for file in reversed(RECENT) if word in (source_text(file) or "")]
        if self.words is None:
            self.words, words_in = {}, real_module("re").compile(r"\w+").findall
            for file in reversed(RECENT):
                for found in set(words_in(source_text(file) or "")):
                    self.words.setdefault(found, []).append(file)
        return self.words.get(word, ())

    def source(self, file):
        if file not in self.known:
            text = source_text(file)
            self.known[file] = None if text is None else Source(file, text)
        return self.known[file]

    def last_import(self, name):
        """The last import that bound a name which is gone."""
        for file in self.files_with(name):
            for node in reversed(self.reached(file, name)):
                return Definition(self.source(file), node) if isinstance(node, (_ast.Import, _ast.ImportFrom)) else None
        return None

    def reached(self, file, name):
        """The statements of an eval that bind a name and may have run: none below the one at which it failed."""
        source = self.source(file)
        if source is None or name not in source.text or source.tree() is None:
            return []
        until = max([top.end_lineno for top in source.tree().body if first_line(top) <= STOPPED[file]] or [0]) if file in STOPPED else None
        return [node for node in source.statements(name) if until is None or first_line(node) <= until]

    def binding(self, name, value):
        """The statement that made what a name is bound to; None if that cannot be told."""
        file, nodes = self.bound_by(name)
        if not nodes:
            return self.around(name, value)
        tops, likely = self.source(file).tree().body, []
        for node in reversed(nodes):
            likely.insert(0, node)
            if any([node is top for top in tops]):
                break  # no statement before one at top level matters; those in blocks may not have run
        if len(likely) > 1:
            fits = [likeness(node, file, value) for node in likely]
            likely = [node for node, fit in zip(likely, fits) if fit == max(fits)]
        texts = {dump_of(node) for node in likely}
        if len(texts) > 1 and not all([isinstance(node, _ast.ClassDef) for node in likely]):
            return None
        definition = Definition(self.source(file), likely[-1])
        return definition if definition.is_simple() else self.around(name, value) or definition

    def bound_by(self, name):
        """The eval that bound a name last, and its statements that do."""
        for file in files_bound(name):
            nodes = self.reached(file, name)
            if nodes:
                return file, nodes
        return None, []

    def around(self, name, value):
        """The statement that the methods of a class stand in, for one that was bound by other means than a statement."""
        files, lines = attempt(origin_of, value) or ((), ())
        for file in files:
            nodes = [node for node in self.reached(file, name) if isinstance(node, _ast.ClassDef)]
            nodes = [node for node in nodes if any([where == file and first_line(node) <= line <= node.end_lineno for where, line in lines])]
            if nodes:
                return Definition(self.source(file), nodes[-1])
        return None

    def modules_within(self, key):
        """Modules of a package that were imported by their whole name, `import a.b`: the name `a` is of no use without them."""
        found = dict(WITHIN.get(key, ()))
        for file in list(RECENT):
            text = SOURCES.get(file)
            if text is None or (type(text) is str and ("import" not in text or key + "." not in text)):
                continue
            source = self.source(file)
            if source is not None and key + "." in source.text and source.tree() is not None:
                for node in statements_of(source.tree()):
                    for alias in node.names if isinstance(node, _ast.Import) else ():
                        if alias.name.startswith(key + ".") and alias.asname is None and alias.name in modules:
                            found[alias.name] = None
        return list(found)

    def place_of(self, code):
        """Where the source of a function's code stands, and the statement around it is kept; None if it is not known."""
        source = self.source(code.co_filename)
        if source is None or source.tree() is None:
            return None
        flags, sign = code.co_flags & FUTURES, sign_of(code)
        number = place_in(code, source.functions(sign, flags))
        if number is None or not source.keep(code.co_firstlineno):
            return None
        return code.co_filename, flags, sign, number

    def saved(self):
        """All texts that are kept, by the names that their evals have."""
        return [[source.file, source.saved()] for source in self.known.values() if source is not None and source.kept]


def joined(parts):
    """Texts put back at their lines, so that errors show the lines that the user wrote."""
    text, line = [], 1
    for first, part in parts:
        text.append("\n" * (first - line) + part)
        line = first + part.count("\n")
    return "".join(text)

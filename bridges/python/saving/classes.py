# Classes: what the statement of a class makes when it runs again, and what the class holds beside that.

# Attributes that a class statement makes by itself, or that a library's decorator makes.
MACHINERY = {"__module__", "__dict__", "__weakref__", "__slots__", "__orig_bases__", "__parameters__", "__type_params__", "__classcell__",
             "__firstlineno__", "__static_attributes__", "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "_abc_impl"}
PLAIN_DATA = (str, int, float, bool, type(None), bytes, tuple, frozenset, list, dict, set)
SlotKinds = (type(_io.BytesIO.closed), type(type.__dict__["__dict__"]), type(FunctionType.__dict__["__globals__"]))


def body_of(node):
    """What the body of a class binds: its `def` and `class` statements, the last of each name, and the names of all others."""
    defined, assigned = {}, set()
    for statement in statements_of(node):
        for name in [mangled(node.name, bound) for bound in names_bound(statement)]:
            if isinstance(statement, WRITTEN):
                defined[name] = statement
                assigned.discard(name)
            else:
                defined.pop(name, None)
                if not isinstance(statement, _ast.AnnAssign) or statement.value is not None:
                    assigned.add(name)
    return defined, assigned


def mangled(owner, name):
    return "_" + owner.lstrip("_") + name if name.startswith("__") and not name.endswith("__") and owner.strip("_") else name


def own_function(value):
    """The function in what a statement `def` in a class can make without a decorator of the user's or a library's."""
    return value.__func__ if type(value) in (staticmethod, classmethod) else value


def functions_in(value):
    """The functions that a descriptor was made of, as they are below their decorators; None if these are not known."""
    kind = type(value)
    if kind is property:
        parts = [part for part in (value.fget, value.fset, value.fdel) if part is not None]
    elif kind in (staticmethod, classmethod):
        parts = [value.__func__]
    elif kind is FunctionType:
        parts = [value]
    else:
        own = attempt(object.__getattribute__, value, "__dict__") or {}
        parts = [own[key] for key in ("func", "__wrapped__", "fget", "_func") if key in own][:1]
    parts = [attempt(innermost, part) for part in parts]
    return parts if parts and all([type(part) is FunctionType for part in parts]) else None


def hops(value):
    """How many decorators have wrapped a function, as far as they say so."""
    value, count = own_function(value), 0
    while count < 100 and "__wrapped__" in (attempt(getattr, value, "__dict__") or ()):
        value, count = value.__wrapped__, count + 1
    return count


class Made:
    """What a class's statement makes anew."""

    def __init__(self, kind, file, node):
        self.kind, self.file, self.node = kind, file, node
        self.defined, self.assigned = body_of(node)
        self.first, self.last = first_line(node), node.end_lineno
        meta = type(kind)
        self.is_plain = meta is type or type_name_of(meta) == "ABCMeta" or module_name_of(meta) == "__main__"
        # Whether code outside the body may have given the class attributes when it was made.
        self.has_helpers = bool(node.decorator_list or node.keywords or node.bases)

    def is_in_body(self, function):
        code = function.__code__
        return code.co_filename == self.file and self.first <= code.co_firstlineno <= self.last

    def is_method(self, attribute, value):
        """Whether a plain `def`, or one that is a class method or static method, made it."""
        node, function = self.defined.get(attribute), own_function(value)
        if not isinstance(node, WRITTEN[:2]) or type(function) is not FunctionType:
            return False
        code = function.__code__
        return code.co_filename == self.file and code.co_firstlineno == first_line(node) and code.co_name == node.name

    def is_made(self, attribute, value):
        """Whether the statement makes this as it is. Of what it wraps in functions of the user's that holds only for what is within."""
        node, kind = self.defined.get(attribute), type(value)
        if isinstance(node, _ast.ClassDef):
            return issubclass(kind, type) and qualified_name_of(value) == "%s.%s" % (qualified_name_of(self.kind), node.name)
        if kind in SlotKinds:
            return True
        if node is not None:
            if self.is_method(attribute, value):
                return True
            inner = functions_in(value)
            if inner is None or not all([self.is_in_body(function) for function in inner]) or hops(value) > len(node.decorator_list):
                return inner is None and bool(node.decorator_list)
            return kind is not FunctionType or value.__code__.co_filename not in SOURCES
        if attribute not in self.assigned and kind in (FunctionType, staticmethod, classmethod, property):
            # A function that is not in the body may have been compiled by a decorator like `dataclass`.
            inner = functions_in(value)
            return self.has_helpers and inner is not None and all([function.__code__.co_filename not in SOURCES for function in inner])
        return False

    def is_left(self, attribute, value):
        """Whether an attribute is none that the user would have set, so that the statement's own stays."""
        if attribute in MACHINERY or type(value) in SlotKinds or attribute.startswith(("__dataclass_", "__attrs_", "__pydantic_")):
            return True
        if not self.is_plain:
            # A library's metaclass keeps attributes of its own in the class.
            inner = functions_in(value)
            if inner is not None:
                return not all([function.__code__.co_filename in SOURCES for function in inner])
            return attribute not in self.assigned or type(value) not in PLAIN_DATA
        if value is None and (attribute == "__doc__" or (attribute == "__hash__" and "__eq__" in self.defined)):
            return True
        if attribute == "__doc__" and type(value) is str:
            return " ".join(value.split()) == " ".join((text_of(self.node) or "").split())
        return attribute[:2] == "__" == attribute[-2:] and attribute not in self.assigned and functions_in(value) is None and (
            type(value) not in PLAIN_DATA or bool(self.node.decorator_list))

    def state(self, attribute, value):
        """What a method has that its statement would make anew: defaults and attributes."""
        function = own_function(value)
        held = function.__defaults__, function.__kwdefaults__, dict(function.__dict__)
        return held if any(held) else None

    def makes_anew(self, attribute):
        """Whether the body calls something to make an attribute, rather than give it a plain value first."""
        for statement in statements_of(self.node):
            if isinstance(statement, (_ast.Assign, _ast.AnnAssign)) and attribute in [mangled(self.node.name, name) for name in names_bound(statement)]:
                return statement.value is not None and has_call(statement.value)
        return attribute in self.assigned

    def removed(self):
        """What the body binds and the class does not have any more."""
        space = space_of(self.kind)
        return [name for name in [*self.defined, *self.assigned] if name not in space and name not in MACHINERY]

    def named(self):
        """Names and texts of the class itself that were set later."""
        held, kind = {}, self.kind
        if self.is_plain and not self.node.decorator_list:
            for attribute, made in (("__name__", self.node.name), ("__module__", "__main__")):
                now = attempt(type.__dict__[attribute].__get__, kind)
                if type(now) is str and now != made:
                    held[attribute] = now
            noted = space_of(kind).get("__annotations__")
            if type(noted) is dict:
                written = [one.target for one in statements_of(self.node) if isinstance(one, _ast.AnnAssign)]
                if set(noted) != {mangled(self.node.name, target.id) for target in written if isinstance(target, _ast.Name)}:
                    held["__annotations__"] = noted
        return held


def text_of(node):
    """The text that documents a class."""
    first = node.body[0]
    value = first.value if isinstance(first, _ast.Expr) else None
    return value.value if isinstance(value, _ast.Constant) and type(value.value) is str else None


def is_of_class(kind, attribute, value):
    """Of a class that a call has made: whether that call makes an attribute as it is."""
    if attribute in MACHINERY or attribute[:2] == "__" == attribute[-2:] or type(value) in SlotKinds:
        return True
    if type(value) is FunctionType:
        return value.__qualname__ in ("%s.%s" % (qualified_name_of(kind), attribute), "%s.%s" % (type_name_of(kind), attribute))
    if issubclass(type(value), type):
        return qualified_name_of(value).startswith(qualified_name_of(kind) + ".")
    return found(type(value), "__get__")[1] is not None


def lost_base(node, kind):
    """Why a class cannot be made again from its statement: what it derives from or is decorated with is not the same any more."""
    bases = space_of(kind).get("__orig_bases__") or type.__dict__["__bases__"].__get__(kind)
    for place, base in enumerate(node.bases):
        if isinstance(base, _ast.Name) and base.id not in vars(builtins):
            now = SPACE.get(base.id, UNKNOWN)
            if now is UNKNOWN:
                return base.id, "is not there any more"
            if issubclass(type(now), type) and module_name_of(now) == "__main__" and len(bases) == len(node.bases) and bases[place] is not now:
                return base.id, "has been redefined since"
    for decorator in node.decorator_list:
        mark = decorator
        while isinstance(mark, (_ast.Call, _ast.Attribute)):
            mark = mark.func if isinstance(mark, _ast.Call) else mark.value
        if isinstance(mark, _ast.Name) and mark.id not in SPACE and mark.id not in vars(builtins):
            return mark.id, "is not there any more"
    return None


def likeness(node, file, kind):
    """How well a statement fits a class: by its lines, by the names that it binds, by plain values in it."""
    if not isinstance(node, _ast.ClassDef) or not issubclass(type(kind), type):
        return 0, 0, 0
    space, (defined, assigned) = space_of(kind), body_of(node)
    first, last = first_line(node), node.end_lineno
    line = space.get("__firstlineno__")
    codes = [function.__code__ for value in list(space.values()) for function in functions_in(value) or ()]
    lines = [code.co_firstlineno for code in codes if code.co_filename == file]
    near = sum([1 if first <= one <= last else -1 for one in lines]) + (0 if type(line) is not int else 1000 if line == first else -1000)
    same = 0
    for statement in node.body:
        if isinstance(statement, _ast.Assign) and isinstance(statement.value, _ast.Constant):
            for target in statement.targets:
                if isinstance(target, _ast.Name):
                    same += repr(space.get(target.id)) == repr(statement.value.value) if type(space.get(target.id)) in PLAIN_DATA else 0
    return near, -len([name for name in [*defined, *assigned] if name not in space]), same


def without_defaults(node, lines):
    """A class's statement whose methods at these lines have no defaults: those that they had are given to them afterwards."""
    for statement in statements_of(node):
        if isinstance(statement, WRITTEN[:2]) and [statement.lineno, statement.col_offset] in lines:
            for field in (statement.args.defaults, statement.args.kw_defaults):
                field[:] = [one if one is None else nothing_at(one) for one in field]
    return node


def nothing_at(node):
    return _ast.Constant(None, None, lineno=node.lineno, col_offset=node.col_offset, end_lineno=node.end_lineno, end_col_offset=node.end_col_offset)

# Plans: what is to be given to a class or a wrapped function once its statement has run again, so that it is as it was.

class Plan:
    """What a definition holds beside what its statement makes, each part tried by itself. `bare` are the methods whose
    defaults are held, so that they are not evaluated anew."""

    def __init__(self, saving, name, value, definition):
        self.saving, self.name = saving, name
        self.held, self.needs, self.bare = [], set(), []
        file, node = definition.source.file, definition.node
        if issubclass(type(value), type) and isinstance(node, _ast.ClassDef):
            self.take_class(name, value, saving.made_of(value, file, node))
        elif issubclass(type(value), type) and not isinstance(node, WRITTEN):
            self.take_made(name, value)
        elif isinstance(node, WRITTEN[:2]):
            self.take_function(value, file, node)

    def take(self, what, path, attribute, value):
        """Whether a part can be saved."""
        try:
            needs = self.saving.try_out(value)
        except Failed as failed:
            return str(failed)
        self.needs.update(needs)
        self.held.append((what, path, attribute, value))
        return None

    def take_class(self, path, kind, made):
        held = [(attribute, value) for attribute, value in list(space_of(kind).items()) if type(attribute) is str]
        for attribute, value in held:  # methods come first: other parts may need classes that call them
            if made.is_method(attribute, value):
                self.take_method(path, attribute, made, value)
        for attribute, value in held:
            if made.is_method(attribute, value):
                continue
            if made.is_made(attribute, value):
                inner = made.defined.get(attribute)
                if isinstance(inner, _ast.ClassDef) and value is not kind:
                    self.take_class("%s.%s" % (path, attribute), value, self.saving.made_of(value, made.file, inner))
            elif not made.is_left(attribute, value):
                why = self.take("attribute", path, attribute, value)
                # An attribute that the class body makes anew is not lost.
                if why is not None and not made.makes_anew(attribute) and not self.is_wrapped(made, attribute, value):
                    self.saving.parts["%s.%s" % (path, attribute)] = value, why
        registered = registered_with(kind)
        if registered:
            self.take("registered", path, None, registered)
        for attribute, value in made.named().items():
            self.take("attribute", path, attribute, value)
        removed = made.removed()
        if removed:
            self.held.append(("removed", path, None, removed))

    def take_made(self, path, kind):
        """A class that a call has made; what the call makes of it is not known."""
        meta = type(kind)
        if meta is type or type_name_of(meta) == "ABCMeta" or module_name_of(meta) == "__main__":
            for attribute, value in list(space_of(kind).items()):
                if type(attribute) is str and not is_of_class(kind, attribute, value):
                    self.take("attribute", path, attribute, value)

    def is_wrapped(self, made, attribute, value):
        """Whether a function of the user's is around one of the body, so that the statement makes one like it."""
        node, inner = made.defined.get(attribute), functions_in(value)
        return node is not None and inner is not None and all([made.is_in_body(function) for function in inner]) and hops(value) <= len(node.decorator_list)

    def take_method(self, path, attribute, made, value):
        state, node = made.state(attribute, value), made.defined[attribute]
        if state is None:
            return
        why = self.take("method", path, attribute, state)
        if why is None and attribute != "__init_subclass__":  # it runs when a class is derived, perhaps before it has its defaults
            self.bare.append([node.lineno, node.col_offset])
        elif state[2]:
            self.saving.parts["%s.%s" % (path, attribute)] = value, why

    def take_function(self, value, file, node):
        """The function that decorators of a library have wrapped: its defaults as they are now."""
        function = attempt(innermost, value)
        if type(function) is not FunctionType or function is value or function.__code__.co_filename != file:
            return
        if first_line(node) <= function.__code__.co_firstlineno <= node.end_lineno:
            state = function.__defaults__, function.__kwdefaults__, {}
            if any(state):
                self.take("wrapped", self.name, None, state)


def registered_with(kind):
    """The classes that were registered with an abstract one."""
    if type_name_of(type(kind)) != "ABCMeta" or "_abc_impl" not in space_of(kind):
        return []
    found = attempt(real_module("_abc")._get_dump, kind)
    classes = [reference() for reference in found[0]] if found else []
    return sorted([one for one in classes if one is not None], key=qualified_name_of)


# ---- loading ---------------------------------------------------------------------------------

def give(part, owner, attribute, value):
    """Gives one part to what the statement has made. No metaclass of the user's is asked."""
    if part == "attribute":
        if space_of(owner).get(attribute, FILLER) is not value:
            type.__setattr__(owner, attribute, value)
    elif part == "registered":
        for kind in value:
            attempt(owner.register, kind)
    elif part == "removed":
        for name in value:
            if name in space_of(owner):
                type.__delattr__(owner, name)
    else:
        function = own_function(space_of(owner)[attribute]) if part == "method" else innermost(owner)
        function.__defaults__, function.__kwdefaults__ = value[:2]
        function.__dict__.update(value[2])

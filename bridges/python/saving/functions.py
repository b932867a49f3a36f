# Functions: saved as code and state. The code is told by its source where that is known, which every Python can
# compile; else it is marshalled, which only the same minor version can read.

marshal = real_module("marshal")
FUTURES = 0             # the flags of code that __future__ imports set
for _name in real_module("__future__").all_feature_names:
    FUTURES |= getattr(real_module("__future__"), _name).compiler_flag
NO_CONTENT = ("empty",)


def reduce_function(pickling, function):
    home, path = function.__module__, function.__qualname__
    space = function.__globals__
    if space is not SPACE:
        if type(home) is str and home != "__main__" and is_at(modules.get(home), path, function):
            return NotImplemented
        name = pickling.saving.defined_name(function, path)
        if name is not None:  # a library's wrapper around a function of the user's
            return pickling.refer(function, name, None)
        home = space.get("__name__")
        if type(home) is not str or getattr(modules.get(home), "__dict__", None) is not space:
            raise Refused(function, "a function whose globals are not the session's")
    else:
        home = "__main__"
        if "." in path and "<locals>" not in path and pickling.saving.leads_to(path, function):
            return pickling.refer(function, path, None)  # a method is found through its class
    cells = function.__closure__ or ()
    pickling.cells.update([id(cell) for cell in cells])
    pickling.saving.mention(function.__code__)
    args = pickling.saving.code_of(function.__code__), home, function.__name__, cells
    return STAND_INS["make_function"], args, function_state(function, cells), None, None, STAND_INS["set_function"]


def function_state(function, cells):
    contents = []
    for cell in cells:
        try:
            contents.append((cell.cell_contents,))
        except ValueError:
            contents.append(NO_CONTENT[:0])
    return {"cells": tuple(contents), "defaults": function.__defaults__, "kwdefaults": function.__kwdefaults__,
            "dict": dict(function.__dict__), "annotations": attempt(getattr, function, "__annotations__") or {},
            "doc": function.__doc__, "qualname": function.__qualname__, "module": function.__module__,
            "type_params": getattr(function, "__type_params__", ())}


def set_state(function, state):
    for cell, content in zip(function.__closure__ or (), state["cells"]):
        if content:
            cell.cell_contents = content[0]
    function.__defaults__, function.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    function.__dict__.update(state["dict"])
    if state["annotations"]:
        function.__annotations__ = state["annotations"]
    function.__doc__, function.__qualname__, function.__module__ = state["doc"], state["qualname"], state["module"]
    if state.get("type_params"):
        attempt(setattr, function, "__type_params__", state["type_params"])


# ---- code ------------------------------------------------------------------------------------

def codes_in(code):
    """All code of functions within a code, in the order in which it stands there."""
    found, todo = [], [code]
    while todo:
        code = todo.pop()
        inner = [constant for constant in code.co_consts if type(constant) is CodeType]
        found.extend(inner)
        todo.extend(reversed(inner))
    return found


def sign_of(code):
    """What tells a function from others in the same source, whatever Python compiled it."""
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return [code.co_name, code.co_firstlineno, list(code.co_varnames[:count])]


def is_same_code(one, other):
    return (one.co_code == other.co_code and one.co_names == other.co_names and one.co_varnames == other.co_varnames
            and one.co_freevars == other.co_freevars and one.co_cellvars == other.co_cellvars and is_same_constant(one.co_consts, other.co_consts))


def is_same_constant(one, other):
    """Equal and of the same kind: `0.0 == -0.0` and `1 == True`, and NaN is not equal to itself."""
    if type(one) is not type(other):
        return False
    if type(one) is CodeType:
        return is_same_code(one, other)
    if type(one) is tuple:
        return len(one) == len(other) and all([is_same_constant(a, b) for a, b in zip(one, other)])
    return one == other if type(one) is frozenset else repr(one) == repr(other)


def by_sign(code):
    """All functions within a code, by their signs; those that have the same one in their order."""
    found = {}
    for inner in codes_in(code):
        found.setdefault(key_of(sign_of(inner)), []).append(inner)
    return found


def key_of(sign):
    name, line, arguments = sign
    return name, line, tuple(arguments)


def place_in(code, alike):
    """Which of the functions with its sign it is, or None if the source does not give the same code."""
    for number, candidate in enumerate(alike):
        if is_same_code(candidate, code):
            return number
    return None

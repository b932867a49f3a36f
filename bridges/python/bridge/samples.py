# Samples: whether arrays have other values after functions of the user's ran. What those write into does not show in the code
# of the eval that calls them, and marks know nothing of values (marks.py).
#
# A sample is a number made of an array's bytes: of all of them where there are few, else of some, so that it takes
# microseconds. One that differs is a change; a single value of a large array may change unseen. Samples are taken before
# and after code that may call such functions, and of no class of the user's.

SAMPLES = {}            # user's name -> (id of the object, its sample before the eval)
SAMPLES_SECONDS = 0.001
HASHED_BYTES = 1 << 16  # of so many bytes each counts
SUMMED_BYTES = 1 << 20  # of so many their sum
SAMPLED_VALUES = 500


def take_samples(codes):
    """Before code runs, while frames or arrays are marked."""
    SAMPLES.clear()
    if len(codes) != 1:
        return
    flat = is_flat(codes[0])
    names = codes[0].co_names if flat else names_of(codes[0])
    if flat and not attempt(may_call_users, names):
        return
    until, by_object = monotonic() + SAMPLES_SECONDS, {}
    for name in [*[name for name in names if name in MARKS], *[name for name in MARKS if name not in names]]:
        if monotonic() > until:
            return
        if name in SPACE:
            value = SPACE[name]
            if id(value) not in by_object:
                by_object[id(value)] = sample_of(value, MARKS[name])
            if by_object[id(value)] is not None:
                SAMPLES[name] = id(value), by_object[id(value)]


def may_call_users(names):
    """Whether one of the names is a function of the user's, or has some, or can run any code."""
    for name in names:
        if name in REFLECTIVE:
            return True
        value = SPACE.get(name)
        kind = type(value)
        if kind in PLAIN or value is None:
            continue
        if kind is FunctionType:
            if value.__globals__ is SPACE or not is_foreign(value.__code__.co_filename):
                return True
        elif kind is ModuleType:
            path = space_of_module(value).get("__file__")
            if type(path) is str and not is_foreign(path):
                return True
        elif is_of_users(value if type in mro_of(kind) else kind):
            return True
    return False


def is_of_users(kind):
    module = module_name_of(kind)
    if module == "__main__":
        return True
    if type(module) is not str or module not in modules or module.partition(".")[0] in SHAPED:
        return False
    path = space_of_module(modules[module]).get("__file__")
    return type(path) is str and not is_foreign(path)


def differing(names):
    """Which of the names hold an object that has another sample than before the eval."""
    now, found = {}, []
    for name in names:
        if name in SAMPLES and name in SPACE and SAMPLES[name][0] == id(SPACE[name]):
            of, before = SAMPLES[name]
            if of not in now:
                now[of] = sample_of(SPACE[name], MARKS[name])
            if now[of] is not None and now[of] != before:
                found.append(name)
    return found


def sample_of(value, mark):
    """The sample of a marked value, None if there is none."""
    if not mark.own or type(value) is not mark.kind:
        return None
    try:
        if mark.root == "torch":
            return value._version  # torch counts the changes itself
        return SAMPLERS[mark.root, mark.sort](value)
    except Exception:
        return None


def sample_array(array):
    numpy = modules["numpy"]
    if type(array) is not numpy.ndarray or is_in_file(array):
        return None
    size = array.nbytes
    if size <= HASHED_BYTES:
        return hash(array.tobytes())
    total = None
    if size <= SUMMED_BYTES and array.flags.forc and not array.dtype.hasobject:
        row = array.ravel(order="K").view("u1")
        total = int(row[:size & ~7].view("u8").sum()), row[size & ~7:].tobytes()
    return total, hash(array.flat[::array.size // SAMPLED_VALUES | 1].tobytes())


def is_in_file(array):
    """Whether to look at an array would read a file."""
    base = array.base
    while type(base) is type(array):
        base = base.base
    return base is not None and type_name(base) in ("memmap", "mmap", "memoryview")


def sample_blocks(value):
    return [sample_part(block.values) for block in value._mgr.blocks[:MARKED_COLUMNS]]


def sample_part(part):
    """Of a column: an array, or one of pandas's own that has its values in one."""
    if type(part) is modules["numpy"].ndarray:
        return sample_array(part)
    inside = getattr(part, "_ndarray", None) if is_of_library(type(part)) else None
    return None if inside is None else sample_array(inside)


def sample_variable(value):
    return sample_array(value.variable._data)


SAMPLERS = {("numpy", "array"): sample_array, ("pandas", "pandas frame"): sample_blocks, ("pandas", "pandas series"): sample_blocks,
            ("xarray", "array"): sample_variable}

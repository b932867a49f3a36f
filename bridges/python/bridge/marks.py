# Marks: how data frames and arrays that the user's names hold differ from what they were after the last eval.
#
# A mark is what can be known of one without looking at its data: shape, labels, types, and which arrays it is made of. It
# refers to none of these arrays, so it keeps no data alive. Where a library gives no more, or its inside is not as
# expected, shape and labels are compared. What changes single values in place shows in the code (stores.py), or is found by
# comparing some of them (samples.py).

ARRAYS = {"jax", "jaxlib", "cupy", "tensorflow", "scipy"}  # libraries in which any class may be one of arrays
FRAMES = {("numpy", "ndarray"): "array", ("torch", "Tensor"): "array",
          ("pandas", "DataFrame"): "pandas frame", ("pandas", "Series"): "pandas series", ("polars", "DataFrame"): "polars frame",
          ("polars", "Series"): "polars series", ("pyarrow", "Table"): "arrow", ("pyarrow", "RecordBatch"): "arrow",
          ("xarray", "Dataset"): "dataset", ("xarray", "DataArray"): "array"}
# What is asked of an object to mark it.
MARK_ASKS = ("__getattribute__", "__getattr__", "__len__", "_mgr", "columns", "data_vars", "dtype", "dtypes", "num_columns", "num_rows",
             "schema", "shape", "sizes", "variables")
MARKS = {}              # user's name -> Mark
MARKED_MOST = 300       # names
MARKED_COLUMNS = 200    # of more columns, only the shape and the object that has their names are marked
LABELS_COMPARED = 5000
SHOWN_LABELS = 4
NO_NUMBER = float("nan")
PLAIN_MODULES = ("datetime", "decimal", "uuid", "pathlib", "fractions")  # of the standard library, whose objects may be labels
CHANGE_BUDGET = 200
MARKS_SECONDS = 0.001   # for all names after an eval; a name that has no turn in this time is marked anew at the next


class Mark:
    """`pieces`: ids of the arrays. `labels`: an object that never changes. `types`: by label, or the only one. `places`: which
    columns each piece has. `own`: the class is the library's own, so that it need not be looked at again."""
    __slots__ = ("kind", "labels", "of", "own", "pieces", "places", "root", "shape", "sort", "types")

    def __init__(self, kind, sort, of):
        self.kind, self.sort, self.of = kind, sort, of
        self.shape = self.labels = self.types = self.pieces = self.places = None


def may_be_marked():
    """Whether a library is loaded whose objects are marked; all others load numpy."""
    return "numpy" in modules or "polars" in modules or "pandas" in modules or "pyarrow" in modules or "torch" in modules


def sort_of(kind):
    """How to mark objects of a type, and the library that they are of; None if they are not marked."""
    for base in mro_of(kind):
        root = library_root(base)
        if root is not None:
            sort = FRAMES.get((root, type_name_of(base))) or ("array" if root in ARRAYS and base is kind else None)
            if sort is not None:
                return (sort, root) if base is kind or asks_library(kind) else None
    return None


def library_root(kind):
    """The library that a class is of: it lies in the module that it names, which is one of a library that is known."""
    module = module_name_of(kind)
    if type(module) is str:
        root = module.partition(".")[0]
        if root in SHAPED and space_of_module(modules.get(module)).get(type_name_of(kind)) is kind:
            return root
    return None


def asks_library(kind):
    """Whether what a mark asks of an object is answered by a library's code, and not by that of a class of the user's."""
    for name in MARK_ASKS:
        owner = found(kind, name)[1]
        if owner is not None and owner is not object and not is_of_library(owner):
            return False
    return True


def is_of_library(kind):
    """Whether a class is of a module that was installed."""
    module = module_name_of(kind)
    if type(module) is not str:
        return False
    if module.partition(".")[0] in SHAPED or module == "builtins":
        return True
    path = space_of_module(modules.get(module)).get("__file__")
    return type(path) is str and is_foreign(path)


def mark_of(value, before=None):
    """The mark of a value; None if it is no frame or array."""
    kind = type(value)
    if before is not None and before.kind is kind and before.own:
        sort, root, own = before.sort, before.root, True
    else:
        known = sort_of(kind)
        if known is None:
            return None
        (sort, root), own = known, library_root(kind) is not None
    mark = Mark(kind, sort, id(value))
    mark.root, mark.own = root, own
    try:
        MARKERS[sort](mark, value)
    except Exception:
        try:
            mark.types = mark.pieces = mark.places = None
            mark.shape, mark.labels = plain_shape(value), getattr(value, "columns", None)
        except Exception:
            return None
    return mark if mark.shape is not None else None


def plain_shape(value):
    shape = tuple(value.shape)
    for count in shape:
        if not isinstance(count, int):
            return None
    return shape


def mark_array(mark, value):
    mark.shape = plain_shape(value) or None  # a single number is marked by nothing
    mark.types = value.dtype


def mark_pandas_frame(mark, value):
    inside = value._mgr
    mark.labels, index = inside.axes
    mark.shape = len(index), len(mark.labels)
    blocks = inside.blocks
    if len(blocks) <= MARKED_COLUMNS:
        mark.pieces = [id(index), *[id(block.values) for block in blocks]]
        mark.types = [block.dtype if is_of_library(type(block.values)) else None for block in blocks]  # columns of the user's own types
        mark.places = [block.mgr_locs for block in blocks]


def mark_pandas_series(mark, value):
    inside = value._mgr
    block, index = inside.blocks[0], inside.axes[0]
    mark.shape, mark.pieces = (len(index),), [id(index), id(block.values)]
    mark.types = block.dtype if is_of_library(type(block.values)) else None


def mark_polars_frame(mark, value):
    mark.shape = value.shape
    if mark.shape[1] <= MARKED_COLUMNS:
        mark.labels, mark.types = value.columns, value.dtypes


def mark_polars_series(mark, value):
    mark.shape, mark.types = (len(value),), value.dtype


def mark_arrow(mark, value):
    mark.shape = value.num_rows, value.num_columns
    if mark.shape[1] <= MARKED_COLUMNS:
        mark.labels, mark.types = value.schema.names, value.schema.types


def mark_dataset(mark, value):
    mark.shape = tuple(value.sizes.values())
    mark.labels = list(value.data_vars)[:MARKED_COLUMNS]
    mark.types = [value.variables[label].dtype for label in mark.labels]


MARKERS = {"array": mark_array, "pandas frame": mark_pandas_frame, "pandas series": mark_pandas_series, "polars frame": mark_polars_frame,
           "polars series": mark_polars_series, "arrow": mark_arrow, "dataset": mark_dataset}


# ---- comparing -------------------------------------------------------------------------------

def compare_marks(added, rebound, mentioned):
    """How marked names differ, as texts by name. Those that hold the same object as before are added to `rebound` if it differs."""
    told, same, mentioned = {}, [], set(mentioned)
    stopped, tree, S.stopped, S.tree = S.stopped, S.tree, None, None
    until, new_names, bound = monotonic() + MARKS_SECONDS, set(added), set(rebound)
    for name, before in list(MARKS.items()):
        if name in SPACE and name not in mentioned and monotonic() > until:
            before.kind = before.sort = before.root = None  # it is no longer known what this is
            before.own = False
            continue
        mark = mark_of(SPACE[name], before) if name in SPACE else None
        if mark is None:
            del MARKS[name]
            continue
        MARKS[name] = mark
        if name in new_names:
            continue
        text = None
        if not is_surely_same(before, mark):
            text = attempt(difference, before, mark)
        if text:
            told[name] = text
            if name not in bound:
                rebound.append(name)
        elif name not in bound and before.of == mark.of:
            same.append(name)
    if same:
        stored = attempt(stored_into, same, mentioned, tree, stopped) or []
        if SAMPLES:
            stored.extend(attempt(differing, [name for name in same if name not in stored]) or ())
        for name in stored:
            told[name] = size_text(MARKS[name].shape) + " values"
            rebound.append(name)
    SAMPLES.clear()
    return told


def is_surely_same(old, new):
    """Told at no cost. The same pieces have the same types."""
    return (old.labels is new.labels and old.shape == new.shape
            and (old.types is new.types if new.pieces is None else old.pieces == new.pieces))


def note_mark(name):
    """Marks what a name holds now, if that is a frame or array."""
    if len(MARKS) < MARKED_MOST:
        mark = mark_of(SPACE.get(name))
        if mark is not None:
            MARKS[name] = mark


def size_text(shape):
    return "×".join([str(count) for count in shape])


def difference(old, new):
    """How a frame or array differs, in a line; None if it does not, or is another sort of thing."""
    if old.sort != new.sort:
        return None
    parts = []
    if old.labels is not new.labels:
        compare_labels(old.labels, new.labels, parts)
    if old.types is not None and new.types is not None and old.types != new.types:
        compare_types(old, new, parts)
    if old.shape != new.shape:
        parts.insert(0, size_text(old.shape) + "→" + size_text(new.shape))
        return cut(" ".join(parts), CHANGE_BUDGET)
    if not parts and old.of == new.of and old.pieces != new.pieces and not is_joined(old, new):
        parts.append("values")
    return cut(" ".join([size_text(new.shape), *parts]), CHANGE_BUDGET) if parts else None


def compare_labels(before, now, parts):
    if before is None or now is None or len(before) > LABELS_COMPARED or len(now) > LABELS_COMPARED:
        return
    before, now = keys_of(before), keys_of(now)
    if before is None or now is None or before == now:
        return
    plus, minus = without(now, before), without(before, now)
    renamed = [(was, label) for was, label in zip(before, now) if was is not label and was != label]
    if len(before) == len(now) and plus and [label for _, label in renamed] == plus and [was for was, _ in renamed] == minus:
        name_some(parts, ["%s→%s" % (label_text(was), label_text(label)) for was, label in renamed[:SHOWN_LABELS]], len(renamed), "renamed")
        return
    name_some(parts, ["+" + label_text(label) for label in plus[:SHOWN_LABELS]], len(plus), "new")
    name_some(parts, ["-" + label_text(label) for label in minus[:SHOWN_LABELS]], len(minus), "gone")
    if not plus and not minus:
        parts.append("columns reordered")


def keys_of(labels):
    """The labels as they can be compared: all that are no number are one, though none of these equals another. None if there are
    some that only code of the user's could compare."""
    keys = []
    for label in labels:
        kind, key = type(label), label
        if kind is tuple:
            parts = keys_of(label)
            if parts is None:
                return None
            key = tuple(parts)
        elif kind is not str and kind is not int:
            if kind not in PLAIN and library_root(kind) is None and module_name_of(kind) not in PLAIN_MODULES:
                return None
            key = NO_NUMBER if is_no_number(label) else label
        keys.append(key)
    return keys


def is_no_number(label):
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA
        return True


def without(labels, others):
    """Labels that others do not have, or not as often: a label may be there twice."""
    left, more = {}, []
    for label in others:
        left[label] = left.get(label, 0) + 1
    for label in labels:
        if left.get(label, 0):
            left[label] -= 1
        else:
            more.append(label)
    return more


def compare_types(old, new, parts):
    if type(old.types) is not list:
        parts.append("%s→%s" % (type_text(old.types), type_text(new.types)))
        return
    before, now, changed = types_by_label(old), types_by_label(new), []
    for key, kind in now.items():
        was = before.get(key)
        if was is not None and kind is not None and was != kind:
            changed.append((key[0], was, kind))
    name_some(parts, ["%s:%s→%s" % (label_text(label), type_text(was), type_text(kind)) for label, was, kind in changed[:SHOWN_LABELS]], len(changed), "types")


def types_by_label(mark):
    """By label, and the how manieth of this label it is."""
    labels = keys_of(mark.labels) if len(mark.labels) <= LABELS_COMPARED else None
    if labels is None:
        return {}
    types = mark.types
    if mark.places is not None:
        types = [None] * len(labels)
        for kind, place in zip(mark.types, mark.places):
            for at in place:
                types[at] = kind
    by_label, counts = {}, {}
    for label, kind in zip(labels, types):
        nth = counts[label] = counts.get(label, 0) + 1
        by_label[label, nth] = kind
    return by_label


def is_joined(old, new):
    """Whether pandas has only joined what was in several pieces, which it does when a frame is read."""
    if old.places is None or new.places is None or old.pieces[0] != new.pieces[0]:
        return False
    where = {}
    for piece, place in zip(old.pieces[1:], old.places):
        for at in place:
            where[at] = piece
    for piece, place in zip(new.pieces[1:], new.places):
        came_from = {where.get(at) for at in place}
        if came_from != {piece} and len(came_from) < 2:
            return False
    return True


def name_some(parts, texts, count, what):
    parts.extend(texts)
    if count > len(texts):
        parts.append("(%d more %s)" % (count - len(texts), what))


def label_text(label):
    """A label as it is if it is a word, else quoted."""
    if type(label) is str:
        plain = label.replace("_", "a").replace(".", "a")
        return label if plain.isalnum() and len(label) <= 40 else quote(cut(label, 40))
    return cell_text(label, 40)


def type_text(kind):
    text = str(kind)
    return cut(text[6:] if text.startswith("torch.") else text, 40)

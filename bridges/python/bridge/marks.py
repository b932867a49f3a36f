# Marks: how data frames and arrays that the user's names hold differ from what they were after the last eval.
#
# A mark is what can be known of one without looking at its data: shape, labels, types, and which arrays it is made of. It
# refers to none of these arrays, so it keeps no data alive. Where a library gives no more, or its inside is not as
# expected, shape and labels are compared. What changes single values in place shows in the code (stores.py).

ARRAYS = {"jax", "jaxlib", "cupy", "tensorflow", "scipy"}  # where any class may be one of arrays
FRAMES = {("numpy", "ndarray"): "array", ("torch", "Tensor"): "array",
          ("pandas", "DataFrame"): "pandas frame", ("pandas", "Series"): "pandas series", ("polars", "DataFrame"): "polars frame",
          ("polars", "Series"): "polars series", ("pyarrow", "Table"): "arrow", ("pyarrow", "RecordBatch"): "arrow",
          ("xarray", "Dataset"): "dataset", ("xarray", "DataArray"): "array"}
MARKS = {}              # user's name -> Mark
MARKED_MOST = 300       # names
MARKED_COLUMNS = 200    # of more, only the shape and the object that has their names
LABELS_COMPARED = 5000
SHOWN_LABELS = 4
CHANGE_BUDGET = 200
MARKS_SECONDS = 0.001   # for all of them after an eval; what has no turn in this time is marked anew at the next


class Mark:
    """`pieces`: ids of the arrays. `labels`: an object that never changes. `types`: by label, or the only one. `places`: which
    columns each piece has."""
    __slots__ = ("kind", "labels", "of", "pieces", "places", "shape", "sort", "types")

    def __init__(self, kind, sort, of):
        self.kind, self.sort, self.of = kind, sort, of
        self.shape = self.labels = self.types = self.pieces = self.places = None


def may_be_marked():
    """Whether a library is loaded whose objects are marked; all others load numpy."""
    return "numpy" in modules or "polars" in modules or "pandas" in modules or "pyarrow" in modules or "torch" in modules


def sort_of(kind):
    """How to mark objects of a type; None if they are not marked."""
    for base in mro_of(kind):
        module = module_name_of(base)
        if type(module) is str:
            root = module.partition(".")[0]
            sort = FRAMES.get((root, type_name_of(base))) or ("array" if root in ARRAYS and base is kind else None)
            if sort is not None:
                return sort if isinstance(modules.get(root), ModuleType) else None
    return None


def mark_of(value, before=None):
    """The mark of a value; None if it is no frame or array."""
    kind = type(value)
    sort = before.sort if before is not None and before.kind is kind else sort_of(kind)
    if sort is None:
        return None
    mark = Mark(kind, sort, id(value))
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
        mark.types = [block.dtype for block in blocks]
        mark.places = [block.mgr_locs for block in blocks]


def mark_pandas_series(mark, value):
    inside = value._mgr
    block, index = inside.blocks[0], inside.axes[0]
    mark.shape, mark.types, mark.pieces = (len(index),), block.dtype, [id(index), id(block.values)]


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

def compare_marks(added, rebound, mentioned, source):
    """How marked names differ, as texts by name. Those that hold the same object as before are added to `rebound` if it differs."""
    told, same, mentioned = {}, [], set(mentioned)
    stopped, S.stopped = S.stopped, None
    until, new_names, bound = monotonic() + MARKS_SECONDS, set(added), set(rebound)
    for name, before in list(MARKS.items()):
        if name in SPACE and name not in mentioned and monotonic() > until:
            before.kind = before.sort = None  # it is no longer known what this is
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
        for name in attempt(stored_into, same, mentioned, source, stopped) or ():
            told[name] = size_text(MARKS[name].shape) + " values"
            rebound.append(name)
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
    before, now = list(before), list(now)
    if before == now:
        return
    known, left = set(before), set(now)
    plus, minus = [label for label in now if label not in known], [label for label in before if label not in left]
    renamed = [(was, label) for was, label in zip(before, now) if was != label]
    if len(before) == len(now) and plus and [label for _, label in renamed] == plus and [was for was, _ in renamed] == minus:
        name_some(parts, ["%s→%s" % (label_text(was), label_text(label)) for was, label in renamed[:SHOWN_LABELS]], len(renamed), "renamed")
        return
    name_some(parts, ["+" + label_text(label) for label in plus[:SHOWN_LABELS]], len(plus), "new")
    name_some(parts, ["-" + label_text(label) for label in minus[:SHOWN_LABELS]], len(minus), "gone")
    if not plus and not minus:
        parts.append("columns reordered")


def compare_types(old, new, parts):
    if type(old.types) is not list:
        parts.append("%s→%s" % (type_text(old.types), type_text(new.types)))
        return
    before, now, changed = types_by_label(old), types_by_label(new), []
    for label, kind in now.items():
        was = before.get(label)
        if was is not None and was != kind:
            changed.append((label, was, kind))
    name_some(parts, ["%s:%s→%s" % (label_text(label), type_text(was), type_text(kind)) for label, was, kind in changed[:SHOWN_LABELS]], len(changed), "types")


def types_by_label(mark):
    if mark.places is None:
        return dict(zip(mark.labels, mark.types))
    found, labels = {}, list(mark.labels)
    if len(labels) <= LABELS_COMPARED:
        for kind, place in zip(mark.types, mark.places):
            for at in place:
                found[labels[at]] = kind
    return found


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

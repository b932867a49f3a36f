# Data frames and arrays of numpy, pandas, polars and torch: their shape, types and head. Nothing is imported, nothing scanned.

LIBRARIES = {
    ("numpy", "ndarray"): "array", ("torch", "Tensor"): "array",
    ("pandas", "DataFrame"): "pandas frame", ("pandas", "Series"): "pandas series", ("pandas", "Index"): "index",
    ("polars", "DataFrame"): "polars frame", ("polars", "Series"): "polars series", ("polars", "LazyFrame"): "plan",
}
LIBRARY_NAMES = {name for _, name in LIBRARIES}
WHOLE_CELLS, WHOLE_ROWS = 1000, 60  # what a library may format by itself
NESTED_CELLS = 30
HEAD_ROWS = 5
NULLS_COUNTED = 100_000


def library_of(value):
    """What sort of a library's object this is, if the library is loaded and its own repr is in force."""
    kind = type(value)
    for base in mro_of(kind):
        name = type_name_of(base)
        if name not in LIBRARY_NAMES:
            continue
        module = module_name_of(base)
        root = module.partition(".")[0] if type(module) is str else ""
        sort = LIBRARIES.get((root, name))
        if sort is not None and is_from(root, name, base, found(kind, "__repr__")[0]):
            return sort
    return None


def is_from(root, name, base, own_repr):
    """A module of the user's may have any name, so the class must be a library's in more than name."""
    library = modules.get(root)
    if not isinstance(library, ModuleType) or vars(library).get(name) is not base:
        return False
    if type(own_repr) is FunctionType:
        name = own_repr.__globals__.get("__name__")
        return type(name) is str and name.startswith(root + ".")
    return type(own_repr) is SlotType


def library_whole(sort, value, job, nested):
    """The library's own repr of something small; TooLong for the rest."""
    try:
        cells, rows, columns = extent_of(sort, value)
        if sort == "plan":  # the repr of a plan is no more than an address
            small = False
        elif sort == "array":
            small = cells <= (NESTED_CELLS if nested else WHOLE_CELLS) and bytes_of(value) <= 1 << 16
        elif sort.startswith("polars"):
            small = cells <= (NESTED_CELLS if nested else WHOLE_CELLS) and rows <= 10 and columns <= 8
        elif sort == "index":
            small = cells <= 100 or type_name(value) == "RangeIndex"
        else:
            small = cells <= (NESTED_CELLS if nested else WHOLE_CELLS) and rows <= WHOLE_ROWS and columns <= 20
        if small:
            text = real_repr(value)
            if not (job.brief and "\n" in text):
                return text
    except STOPS:
        raise
    except BaseException:  # a cell's repr raised; the rest is still shown
        pass
    raise TooLong


def extent_of(sort, value):
    """Cells, rows and columns."""
    if sort == "plan":
        return 0, 0, 0
    cells, shape = 1, tuple(value.shape)
    for count in shape:
        cells *= count
    return cells, shape[0] if shape else 1, shape[1] if len(shape) > 1 else 1


def bytes_of(value):
    size = getattr(value, "nbytes", 0)
    return size if isinstance(size, int) else 0


def library_cut(sort, value, budget, job, nested):
    """A text within the budget: one line in a list or in another value, else with the head of the data."""
    try:
        line = headline(sort, value)
        if job.brief:
            return cut(line, budget)
        if sort.endswith("frame"):
            return frame_text(sort, value, line, budget, nested)
        if nested:
            return cut(line, budget)
        if sort == "plan":
            return plan_text(value, line, budget)
        if sort.endswith("series"):
            cells = list_of(value.head(HEAD_ROWS))
            labels = list(value.index[:HEAD_ROWS]) if sort.startswith("pandas") else None
            return cut(line + "\n" + table([], labels, [cells], len(value), 1, budget - len(line) - 1), budget)
        return array_text(value, line, budget)
    except STOPS:
        raise
    except BaseException:  # the value is no such object after all, or its library fails
        pass
    return cut(own_repr(value, job), budget)


def headline(sort, value):
    facts = []
    if sort != "plan":
        facts.append("×".join([str(int(count)) for count in value.shape]) or "scalar")
    if sort != "plan" and not sort.endswith("frame"):
        facts.append(cut(str(value.dtype), 100))
        device = getattr(value, "device", "cpu") if sort == "array" else "cpu"
        if str(device) != "cpu":
            facts.append(cut(str(device), 30))
    name = getattr(value, "name", None) if sort.endswith("series") else None
    if name is not None and name != "":
        facts.append("name=" + render(name, 60))
    return "%s(%s)" % (type_name(value), ", ".join(facts)) if facts else type_name(value)


def array_text(value, line, budget):
    """The first corner, as a view of the data; the library formats no more than that."""
    shape = tuple(value.shape)
    counts = [20] if len(shape) == 1 else [1] * (len(shape) - 2) + [5, 8]
    counts = [min(count, size) for count, size in zip(counts, shape)]
    head = value[tuple([slice(count) for count in counts])] if len(counts) > 1 else value[:counts[0]]
    line += ", head [%s]:\n" % ", ".join([":%d" % count for count in counts])
    room = budget - len(line)
    if not hasattr(head, "itemsize") or bytes_of(head) <= 1 << 16:
        text = safe_repr(head)
        if len(text) <= room and "repr raised" not in text:
            return line + text
    return line + render(head.tolist(), room)  # the array has long cells, or cells without a repr


# ---- frames ----------------------------------------------------------------------------------

def frame_text(sort, value, line, budget, nested):
    rows, count = value.shape
    listed = min(count, max(budget // 8, 1))
    names, types, nulls = columns_of(sort, value, rows, listed)
    columns = []
    for at, name in enumerate(names):
        columns.append("%s %s%s" % (cell_text(name, 40), cut(str(types[at]), 40), " (%d null)" % nulls[at] if nulls and nulls[at] else ""))
    if nested:
        return line[:-1] + listing(": ", columns, count, min(budget, 200) - len(line)) + ")"
    text = line + listing("\ncolumns: ", columns, count, budget * 2 // 5)
    shown = min(len(names), 40)
    head = head_of(sort, value, shown)
    labels = list(value.index[:HEAD_ROWS]) if sort.startswith("pandas") else None
    return cut(text + "\n" + table(names[:shown], labels, head, rows, count, budget - len(text) - 1), budget)


def columns_of(sort, value, rows, listed):
    """Names, types and, where it costs little, the number of nulls of the first columns."""
    part = value.iloc[:0, :listed] if sort.startswith("pandas") else value[:0, :listed]
    if sort.startswith("pandas"):
        names, types, nulls = list(part.columns), list(part.dtypes), None
        if rows * listed <= NULLS_COUNTED:
            nulls = value.iloc[:, :listed].isna().sum().tolist()
    else:
        names, types = list(part.columns), list(part.dtypes)
        nulls = value[:, :listed].null_count().row(0)  # polars keeps these counts with the data
    return names, types, nulls


def head_of(sort, value, shown):
    if sort.startswith("pandas"):
        return [list_of(column) for _, column in value.iloc[:HEAD_ROWS, :shown].items()]
    return [column.to_list() for column in value[:HEAD_ROWS, :shown].get_columns()]


def list_of(column):
    return column.tolist() if hasattr(column, "tolist") else column.to_list()


def plan_text(value, line, budget):
    """A query that has not run yet: what it will give, which at most the heads of files are read for."""
    schema = value.collect_schema()
    columns = ["%s %s" % (cell_text(name, 40), cut(str(kind), 40)) for name, kind in take(budget // 8, schema.items())]
    line += " of %d columns, not collected" % len(schema)
    return cut(line + listing("\ncolumns: ", columns, len(schema), budget - len(line)), budget)


def listing(start, columns, count, room):
    """As many columns as fit, and how many more there are."""
    if not count:
        return ""
    text, shown = start, 0
    for column in columns:
        more = (", " if shown else "") + column
        if len(text) + len(more) > room - len(", … (1000000 more)"):
            break
        text += more
        shown += 1
    if shown < count:
        text = text + ", … (%d more)" % (count - shown) if shown else start + "… (%d)" % count
    return text if len(text) <= room else ""


def table(names, labels, columns, rows, count, room):
    """The head as text: columns from the left as long as they fit."""
    limit = 60 if len(columns) <= 3 else 30
    lines = [""] * (len(columns[0]) if columns else 0)
    header, shown, named = "", 0, bool(names)
    tail = "… (%d more rows, %d more columns)" % (rows, count)  # the longest that this line can get
    if labels is not None:
        lines = beside(lines, [cell_text(label, 30) for label in labels], True)
        header = " " * max(map(len, lines), default=0)
    for at, column in enumerate(columns):
        cells = [cell_text(names[at], limit)] if named else []
        cells += [cell_text(cell, limit) for cell in column]
        wider = beside([header] * named + lines, cells, False)
        if sum(map(len, wider)) + len(wider) + len(tail) > room:
            break
        header, lines = (wider[0], wider[1:]) if named else ("", wider)
        shown += 1
    more = []
    if rows > len(lines):
        more.append("%d more rows" % (rows - len(lines)))
    if count > shown:
        more.append("%d more columns" % (count - shown))
    lines = [header] * named + lines if shown else []
    return "\n".join([line.rstrip() for line in lines] + (["… (%s)" % ", ".join(more)] if more else []))


def beside(lines, cells, left):
    width = max(map(len, cells), default=0)
    between = "  " if any(lines) else ""
    return [line + between + (cell.ljust(width) if left else cell.rjust(width)) for line, cell in zip(lines, cells)]


def cell_text(value, limit):
    kind = type(value)
    if kind is str:
        text = value[:limit]
        text = text if text.isprintable() else repr(text)[1:-1]
        return text if len(value) <= limit and len(text) <= limit else text[:limit - 1] + "…"
    if kind is float:
        text = "NaN" if value != value else "%.6g" % value
        return text + ".0" if text.lstrip("-").isdigit() else text
    if kind is int or kind is bool or value is None:
        return render(value, limit)
    own = found(kind, "__str__")[0]
    module = module_name_of(kind)
    if own is not None and type(module) is str and module.partition(".")[0] in ("pandas", "datetime", "decimal", "numpy"):
        return " ".join(safe_str(value)[:limit].split("\n"))
    return render(value, limit, True)

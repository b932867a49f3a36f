# Libraries whose own words say too much or too little: charts, maps, groups and models get a line of ours. Nothing is computed for it.

LISTED = 6              # traces, layers or children that are named one by one
COUNTED = 10_000        # parts of a map that are counted
CHROMES = ("google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "chrome", "chrome-headless-shell")


def special_of(kind):
    """What tells about values of this class, unless the user wrote a repr for it."""
    for base in mro_of(kind):
        tell = SPECIALS.get(type_name_of(base))
        if tell is None:
            continue
        module = module_name_of(base)
        root = module.partition(".")[0] if type(module) is str else ""
        if root in tell:
            owner = module_name_of(found(kind, "__repr__")[1])
            return tell[root] if type(owner) is str and owner.partition(".")[0] in (root, "builtins") else None
    return None


def tell_special(special, value, shown):
    """Whether there is something to be shown; a library of another version may have nothing that we know."""
    try:
        special(value, shown)
    except STOPS:
        raise
    except BaseException as error:
        leave_child(error)
    if shown.text:
        shown.text = shown.fit(shown.text)
    else:
        del shown.displays[:], shown.remarks[:]
    return bool(shown.text)


def some(texts, total=None):
    """The first of them, and how many there are besides."""
    shown = list(texts)[:LISTED]
    more = (len(texts) if total is None else total) - len(shown)
    return ", ".join(shown) + (" and %d more" % more if more > 0 else "")


def many(number, one, others=None):
    return "%d %s" % (number, one if number == 1 else others or one + "s")


def try_png(shown, make):
    """Shows the picture that a library makes, or says why there is none."""
    try:
        present(shown, PNG, as_plain(make()))
    except STOPS:
        raise
    except BaseException as error:
        leave_child(error)
        shown.remarks.append("no picture: %s" % cut(" ".join(safe_str(error).split()), 200))


def try_html(shown, make):
    """A page in a file, if the library can make one."""
    try:
        keep_html(shown, str.__str__(make()))
    except STOPS:
        raise
    except BaseException as error:
        leave_child(error)
        shown.remarks.append("no HTML: %s" % cut(" ".join(safe_str(error).split()), 200))


def can_import(name):
    try:
        return import_stdlib("importlib.util") and modules["importlib.util"].find_spec(name) is not None
    except Exception:
        return False


# ---- charts ----------------------------------------------------------------------------------

def tell_plotly(value, shown):
    traces = []
    for trace in value.data[:LISTED]:
        words = [trace.type, word_of(trace, "mode"), "'%s'" % trace.name if trace.name else None, size_of_trace(trace)]
        traces.append(" ".join([word for word in words if word]))
    text = "%s: %s" % (type_name(value), many(len(value.data), "trace"))
    if traces:
        text += ", " + some(traces, len(value.data))
    titles = [("title", value.layout.title), ("x", value.layout.xaxis.title), ("y", value.layout.yaxis.title)]
    titles = ['%s "%s"' % (name, cut(title.text, 100)) for name, title in titles if title.text]
    shown.text = text + ("; " + ", ".join(titles) if titles else "")
    if plotly_draws():
        try_png(shown, lambda: value.to_image(format="png"))
    else:
        shown.remarks.append("no picture: that needs kaleido and Chrome")
    if not shown.displays:
        try_html(shown, lambda: value.to_html(include_plotlyjs="cdn"))


def word_of(thing, name):
    """An attribute that not all such things have; asked for, as plotly has no other way, and only if it is a text."""
    try:
        text = thing[name]
        return text if type(text) is str else None
    except Exception:
        return None


def size_of_trace(trace):
    for name in ("x", "y", "z", "values", "lat", "r", "labels", "locations", "a", "ids"):
        try:
            data = trace[name]
            if data is not None:
                rows = many(len(data), "point")
                return rows if name != "z" else "%s×%s" % (len(data), len(data[0]))
        except Exception:
            pass
    return None


def plotly_draws():
    """Whether a picture can be made: by kaleido, which before its version 1 had a browser of its own."""
    if not can_import("kaleido"):
        return False
    if can_import("kaleido.scopes"):
        return True
    environ = posix.environ
    if environ.get(b"BROWSER_PATH"):
        return True
    folders = environ.get(b"PATH", b"").decode("utf-8", "surrogateescape").split(":")
    return any([access("%s/%s" % (folder, name), 1) for folder in folders if folder for name in CHROMES])


def tell_altair(value, shown):
    try:
        spec = value.to_dict()
        rows = [len(data) for data in spec.get("datasets", {}).values()]
    except STOPS:
        raise
    except Exception as error:  # the chart has more than 5,000 rows, or shows something that is not there
        lines = [line.strip() for line in safe_str(error).split("\n") if line.strip()]
        shown.remarks.append("it cannot be shown: %s" % cut(lines[0] if lines else type_name(error), 300))
        head = value.copy(deep=False)
        head.data = value.data.head(1)
        spec, rows = head.to_dict(), [len(value.data)]
    shown.text = "%s: %s%s" % (type_name(value), altair_text(spec), ", " + many(rows[0], "row") if len(rows) == 1 else "")
    if shown.remarks:
        return
    if can_import("vl_convert"):
        try_png(shown, lambda: altair_png(value))
    else:
        shown.remarks.append("no picture: that needs vl-convert-python")
    if not shown.displays:
        try_html(shown, value.to_html)


def altair_png(value):
    file = _io.BytesIO()
    value.save(file, format="png")
    return file.getvalue()


def altair_text(spec):
    """A chart by its mark and its channels; one of several by those."""
    for name, one in (("layer", "layer"), ("hconcat", "chart"), ("vconcat", "chart"), ("concat", "chart")):
        if name in spec:
            parts = ["(%s)" % altair_text(part) for part in spec[name][:LISTED]]
            return "%s: %s" % (many(len(spec[name]), one), some(parts, len(spec[name])))
    if "spec" in spec:
        return altair_text(spec["spec"])
    mark = spec.get("mark", "")
    parts = [mark.get("type", "") if type(mark) is dict else str(mark)]
    for channel, what in list(spec.get("encoding", {}).items())[:12]:
        if type(what) is not dict:
            continue
        field = what.get("field") or ("value %s" % what["value"] if "value" in what else "")
        aggregate = what.get("aggregate")
        if type(aggregate) is str:
            field = "%s(%s)" % (aggregate, field)
        parts.append(cut(("%s=%s %s" % (channel, field, what.get("type", ""))).strip(), 80))
    return ", ".join(parts)


def tell_bokeh(value, shown):
    name, title = type_name(value), ""
    if hasattr(value, "renderers"):
        parts = [bokeh_glyph(one) for one in list(value.renderers)[:LISTED]]
        title = getattr(value.title, "text", "") if value.title is not None else ""
        text = some(parts, len(value.renderers)) or "nothing is drawn"
    elif hasattr(value, "children"):
        parts = [type_name(child[0] if type(child) is tuple else child) for child in list(value.children)[:LISTED]]
        text = "%s: %s" % (many(len(value.children), "child", "children"), some(parts, len(value.children)))
    else:
        return
    shown.text = "%s: %s%s" % (name, text, '; title "%s"' % cut(title, 100) if title else "")
    embed, resources = __import__("bokeh.embed", fromlist=["file_html"]), __import__("bokeh.resources", fromlist=["CDN"])
    # The figure gets a document of its own, else it could not be put into a layout later.
    try_html(shown, lambda: embed.file_html(value, resources.CDN, title or name, _always_new=True))


def bokeh_glyph(renderer):
    glyph, source = getattr(renderer, "glyph", None), getattr(renderer, "data_source", None)
    if glyph is None:
        return type_name(renderer)
    sizes = ["%s %d" % (name, len(column)) for name, column in list(getattr(source, "data", {}).items())[:4]]
    return "%s(%s)" % (type_name(glyph), ", ".join(sizes))


def tell_folium(value, shown):
    counts, todo, seen = {}, list(value._children.values()), 0
    while todo and seen < COUNTED:
        child = todo.pop()
        seen += 1
        name = type_name(child)
        counts[name] = counts.get(name, 0) + 1
        if name in ("FeatureGroup", "MarkerCluster"):
            todo.extend(child._children.values())
    parts = ["%s %d" % pair for pair in counts.items()]
    shown.text = "%s at %s: %s" % (type_name(value), render(getattr(value, "location", None), 100), ", ".join(parts[:20]) or "empty")
    try_html(shown, lambda: value.get_root().render())


# ---- matplotlib's and seaborn's --------------------------------------------------------------

def tell_animation(value, shown):
    frames = getattr(value, "_save_count", None)
    interval = getattr(value, "_interval", None)
    facts = [many(frames, "frame") if type(frames) is int else None, "one each %g ms" % interval if type(interval) in (int, float) else None]
    text = "%s: %s" % (type_name(value), ", ".join([fact for fact in facts if fact]) or "of a figure")
    shown.text = text + "; .save('a.gif', writer='pillow') writes all of it, the picture shows one frame"


# What each sort of grid calls its parts.
GRID_FACTS = (("x", "_x_var"), ("y", "_y_var"), ("x", "x"), ("y", "y"), ("x", "x_vars"), ("y", "y_vars"), ("hue", "_hue_var"),
              ("rows", "row_names"), ("columns", "col_names"))


def tell_grid(value, shown):
    space, facts = vars(value), {}
    axes = space.get("_axes", space.get("axes"))
    if getattr(axes, "ndim", 0) == 2:
        facts["axes"] = "%d×%d axes" % axes.shape
    for label, name in GRID_FACTS:
        part = space.get(name)
        part = getattr(part, "name", part)  # a column
        if label not in facts and (type(part) is str or (type(part) is list and part)):
            facts[label] = "%s %s" % (label, render(part, 200))
    data = space.get("data")
    if len(getattr(data, "shape", ())) == 2:
        facts["data"] = "data %d×%d" % data.shape
    shown.text = "%s: %s" % (type_name(value), ", ".join(facts.values()) or "of a figure")


# ---- tables and models -----------------------------------------------------------------------

def tell_groups(value, shown):
    data, keys = value.obj, value.keys
    if keys is None and getattr(value, "level", None) is None:  # grouped by time: the repr says how
        return
    by = "level %s" % render(value.level, 60) if keys is None else render(keys, 200)
    shown.text = "%s by %s of %s" % (type_name(value), by, headline("pandas frame" if len(data.shape) == 2 else "pandas series", data))


def tell_results(value, shown):
    """A fitted model of statsmodels, by what it has already; its summary would compute more."""
    inner = vars(value)["_results"]
    model = inner.model
    facts = [many(int(model.endog.shape[0]), "observation")]
    names, params = list(model.exog_names), list(inner.params)
    pairs_shown = ["%s %.4g" % (cut(str(name), 40), number) for name, number in zip(names[:20], params)]
    more = len(params) - len(pairs_shown)
    shown.text = "%s of %s, %s: %s%s; .summary() says more" % (
        type_name(value), type_name(model), facts[0], ", ".join(pairs_shown), " and %d more" % more if more > 0 else "")


# The name of a class, then the library that it must be of.
SPECIALS = {
    "BaseFigure": {"plotly": tell_plotly}, "TopLevelMixin": {"altair": tell_altair}, "LayoutDOM": {"bokeh": tell_bokeh},
    "Map": {"folium": tell_folium}, "Animation": {"matplotlib": tell_animation}, "_BaseGrid": {"seaborn": tell_grid},
    "Grid": {"seaborn": tell_grid}, "BaseGroupBy": {"pandas": tell_groups}, "ResultsWrapper": {"statsmodels": tell_results},
}

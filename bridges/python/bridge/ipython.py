# IPython's display(), which outside IPython prints a repr, shows values as a last value is shown. Nothing of IPython is imported.

def hook_display(module):
    """The module that has display(); in IPython before 7.23 that was another one."""
    for name, make in (("display", display_of), ("publish_display_data", publish_of)):
        original = vars(module).get(name)
        if type(original) is FunctionType and original.__module__ == module.__name__ and not hasattr(original, "_stead"):
            shows = alike(make(original, module), original)
            shows._stead = True
            setattr(module, name, shows)


HOOKS["IPython.core.display_functions"] = HOOKS["IPython.core.display"] = hook_display


def display_of(original, module):
    def display(*objs, raw=False, display_id=None, **options):
        if ipython_runs():
            return original(*objs, raw=raw, display_id=display_id, **options)
        for value in objs:
            show_displayed(value, raw)
        handle = vars(module).get("DisplayHandle")
        return handle(None if display_id is True else display_id) if display_id and handle is not None else None

    return display


def publish_of(original, module):
    def publish_display_data(data, *args, **options):
        if ipython_runs():
            return original(data, *args, **options)
        return show_displayed(data, True)

    return publish_display_data


def ipython_runs():
    """Whether the user started IPython in here, which then shows by itself."""
    shell = getattr(modules.get("IPython.core.interactiveshell"), "InteractiveShell", None)
    return shell is not None and bool(attempt(shell.initialized))


def show_displayed(value, raw):
    """Shows a value, or the best of a dict of mime types, in its place among what the code prints."""
    if display_figure(value):
        return
    if raw:
        shown = Shown()
        bundle = as_plain(value)
        if not (type(bundle) is dict and tell_bundle(bundle, shown)):
            shown.text = shown.text or render(value)
    elif type(value) in PLAIN:
        shown = Shown()
        shown.text = render(value)
    else:
        shown = look_at(value)
    text = shown.whole_text()
    if not can_show():  # another thread, or a child: only its text goes where prints go
        sys.stdout.write((text or render(value)) + "\n")
        return
    # What is displayed is no value of the eval, so its text is a display too.
    show_events([display_event(mime, data) for mime, data in shown.displays] + ([display_event(PLAIN_TEXT, text)] if text else []))


def hook_plotly(module):
    """`fig.show()` of plotly looks for a browser, and without one does nothing: the figure is shown here, unless the user
    chose a renderer."""
    original, found = module.show, module.renderers.default
    if hasattr(original, "_stead"):
        return

    def show(fig, *args, **options):
        chosen = args or options.get("renderer") or module.renderers.default != found or "PLOTLY_RENDERER" in getattr(_os, "environ", ())
        if chosen or not can_show() or not hasattr(fig, "to_html") or ipython_runs():
            return original(fig, *args, **options)
        return show_displayed(fig, False)

    module.show = alike(show, original)
    module.show._stead = True


HOOKS["plotly.io._renderers"] = hook_plotly

# Figures: matplotlib without a display; a figure is sent once, by the eval that made or changed it.

IMAGES, IMAGE_SIDE, IMAGE_BYTES = 20, 1568, 1_000_000
FIGURES = {}            # id of a figure -> what is known of it; goes when the figure goes
CHANGED = {}            # the part of FIGURES that changed since it was sent
ASKED = []              # figures to be shown because they are the last value
DRAWING = set()         # code of matplotlib's that marks a figure as changed while it only draws it
FIGURE = [None]         # matplotlib's class Figure, once it is imported


class Seen:
    """What is known of a figure, without keeping it alive."""
    tag = None          # the eval that changed it; nobody's if a task did while nothing ran
    sent_in = None      # the eval that sent it last
    passed_in = None    # the eval that had sent enough images and passed it over

    def __init__(self, figure):
        key = id(figure)
        self.figure = ref(figure, lambda _: (FIGURES.pop(key, None), CHANGED.pop(key, None)))


class Sent:
    """The images of one eval."""
    __slots__ = ("eval", "images", "passed")

    def __init__(self):
        self.eval, self.images = None, 0
        self.passed = 0  # figures that were not sent, because those before them were enough


SENT = Sent()


def look_up(figure):
    seen = FIGURES.get(id(figure))
    if seen is None:
        seen = FIGURES[id(figure)] = Seen(figure)
    return seen


def note_change(figure):
    """Remembers who changed a figure: a thread of an earlier eval must not be taken for the running one."""
    tag = owner() if S.phase != Phase.IDLE or get_ident() != MAIN else None
    seen, key = look_up(figure), id(figure)
    if key in CHANGED and (seen.tag == tag or (S.phase != Phase.IDLE and seen.tag == S.eval)):
        return
    frame = getframe(2)
    while frame is not None:
        if frame.f_code in DRAWING:
            return
        frame = frame.f_back
    seen.tag = tag
    CHANGED[key] = seen


# ---- when they are sent ----------------------------------------------------------------------

def can_show():
    return S.phase != Phase.IDLE and S.life == Life.SERVING and get_ident() == MAIN


def show_changed():
    """Before a wait for input: what the eval made so far is there to look at."""
    if can_show():
        send_changed(False)


def ask_figure(value):
    """The last value of an eval is shown also where nothing changed, or where pyplot does not know it."""
    if FIGURE[0] is not None and issubclass(type(value), FIGURE[0]):
        ASKED.append(value)


def end_figures(error):
    """Sends what the eval made, before its error if it failed; says how it ends now."""
    asked = ASKED[:]
    ASKED.clear()
    interrupted = isinstance(error, KeyboardInterrupt) and S.interrupt != Interrupt.NONE
    if interrupted:
        # Rendering may take long, and an interrupt is to end the eval: the next one does, or the host's nudges.
        S.phase, S.show_until = Phase.SHOWING, monotonic() + FIGURE_SECONDS
    try:
        run_user(send_at_end, asked)
    except BaseException as caught:
        leave_child(caught)
        error = caught if error is None else error
        left = guarded(changed_figures, False) if interrupted else None
        if left:
            guarded(say, "%s not shown because of the interrupt; plt.show() shows what is open" % count(len(left)))
    S.phase = Phase.RUNNING
    SENT.passed = 0
    reclaim_sigint()
    return error


def send_at_end(asked):
    asked = [figure for figure in asked if id(figure) in CHANGED or look_up(figure).sent_in != S.eval]
    send_changed(False)
    for figure in asked:
        if look_up(figure).sent_in != S.eval or id(figure) in CHANGED:
            send_figure(figure)
    if SENT.passed:
        say("%s not shown: an eval sends %d images at most; plt.show() shows what is open" % (count(SENT.passed), IMAGES))


def count(figures):
    return "1 figure was" if figures == 1 else "%d figures were" % figures


def send_changed(of_anyone):
    for figure in changed_figures(of_anyone):
        send_figure(figure)


def changed_figures(of_anyone):
    """Figures of pyplot with something new to see, by number. Those it does not know, or no longer, are
    not for it to show."""
    helpers = modules.get("matplotlib._pylab_helpers")
    managers = list(helpers.Gcf.figs.values()) if helpers is not None else []
    numbers = {id(manager.canvas.figure): manager.num for manager in managers}
    found = []
    for key, seen in list(CHANGED.items()):
        figure = seen.figure()
        if key not in numbers or figure is None:
            CHANGED.pop(key, None)
        elif of_anyone or seen.tag == S.eval:
            found.append((numbers[key], figure))
    return [figure for _, figure in sorted(found, key=lambda pair: pair[0])]


def send_figure(figure):
    seen = look_up(figure)
    if len(figure.get_children()) <= 1:  # its background: as in a notebook, nothing is not shown
        CHANGED.pop(id(figure), None)
        return
    if SENT.eval != S.eval:
        SENT.eval, SENT.images, SENT.passed = S.eval, 0, 0
    if SENT.images >= IMAGES:
        if seen.passed_in != S.eval:
            seen.passed_in = S.eval
            SENT.passed += 1
        return
    changed = CHANGED.pop(id(figure), None)
    try:
        png, note = render_png(figure)
    except KeyboardInterrupt:
        if changed is not None:
            CHANGED[id(figure)] = changed
        raise
    except BaseException as error:
        leave_child(error)
        say("could not render %s: %s: %s" % (name_of(figure), type_name(error), cut(" ".join(safe_str(error).split()), 500)))
        return
    flush_all()
    data = import_stdlib("binascii").b2a_base64(png, newline=False).decode("ascii")
    SENT.images += 1
    seen.sent_in = S.eval
    exchange('{"ev":"display","mime":"image/png","data":"%s"%s,"ack":true}\n' % (
        data, ',"note":' + quote(note) if note else ""))
    if S.pending:
        raise_pending()


def name_of(figure):
    return "figure %s" % getattr(figure, "number", "")


def say(text):
    try:
        ERR.write("[" + text + "]\n")
    except (OSError, ValueError):  # the user closed it
        pass


def render_png(figure):
    """A PNG within the limits, by its resolution alone, and a note if that had to be lowered.

    It is drawn on a canvas of our own, so that what the user drew on the figure's stays, and from a frame of
    its own, which is where matplotlib's warnings say that they come from.
    """
    __import__("matplotlib.backends.backend_agg")
    save = compile("save(file, format='png', dpi=dpi)", "<" + name_of(figure).strip() + ">", "eval", 0, True)
    space = {"save": figure.savefig}
    canvas, stale, size = figure.canvas, figure.stale, figure.get_size_inches()
    whole = dpi = figure.dpi
    dpi = min(dpi, IMAGE_SIDE / max(*size, 0.01))
    try:
        modules["matplotlib.backends.backend_agg"].FigureCanvasAgg(figure)
        for _ in range(8):
            space.update(file=_io.BytesIO(), dpi=dpi)
            eval(save, space)
            png = space["file"].getvalue()
            sides = [int.from_bytes(png[at:at + 4], "big") for at in (16, 20)]
            excess = max(max(sides) / IMAGE_SIDE, (len(png) / IMAGE_BYTES) ** 0.5)
            if excess <= 1:
                return png, "scaled down from %d×%d" % tuple(size * whole) if dpi < whole else None
            dpi *= 0.95 / excess
        raise ValueError("it does not fit %d bytes" % IMAGE_BYTES)
    finally:
        figure.set_canvas(canvas)
        if not stale:
            figure.stale = False


# ---- matplotlib, as it is imported -----------------------------------------------------------

def choose_agg(matplotlib):
    """Agg, unless the user has chosen: in a matplotlibrc or by MPLBACKEND. That variable would override the
    first, and every child would inherit it, so it is not what we set."""
    settings = matplotlib.rcParams
    if dict.__getitem__(settings, "backend") is matplotlib.rcsetup._auto_backend_sentinel:
        settings["backend"] = "agg"


def hook_figure(module):
    kind = module.Figure
    if kind is FIGURE[0]:
        return
    stale, show = kind.stale, kind.show

    def set_stale(figure, value):
        if value:
            note_change(figure)
        stale.fset(figure, value)

    def show_figure(figure, *args, **kwargs):
        if has_window(figure.canvas):
            return show(figure, *args, **kwargs)
        if can_show() and (id(figure) in CHANGED or look_up(figure).sent_in != S.eval):
            send_figure(figure)
        return None

    kind.stale = property(stale.fget, set_stale, stale.fdel, stale.__doc__)
    kind.show = alike(show_figure, show)
    for function in (kind.draw, kind.savefig, module.FigureCanvasBase.print_figure):
        DRAWING.add(undecorated(function).__code__)
    FIGURE[0] = kind


def undecorated(function):
    """The code of a decorator is shared by all that it decorates."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def hook_pyplot(module):
    original = module.show
    if hasattr(original, "_stead"):
        return
    pause = getattr(module.pause, "__code__", None)

    def show(*args, **kwargs):
        # A pause shows nothing here, else an animation would be sent frame by frame.
        if can_show() and getframe(1).f_code is not pause:
            send_changed(True)
        if any([has_window(manager.canvas) for manager in list(module._pylab_helpers.Gcf.figs.values())]):
            return original(*args, **kwargs)
        return None

    module.show = alike(show, original)
    module.show._stead = True


def has_window(canvas):
    """Whether the user chose a backend that shows figures by itself."""
    return getattr(canvas, "required_interactive_framework", None) is not None

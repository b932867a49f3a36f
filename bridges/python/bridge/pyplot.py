# Pyplot: what is done to matplotlib as user code imports it. As in a notebook, a figure that was shown is no longer
# pyplot's, so that the next plot begins a new one.

GCF = [None]            # pyplot's list of open figures, a class
MAKES_ONE = [None]      # the code of `plt.gcf`, which makes a figure if none is open
ANIMATION = [None]      # the class of animations


def open_figures():
    """Number -> manager of the figures that pyplot has, the current one last."""
    return GCF[0].figs if GCF[0] is not None else {}


def detach(only=None):
    """Takes figures from pyplot that were shown or could not be. They live on if the user holds them, with their canvas and
    manager, and `plt.figure(fig)` brings them back. One that never had anything to see stays: it will."""
    managers = open_figures()
    current = next(reversed(list(managers.values())), None)
    taken = False
    for manager in list(managers.values()):
        figure = manager.canvas.figure
        seen = look_up(figure)
        # A figure that another thread changed and that was not shown stays, since its thread may go on to draw.
        stays = has_window(manager.canvas) or id(figure) in CHANGED or (seen.sent_in is None and is_empty(figure))
        if not stays and (only is None or figure is only):
            take_from_pyplot(manager)
            taken = True
            if manager is current:
                remember_last(figure)
    if taken:  # figures that earlier evals left are forgotten now
        LEFT[:] = [figure for figure in LEFT if look_up(figure).left_in == S.eval]


def take_from_pyplot(manager):
    managers = open_figures()
    if managers.get(manager.num) is manager:
        del managers[manager.num]
    look_up(manager.canvas.figure).detached = True


def make_current(manager):
    """Before pyplot takes a figure in. One that comes back gets a number that is free: its own may be another's by now."""
    managers, figure = open_figures(), manager.canvas.figure
    seen = look_up(figure)
    seen.detached = False
    if not DUE:
        DUE.append(True)
    if manager.num in managers and managers[manager.num] is not manager:
        manager.num = max([number for number in managers if isinstance(number, int)], default=0) + 1
        for name in ("number", "_number"):
            if name in vars(figure):
                vars(figure)[name] = manager.num
    frame = getframe(2)
    for _ in range(10):
        if frame is None:
            break
        if frame.f_code is MAKES_ONE[0]:
            seen.stand_in = True
        frame = frame.f_back


def bring_back(artist):
    """Makes the figure of an artist the current one again: a colour bar belongs beside what it explains."""
    figure = artist.axes.figure
    while figure is not None and not isinstance(figure, FIGURE[0]):
        figure = figure.figure  # the figure around a subfigure
    if look_up(figure).detached:
        GCF[0].set_active(figure.canvas.manager)


def dismiss(which, before):
    """After `plt.close(which)`, which knows only the figures that pyplot still has."""
    after = {id(manager.canvas.figure) for manager in list(open_figures().values())}
    closed = [figure for figure in before if id(figure) not in after]
    if [figure for figure in closed if not is_empty(figure)]:
        Last.figure = None  # the figure drawn last is the one that was just closed
    if isinstance(which, str) and which == "all":
        closed = [seen.figure() for seen in list(FIGURES.values())]
    elif FIGURE[0] is not None and isinstance(which, FIGURE[0]):
        closed = [which]
    elif not closed and Last.figure is not None and (
            which is None or which == getattr(Last.figure, "number", None) or which == Last.figure.get_label()):
        closed = [Last.figure]
    for figure in closed:
        if figure is not None:
            look_up(figure).detached = False
            LEFT[:] = [left for left in LEFT if left is not figure]
            if Last.figure is figure:
                Last.figure = None


def forget_figures():
    LEFT.clear()
    Last.figure = None


def figure_to_save(figure):
    """The figure that was shown last, where the user saves one that pyplot made only for that and that has nothing to see."""
    last, seen = Last.figure, look_up(figure)
    if last is None or last is figure or not seen.stand_in or get_ident() != MAIN:
        return None
    seen.stand_in = is_empty(figure)  # a figure that was drawn on is the user's, even if it is cleared later
    return last if seen.stand_in else None


class SaveFigure:
    """The method `savefig`. A function around it would be a frame to which matplotlib's warnings point; this one is there
    only where another figure is saved."""
    __slots__ = ("method",)

    def __init__(self, method):
        self.method = method

    def __get__(self, figure, kind=None):
        last = figure_to_save(figure) if figure is not None else None
        if last is None:
            return self.method.__get__(figure, kind)

        def savefig(*args, **kwargs):
            of = Last.eval
            saved = eval(frame_about(last, "save(last, *args, **kwargs)"), {"save": self.method, "last": last, "args": args, "kwargs": kwargs})
            manager = getattr(figure.canvas, "manager", None)
            if manager is not None:
                take_from_pyplot(manager)
            say("no figure is open: saved the last one, of %s" % of)
            return saved

        return alike(savefig, self.method)


# ---- animations ------------------------------------------------------------------------------

def draw_first_frame(seen):
    """Draws the first frame of a figure's animation, when the figure is shown first, and says what else can be done with it."""
    animation = seen.animation() if seen.animation is not None else None
    if animation is None:
        return []
    what = "an animation"
    if seen.sent_in is None:
        frames = animation.new_frame_seq()
        if frames is not getattr(animation, "frame_seq", None):  # else the frames can be run through only once
            try:
                animation._init_draw()
                if getattr(animation, "_init_func", True) is not None:
                    animation._draw_frame(next(frames))
                    getattr(animation, "_save_seq", []).clear()
                what = "the first frame of an animation"
            except StopIteration:
                pass
            except Exception as error:
                say("could not draw the first frame of the animation: " + in_short(error))
        animation._draw_was_started = True  # else matplotlib would warn, when the animation goes, that nothing was drawn
    name = next((name for name, value in list(SPACE.items()) if value is animation and not name.startswith("_")), None)
    how = "%s.save('%s.gif', writer='pillow')" % (name, name) if name else "keep it in a variable, whose .save('animation.gif', writer='pillow')"
    return ["%s; %s saves all of it" % (what, how)]


DRAWING.add(draw_first_frame.__code__)


def hook_animation(module):
    kind = module.Animation
    if kind is ANIMATION[0]:
        return
    init = kind.__init__

    def begin(animation, *args, **kwargs):
        init(animation, *args, **kwargs)
        look_up(animation._fig).animation = ref(animation)

    kind.__init__ = alike(begin, init)
    DRAWING.add(undecorated(kind.save).__code__)
    ANIMATION[0] = kind


# ---- matplotlib, as it is imported -----------------------------------------------------------

def choose_agg(matplotlib):
    """Agg, unless the user has chosen: in a matplotlibrc or by MPLBACKEND. That variable would override the
    first, and every child would inherit it, so it is not what we set."""
    settings = matplotlib.rcParams
    if dict.__getitem__(settings, "backend") is matplotlib.rcsetup._auto_backend_sentinel:
        settings["backend"] = "agg"
    # A loop may well make more than twenty figures: they do not pile up, because they are taken from pyplot. A number of the
    # user's own stays.
    for name in ("rcParams", "rcParamsDefault", "rcParamsOrig"):
        if getattr(matplotlib, name, {}).get("figure.max_open_warning") == 20:
            getattr(matplotlib, name)["figure.max_open_warning"] = 0


def hook_figure(module):
    kind = module.Figure
    if kind is FIGURE[0]:
        return
    stale, show, savefig, restore = kind.stale, kind.show, kind.savefig, kind.__setstate__

    def set_stale(figure, value):
        if value:
            note_change(figure)
        stale.fset(figure, value)

    def show_figure(figure, *args, **kwargs):
        if has_window(figure.canvas):
            return show(figure, *args, **kwargs)
        if can_show():
            show_if_new(figure)
            detach(figure)
        return None

    def set_state(figure, state):
        restore(figure, state)
        CHANGED.pop(id(figure), None)  # a figure that was copied or unpickled shows nothing new

    kind.stale = property(stale.fget, set_stale, stale.fdel, stale.__doc__)
    kind.show, kind.savefig, kind.__setstate__ = alike(show_figure, show), SaveFigure(savefig), alike(set_state, restore)
    for function in (kind.draw, savefig, module.FigureCanvasBase.print_figure):
        DRAWING.add(undecorated(function).__code__)
    FIGURE[0] = kind


def hook_axes3d(module):
    """These change what is seen and say so to nobody."""
    def changing(method):
        def change(axes, *args, **kwargs):
            result = method(axes, *args, **kwargs)
            attempt(setattr, axes, "stale", True)  # the method is also called for axes that are not ready yet
            return result

        return alike(change, method)

    for name in ("view_init", "set_proj_type"):
        method = getattr(module.Axes3D, name, None)
        if method is not None and not hasattr(method, "__wrapped__"):
            setattr(module.Axes3D, name, changing(method))


def undecorated(function):
    """The code of a decorator is shared by all that it decorates."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def hook_registry(module):
    registry = module.Gcf
    if registry is GCF[0]:
        return
    original = registry.set_active.__func__

    def set_active(cls, manager):
        attempt(make_current, manager)
        return original(cls, manager)

    registry.set_active = classmethod(alike(set_active, original))
    GCF[0] = registry


def hook_pyplot(module):
    original, close, switch, current = module.show, module.close, module.switch_backend, module.gcf
    if hasattr(original, "_stead"):
        return
    pause = getattr(module.pause, "__code__", None)
    colorbar = undecorated(module.colorbar).__code__
    MAKES_ONE[0] = undecorated(current).__code__

    def gcf():
        caller = getframe(1)
        if caller.f_code is colorbar and not open_figures():
            attempt(bring_back, caller.f_locals.get("mappable"))
        return current()

    def show(*args, **kwargs):
        # plt.pause() shows nothing here, else an animation would be sent frame by frame.
        if can_show() and getframe(1).f_code is not pause:
            show_open()
        if any([has_window(manager.canvas) for manager in list(open_figures().values())]):
            return original(*args, **kwargs)
        return None

    def close_figure(*args, **kwargs):
        before = [manager.canvas.figure for manager in list(open_figures().values())]
        closed = close(*args, **kwargs)
        attempt(dismiss, args[0] if args else kwargs.get("fig"), before)
        return closed

    def switch_backend(name, *args, **kwargs):
        try:
            return switch(name, *args, **kwargs)
        except ImportError:
            if not needs_window(name) or has_display():
                raise
        say("there is no display for %s: figures are shown here instead" % name)
        return switch("agg")

    module.gcf = alike(gcf, current)
    module.show, module.close, module.switch_backend = alike(show, original), alike(close_figure, close), alike(switch_backend, switch)
    module.show._stead = True


def has_window(canvas):
    """Whether the user chose a backend that shows figures by itself."""
    return getattr(canvas, "required_interactive_framework", None) is not None


def needs_window(backend):
    return isinstance(backend, str) and backend.lower().startswith(("gtk", "macosx", "qt", "tk", "wx"))


def has_display():
    environ = _os.environ if _os is not None else {}
    return sys.platform == "darwin" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))

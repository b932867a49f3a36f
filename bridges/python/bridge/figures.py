# Figures: matplotlib without a display. A figure is sent once, by the eval that made or changed it, and then it is no
# longer pyplot's (pyplot.py); rendering.py makes the picture.

IMAGES = 20             # most pictures of one eval
SHOWS = posix.environ.get(b"STEAD_FIGURES") != b"off"
FIGURES = {}            # id of a figure -> what is known of it; goes when the figure goes
CHANGED = {}            # the part of FIGURES that changed since it was sent
LATE = {}               # figures that a thread or a task changed after its eval: shown only when asked for
ASKED = []              # figures to be shown because they are the last value
DUE = []                # not empty if pyplot has something that the end of the eval must take from it
LEFT = []               # figures that an eval made and did not show; `plt.show()` does
DRAWING = set()         # code that marks a figure as changed while it only draws it
FIGURE = [None]         # matplotlib's class Figure, once it is imported


class Seen:
    """What is known of a figure, without keeping it alive."""
    tag = None          # the eval that changed it; nobody's if a task did while nothing ran
    sent_in = None      # the eval that sent it last
    left_in = None      # the eval that made it and did not show it
    detached = False    # it was shown and taken from pyplot, and has not been closed since: a change is shown
    stand_in = False    # pyplot made it by itself, because a function wanted one and none was open
    animation = None    # a weak reference to the animation that moves it

    def __init__(self, figure):
        key = id(figure)
        self.figure = ref(figure, lambda _: (FIGURES.pop(key, None), CHANGED.pop(key, None), LATE.pop(key, None)))


class Sent:
    """The pictures of one eval."""
    __slots__ = ("eval", "images", "passed", "slow", "cut", "seconds", "until")

    def __init__(self):
        self.until = 0.0  # when an interrupted eval gives up what is not sent yet; 0 if it is not interrupted
        self.begin()

    def begin(self):
        self.eval, self.images = S.eval, 0
        # Counts of figures that were not sent: earlier ones were enough, or took too long, or an interrupt came.
        self.passed = self.slow = self.cut = 0
        self.seconds = 0.0  # what rendering took so far


SENT = Sent()


class Last:
    """The figure that was shown last. It is kept alive, for code that saves it only then."""
    figure = None
    eval = None


def look_up(figure):
    seen = FIGURES.get(id(figure))
    if seen is None:
        seen = FIGURES[id(figure)] = Seen(figure)
    return seen


def note_change(figure):
    """Remembers who changed a figure: a thread of an earlier eval must not be taken for the running one."""
    tag = owner() if S.phase > Phase.ASKED or get_ident() != MAIN else None
    key = id(figure)
    seen = CHANGED.get(key)
    if seen is not None and (seen.tag == tag or (S.phase > Phase.ASKED and seen.tag == S.eval)):
        return
    frame = getframe(2)
    while frame is not None:
        if frame.f_code in DRAWING:
            return
        frame = frame.f_back
    seen = look_up(figure)
    seen.tag = tag
    CHANGED[key] = seen


def set_aside():
    """Before an eval: what threads and tasks changed since the last one is not this one's, and it must not draw over it."""
    alive = set(THREADS.values())
    managers = {id(manager.canvas.figure): manager for manager in list(open_figures().values())}
    for key, seen in list(CHANGED.items()):
        figure = seen.figure()
        if key in managers and seen.tag in alive:
            continue  # the thread that changed it may go on to draw with pyplot
        CHANGED.pop(key, None)
        if key not in managers:
            if figure is not None and seen.detached:
                LATE[key] = seen
        elif not is_empty(figure):
            take_from_pyplot(managers[key])
            LEFT.append(figure)
            remember_last(figure)


# ---- when they are sent ----------------------------------------------------------------------

def can_show():
    return S.phase > Phase.ASKED and S.life == Life.SERVING and get_ident() == MAIN


def show_changed():
    """Before a wait for input: what the eval made so far is there to look at. The eval goes on to draw on it."""
    if can_show():
        for figure in changed_figures():
            send_figure(figure)


def show_open():
    """`plt.show()`: shows what is open, or changed, whoever changed it; with neither, what could not be shown before."""
    opened = sorted(open_figures().values(), key=lambda manager: manager.num)
    opened = [manager.canvas.figure for manager in opened]
    known = set(map(id, opened))
    changed = [seen.figure() for key, seen in [*LATE.items(), *CHANGED.items()] if seen.detached and key not in known]
    left = [] if [figure for figure in opened if not is_empty(figure)] else LEFT[:]
    LEFT.clear()
    for figure in [*left, *changed, *opened]:
        show_if_new(figure)
    detach()


def show_if_new(figure):
    if figure is not None and (id(figure) in CHANGED or look_up(figure).sent_in != S.eval):
        send_figure(figure)


def display_figure(value):
    """Shows a figure, or that of an animation or a grid, where the running eval is, whether it changed or not. Says whether it could."""
    figure = figure_of(value)
    if figure is None or not can_show():
        return False
    send_figure(figure)
    return True


def figure_of(value):
    if FIGURE[0] is not None and issubclass(type(value), FIGURE[0]):
        return value
    if ANIMATION[0] is not None and issubclass(type(value), ANIMATION[0]):
        return getattr(value, "_fig", None)
    module = module_name_of(type(value)) if FIGURE[0] is not None else None
    if type(module) is str and module.startswith("seaborn."):
        figure = getattr(value, "figure", None)  # the figure of a grid
        return figure if issubclass(type(figure), FIGURE[0]) else None
    return None


def ask_figure(value):
    """The last value of an eval is shown also where nothing changed, or where pyplot does not know it."""
    figure = figure_of(value)
    if figure is not None:
        ASKED.append(figure)


def end_figures(error):
    """Sends what the eval made, before its error if it failed; says how it ends now."""
    asked = ASKED[:]
    ASKED.clear()
    if SENT.eval != S.eval:
        SENT.begin()
    try:
        if S.pending:  # the interrupt came too late for the code; what the code has drawn is shown as after any interrupt
            raise_pending()
    except KeyboardInterrupt as caught:
        error = caught if error is None else error
    if isinstance(error, KeyboardInterrupt) and S.interrupt != Interrupt.NONE:
        # Rendering may take long, and an interrupt is to end the eval: the next interrupt stops the rendering, or its time limit does.
        S.phase, SENT.until = Phase.SHOWING, monotonic() + SECONDS_AFTER_INTERRUPT
    try:
        run_user(send_at_end, asked)
    except BaseException as caught:
        leave_child(caught)
        error = caught if error is None else error
        for figure in guarded(changed_figures) or ():
            leave(figure, "cut")
    guarded(say_what_is_left)
    attempt(detach)
    DUE.clear()
    S.phase, SENT.until = Phase.RUNNING, 0.0
    reclaim_sigint()
    return error


def send_at_end(asked):
    for figure in changed_figures():
        send_figure(figure)
    for figure in asked:
        show_if_new(figure)


def changed_figures():
    """Figures with something new to see that the running eval changed: those that were shown before, then pyplot's by
    number. What pyplot does not know, or no longer, is not for it to show."""
    managers = {id(manager.canvas.figure): manager for manager in list(open_figures().values())}
    found = []
    for key, seen in list(CHANGED.items()):
        figure = seen.figure()
        if figure is None or not (key in managers or seen.detached):
            CHANGED.pop(key, None)
        elif seen.tag == S.eval:
            found.append((managers[key].num if key in managers else 0, figure))
    return [figure for _, figure in sorted(found, key=lambda pair: pair[0])]


def is_empty(figure):
    return len(figure.get_children()) <= 1  # an empty figure has only its background


def send_figure(figure):
    seen = look_up(figure)
    CHANGED.pop(id(figure), None)
    LATE.pop(id(figure), None)
    if is_empty(figure) or not SHOWS:  # as in a notebook, an empty figure is not shown
        return
    if SENT.eval != S.eval:
        SENT.begin()
    seconds = SENT.until - monotonic() if SENT.until else min(RENDER_SECONDS, RENDER_SECONDS_IN_ALL - SENT.seconds)
    if SENT.until and is_heavy(figure):
        seconds = 0
    if SENT.images >= IMAGES or seconds <= 0:
        leave(figure, "passed" if SENT.images >= IMAGES else "cut" if SENT.until else "slow")
        return
    began = monotonic()
    try:
        png, note = within(seconds, render_png, figure)
    except KeyboardInterrupt:
        leave(figure, "cut")
        raise
    except TooSlow:
        if SENT.until:
            leave(figure, "cut")
        else:
            remember_last(figure)
            say("%s was not shown: rendering it takes more than %d s; savefig has no such limit" % (name_of(figure), seconds))
        return
    except BaseException as error:
        leave_child(error)
        say("could not render %s: %s" % (name_of(figure), in_short(error)))
        return
    finally:
        SENT.seconds += monotonic() - began
    flush_all()
    data = import_stdlib("binascii").b2a_base64(png, newline=False).decode("ascii")
    SENT.images += 1
    seen.sent_in = S.eval
    remember_last(figure)
    exchange('{"ev":"display","mime":"image/png","data":"%s"%s,"ack":true}\n' % (
        data, ',"note":' + quote(note) if note else ""))
    if S.pending:
        raise_pending()


def leave(figure, why):
    """Passes a figure over; it is kept for `plt.show()`."""
    if SENT.eval != S.eval:
        SENT.begin()
    seen = look_up(figure)
    CHANGED.pop(id(figure), None)
    if seen.left_in != S.eval:
        seen.left_in = S.eval
        setattr(SENT, why, getattr(SENT, why) + 1)
    if not any([left is figure for left in LEFT]):
        LEFT.append(figure)
    remember_last(figure)
    DUE.append(True)


def remember_last(figure):
    Last.figure, Last.eval = figure, S.eval


def say_what_is_left():
    if SENT.eval != S.eval:
        return
    left = len([figure for figure in LEFT if look_up(figure).left_in == S.eval])
    then = "; plt.show() shows %s" % ("it" if left == 1 else "them") if left else ""
    if SENT.cut:
        say("%s not shown because of the interrupt%s" % (count(SENT.cut), then))
    if SENT.slow:
        say("%s not shown: those before took %d s to render%s" % (count(SENT.slow), RENDER_SECONDS_IN_ALL, then))
    if SENT.passed:
        say("%s not shown: an eval sends %d images at most%s" % (count(SENT.passed), IMAGES, then))
    SENT.passed = SENT.slow = SENT.cut = 0


def count(figures):
    return "1 figure was" if figures == 1 else "%d figures were" % figures


def name_of(figure):
    return "figure %s" % getattr(figure, "number", "")


def in_short(error):
    return "%s: %s" % (type_name(error), cut(" ".join(safe_str(error).split()), 500))


def say(text):
    try:
        ERR.write("[" + text + "]\n")
    except (OSError, ValueError):  # the user closed it
        pass

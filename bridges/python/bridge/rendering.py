# Rendering: makes the picture of a figure, within limits of size and time.

RENDER_SECONDS = 10             # how long one figure may take
RENDER_SECONDS_IN_ALL = 30      # how long all figures of one eval may take; later ones are not shown
SECONDS_AFTER_INTERRUPT = 1.0   # how long all figures of an interrupted eval may take
THREAD_SECONDS = 0.5            # how long the thread that watches the time may take to end
AGAIN_SECONDS = 0.1             # after which a rendering that goes on all the same is told again
POINTS_AT_ONCE = 20_000         # points drawn by one call of matplotlib's C code, in which no exception can be raised
PIXELS_AT_ONCE = 16_000_000     # most values of an image that is drawn after an interrupt
START_THREAD = _thread.start_new_thread     # Python's own function, so that the thread does not count as the user's


def within(seconds, call, *args):
    """What a call gives; raises TooSlow in code that it has called through a function of LIMITED, after that time.

    A thread that waits beside it sends the signal of the host's nudges: a timer of the system is one for the whole process,
    and may be the user's. Critical: a watch that nobody ends would go on. What is called can be interrupted all the same.
    """
    watch = begin_watch(seconds)
    try:
        return interruptible(call, *args)
    finally:
        end_watch(watch)


def begin_watch(seconds):
    before, until = S.show_until, monotonic() + seconds
    S.show_until = min(before, until) if before else until  # one time limit may be within another
    done, ids, handler = allocate_lock(), [], getsignal(SIGWINCH)
    done.acquire()
    try:
        if handler is not on_nudge and handler is not None:
            signal(SIGWINCH, on_nudge)
        START_THREAD(watch_time, (done, seconds, ids))
    except RuntimeError:  # no thread can be started, so nothing watches the time
        ids = None
    return done, ids, handler, before


def end_watch(watch):
    done, ids, handler, before = watch
    S.show_until = before
    done.release()
    if handler is not on_nudge and handler is not None:
        signal(SIGWINCH, handler)
    # Python warns of a fork while another thread lives, and the watching thread needs a moment to end, longer on a busy machine.
    late = monotonic() + THREAD_SECONDS
    while ids is not None and sys.version_info >= (3, 12) and monotonic() < late:
        try:
            if ids:
                stat("/proc/self/task/%d" % ids[0])
        except OSError:
            break
        sched_yield()


def watch_time(done, seconds, ids):
    ids.append(get_native_id())
    while not done.acquire(True, seconds):
        _signal.pthread_kill(MAIN, SIGWINCH)
        seconds = AGAIN_SECONDS


CRITICAL.update((within.__code__, begin_watch.__code__, end_watch.__code__))


def render_png(figure):
    """A PNG within the limits, by its resolution alone, and a note if that had to be lowered.

    It is drawn on a canvas of our own, so that what the user drew on the figure's stays.
    """
    settings = modules["matplotlib"].rcParams
    before = figure.canvas, figure.stale, settings["agg.path.chunksize"]
    try:
        settings["agg.path.chunksize"] = before[2] or POINTS_AT_ONCE
        canvas_in_parts(figure)
        return draw_png(figure)
    finally:
        put_back(figure, settings, *before)


def put_back(figure, settings, canvas, stale, at_once):
    """Critical: the figure is as it was, whatever ended the rendering."""
    settings["agg.path.chunksize"] = at_once
    figure.set_canvas(canvas)
    if not stale:
        figure.stale = False


CRITICAL.add(put_back.__code__)


def draw_png(figure):
    notes = draw_first_frame(look_up(figure))
    save = frame_about(figure, "save(file, format='png', dpi=dpi)")
    space = {"save": figure.savefig}
    size = figure.get_size_inches()
    whole = figure.dpi
    dpi = min(whole, IMAGE_SIDE / max(*size, 0.01))
    for _ in range(8):
        space.update(file=_io.BytesIO(), dpi=dpi)
        eval(save, space)
        png = space["file"].getvalue()
        sides = [int.from_bytes(png[at:at + 4], "big") for at in (16, 20)]
        excess = max(max(sides) / IMAGE_SIDE, (len(png) / IMAGE_BYTES) ** 0.5)
        if excess <= 1:
            if dpi < whole:
                notes.insert(0, "scaled down from %d×%d" % tuple(size * whole))
            return png, "; ".join(notes)
        dpi *= 0.95 / excess
    raise ValueError("it does not fit %d bytes" % IMAGE_BYTES)


def frame_about(figure, expression):
    """Code that calls matplotlib from a frame of its own, named for the figure: that is where its warnings say that they come from."""
    return compile(expression, "<" + name_of(figure).strip() + ">", "eval", 0, True)


LIMITED.add(draw_png.__code__)


def give_up(frame):
    """Raises TooSlow in code whose time is over. What is sent to the host meanwhile is not torn."""
    while frame is not None and frame.f_code not in CRITICAL:
        if frame.f_code in LIMITED:
            raise TooSlow
        frame = frame.f_back


def is_heavy(figure):
    """Whether it has an area or an image that one call of matplotlib's C code may draw for seconds."""
    for axes in figure.axes:
        paths = [path for one in list(axes.collections) for path in (vars(one).get("_paths") or ())[:100]]
        paths += [vars(one).get("_path") for one in list(axes.patches)]
        if [path for path in paths if path is not None and len(path.vertices) > POINTS_AT_ONCE]:
            return True
        if [one for one in list(axes.images) if getattr(vars(one).get("_A"), "size", 0) > PIXELS_AT_ONCE]:
            return True
    return False


# ---- a canvas that draws in parts ------------------------------------------------------------

def canvas_in_parts(figure):
    """A new canvas for the figure that draws very many markers, or fields of a mesh, by several calls: between two of them an
    interrupt or TooSlow can be raised. The picture is the same."""
    __import__("matplotlib.backends.backend_agg")
    kind = modules["matplotlib.backends.backend_agg"].FigureCanvasAgg

    class Canvas(kind):
        def get_renderer(self, *args, **kwargs):
            renderer = super().get_renderer(*args, **kwargs)
            own = vars(renderer)
            for name, divide in (("draw_markers", markers_in_parts), ("draw_quad_mesh", mesh_in_parts)):
                if name in own and not hasattr(own[name], "_whole"):
                    own[name] = divide(own[name])
            return renderer

    return Canvas(figure)


def markers_in_parts(whole):
    def draw_markers(gc, marker, marker_transform, path, *more):
        points, step = path.vertices, POINTS_AT_ONCE
        if path.codes is not None or len(points) <= step:
            return whole(gc, marker, marker_transform, path, *more)
        for at in range(0, len(points), step):
            whole(gc, marker, marker_transform, type(path)(points[at:at + step]), *more)
        return None

    draw_markers._whole = whole
    return draw_markers


def mesh_in_parts(whole):
    def draw_quad_mesh(gc, transform, width, height, corners, offsets, offset_transform, faces, smooth, edges):
        rows = max(POINTS_AT_ONCE // max(width, 1), 1)
        if rows >= height or len(faces) != width * height or len(offsets) > 1 or len(edges) not in (0, 1, len(faces)):
            return whole(gc, transform, width, height, corners, offsets, offset_transform, faces, smooth, edges)
        for at in range(0, height, rows):
            part = slice(at * width, (at + rows) * width)
            whole(gc, transform, width, min(rows, height - at), corners[at:at + rows + 1], offsets, offset_transform,
                  faces[part], smooth, edges[part] if len(edges) > 1 else edges)
        return None

    draw_quad_mesh._whole = whole
    return draw_quad_mesh

# Displays: what a value shows besides its text, and the displayhook that shows both.

IMAGE_SIDE, IMAGE_BYTES, IMAGE_BYTES_RAW = 1568, 1_000_000, 8 << 20
MARKDOWN_BYTES, HTML_BYTES = 16 << 10, 64 << 10
PNG, JPEG, SVG = "image/png", "image/jpeg", "image/svg+xml"
MAGIC = {PNG: b"\x89PNG\r\n\x1a\n", JPEG: b"\xff\xd8\xff"}
RICH = (("_repr_png_", PNG), ("_repr_jpeg_", JPEG), ("_repr_svg_", SVG), ("_repr_markdown_", "text/markdown"), ("_repr_html_", "text/html"))
PNG_MODES = {"1", "L", "LA", "I;16", "P", "RGB", "RGBA"}


def displayhook(value):
    """sys.displayhook of the session; user code may call it on the way."""
    if value is None:
        return
    builtins._ = None
    if S.life == Life.CHILD or S.phase == Phase.IDLE or get_ident() != MAIN:
        text = render(value)
        builtins._ = value
        sys.stdout.write(text + "\n")
        return
    events = events_of(value)
    builtins._ = value
    flush_all()
    for event in events:
        transmit(event[:-1] + ',"ack":true}\n')
        await_ack()
    if S.pending:
        raise_pending()


AT_ONCE = {kind: kind.__name__ for kind in (int, float, bool, str, type(None))}


def shown_at_once(value):
    """Shows a number or a short text by our own hook, in place of another such value: that runs no code of the user's."""
    name = AT_ONCE.get(type(value))
    if name is None or SYS.get("displayhook") is not displayhook or type(BUILTINS.get("_")) not in PLAIN:
        return False
    if value is None:
        return True
    if type(value) is str:
        if len(value) >= VALUE_BUDGET // 12:  # a character is ten at most
            return False
    elif type(value) is int and value.bit_length() >= 100:
        return False
    S.final = '{"ev":"value","text":%s,"type":"%s"}' % (quote(repr(value)), name)
    BUILTINS["_"] = value
    return True


def show_last(value):
    """The value of the last expression: ours travels with `done`, so that it costs no wait."""
    hook = getattr(sys, "displayhook", None)
    if hook is displayhook or hook is None:
        if value is not None:
            builtins._ = None
            S.final = "\n".join(events_of(value))
            builtins._ = value
    else:
        hook(value)


def events_of(value):
    """The events that show a value: something rich if it has that, and its text."""
    mime, data, note = (None, None, "") if type(value) in PLAIN else rich_of(value)
    text = render(value, VALUE_BUDGET - len(note)) + note
    events = []
    if mime is not None:
        events.append('{"ev":"display","mime":"%s","data":%s}' % (mime, quote(data)))
    if mime != "text/markdown" or adds_to(text, data):
        events.append('{"ev":"value","text":%s,"type":%s}' % (quote(text), quote(type_name(value))))
    return events


def adds_to(text, markdown):
    """Whether the repr tells more than the text that stands for it; nobody wants to read a thing twice."""
    bare = " ".join(text.split())
    return len(text) <= 200 and not (bare.startswith("<") and " object" in bare) and bare.strip("'\"") not in " ".join(markdown.split())


def rich_of(value):
    """(mime, data, note): the richest form of a value that a reader can be shown, or Nones."""
    kind = type(value)
    try:
        if type in mro_of(kind) or library_of(value) is not None:
            return None, None, ""
        image = modules.get("PIL.Image")
        if isinstance(image, ModuleType) and vars(image).get("Image") in mro_of(kind):
            return PNG, base64(shrink(value, PNG)), ""
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass
    for name, mime in RICH:
        data = call_rich(value, kind, name)
        shown = present(mime, data) if data is not None else None
        if shown is not None:
            return shown
    bundle = call_rich(value, kind, "_repr_mimebundle_", include=None, exclude=None)
    for _, mime in RICH:
        data = bundle.get(mime) if isinstance(bundle, dict) else None
        shown = present(mime, data) if data is not None else None
        if shown is not None:
            return shown
    return None, None, ""


def call_rich(value, kind, name, **options):
    """What the method says, if the class has it: an object that answers to any name has not."""
    if found(kind, name)[0] is None:
        return None
    try:
        data = getattr(value, name)(**options)
        if isinstance(data, tuple) and len(data) == 2:  # with metadata
            data = data[0]
        return data
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def present(mime, data):
    """The data of one mime type within its limits; None if it is not what the type says."""
    try:
        if mime == SVG:  # a drawing that is cut off is none
            is_drawing = isinstance(data, str) and "<svg" in data[:4096].lower() and len(data) <= IMAGE_BYTES
            return (mime, str.__str__(data), "") if is_drawing else None
        if mime.startswith("image/"):
            return present_image(mime, data)
        if not isinstance(data, str) or not data.strip():
            return None
        return mime, cut_bytes(str.__str__(data), MARKDOWN_BYTES if mime == "text/markdown" else HTML_BYTES), ""
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def present_image(mime, data):
    if isinstance(data, str):
        data = import_stdlib("binascii").a2b_base64(data)
    if not isinstance(data, (bytes, bytearray)) or not data.startswith(MAGIC[mime]):
        return None
    data = bytes(data)
    if len(data) > IMAGE_BYTES or max(sides_of(data, mime)) > IMAGE_SIDE:
        try:
            data = shrink(__import__("PIL.Image", fromlist=["Image"]).open(_io.BytesIO(data)), mime)
        except KeyboardInterrupt:
            raise
        except BaseException:  # not installed, or it cannot read this one
            if len(data) > IMAGE_BYTES_RAW:
                return None, None, "\n(its image of %d bytes is too big to be shown)" % len(data)
    return mime, base64(data), ""


def sides_of(data, mime):
    """Width and height, from the head of the data."""
    if mime == PNG:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7:at + 9], "big"), int.from_bytes(data[at + 5:at + 7], "big")
        at += 2 + int.from_bytes(data[at + 2:at + 4], "big")
    return 0, 0


def shrink(image, mime):
    """A PIL image as bytes within the limits; the image itself stays as it is."""
    side = IMAGE_SIDE
    small = image.copy()
    if mime == PNG and small.mode not in PNG_MODES:
        small = small.convert("I;16" if small.mode == "I" else "RGB")
    elif mime == JPEG and small.mode not in ("L", "RGB", "CMYK"):
        small = small.convert("RGB")
    while True:
        if max(small.size) > side:
            if small.mode in ("1", "P"):  # these cannot be blended
                small = small.convert("RGBA" if "transparency" in small.info else "RGB")
            small.thumbnail((side, side))
        file = _io.BytesIO()
        small.save(file, "PNG" if mime == PNG else "JPEG")
        size = file.tell()
        if size <= IMAGE_BYTES or side < 32:
            return file.getvalue()
        side = int(max(small.size) * min((IMAGE_BYTES / size) ** 0.5, 0.95) * 0.95)


def base64(data):
    return import_stdlib("binascii").b2a_base64(data, newline=False).decode("ascii")


def cut_bytes(text, most):
    """The text cut so that it has at most that many bytes in UTF-8."""
    budget = most
    while True:
        short = cut(text, budget)
        size = len(short.encode("utf-8", "backslashreplace"))
        if size <= most:
            return short
        budget = min(budget - 1, budget * most // size)

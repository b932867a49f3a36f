# Displays: the displayhook, and the events by which a value is shown.

IMAGE_SIDE, IMAGE_BYTES, IMAGE_BYTES_RAW = 1568, 1_000_000, 8 << 20
MARKDOWN_BYTES, HTML_CHARS = 16 << 10, 8 << 20
RICH_SECONDS = 10       # for all forms that a value is asked for, as for a figure
DISPLAY_ROOM = 200      # what the line that names a display takes of the value's budget
PNG, JPEG, SVG, MARKDOWN, HTML = "image/png", "image/jpeg", "image/svg+xml", "text/markdown", "text/html"
MAGIC = {PNG: b"\x89PNG\r\n\x1a\n", JPEG: b"\xff\xd8\xff"}
PNG_MODES = {"1", "L", "LA", "I;16", "P", "RGB", "RGBA"}


def displayhook(value):
    """sys.displayhook of the session; user code may call it on the way."""
    if value is None:
        return
    builtins._ = None
    if S.life == Life.CHILD or S.phase <= Phase.ASKED or get_ident() != MAIN:
        text = render(value)
        builtins._ = value
        sys.stdout.write(text + "\n")
        return
    events = events_of(value)
    builtins._ = value
    show_events(events)


def show_events(events):
    """Shows something on the way: in its place among what the code prints."""
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
        if len(value) >= VALUE_BUDGET // 12:  # the repr of a character has ten characters at most
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


class Shown:
    """What is shown of a value."""
    __slots__ = ("displays", "text", "remarks", "seconds")

    def __init__(self):
        self.displays = []  # (mime, data)
        self.text = None    # None if a display stands in its place
        self.remarks = []   # what went wrong on the way, and what a picture would need
        self.seconds = float(RICH_SECONDS)  # what is left of the time for asking the value

    def room(self):
        """The characters that a text may have beside all that was found so far."""
        return max(VALUE_BUDGET - DISPLAY_ROOM * len(self.displays) - sum([len(remark) + 3 for remark in self.remarks]), 200)

    def fit(self, text):
        """A text that is shown as it is, cut if need be."""
        room = self.room()
        return text if len(text) <= room else cut(text, cut_budget(room))

    def whole_text(self):
        return "\n".join(([self.text] if self.text else []) + ["(%s)" % remark for remark in self.remarks])

    def events(self, kind):
        events, text = [display_event(mime, data) for mime, data in self.displays], self.whole_text()
        if text or not events:
            events.append('{"ev":"value","text":%s,"type":%s}' % (quote(text), quote(kind)))
        return events


def events_of(value):
    """The events that show a value: something rich if it has that, and its text."""
    if type(value) in PLAIN or type(value) in EXACT:  # such values have no form but a text
        return ['{"ev":"value","text":%s,"type":%s}' % (quote(render(value)), quote(type_name(value)))]
    return look_at(value).events(type_name(value))


def display_event(mime, data):
    return '{"ev":"display","mime":"%s","data":%s}' % (mime, quote(data))


def keep_html(shown, html):
    """A page goes into a file. A piece of one is made whole, else a browser would guess its encoding."""
    if len(html) > HTML_CHARS:
        shown.remarks.append("its HTML of %d characters is too long to be kept" % len(html))
        return
    if "<html" not in html[:2000].lower():
        html = '<!doctype html><meta charset="utf-8">\n' + html
    shown.displays.append((HTML, html))


def present(shown, mime, data):
    """Adds a display within its limits; whether the data is what its type says."""
    if mime == SVG:
        if type(data) is not str or "<svg" not in data[:4096].lower():
            return False
        if len(data) > HTML_CHARS:  # a drawing that is cut off cannot be shown
            shown.remarks.append("its drawing of %d characters is too long to be kept" % len(data))
        else:
            shown.displays.append((mime, data))
        return True
    if mime == MARKDOWN:
        if type(data) is not str or not data.strip():
            return False
        shown.displays.append((mime, cut_bytes(data, MARKDOWN_BYTES)))
        return True
    image = present_image(mime, data)
    if image is None:
        return False
    if type(image) is str:
        shown.displays.append((mime, image))
    else:
        shown.remarks.append("its image of %d bytes is too big to be shown" % image)
    return True


def present_image(mime, data):
    """An image in base64; how many bytes it has if that is too many; None if it is none."""
    if type(data) is str:
        data = import_stdlib("binascii").a2b_base64(data)
    if type(data) is not bytes or not data.startswith(MAGIC[mime]):
        return None
    if len(data) > IMAGE_BYTES or max(sides_of(data, mime)) > IMAGE_SIDE:
        try:
            data = shrink(__import__("PIL.Image", fromlist=["Image"]).open(_io.BytesIO(data)), mime)
        except STOPS:
            raise
        except BaseException:  # PIL is not installed, or cannot read this image
            if len(data) > IMAGE_BYTES_RAW:
                return len(data)
    return base64(data)


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
            if small.mode in ("1", "P"):  # images of these modes cannot be blended
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

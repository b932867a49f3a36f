# Values: a bounded text for any value, whatever its size or its repr.

class TooLong(Exception):
    """A text does not fit into what is left of the budget."""


class Job:
    """One call of render. A repr is called once in it, because it may be slow or have effects."""
    __slots__ = ("brief", "reprs", "long")

    def __init__(self, brief):
        self.brief, self.reprs = brief, {}
        self.long = {}  # id of a container -> characters that are known to be too few for it


TEXTS = {id(kind.__repr__): kind for kind in (str, bytes, bytearray)}
PLAIN = {int, float, bool, complex, str, bytes, bytearray, type(None), type(...)}
REPLY_ROOM = 100    # characters for an eval's closing line
ITEM_LEAST = 30     # characters that an item of a long container gets at least
BITS_SHOWN = 14_000
NUMBERS = {int, float, bool}    # their reprs are short and need no care
NUMBER_MOST = 1 << 64


def render(value, budget=VALUE_BUDGET, brief=False, job=None):
    """Exactly repr(value) if that fits; otherwise cut structurally, with counts. Never more than the budget.

    A brief one is a single line, for lists of values.
    """
    if type(value) in NUMBERS and (type(value) is not int or value.bit_length() < 100):
        return cut(repr(value), budget)
    job = job or Job(brief)
    try:
        try:
            text = whole(((value,),), budget, job, ())
        except TooLong:
            text = shorten(value, cut_budget(budget), job, ())
    except RecursionError:
        text = "<%s object, repr raised RecursionError>" % type_name(value)
    if brief and "\n" in text:
        text = " ".join(text.split())
    return cut(text, budget)


def cut_budget(budget):
    """What is cut leaves room for the lines around it, so that a reply with one value has no more than the value's budget."""
    return budget - REPLY_ROOM if budget > VALUE_BUDGET // 2 else budget


def render_shape(shape, budget):
    """A shape that is no container's own, in the same way."""
    job = Job(False)
    try:
        return whole(pieces_of(shape), budget, job, (shape.ident,))
    except TooLong:
        return shorten_shape(shape, cut_budget(budget), job, ())


def whole(pieces, left, job, outer):
    """The reprs and texts of an entry, or TooLong. Without recursion: nesting is bounded by the budget alone."""
    parts, above, within = [], [], set(outer)
    path = []  # the containers around the current piece, each with the room that was left when it began
    try:
        return walk(iter(pieces), left, job, parts, above, within, path, outer)
    except TooLong:
        # No container of the path is tried again with less room, or deeply nested values would be walked from every depth.
        for ident, room in path:
            job.long[ident] = max(job.long.get(ident, 0), room)
        raise


def walk(pieces, left, job, parts, above, within, path, outer):
    ident = None
    while True:
        for piece in pieces:
            text = piece
            if type(piece) is tuple:
                child = piece[0]
                shape = None if type(child) in PLAIN else shape_of(child)
                if shape is None:
                    text = leaf(child, left, job, bool(above or outer))
                elif not shape.size:
                    text = safe_repr(child)
                elif shape.ident in within:
                    text = shape.again
                elif shape.size * 3 - 2 > left or job.long.get(shape.ident, -1) >= left:
                    raise TooLong
                else:
                    above.append((pieces, ident))
                    pieces, ident = pieces_of(shape), shape.ident
                    within.add(ident)
                    path.append((ident, left))
                    break
            left -= len(text)
            if left < 0:
                raise TooLong
            parts.append(text)
        else:
            if not above:
                return "".join(parts)
            within.discard(ident)
            path.pop()
            pieces, ident = above.pop()


def pieces_of(shape):
    yield shape.open
    separator = ""
    for entry in shape.first(shape.size):
        if separator:
            yield separator
        separator = ", "
        yield from entry
    yield shape.close


def leaf(value, limit, job, nested):
    """The repr of something that is no container, unless it is known to be too long without asking."""
    kind = type(value)
    if kind is int:
        if value.bit_length() > BITS_SHOWN:  # repr is quadratic, and refused by 3.11+
            raise TooLong
        return repr(value)
    text_kind = text_kind_of(kind)
    if text_kind is not None:
        if text_kind.__len__(value) > limit:
            raise TooLong
        return text_kind.__repr__(value)
    if kind in PLAIN:
        return repr(value)
    library = library_of(value)
    if library is not None:
        return library_whole(library, value, job, nested)
    return own_repr(value, job)


def text_kind_of(kind):
    if kind is str or kind is bytes or kind is bytearray:
        return kind
    base = TEXTS.get(id(found(kind, "__repr__")[0]))
    return base if base in mro_of(kind) else None


def own_repr(value, job):
    known = job.reprs.get(id(value))
    if known is None:
        known = job.reprs[id(value)] = (value, safe_repr(value))  # the value is kept too, so that no other object gets its id
    return known[1]


def safe_repr(value):
    try:
        return real_repr(value)
    except STOPS:
        raise
    except BaseException as error:
        name = type_name(value)
        return cut("<%s object, repr raised %s: %s>" % (name, type_name(error), safe_str(error)), 500)


def real_repr(value):
    text = repr(value)
    return text if type(text) is str else str.__str__(text)


# ---- what does not fit -----------------------------------------------------------------------

def shorten(value, budget, job, outer):
    kind = type(value)
    shape = None if kind in PLAIN else shape_of(value)
    if shape is not None and shape.size:
        return shorten_shape(shape, budget, job, outer)
    text_kind = text_kind_of(kind)
    if text_kind is not None:
        return shorten_text(value, text_kind, budget)
    if kind is int and value.bit_length() > BITS_SHOWN:
        return shorten_int(value, budget)
    library = None if kind in PLAIN else library_of(value)
    if library is not None:
        return library_cut(library, value, budget, job, bool(outer))
    return cut(own_repr(value, job), budget)


def shorten_shape(shape, budget, job, outer):
    """All entries, each cut if need be, where they are few; else as many of the first as fit, and the last."""
    size = shape.size
    mark = " (%d %s)" % (size, shape.unit)
    room = budget - len(shape.open) - len(shape.close) - len(mark) - len(", …, ")
    if shape.ident in outer:
        return cut(shape.again, budget)
    if room < 12 or len(outer) > 20:
        return cut(shape.open + "…" + shape.close + mark, budget)
    outer += (shape.ident,)
    if size * ITEM_LEAST <= room and size <= 40:
        shown = share_out(shape.first(size), room, job, outer)
        return shape.open + ", ".join(shown) + shape.close
    shown, tail = first_and_last(shape, room, job, outer)
    if len(shown) + len(tail) < size:
        return shape.open + ", ".join([*shown, "…", *tail]) + shape.close + mark
    return shape.open + ", ".join(shown + tail) + shape.close


def share_out(entries, room, job, outer):
    """Renders all entries: what the short ones leave goes to the long ones."""
    texts, open_ = [None] * len(entries), dict(enumerate(entries))
    room -= 2 * len(entries)
    for at, entry in list(open_.items()):
        try:
            texts[at] = whole(entry, room, job, outer)
        except TooLong:
            pass
    settled = True
    while settled and open_:
        fair = room // len(open_)
        settled = [at for at in open_ if texts[at] is not None and len(texts[at]) <= fair]
        for at in settled:
            room -= len(texts[at])
            del open_[at]
    while open_:
        at = next(iter(open_))
        texts[at] = render_entry(open_.pop(at), room // (len(open_) + 1), job, outer)
        room -= len(texts[at])
    return texts


def first_and_last(shape, room, job, outer):
    """As many of the first entries as fit, and the last one where the container has an end."""
    share = max(room // min(shape.size, 8), ITEM_LEAST)
    shown, tail = [], []
    if shape.last is not None and shape.size > 1:
        try:
            tail.append(render_entry(shape.last(), min(share, room // 3), job, outer))
        except (IndexError, KeyError, RuntimeError):  # it has changed meanwhile
            pass
    room -= sum(map(len, tail))
    count = min(shape.size - len(tail), room // 3 + 1)
    numbers = first_numbers(shape, count, room - 2)
    if numbers is not None:
        return numbers, tail
    for entry in shape.first(count):
        try:  # the last item that there is room for is shown whole or not at all
            text = render_entry(entry, share, job, outer) if room >= share else whole(entry, room, job, outer)
        except TooLong:
            break
        room -= len(text) + 2
        shown.append(text)
    return shown, tail


def first_numbers(shape, count, room):
    """The first entries of a container of plain numbers: one repr in C does what takes a thousand steps here."""
    if shape.bulk is None:
        return None
    items = shape.bulk(count)
    for part in (items, items.values()) if type(items) is dict else (items,):
        if not NUMBERS.issuperset(map(type, part)) or max(part) > NUMBER_MOST or min(part) < -NUMBER_MOST:
            return None
    text = repr(items)[1:-1]
    if len(text) > room:
        text = text[:text.rfind(", ", 0, room + 2)]
    return text.split(", ")


def render_entry(entry, limit, job, outer):
    """An item, a pair or a field: the last value gets what the others leave."""
    try:
        return whole(entry, limit, job, outer)
    except TooLong:
        pass
    values = sum([type(piece) is tuple for piece in entry])
    room = limit - sum([len(piece) for piece in entry if type(piece) is str])
    parts = []
    for piece in entry:
        if type(piece) is tuple:
            try:
                part = whole((piece,), max(room // values, 4), job, outer)
            except TooLong:
                part = shorten(piece[0], max(room // values, 4), job, outer)
            room -= len(part)
            values -= 1
        else:
            part = piece
        parts.append(part)
    return cut("".join(parts), limit)


def shorten_text(value, kind, budget):
    size = kind.__len__(value)
    before, after = ("'", "'") if kind is str else ("b'", "'") if kind is bytes else ("bytearray(b'", "')")
    mark = " (%d %s)" % (size, "characters" if kind is str else "bytes")
    room = budget - len(before) - len(after) - len(" … ") - len(mark)
    if room < 8:
        return cut(before + "…" + after + mark, budget)
    return before + quoted(value, kind, room - room // 2, False) + " … " + quoted(value, kind, room // 2, True) + after + mark


def quoted(value, kind, room, at_end):
    """As much of the start or the end as fits when escaped, without the quotes."""
    count = room
    while True:
        part = kind.__getitem__(value, slice(-count, None) if at_end else slice(count))
        # A quote of each sort in front makes repr choose the single one for both ends of a text.
        text = repr("'\"" + part)[4:-1] if kind is str else repr(b"'\"" + bytes(part))[5:-1]
        if len(text) <= room or count <= 1:
            return text[:room]
        count = max(min(count - 1, count * room // len(text)), 1)


def shorten_int(value, budget):
    bits, sign = value.bit_length(), "-" if value < 0 else ""
    mark = " (%d bits)" % bits
    room = budget - len(sign + "0x … " + mark)
    if room < 8:
        return cut("int" + mark, budget)
    value = abs(value)
    head, tail = room - room // 2, room // 2
    drop = (bits + 3) // 4 - head
    return "%s%s … %0*x%s" % (sign, hex(value >> 4 * drop), tail, value & (1 << 4 * tail) - 1, mark)

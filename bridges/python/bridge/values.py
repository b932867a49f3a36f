# Values: a bounded text for any value, whatever its size or its repr.

class TooLong(Exception):
    pass


BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}"), set: ("{", "}"), frozenset: ("frozenset({", "})")}


def render(value, budget=VALUE_BUDGET):
    """Exactly repr(value) if that fits; otherwise containers are cut structurally, with counts."""
    try:
        parts = []
        render_whole(value, [budget], parts, ())
        return "".join(parts)
    except TooLong:
        pass
    except RecursionError:
        return "<%s object, repr raised RecursionError>" % type_name(value)
    return cut(render_cut(value, budget, 0), budget + 80)


def render_whole(value, left, parts, outer):
    kind = type(value)
    brackets = BRACKETS.get(kind)
    if brackets is None:
        text = render_leaf(value, left[0])
        return put(text, left, parts)
    if not value:
        return put(repr(value), left, parts)
    if len(value) * 3 - 2 > left[0] or len(outer) > 200:
        raise TooLong
    if id(value) in outer:
        return put("[...]" if kind is list else "(...)" if kind is tuple else "{...}", left, parts)
    outer += (id(value),)
    put(brackets[0], left, parts)
    first = True
    for item in list(value):
        if not first:
            put(", ", left, parts)
        first = False
        render_whole(item, left, parts, outer)
        if kind is dict:
            put(": ", left, parts)
            render_whole(value[item], left, parts, outer)
    put(",)" if kind is tuple and len(value) == 1 else brackets[1], left, parts)


def put(text, left, parts):
    left[0] -= len(text)
    if left[0] < 0:
        raise TooLong
    parts.append(text)


def render_leaf(value, limit):
    kind = type(value)
    if kind is str or kind is bytes or kind is bytearray:
        if len(value) > limit:
            raise TooLong
    elif kind is int and value.bit_length() > 14_000:  # repr is quadratic, and refused by 3.11+
        raise TooLong
    return safe_repr(value)


def safe_repr(value):
    try:
        text = repr(value)
        return text if type(text) is str else str.__str__(text)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        name = type_name(value)
        return cut("<%s object, repr raised %s: %s>" % (name, type_name(error), safe_str(error)), 500)


def render_cut(value, budget, depth):
    kind = type(value)
    brackets = BRACKETS.get(kind)
    if kind is str or kind is bytes or kind is bytearray:
        if len(value) <= budget:
            return cut(repr(value), budget)
        half = max(budget // 2 - 20, 8)
        unit = "characters" if kind is str else "bytes"
        head, tail = value[:half], value[-half:]
        if kind is not str:
            head, tail = bytes(head), bytes(tail)
        head, tail = repr(head)[:-1], repr(tail).lstrip("b")[1:]
        return "%s … %s (%d %s)" % (cut(head, budget // 2), cut(tail, budget // 2), len(value), unit)
    if kind is int and value.bit_length() > 14_000:
        return cut(hex(value), budget) + " (%d bits)" % value.bit_length()
    if brackets is None or not value:
        return cut(safe_repr(value), budget)
    if depth > 20 or depth and budget <= 30:
        return "%s…%s (%d items)" % (brackets[0], brackets[1], len(value))
    return render_some(value, kind, brackets, budget, depth)


def render_some(value, kind, brackets, budget, depth):
    size = len(value)
    share = max(budget // min(size, 8), 30)

    def one(item):
        try:
            parts = []
            render_whole(item, [share], parts, ())
            return "".join(parts)
        except (TooLong, RecursionError):
            return render_cut(item, share, depth + 1)

    def entry(item):
        return one(item) + ": " + one(value[item]) if kind is dict else one(item)

    tail = ""
    if size == 1:
        return "%s%s%s" % (brackets[0], entry(next(iter(value))), brackets[1])
    if kind is list or kind is tuple:
        tail = one(value[-1])
    elif kind is dict:
        tail = entry(next(reversed(value)))
    room = budget - len(tail) - 40
    shown, used = [], 0
    for item in value:
        text = entry(item)
        used += len(text) + 2
        if shown and used > room or len(shown) >= size - 1:
            break
        shown.append(text)
    middle = [] if len(shown) == size - 1 and tail else ["…"]
    text = ", ".join(shown + middle + ([tail] if tail else []))
    return "%s%s%s (%d items)" % (brackets[0], text, brackets[1], size)


def displayhook(value):
    """sys.displayhook of the session; user code may call it on the way."""
    if value is None:
        return
    builtins._ = None
    text, kind = render(value), type_name(value)
    builtins._ = value
    if S.child or not S.running or get_ident() != MAIN:
        sys.stdout.write(text + "\n")
        return
    flush_all()
    transmit('{"ev":"value","text":%s,"type":%s,"ack":true}\n' % (quote(text), quote(kind)))
    await_ack()
    if S.pending:
        raise_pending()


def show_last(value):
    """The value of the last expression: ours travels with `done`, so that it costs no wait."""
    hook = getattr(sys, "displayhook", None)
    if hook is displayhook or hook is None:
        if value is not None:
            builtins._ = None
            S.final = '{"ev":"value","text":%s,"type":%s}' % (quote(render(value)), quote(type_name(value)))
            builtins._ = value
    else:
        hook(value)

# Rich values: what stands for a value. Its repr does, where that says something; else the best of what its class offers.

# A readable form for those whose repr says nothing, by mime type and method, best first.
READABLE = ((MARKDOWN, "_repr_markdown_"), ("text/latex", "_repr_latex_"), ("application/json", "_repr_json_"), (HTML, "_repr_html_"))
PICTURES = ((PNG, "_repr_png_"), (JPEG, "_repr_jpeg_"), (SVG, "_repr_svg_"))
PLAIN_TEXT = "text/plain"
GetSetType, MemberType = type(FunctionType.__dict__["__dict__"]), type(type("", (), {"__slots__": ("a",)}).a)


def look_at(value):
    """What is shown of a value that is more than a number or a text."""
    kind, shown = type(value), Shown()
    if type in mro_of(kind) or library_of(value) is not None:
        shown.text = render(value)
        return shown
    special = special_of(kind)
    if special is not None and tell_special(special, value, shown):
        return shown
    ask_pictures(value, kind, shown)
    job = Job(False)
    if shape_of(value) is None and text_kind_of(kind) is None:
        known = own_repr(value, job)
        if says_nothing(known):
            tell_otherwise(value, kind, known, shown)
            return shown
    if not shown.displays and has(kind, "_repr_markdown_"):
        present(shown, MARKDOWN, call_rich(value, kind, "_repr_markdown_", shown))
        if shown.displays:  # the Markdown stands for the text
            text = render(value, shown.room(), job=job)
            shown.text = text if adds_to(text, shown.displays[0][1]) else None
            return shown
    if has(kind, "_repr_html_") and not fits(value, job):
        # A table says in a few lines what a repr of all its parts takes pages for.
        html = call_rich(value, kind, "_repr_html_", shown)
        text = html_text(html, cut_budget(shown.room() - DISPLAY_ROOM)) if type(html) is str else ""
        if text:
            keep_html(shown, html)
            shown.text = text
            return shown
    shown.text = render(value, shown.room(), job=job)
    return shown


def fits(value, job):
    """Whether the whole repr is within the budget."""
    try:
        whole(((value,),), VALUE_BUDGET, job, ())
    except (TooLong, RecursionError):
        return False
    return True


def says_nothing(text):
    """Whether a repr is no more than a class and an address: `<a.B object at 0x…>`, `<a.B at 0x…>`, `<a.B object>`,
    `a.B(...)`, `B(id='…', ...)`."""
    if not text.strip():
        return True
    if len(text) > 300:
        return False
    if text[0] == "<" and text[-1] == ">":
        head, at, address = text[1:-1].rpartition(" at 0x")
        if at:
            head = head[:-len(" object")] if head.endswith(" object") else head
            return " " not in head and not address.strip("0123456789abcdefABCDEF")
        return text.endswith(" object>") and " " not in text[1:-len(" object>")]
    name, _, rest = text.partition("(")
    return name.replace(".", "").isidentifier() and (rest == "...)" or (rest.startswith("id=") and rest.endswith(", ...)")))


def has(kind, name):
    """Whether the class has it: an object that answers to any name has not."""
    return found(kind, name)[0] is not None


def call_rich(value, kind, name, shown, **options):
    """What a method gives; None if there is none, if it takes too long or if it fails, which is said."""
    if not has(kind, name):
        return None
    if shown.seconds <= 0:
        shown.remarks.append("%s was not asked: what came before took %d s" % (name, RICH_SECONDS))
        return None
    began = monotonic()
    try:
        if get_ident() != MAIN or S.life != Life.SERVING:
            return as_plain(ask_form(value, name, options))
        return as_plain(within(shown.seconds, ask_form, value, name, options))
    except (KeyboardInterrupt, NotImplementedError) as error:  # NotImplementedError is how a class says that it has no such form
        if isinstance(error, KeyboardInterrupt):
            raise
    except TooSlow:
        shown.remarks.append("%s was given up after %d s" % (name, RICH_SECONDS))
    except BaseException as error:
        leave_child(error)
        message = " ".join(safe_str(error).split())
        shown.remarks.append("%s raised %s" % (name, cut(type_name(error) + (": " + message if message else ""), 200)))
    finally:
        shown.seconds -= monotonic() - began
    return None


def ask_form(value, name, options):
    return getattr(value, name)(**options)


LIMITED.add(ask_form.__code__)


def as_plain(data):
    """What a method gave as a text, bytes or dict of Python's own: their subclasses may do anything when they are looked at, and
    so may an object that is asked for its class."""
    base = plain_base(data)
    if base is tuple and tuple.__len__(data) == 2:  # with metadata
        data = tuple.__getitem__(data, 0)
        base = plain_base(data)
    if base is str:
        return str.__str__(data)
    if base is bytes or base is bytearray:
        return bytes(base.__getitem__(data, slice(None)))
    if base is dict:
        return {key: item for key, item in list(dict.items(data)) if type(key) is str}
    return data


def plain_base(data):
    for base in mro_of(type(data)):
        if base is str or base is bytes or base is bytearray or base is dict or base is tuple:
            return base
    return None


def ask_pictures(value, kind, shown):
    """Pictures come whatever the repr says."""
    try:
        image = modules.get("PIL.Image")
        if isinstance(image, ModuleType) and vars(image).get("Image") in mro_of(kind):
            shown.displays.append((PNG, base64(shrink(value, PNG))))
            return
    except STOPS:
        raise
    except OSError as error:  # the image's file is cut off, or PNG has no such mode
        shown.remarks.append("no picture: %s" % cut(" ".join(safe_str(error).split()), 200))
        return
    except BaseException as error:  # the value is no image of that library after all
        leave_child(error)
    for mime, name in PICTURES:
        data = call_rich(value, kind, name, shown)
        if data is not None and attempt(present, shown, mime, data):
            if shown.displays:  # this form is shown, so it does not matter that others failed
                shown.remarks.clear()
            return


def tell_otherwise(value, kind, known, shown):
    """The first that gives something, for a value whose repr says nothing."""
    bundle = call_rich(value, kind, "_repr_mimebundle_", shown, include=None, exclude=None)
    if type(bundle) is not dict:
        bundle = {}
    if tell_bundle(bundle, shown, lambda name: call_rich(value, kind, name, shown)):
        return
    text = str_of(value, kind)
    if text and text != known and not says_nothing(text):
        shown.text = shown.fit(text)
        return
    shown.text = fields_text(value, kind, shown.room()) or shown.fit(known)


def tell_bundle(bundle, shown, ask=lambda name: None):
    """The best of a bundle of mime types, or of what the methods of the same value give; whether there was something."""
    bundle = {mime: as_plain(data) for mime, data in bundle.items()}
    plain_text = bundle.get(PLAIN_TEXT)
    if type(plain_text) is str and not says_nothing(plain_text):
        shown.text = shown.fit(without_escapes(plain_text).rstrip())
    if not shown.displays:
        any([mime in bundle and attempt(present, shown, mime, bundle[mime]) for mime, _ in PICTURES])
    if shown.text or shown.displays:
        return True
    for mime, name in READABLE:
        data = bundle.get(mime)
        if data is None:
            data = ask(name)
        if data is not None and attempt(tell_readable, shown, mime, data):
            return True
    return False


def tell_readable(shown, mime, data):
    if mime == MARKDOWN:
        return present(shown, mime, data)
    if mime == "application/json":
        shown.text = shown.fit(data) if type(data) is str else render(data, shown.room())
        return True
    if type(data) is not str or not data.strip():
        return False
    if mime == HTML:
        keep_html(shown, data)
        shown.text = html_text(data, cut_budget(shown.room()))
    else:
        shown.text = shown.fit(data.strip())
    return bool(shown.text)


def str_of(value, kind):
    """What str() gives, if the class has one of its own."""
    if found(kind, "__str__")[1] is object:
        return ""
    try:
        text = str(value)
        return str.__str__(text)
    except STOPS:
        raise
    except BaseException as error:
        leave_child(error)
        return ""


def fields_text(value, kind, budget):
    """`<A: x=1, y=[1, 2]>`, of what lies in the object: no property is asked and no `__getattr__` called."""
    fields = {}
    try:
        own = found(kind, "__dict__")[0]
        if type(own) is GetSetType:
            fields.update(own.__get__(value))
        for base in mro_of(kind):
            if "__slots__" not in space_of(base):
                continue
            for name, member in list(space_of(base).items()):
                if type(member) is MemberType and name not in fields:
                    try:
                        fields[name] = member.__get__(value)
                    except AttributeError:  # not set yet
                        pass
    except Exception:
        return ""
    entries = [(name + "=", (item,)) for name, item in list(fields.items()) if type(name) is str and not name.startswith("_")]
    if not entries:
        return ""
    shape = Shape(value, "<%s: " % type_name_of(kind), ">", len(entries), lambda n: entries[:n], None, unit="fields")
    return render_shape(shape, budget)


def without_escapes(text):
    """Without the colours of a terminal, which would count as text."""
    first, *others = text.split("\x1b[")
    parts = [first]
    for part in others:
        end = 0
        while end < len(part) and not "@" <= part[end] <= "~":
            end += 1
        parts.append(part[end + 1:])
    return "".join(parts)


def adds_to(text, markdown):
    """Whether the repr tells more than the text that stands for it; nobody wants to read a thing twice."""
    bare = " ".join(text.split())
    return len(text) <= 200 and bare.strip("'\"") not in " ".join(markdown.split())

# Loading: modules, definitions and values come back in the order in which they were saved. What fails is named, and
# the rest comes back all the same.

class Missing(Exception):
    """Something that another part of the file was to make."""


class Filler:
    """Stands in the memo for an object that could not be loaded."""


FILLER = Filler()
compress = real_module("itertools").compress
MOVED = {"pathlib._local": "pathlib"}   # where one version of Python has what others have elsewhere
SALVAGED_MOST = 64 << 20    # bytes of the largest pickle that is searched for what others have in common with it


class Tape:
    """What the unpickler reads. Its methods are asked for once, so they look up each time what it is to read."""

    def __init__(self, file):
        self.file, self.next_array = file, None

    def read(self, size):
        return self.file.read(size)

    def readline(self):
        return self.file.readline()

    def readinto(self, room):
        return self.file.readinto(room)

    def __iter__(self):
        return self

    def __next__(self):
        """The next array, in the order in which they were written."""
        return self.next_array()


class Unpickling(_pickle.Unpickler):
    def __init__(self, loading, tape):
        super().__init__(tape, buffers=tape)
        self.loading = loading

    def find_class(self, module, name):
        if module == HELPERS:
            return getattr(self.loading, name)
        if module == "__main__":
            return self.loading.recall(name)
        return super().find_class(MOVED.get(module, module) if module not in modules else module, name)


class Loading:
    def __init__(self, origin):
        self.origin = origin
        self.made, self.loaded, self.failed, self.warnings = {}, {}, [], []
        self.borrowed, self.broken, self.has_fillers = [], [], False

    # ---- what pickles call -------------------------------------------------------------------

    def recall(self, path):
        top, _, rest = path.partition(".")
        if top not in self.made:
            raise Missing("it needs `%s`, which could not be loaded" % top)
        value = self.made[top]
        for name in rest.split(".") if rest else ():
            value = getattr(value, name)
        return value

    def import_named(self, name):
        if name == "__main__":
            return MODULE
        builtins.__import__(name)
        return modules[name]

    def make_raw(self, base, kind, *args):
        return base.__new__(kind, *args)

    def make_error(self, base, kind, args):
        error = base.__new__(kind, *args)
        base.__init__(error, *args)
        return error

    def make_cell(self):
        return CellType()

    def make_function(self, told, home, name, cells):
        code = self.code_of(told)
        if len(cells) != len(code.co_freevars):
            raise Missing("its source does not give the same function in this Python")
        return FunctionType(code, SPACE if home == "__main__" else vars(self.import_named(home)), name, None, cells or None)

    def set_function(self, function, state):
        set_state(function, state)

    def code_of(self, told):
        if told[0] == "source":
            _, file, flags, sign, number = told
            alike = self.source(file).functions(sign, flags)
            if number >= len(alike):
                raise Missing("its source does not give the same function in this Python")
            return alike[number]
        if told[1] != MAGIC_NUMBER:
            raise Missing("its source is not known, and its code is that of another version of Python")
        return marshal.loads(told[2])

    # ---- sources -----------------------------------------------------------------------------

    def take_sources(self, sources):
        """Remembers the saved texts under names of their own, so that tracebacks and inspect.getsource show them."""
        self.sources, base = {}, self.origin.path.rpartition("/")[2]
        for file, parts in sources:
            text, number = joined(parts), 1
            while True:
                name = "<%s%s %s>" % (base, "#%d" % number if number > 1 else "", file.strip("<>").rpartition(" ")[2])
                if name not in SOURCES or source_text(name).rstrip("\n") == text.rstrip("\n"):
                    break
                number += 1
            remember_source(name, text)
            self.sources[file] = Source(name, text)

    def find_modules(self, folders):
        """Modules are found where they were."""
        added = [folder for folder in folders if folder not in sys.path and exists(folder)]
        if added:
            sys.path.extend(added)
            self.warnings.append("added to sys.path: " + ", ".join(added))

    def source(self, file):
        if file not in self.sources:
            raise Missing("its source is not in the file")
        return self.sources[file]

    def run_statement(self, name, file, at, flags, bare=()):
        """One statement of a text, compiled as it was under the __future__ imports of its session. It binds one name: what else
        it would bind has a value of its own, in the file or in the session."""
        source = self.source(file)
        for node in statements_of(source.tree()) if source.tree() is not None else ():
            if [node.lineno, node.col_offset] == at:
                tree = _ast.Module([without_defaults(node, bare) if bare else node], [])
                code, before = compile(tree, source.file, "exec", flags & FUTURES, True), dict(SPACE)
                try:
                    eval(code, SPACE)
                finally:
                    value = SPACE.get(name, FILLER)
                    undo_names(before)
                    if value is not FILLER:
                        SPACE[name] = value
                LOADED[S.eval, name] = source.file
                return
        raise Missing("its source does not give it in this Python")

    # ---- steps -------------------------------------------------------------------------------

    def run(self):
        manifest = self.origin.open()
        try:
            python = manifest["python"]
            steps = [(what, name, rest) for what, name, *rest in python["steps"]]
            self.types = {entry["name"]: entry.get("type") for entry in manifest["names"]}
            self.compare_versions(manifest)
            self.take_sources(python["sources"])
            self.find_modules(python["path"])
        except (LookupError, TypeError, ValueError, AttributeError):
            raise LoadError("`%s` is damaged: it cannot be told what is in it" % self.origin.path) from None
        self.tape = Tape(self.origin.file)
        self.unpickling = Unpickling(self, self.tape)
        for what, name, rest in steps:
            try:
                getattr(self, "do_" + what)(name, *rest)
            except BaseException as error:
                raise_if_interrupted(error)
                self.fail(what, name, error)
                forget_traces(error)
        self.compare_packages(manifest.get("packages") or {})

    def forget(self):
        """Lets go of all that was loaded: this object and its unpickler refer to each other."""
        vars(self).clear()

    def fail(self, what, name, error):
        if what in ("borrow", "known"):
            return  # every name that needs it fails too
        if what in ("held", "registered"):
            self.warnings.append("not all of `%s` is as it was: %s" % (cut(name, 100), told_of(error)))
            return
        self.loaded.pop(name, None)
        self.failed.append({"name": name, "type": self.types.get(name), "why": told_of(error)})

    def keep(self, name, value):
        self.made[name] = self.loaded[name] = value
        SPACE[name] = value

    def do_module(self, name, key, within):
        self.keep(name, self.import_named(key))
        for inner in within:
            self.import_named(inner)
            WITHIN.setdefault(key, {})[inner] = None

    def do_define(self, name, *place):
        self.run_statement(name, *place)
        self.keep(name, SPACE[name])

    def do_borrow(self, name, *place):
        if name not in SPACE:
            self.borrowed.append(name)
            self.run_statement(name, *place)

    def do_value(self, name, *place):
        self.keep(name, self.read_value(*place))

    def do_known(self, name, *place):
        self.read_value(*place)

    def do_held(self, name, *place):
        for what, path, attribute, value in self.read_value(*place):
            give(what, self.recall(path), attribute, value)

    def do_registered(self, name, *place):
        for kind, function in self.read_value(*place):
            self.made[name].register(kind, function)

    def read_value(self, at, length, check, first, places, unchecked):
        self.mend(first)
        try:
            if not self.origin.is_intact(at, length, check, unchecked):
                raise Missing("the file is damaged there")
            ahead = iter(places)
            self.tape.next_array = lambda: self.origin.read_into(*next(ahead))
            self.origin.file.seek(at)
            held = sys.getrefcount(FILLER)
            value = self.unpickling.load()[0]
            if sys.getrefcount(FILLER) > held:
                raise Missing("it shares objects with a name that could not be loaded")
            return value
        except BaseException as error:
            self.broken.append((first, at, length))
            if self.has_fillers and "Filler" in (guarded_text(error) or ""):
                raise Missing("it shares objects with a name that could not be loaded") from None
            raise

    def mend(self, first):
        """After a failure: an unpickler whose memo is as it was before, with fillers for what did not come back.

        A failed one counts on from where it stopped, so that every later reference would mean another object; and its memo
        cannot be set. This one is told to take objects out of an iterator and to remember each."""
        if not self.broken:
            return
        start, memo, salvaged = self.broken[0][0], self.unpickling.memo.copy(), {}
        for place in self.broken:
            attempt(self.salvage, salvaged, memo, *place)
        objects = [memo.get(index, FILLER) if index < start else salvaged.get(index, FILLER) for index in range(first)]
        self.broken, self.has_fillers = [], True
        memo.clear()
        self.unpickling = Unpickling(self, self.tape)
        file, objects = self.tape.file, iter(objects)
        self.tape.file, self.tape.next_array = _io.BytesIO(b"\x80\x05" + b"\x97\x940" * first + b"N."), objects.__next__
        try:
            self.unpickling.load()
        finally:
            self.tape.file = file

    def salvage(self, salvaged, memo, first, at, length):
        """Texts, numbers and globals of a pickle that could not be loaded: names that have nothing else in common with it only
        happen to come after it."""
        data = self.origin.bytes_at(at, length) if length <= SALVAGED_MOST else b""
        index, last, texts = first, FILLER, [FILLER, FILLER]
        for opcode, argument, _ in real_module("pickletools").genops(data):
            name = opcode.name
            if name == "MEMOIZE":
                if last is not FILLER:
                    salvaged[index] = last
                index += 1
                continue
            last = FILLER
            if name == "STACK_GLOBAL":
                last = attempt(self.unpickling.find_class, *texts) if FILLER not in texts else FILLER
                last = FILLER if last is None else last
            elif name in ("BINGET", "LONG_BINGET"):
                texts = [texts[1], salvaged.get(argument, memo.get(argument, FILLER) if argument < first else FILLER)]
            elif type(argument) is str:
                last, texts = argument, [texts[1], argument]
            elif type(argument) is bytes:
                last = argument

    # ---- what is told ------------------------------------------------------------------------

    def compare_versions(self, manifest):
        made, here = str(manifest.get("version")), sys.version.split()[0]
        if made.split(".")[:2] != here.split(".")[:2]:
            self.warnings.append("saved by Python %s, this is %s" % (cut(made, 40), here))

    def compare_packages(self, packages):
        for name, version in packages.items():
            here = version_of(name) if type(name) is str else None
            if here is not None and here != version:
                self.warnings.append("saved with %s %s, this is %s" % (name, cut(str(version), 40), here))

    def report(self):
        loaded = list(self.loaded)
        return {"path": self.origin.path, "loaded": loaded[:NAMED_MOST], "count": len(loaded), "failed": self.failed[:FAILED_MOST],
                "failed_count": len(self.failed), "warnings": self.warnings[:FAILED_MOST]}


def undo_names(before):
    """Undoes what a statement did to names. There may be many names and many statements, so nothing is asked of each in Python."""
    if SPACE.keys() != before.keys():
        for name in SPACE.keys() - before.keys():
            del SPACE[name]
        for name in before.keys() - SPACE.keys():
            SPACE[name] = before[name]
    for name in list(compress(before, map(is_not, map(SPACE.get, before), before.values()))):
        SPACE[name] = before[name]


def told_of(error):
    if isinstance(error, Missing):
        return safe_str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    message = cut(" ".join((guarded_text(error) or "").split()), 300)
    return type_name(error) + (": " + message if message else "")


def load_session(argument):
    """Line 1 is the path."""
    origin = Origin(argument.partition("\n")[0])
    loading = Loading(origin)
    try:
        run_user(loading.run)
        if loading.failed and not loading.loaded:
            raise nothing_loaded(loading)
        return loading.report()
    except BaseException as error:
        clear_frames(error)
        raise
    finally:
        for name in loading.borrowed:
            SPACE.pop(name, None)
        if CHANGED:
            attempt(set_aside)  # figures that came back are not shown
        origin.leave()
        loading.forget()


def nothing_loaded(loading):
    error = LoadError("nothing of `%s` could be loaded" % loading.origin.path)
    error.report = loading.report()
    return error

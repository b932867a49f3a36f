# Saving: every name by itself, in an order in which each finds what it needs when it is loaded.
#
# A name is first tried with a pickler of its own that writes nowhere. Only what passed is written by the one pickler that
# all names share, so that an object which two names have is one object again; after a failure the shared pickler would
# refer to objects which were never written.

NAMED_MOST, FAILED_MOST, SHOWN_MOST = 200, 100, 1000
SHOWN_SECONDS = 3       # for the short texts of values; a repr of the user's may never return
IN_BAND_MOST = 4096     # bytes; smaller arrays are written with the rest of a pickle


class Failed(Exception):
    """Why one name is not saved."""


class Nowhere:
    """Where a trial writes to. In Python, so that an interrupt can come between two pieces."""

    def write(self, data):
        pass


class Sink:
    """Where the shared pickler writes to: the file, with a checksum on the way."""

    def __init__(self, target):
        self.target, self.caught = target, None
        self.begin()

    def begin(self):
        self.start, self.check, self.unchecked = self.target.at, 0, []

    def write(self, data):
        if self.caught is not None:
            self.caught.append(bytes(data))
            return
        if len(data) > CHECKED_MOST:
            self.unchecked.append([self.target.at - self.start, len(data)])
        else:
            self.check = crc32(data, self.check)
        self.target.add(data)


class Saving:
    def __init__(self, target, names):
        self.target, self.asked = target, names
        self.refusing, self.rules, self.kinds = {}, {}, []
        self.sources, self.codes, self.definitions = Sources(), {}, {}
        self.sink, self.buffers = Sink(target), []
        self.pickling = Pickling(self, self.sink, self.take_buffer)
        self.steps, self.failed, self.sizes = [], {}, {}
        self.seen, self.promised, self.known, self.used, self.mentioned = set(), set(), set(), set(), {}
        # Definitions and values that wait for what they need; values and parts of definitions that come last.
        self.defining, self.trying, self.deferred, self.late = [], [], [], []
        self.holders, self.classes, self.lost, self.parts = {}, {}, {}, {}

    def begin(self):
        self.refusing = refusing_rules()
        for name, value in list(SPACE.items()):
            if not is_pythons_own(name) and id(type(value)) not in PLAIN_KINDS:
                self.holders.setdefault(id(value), []).append(name)

    def forget(self):
        """Lets go of all that was saved. This object and its parts refer to each other, so that without this every saved value
        would live until gc comes."""
        self.pickling.forget()
        vars(self).clear()

    # ---- what the picklers ask ---------------------------------------------------------------

    def learn(self, kind):
        rule = self.rules[id(kind)] = rule_of(kind, self.refusing)
        self.kinds.append(kind)  # kept, so that no other kind gets its id
        return rule

    def mention(self, code):
        self.mentioned.update(names_of(code))

    def code_of(self, code):
        """The same object each time, so that it is written once."""
        if id(code) not in self.codes:
            place = self.sources.place_of(code)
            told = ("source", *place) if place is not None else ("code", MAGIC_NUMBER, marshal.dumps(code))
            self.codes[id(code)] = code, told
        return self.codes[id(code)][1]

    def leads_to(self, path, value):
        """Whether a path of names leads to an object, from a name that has a definition."""
        top, _, rest = path.partition(".")
        if top not in SPACE:
            return False
        if not (is_at(SPACE[top], rest, value) if rest else SPACE[top] is value):
            return False
        definition = self.definition_of(top)
        return definition is not None and (not rest or self.is_made(SPACE[top], definition, rest.split(".")))

    def is_made(self, kind, definition, names):
        """Whether a statement makes what is found by names within the class that it defines."""
        node = definition.node
        for name in names:
            if not isinstance(node, _ast.ClassDef):
                return not isinstance(node, WRITTEN)
            made = self.made_of(kind, definition.source.file, node)
            value = space_of(kind).get(name, UNKNOWN)
            if value is UNKNOWN or not made.is_made(name, value):
                return False
            kind, node = value, made.defined.get(name)
        return True

    def made_of(self, kind, file, node):
        if id(kind) not in self.classes:
            self.classes[id(kind)] = Made(kind, file, node)
        return self.classes[id(kind)]

    def defined_name(self, value, path):
        """The path or name by which an object is found that its definition makes; None if there is none."""
        if "<" not in path and self.leads_to(path, value):
            return path
        for name in self.holders.get(id(value), ()):
            if SPACE.get(name) is value and self.definition_of(name) is not None:
                return name
        return None

    def name_of(self, value, path, text):
        name = self.defined_name(value, path)
        if name is not None:
            return name
        top = path.partition(".")[0]
        what = text or "class `%s`" % cut(path, 100)
        if top in self.lost and is_at(MODULE, path, value):
            raise Refused(value, "%s was made with `%s`, which %s" % (what, *self.lost[top]))
        if "<locals>" in path:
            raise Refused(value, what + " is defined inside a function")
        home = module_name_of(value) if text is None and issubclass(type(value), type) else "__main__"
        if home != "__main__":
            raise Refused(value, "%s is not found in `%s` under its name" % (what, cut(str(home), 100)))
        if top not in SPACE:
            raise Refused(value, what + " is not there any more under its name")
        if not is_at(MODULE, path, value):
            raise Refused(value, what + " has been redefined since")
        raise Refused(value, what + " was made by code whose source is not known")

    def definition_of(self, name):
        if name not in self.definitions:
            value = SPACE.get(name)
            definition = self.sources.binding(name, value)
            if definition is not None and isinstance(definition.node, _ast.ClassDef):
                lost = lost_base(definition.node, value) if issubclass(type(value), type) else None
                if lost is not None and not self.can_borrow(lost):
                    self.lost[name], definition = lost, None
            self.definitions[name] = definition if definition is not None and definition.is_simple() else None
        return self.definitions[name]

    def can_borrow(self, lost):
        """Whether a name that is gone was an import, which can be done again."""
        return lost[0] not in SPACE and self.sources.last_import(lost[0]) is not None

    # ---- one name ----------------------------------------------------------------------------

    def try_out(self, value):
        """The names of definitions that a value needs, or Failed. Nothing is written."""
        if id(type(value)) in PLAIN_KINDS:
            return ()
        trial = Pickling(self, Nowhere(), take_nothing)
        try:
            trial.dump([value])
        except BaseException as error:
            raise_if_interrupted(error)
            why = explain(error, value, trial)
            forget_traces(error)
            raise Failed(why) from None
        if getpid() != PID:
            leave_child()
        return trial.needs

    def take_buffer(self, buffer):
        view = buffer.raw()
        if view.nbytes < IN_BAND_MOST:
            return True
        self.buffers.append(view)
        return False

    def put(self, what, name, value):
        """Writes a value that has passed its trial."""
        record, at = [value], self.target.at
        self.sink.begin()
        self.buffers.clear()
        self.pickling.last = None
        try:
            self.pickling.dump(record)
        except BaseException as error:
            raise_if_interrupted(error)
            if self.target.trouble is not None:
                raise self.target.trouble from None
            self.take_back(record, at)
            why = explain(error, value, self.pickling)
            forget_traces(error)
            raise Failed(why) from None
        first = self.index_of(record)
        length, check, unchecked = self.target.at - at, self.sink.check, self.sink.unchecked
        places = []
        for view in self.buffers:
            self.target.align()
            places.append([self.target.at, view.nbytes])
            self.target.add(view)
        self.buffers.clear()
        self.steps.append([what, name, at, length, check, first, places, unchecked])
        self.sizes[name] = self.sizes.get(name, 0) + self.target.at - at

    def index_of(self, record):
        """The place in the memo at which a pickle began: what pickle writes for the same list again."""
        self.sink.caught = []
        try:
            self.pickling.dump(record)
            data = b"".join(self.sink.caught)[2:]
        finally:
            self.sink.caught = None
        data = data[9:] if data[:1] == b"\x95" else data
        return data[1] if data[:1] == b"h" else int.from_bytes(data[1:5], "little")

    def take_back(self, record, at):
        """After a failure in spite of the trial: what the memo holds from here on was never written."""
        self.buffers.clear()
        self.target.back_to(at)
        memo = self.pickling.memo.copy()
        entry = memo.get(id(record))
        if entry is not None:
            self.pickling.memo = {key: kept for key, kept in memo.items() if kept[0] < entry[0]}

    # ---- all names ---------------------------------------------------------------------------

    def emit(self, name):
        """Saves a name after all that it needs."""
        if name in self.seen or name not in SPACE or is_pythons_own(name):
            return
        self.seen.add(name)
        try:
            self.emit_new(name, SPACE[name])
        except Failed as failed:
            self.failed[name] = str(failed)
        except Exception as error:  # an object fails when it is asked something
            raise_if_interrupted(error)
            if isinstance(error, OSError) and error is self.target.trouble:
                raise
            self.failed[name] = told_of(error)

    def emit_new(self, name, value):
        if issubclass(type(value), ModuleType):
            key = module_key(value)
            if key is None:
                raise Failed("a module that was not imported")
            self.steps.append(["module", name, key, self.sources.modules_within(key)])
            return
        needs = self.try_out(value)
        if name in needs:
            self.define(name)
            return
        if any([need in self.defining for need in needs]):
            self.promise(name)
            self.deferred.append(name)
            return
        self.trying.append(name)
        try:
            self.emit_all(sorted(needs))
            if not self.asked:
                self.emit_used(needs)
        finally:
            self.trying.pop()
        self.put_known(needs)
        self.put("value", name, value)

    def put_known(self, names):
        """Writes references to definitions by themselves, so that no name depends on another one only for having used them first."""
        for name in sorted(names):
            if name not in self.known and name not in self.defining:
                self.known.add(name)
                attempt(self.put, "known", name, SPACE.get(name))

    def emit_all(self, names):
        for name in names:
            self.emit(name)

    def promise(self, name):
        """A definition needs a name whose value needs what is being defined, like a dict in which a decorator notes classes: the
        statement that made it runs first, and its value comes later."""
        definition = self.definition_of(name)
        if definition is not None and name not in self.promised:
            self.promised.add(name)
            self.put_definition(name, definition)

    def define(self, name):
        definition, value = self.definition_of(name), SPACE.get(name)
        self.mentioned.update(definition.names_within())
        plan = Plan(self, name, value, definition)
        self.defining.append(name)
        try:
            for need in definition.names_at_once(plan.bare):
                if need in SPACE and need != name:
                    self.emit_reach(need)
                elif need not in SPACE and need not in vars(builtins):
                    self.emit_import(need)
        finally:
            self.defining.pop()
        self.put_definition(name, definition, plan.bare)
        if plan.held:
            self.put_plan(plan, any([need in self.defining for need in plan.needs]))
        elif type(attempt(getattr, value, "registry")) is type(type.__dict__):
            self.put_registered(name, value)

    def put_plan(self, plan, later):
        """What a class or a wrapped function holds beside what its statement makes, when all that this needs is there."""
        if later:
            self.late.append(plan)
            return
        self.emit_all(sorted([need for need in plan.needs if need != plan.name]))
        self.put_known(plan.needs)
        try:
            self.put("held", plan.name, plan.held)
        except Failed as failed:
            self.steps[:] = [step for step in self.steps if step[:2] != ["define", plan.name]]
            self.failed[plan.name] = str(failed)

    def put_definition(self, name, definition, bare=()):
        definition.source.keep(definition.node.lineno)
        self.steps.append(["define", name, definition.source.file, definition.at, S.flags, *([bare] if bare else [])])

    def emit_reach(self, name):
        """A name that is used when a definition runs, after all that functions use which may be called then."""
        for one in self.reach(name):
            if one in self.trying:
                self.promise(one)
            self.emit(one)

    def reach(self, name):
        """A name and all that its functions use, the last first."""
        todo, reached = [name], {}
        while todo:
            one = todo.pop()
            if one in reached or one not in SPACE or one in self.defining:
                continue
            reached[one] = None
            for code in attempt(codes_of, SPACE[one]) or ():
                todo.extend(names_of(code))
        return list(reversed(list(reached)))

    def emit_used(self, names):
        """What methods of classes use, before objects of them: `__setstate__` and the like run when these are loaded."""
        for name in sorted(names):
            if name not in self.used:
                self.used.add(name)
                for one in self.reach(name):
                    self.emit(one)

    def emit_import(self, name):
        """A name that is gone but was used by a definition: the import that bound it is done again, and undone after loading."""
        definition = self.sources.last_import(name)
        if definition is not None and name not in self.seen:
            self.seen.add(name)
            definition.source.keep(definition.node.lineno)
            self.steps.append(["borrow", name, definition.source.file, definition.at, S.flags])

    def put_registered(self, name, function):
        """What was registered with a function of functools.singledispatch."""
        held = [(kind, made) for kind, made in function.registry.items() if kind is not object]
        if held:
            try:
                needs = self.try_out(held)
                self.emit_all(sorted([need for need in needs if need != name]))
                self.put_known(needs)
                self.put("registered", name, held)
            except Failed as failed:
                self.parts[name + ".registry"] = function, str(failed)

    def run(self):
        self.target.open()
        names = self.asked or [name for name in list(SPACE) if is_user_name(name)]
        for name in names:
            if name not in SPACE:
                self.failed[name] = "only whole names can be saved" if "." in name else "there is no such name"
            elif is_pythons_own(name):
                self.failed[name] = "it is none of the user's names"
            elif not is_text(name):
                self.failed[name] = "its name is no text that can be written"
        wanted = [name for name in names if name not in self.failed]
        if self.asked and not wanted and any([name in SPACE for name in names]):
            raise SaveError("nothing was saved: " + "; ".join(["`%s`: %s" % (cut(name, 100), self.failed[name]) for name in names[:5]]))
        if self.asked and not wanted:
            raise SaveError("nothing was saved: there is no name " + " or ".join(["`%s`" % cut(name, 100) for name in names[:5]]))
        self.emit_all(wanted)
        while self.asked:
            # Functions and classes that were asked for are of no use without those that they call.
            more = [name for name in self.mentioned
                    if name in SPACE and name not in self.seen and not is_pythons_own(name) and is_definition(SPACE[name])]
            if not more:
                break
            self.emit_all(more)
        for plan in self.late:
            self.put_plan(plan, False)
        for name in [name for name in self.deferred if name in SPACE]:
            try:
                self.put_known(self.try_out(SPACE[name]))
                self.put("value", name, SPACE[name])
            except Failed as failed:
                self.failed[name] = str(failed)
        return names

    # ---- the end of the file -----------------------------------------------------------------

    def finish(self, names):
        """Writes the manifest; the report."""
        there = {step[1] for step in self.steps if step[0] in ("module", "value", "define")}
        saved = [name for name in names if name in there and name not in self.failed]
        known = {*saved, *self.failed}
        saved += [name for name in SPACE if name in there and name not in known]
        if self.failed and not saved:
            # A file with nothing in it must not take the place of an earlier one.
            raise SaveError("nothing was saved: " + "; ".join(["`%s`: %s" % (cut(name, 100), self.failed[name]) for name in list(self.failed)[:5]]))
        listed = [dict(describe(name), bytes=self.sizes.get(name)) for name in saved]
        try:
            within(SHOWN_SECONDS, show_values, listed[:SHOWN_MOST], monotonic() + SHOWN_SECONDS)
        except TooSlow:
            pass
        failed = [{"name": name, "type": type_name(SPACE[name]) if name in SPACE else None, "why": self.failed[name]} for name in names if name in self.failed]
        failed += [{"name": name, "type": type_name(value), "why": why} for name, (value, why) in self.parts.items() if is_text(name)]
        manifest = {
            "format": FORMAT, "language": "python", "version": sys.version.split()[0], "saved": now_text(),
            "session": (S.eval or "").rpartition(":")[0], "cwd": attempt(getcwd), "names": listed, "failed": failed, "packages": self.packages(),
            "python": {"steps": self.steps, "sources": self.sources.saved(), "path": own_path()}}
        at = self.target.at
        text = dump(manifest)[:-1].encode("utf-8")
        text += b',"check":%d}' % crc32(text)
        self.target.add(text)
        self.target.add(b"STEADEND %020d %020d\n" % (at, len(text)))
        self.target.sync()
        return {"path": self.target.asked, "bytes": self.target.at, "saved": saved[:NAMED_MOST], "count": len(saved),
                "failed": failed[:FAILED_MOST], "failed_count": len(failed)}

    def packages(self):
        """The versions of libraries that the values are of."""
        roots = {step[2].partition(".")[0] for step in self.steps if step[0] == "module"}
        roots.update([str(module_name_of(kind)).partition(".")[0] for kind in self.kinds])
        return {root: version for root, version in [(root, version_of(root)) for root in sorted(roots)] if version}


def show_values(entries, until):
    """Adds short texts of values, as far as there is time."""
    for entry in entries:
        if monotonic() < until:
            entry["value"] = render(SPACE.get(entry["name"]), 100, True)


LIMITED.add(show_values.__code__)


def take_nothing(buffer):
    """An array that is only tried: nothing of it is looked at."""
    return buffer.raw().nbytes < IN_BAND_MOST


def raise_if_interrupted(error):
    """An interrupt ends all of the work, whatever it was that it met. So does a fork in user code, in the child."""
    leave_child(error)
    try:
        if isinstance(error, KeyboardInterrupt) and S.interrupt != Interrupt.NONE:
            raise error
    finally:
        del error  # the traceback of the error has this frame


def forget_traces(error):
    """The errors that made a name fail no longer say where they were raised: an error that user code keeps would keep our
    frames too, and all that these have in hand."""
    for one in chain_of(error):
        one.__traceback__ = None


def clear_frames(error):
    """The same for an error that is reported, where the frames of user code stay."""
    for one in chain_of(error):
        traceback = one.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == BRIDGE_FILE:
                attempt(traceback.tb_frame.clear)  # a frame that still runs cannot be cleared
            traceback = traceback.tb_next


def chain_of(error):
    """An error and those that were being handled when it was raised."""
    chain = []
    while error is not None and len(chain) < 100:
        chain.append(error)
        error = error.__context__
    return chain


def now_text():
    real = real_module("time")
    return real.strftime("%Y-%m-%dT%H:%M:%SZ", real.gmtime())


def save_session(argument):
    """Line 1 is the path, line 2 is `force` or empty, names follow."""
    path, _, rest = argument.partition("\n")
    force, _, names = rest.partition("\n")
    target = Target(path, force == "force")
    saving = Saving(target, list(dict.fromkeys([name for name in names.split("\n") if name])))
    helpers = ModuleType(HELPERS)
    vars(helpers).update(STAND_INS)
    modules[HELPERS] = helpers
    try:
        report = run_user(save_all, saving)
        target.finish()
        return report
    except OSError as error:
        clear_frames(error)
        raise SaveError("could not write `%s`: %s" % (path, reason(error))) from None
    except BaseException as error:
        clear_frames(error)
        raise
    finally:
        modules.pop(HELPERS, None)
        target.leave()
        saving.forget()


def save_all(saving):
    saving.begin()
    warnings = real_module("warnings")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pickle itself warns of iterators
        return saving.finish(saving.run())

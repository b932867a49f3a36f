# Stale modules: which modules of the workspace have changed on disk since they were imported.

WATCHED_MOST, NAMED_MOST = 500, 10
FOREIGN = ("/site-packages/", "/dist-packages/", "/.venv/", "/node_modules/", "/lib-dynload/")
WATCHED = {}            # name of a module -> Watched
NOTICED = {}            # name of a module -> id of the module that was last looked at
realpath = _os.path.realpath if _os is not None else str
_importing = modules["_frozen_importlib_external"]
MAGIC_NUMBER, SourceFileLoader = _importing.MAGIC_NUMBER, _importing.SourceFileLoader
ModuleSpec = modules["_frozen_importlib"].ModuleSpec
# A file that is written now gets the time of this clock, which is up to a tick behind the precise one.
CLOCK_OF_FILES = 5 if sys.platform == "linux" else 0  # CLOCK_REALTIME_COARSE, which `time` does not name; CLOCK_REALTIME


def current_folder():
    try:
        return getcwd()
    except OSError:  # it was deleted
        return None


def inside(folder):
    """How paths of what is in it begin."""
    return folder and folder.rstrip("/") + "/"


class Look:
    """How things stood when modules were last looked at."""

    def __init__(self):
        self.current = current_folder()
        self.root = self.folder = inside(self.current)
        self.count, self.last = 0, None  # length and last entry of sys.modules: an import changes one or the other
        self.at = clock_gettime_ns(CLOCK_OF_FILES)


LOOK = Look()  # an instance, since to set an attribute of a class empties Python's caches for it


class Watched:
    """A module's file as it was when the module read it. A reload gives the module a new spec."""
    __slots__ = ("path", "spec", "seen", "told")

    def __init__(self, path, spec, seen):
        self.path, self.spec, self.seen, self.told = path, spec, seen, seen


def changed_modules(calm=False):
    """What to say about modules whose files are not what was imported; each change is said once.

    A calm eval imports nothing and stays in its folder. The time of this look is noted when the eval is over.
    """
    if not calm:
        current, last = current_folder(), next(reversed(modules), None)
        if len(modules) != LOOK.count or last is not LOOK.last or current != LOOK.current:
            if current != LOOK.current:
                NOTICED.clear()
            LOOK.current, LOOK.folder = current, inside(current)
            notice_modules()
            LOOK.count, LOOK.last = len(modules), last
    return report_changes() if WATCHED else None


def notice_modules():
    if len(NOTICED) > 2 * len(modules) + 1000:
        NOTICED.clear()
    for name, module in list(modules.items()):
        if NOTICED.get(name) != id(module):
            NOTICED[name] = id(module)
            if name not in WATCHED and type(name) is str and len(WATCHED) < WATCHED_MOST:
                watch(name, module)


def watch(name, module):
    space = space_of_module(module)
    path = space.get("__file__")
    if type(path) is not str or not path.endswith((".py", ".so")) or is_foreign(path):
        return
    if path[:1] != "/":
        path = (LOOK.folder or "/") + path
    if not is_inside(path):
        real = attempt(realpath, path)
        if real is None or is_foreign(real) or not is_inside(real):
            return
    spec = space.get("__spec__")
    seen = state_at_import(path, spec)
    if seen is not None:
        WATCHED[name] = Watched(path, module if spec is None else spec, seen)


def space_of_module(module):
    """The module's names as they are: asking a lazy module for one would load it."""
    if ModuleType not in mro_of(type(module)):
        return {}
    return object.__getattribute__(module, "__dict__")


def is_foreign(path):
    for part in FOREIGN:
        if part in path:
            return True
    return path.startswith(_home + "/")


def is_inside(path):
    return any([folder is not None and path.startswith(folder) for folder in (LOOK.root, LOOK.folder)])


def state_of(path):
    """What tells one version of a file from another; None if there is no file."""
    try:
        found = stat(path)
        return found.st_mtime_ns, found.st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def state_at_import(path, spec):
    """The file may have changed since, in this very eval; the compiled form tells what was read."""
    now = state_of(path)
    if type(spec) is not ModuleSpec or type(spec.loader) is not SourceFileLoader or type(spec.cached) is not str:
        return now
    try:
        fd = posix.open(spec.cached, posix.O_RDONLY | posix.O_CLOEXEC)
        try:
            head, written = read(fd, 16), fstat(fd).st_mtime_ns
        finally:
            close(fd)
    except OSError:
        return now
    if len(head) < 16 or head[:4] != MAGIC_NUMBER or head[4:8] != EMPTY:  # EMPTY: checked by time and size
        return now
    compiled = int.from_bytes(head[8:12], "little"), int.from_bytes(head[12:16], "little")
    if now is not None and compiled == (now[0] // 10**9 & 0xFFFFFFFF, now[1] & 0xFFFFFFFF):
        return now
    # The stamps differ: either the file is newer than the import, or the import could not write what it compiled.
    folder = spec.cached.rpartition("/")[0] or "/"
    if written >= LOOK.at or (not sys.dont_write_bytecode and access(folder, posix.W_OK)):
        return compiled
    return now


def report_changes():
    changed, built, deleted = [], [], []
    for name in list(WATCHED):
        try:
            watched = watched_now(name)
            if watched is None:
                continue
            now = state_of(watched.path)
        except OSError:  # cannot be known now
            continue
        if now != watched.told:
            watched.told = now
            if now != watched.seen:
                (deleted if now is None else built if watched.path.endswith(".so") else changed).append(name)
    parts = []
    if changed:
        again = "importlib.reload(%s) reads it again" % changed[0] if len(changed) == 1 else "importlib.reload reads one again"
        parts.append(name_modules(changed, "changed on disk since %s imported (" + again + ")"))
    if built:
        parts.append(name_modules(built, "changed on disk since %s imported (a restart reads it again)"))
    if deleted:
        parts.append(name_modules(deleted, "deleted on disk since %s imported", "was ", "were "))
    return "; ".join(parts) or None


def watched_now(name):
    """What is watched under a name. After a reload that is the file as it was then; None if the module is gone."""
    watched, module = WATCHED[name], modules.get(name)
    spec = space_of_module(module).get("__spec__")
    if (module if spec is None else spec) is watched.spec:
        return watched
    del WATCHED[name]
    NOTICED.pop(name, None)
    if module is None:
        return None
    NOTICED[name] = id(module)
    watch(name, module)
    return WATCHED.get(name)


def name_modules(names, text, one="", many=""):
    names.sort()
    if len(names) == 1:
        return "module %s %s" % (names[0], one + text % "it was")
    more = " and %d more" % (len(names) - NAMED_MOST) if len(names) > NAMED_MOST else ""
    return "modules %s%s %s" % (", ".join(names[:NAMED_MOST]), more, many + text % "they were")

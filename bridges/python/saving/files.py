# Files: a save file is written beside its place and put there as a whole, and read with suspicion.

HEAD, TAIL, TAIL_LENGTH = b"STEADSAVE1\n", b"STEADEND ", 51
FORMAT = 1
ALIGNED = 64            # bytes; where arrays begin
GATHERED = 1 << 20      # bytes that are gathered before they are written
CHECKED_MOST = 1 << 20  # a longer run of bytes is not in the checksum, which would take longer than to write it
CALL_MOST = 16 << 20    # bytes of one call of the system, so that an interrupt does not wait long
SORTS = {0o040000: "a directory", 0o010000: "a FIFO", 0o020000: "a device", 0o060000: "a device", 0o140000: "a socket"}
flock = real_module("fcntl").flock


class SaveError(Trouble):
    """Why nothing was saved."""


class LoadError(Trouble):
    """Why nothing was loaded."""


def reason(error):
    return getattr(error, "strerror", None) or safe_str(error)


def unlike_file(status):
    """What stands at a path, if it is no regular file."""
    return SORTS.get(status.st_mode & 0o170000)


def final_path(path):
    """Where a file is to be, behind symbolic links; it need not be there yet."""
    for _ in range(40):
        folder = path.rpartition("/")[0]
        try:
            linked = posix.readlink(path)
        except OSError:
            return path
        path = linked if linked.startswith("/") else folder + "/" + linked
    raise SaveError("could not write `%s`: too many symbolic links" % path)


def make_folders(folder):
    if not folder or exists(folder):
        return
    make_folders(folder.rpartition("/")[0])
    try:
        posix.mkdir(folder)
    except FileExistsError:
        pass


def check_place(path, force):
    """Refuses a place where something stands that would be lost."""
    try:
        status = stat(path)
    except FileNotFoundError:
        return
    sort = unlike_file(status)
    if sort is not None:
        raise SaveError("`%s` is %s" % (path, sort))
    if force:
        return
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        if not read(descriptor, len(HEAD)).startswith(HEAD[:-2]):
            raise SaveError("`%s` is a file that was not saved by stead, and would be lost" % path)
    finally:
        close(descriptor)


class Target:
    """The file that is being written, under a name of its own until it is whole."""

    def __init__(self, path, force):
        self.asked, self.descriptor, self.temporary = path, None, None
        self.parts, self.held, self.at = [], 0, 0
        self.force, self.trouble = force, None

    def open(self):
        path = self.asked if self.asked.startswith("/") else getcwd() + "/" + self.asked
        if path.endswith("/"):
            raise SaveError("`%s` is no name of a file" % self.asked)
        self.path = final_path(path)
        folder, _, name = self.path.rpartition("/")
        self.folder = folder or "/"
        make_folders(folder)
        check_place(self.path, self.force)
        # A name may have 255 bytes.
        start = "." + name.encode("utf-8", "surrogateescape")[:220].decode("utf-8", "ignore") + "."
        self.remove_leftovers(start)
        self.open_new(start)
        if S.pending:
            raise_pending()
        self.add(HEAD)

    def open_new(self, start):
        """Critical: what has been made is known, so that it can be removed."""
        while True:
            self.temporary = "%s/%s%s.tmp" % (self.folder.rstrip("/"), start, posix.urandom(4).hex())
            try:
                self.descriptor = posix.open(self.temporary, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue
            except OSError:
                self.temporary = None
                raise
            posix.fchmod(self.descriptor, 0o600)  # whatever the umask is
            # While the new file is locked, no other save takes it for one that was left behind.
            attempt(flock, self.descriptor, 2 | 4)
            if fstat(self.descriptor).st_nlink:
                return
            close(self.descriptor)

    def remove_leftovers(self, start):
        """What a killed save to the same place has left."""
        for name in attempt(posix.listdir, self.folder) or ():
            if name.startswith(start) and name.endswith(".tmp") and len(name) == len(start) + 12:
                attempt(self.remove_leftover, self.folder.rstrip("/") + "/" + name)

    def remove_leftover(self, path):
        descriptor = posix.open(path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC)
        try:
            flock(descriptor, 2 | 4)
            if unlike_file(fstat(descriptor)) is None:
                posix.unlink(path)
        finally:
            close(descriptor)

    def add(self, data):
        size = len(data)
        self.at += size
        if size < GATHERED:
            self.parts.append(data)
            self.held += size
            if self.held >= GATHERED:
                self.flush()
        else:
            self.flush()
            self.put(data)

    def align(self):
        self.add(bytes(-self.at % ALIGNED))

    def flush(self):
        data, self.parts, self.held = b"".join(self.parts), [], 0
        self.put(data)

    def put(self, data):
        leave_child()  # a forked child would write to the same place in the same file
        with memoryview(data) as whole, whole.cast("B") as view:
            done = 0
            try:
                while done < len(view):
                    written = write(self.descriptor, view[done:done + CALL_MOST])
                    done += written
                    if written >= GATHERED:
                        self.begin_sync(written)
            except OSError as error:
                self.trouble = error  # the trouble is not a name's: the disk is full
                raise

    def begin_sync(self, size):
        """Has the disk begin with what was just written, so that the sync in the end finds little left to wait for."""
        advise = getattr(posix, "posix_fadvise", None)
        if advise is not None:
            attempt(advise, self.descriptor, posix.lseek(self.descriptor, 0, 1) - size, size, posix.POSIX_FADV_DONTNEED)

    def back_to(self, at):
        """Forgets what was added since."""
        self.flush()
        posix.ftruncate(self.descriptor, at)
        posix.lseek(self.descriptor, at, 0)
        self.at = at

    def sync(self):
        self.flush()
        posix.fsync(self.descriptor)

    def finish(self):
        """Puts the file into its place. Not interruptible: either the old file is there or the new one."""
        posix.rename(self.temporary, self.path)
        self.temporary = None
        descriptor = attempt(posix.open, self.folder, posix.O_RDONLY | posix.O_CLOEXEC)
        if descriptor is not None:
            attempt(posix.fsync, descriptor)
            close(descriptor)

    def leave(self):
        """Critical. Closes it, and removes what has not come into its place. A forked child leaves it alone."""
        if self.descriptor is not None:
            attempt(close, self.descriptor)
            self.descriptor = None
        if self.temporary is not None and getpid() == PID:
            attempt(posix.unlink, self.temporary)
            self.temporary = None
        self.trouble = None  # the error's traceback has frames that refer to this object


CRITICAL.update((Target.open_new.__code__, Target.leave.__code__))


# ---- reading ---------------------------------------------------------------------------------

class Origin:
    """A save file that is being read."""

    def __init__(self, path):
        self.path, self.descriptor, self.file = path, None, None

    def open(self):
        """The manifest, if this is a save file that is whole."""
        try:
            self.descriptor = posix.open(self.path, posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
            status = fstat(self.descriptor)
            if unlike_file(status) is not None:
                raise LoadError("`%s` is %s" % (self.path, unlike_file(status)))
            self.size = status.st_size
            self.file = _io.open(self.descriptor, "rb", GATHERED, closefd=False)
            return self.manifest()
        except (OSError, ValueError) as error:
            raise LoadError("could not read `%s`: %s" % (self.path, reason(error))) from None

    def manifest(self):
        head = self.file.read(len(HEAD))
        if not head.startswith(HEAD[:-2]):
            raise LoadError("`%s` is no file that stead has saved" % self.path)
        if head != HEAD[:len(head)]:
            raise LoadError("`%s` was saved by a newer version of stead" % self.path)
        text, length = self.bytes_at(max(self.size - TAIL_LENGTH, 0), TAIL_LENGTH), -1
        if text.startswith(TAIL) and text.endswith(b"\n") and text[9:29].isdigit() and text[30:50].isdigit():
            start, length = int(text[9:29]), int(text[30:50])
        if length < 0 or start + length + TAIL_LENGTH != self.size or start < len(HEAD):
            raise LoadError("`%s` is not whole: it was cut off, or changed since it was saved" % self.path)
        text = self.bytes_at(start, length)
        manifest = attempt(real_module("json").loads, text.decode("utf-8", "replace"))
        if type(manifest) is not dict:
            raise LoadError("`%s` is damaged: it cannot be told what is in it" % self.path)
        self.check(manifest)
        body, _, check = text.rpartition(b',"check":')
        if check != b"%d}" % crc32(body):
            raise LoadError("`%s` is damaged: it cannot be told what is in it" % self.path)
        return manifest

    def check(self, manifest):
        made = manifest.get("format")
        if type(made) is not int or made > FORMAT:
            raise LoadError("`%s` was saved by a newer version of stead (format %s)" % (self.path, cut(str(made), 20)))
        language, version = manifest.get("language"), str(manifest.get("version"))
        if language != "python":
            raise LoadError("`%s` was saved by a session of %s, and this one is of python" % (self.path, cut(str(language), 40)))
        if version.partition(".")[0] != str(sys.version_info[0]):
            raise LoadError("`%s` was saved by Python %s, and this is %s" % (self.path, cut(version, 40), sys.version.split()[0]))

    def bytes_at(self, at, length):
        self.file.seek(at)
        return self.file.read(length)

    def read_into(self, at, length):
        """An array's bytes, in memory that can be written to."""
        if at + length > self.size:
            raise EOFError("the file ends too early")
        room, done = bytearray(length), 0
        with memoryview(room) as view:
            while done < length:
                count = posix.preadv(self.descriptor, [view[done:done + CALL_MOST]], at + done)
                if not count:
                    raise EOFError("the file ends too early")
                done += count
        return room

    def is_intact(self, at, length, check, unchecked):
        """Whether a pickle is as it was written; long runs of raw bytes are not looked at."""
        if at + length > self.size:
            return False
        found, end = 0, at + length
        for gap, size in [*unchecked, [length, 0]]:
            self.file.seek(at)
            left = gap + end - length - at
            while left > 0:
                data = self.file.read(min(left, GATHERED))
                if not data:
                    return False
                found, left = crc32(data, found), left - len(data)
            at = end - length + gap + size
        return found == check

    def leave(self):
        """Critical."""
        if self.file is not None:
            attempt(self.file.close)
        if self.descriptor is not None:
            attempt(close, self.descriptor)


CRITICAL.add(Origin.leave.__code__)

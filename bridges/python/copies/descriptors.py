# Descriptors: a copy shares none with the session that goes on. An offset that it shared would move; a pipe or a port that
# it kept open would never end for the one at the other side.

class Fate:
    """What becomes of a descriptor in a copy."""
    KEPT = 0        # it has no state: /dev/null
    REOPENED = 1    # a file, at the same place
    STREAM = 2      # one of the session's own three; a woken copy gets new ones
    PAIRED = 3      # a pipe with both ends here: a woken copy has a new, empty one
    JOINED = 4      # the same for the two sockets with which an asyncio loop wakes itself
    POLLED = 5      # epoll: a woken copy has a new one with the same entries
    DEAD = 6        # the other side speaks to the session that goes on, so in the copy it reads as ended


class Descriptor:
    __slots__ = ("fd", "fate", "flags", "at", "inherited", "of", "ends")

    def __init__(self, fd, status):
        self.fd, self.fate, self.flags = fd, Fate.DEAD, fcntl(fd, F_GETFL)
        self.inherited = not fcntl(fd, F_GETFD) & 1
        self.at = 0         # where a file is read or written next
        self.of = None      # number of the stream; inode of the pipe; the other socket; entries of the epoll
        self.ends = True    # whether a dead descriptor reads as ended, as the real one would if the other side left


F_GETFD = 1
KIND_OF_FILE, FIFO, SOCKET, FILE, FOLDER, DEVICE, BLOCK = 0o170000, 0o010000, 0o140000, 0o100000, 0o040000, 0o020000, 0o060000
# A flag that only makes a file (O_TMPFILE) must not be given again.
REOPENS = posix.O_ACCMODE | posix.O_APPEND | posix.O_NONBLOCK | posix.O_SYNC | posix.O_DSYNC | getattr(posix, "O_DIRECT", 0) | getattr(posix, "O_NOATIME", 0)
O_PATH = getattr(posix, "O_PATH", 0o10000000)


class Survey:
    """Every descriptor of this process, and what would be lost of them, in words."""

    def __init__(self):
        self.found, self.lost, self.locks = [], [], []
        self.contents, self.pipes, self.sockets, self.piped = {}, 0, 0, 0
        saved = [fstat(fd) for fd in SAVED]
        self.streams = {(status.st_dev, status.st_ino): number for number, status in enumerate(saved) if status.st_mode & KIND_OF_FILE in (FIFO, SOCKET)}
        self.joined = joined_sockets()
        for name in posix.listdir("/proc/self/fd"):
            fd = int(name)
            if fd in (CONTROL, REPORT, NEST):
                continue
            try:
                self.look(fd, fstat(fd))
            except OSError:  # the descriptor with which this list was read
                pass
        self.pair_pipes()
        self.tell()

    def look(self, fd, status):
        one = Descriptor(fd, status)
        self.found.append(one)
        kind, key = status.st_mode & KIND_OF_FILE, (status.st_dev, status.st_ino)
        if key in self.streams or fd in SAVED:
            one.fate, one.of = Fate.STREAM, self.streams.get(key, SAVED.index(fd) if fd in SAVED else 0)
        elif one.flags & O_PATH:
            one.fate = Fate.KEPT
        elif kind in (FILE, FOLDER, BLOCK):
            one.fate = Fate.REOPENED
            one.at = posix.lseek(fd, 0, 1)
            self.look_at_file(one)
        elif kind == DEVICE:
            self.look_at_device(one, status)
        elif kind == FIFO:
            one.of = status.st_ino
        elif kind == SOCKET:
            self.look_at_socket(one)
        else:
            self.look_at_other(one)

    def look_at_device(self, one, status):
        path = link(one.fd)
        if path.startswith(GPUS):
            raise CopyRefused("a GPU is in use (%s), whose memory a copy cannot have" % path)
        if status.st_rdev >> 8 == 1:  # /dev/null, /dev/zero, /dev/urandom
            one.fate = Fate.KEPT
        else:
            one.ends = False
            self.lost.append(path)

    def look_at_other(self, one):
        """What the system makes without a name: epoll, eventfd, inotify, timers."""
        name = link(one.fd)
        one.ends = False
        if "pidfd" in name:
            one.fate = Fate.KEPT  # a pidfd says that its process has ended, which is true in a woken copy
            return
        if name == "anon_inode:[eventpoll]":
            entries = []
            for line in (contents("/proc/self/fdinfo/%d" % one.fd) or "").splitlines():
                if line.startswith("tfd:"):
                    words = line.replace("tfd:", "").replace("events:", "").replace("data:", "").split()
                    entries.append((int(words[0]), int(words[1], 16), int(words[2], 16)))
            if all([fd == data & 0xFFFFFFFF for fd, _, data in entries]):  # a library in C may keep anything else in `data`
                one.fate, one.of = Fate.POLLED, entries
                return
        self.lost.append("what is told through a descriptor of the kernel's (%s)" % name.replace("anon_inode:", "").strip("[]"))

    def look_at_socket(self, one):
        if one.fd in self.joined:
            one.fate, one.of = Fate.JOINED, self.joined[one.fd]
            return
        self.sockets += 1
        sock = _socket.socket(fileno=one.fd)
        try:
            is_stream = sock.type & 0xF == _socket.SOCK_STREAM
            listens = is_stream and sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_ACCEPTCONN)
            one.ends = is_stream and not listens
            if listens:
                self.lost.append("the socket that listens at %s" % address(sock.getsockname()))
            elif sock.family != _socket.AF_UNIX:
                self.lost.append("the connection to %s" % address(sock.getpeername()))
            else:
                self.lost.append("a connection to another process")
        except OSError:  # it is not connected
            self.lost.append("a socket")
        finally:
            sock.detach()

    def look_at_file(self, one):
        writes = one.flags & posix.O_ACCMODE != posix.O_RDONLY
        info = contents("/proc/self/fdinfo/%d" % one.fd) or ""
        locks = [line.split() for line in info.splitlines() if line.startswith("lock:")]
        if not writes and not locks:
            return
        path = link(one.fd)
        name = path.rpartition("/")[2].replace(" (deleted)", "")
        if writes:
            refuse_database(one, name, path, locks)
        if locks and name not in self.locks and not name.endswith("-shm"):
            self.locks.append(name)
        if writes and not name.endswith(("-wal", "-shm", "-journal")):
            self.contents[name if path.startswith("/") and "/#" not in path else "a temporary file"] = None

    def pair_pipes(self):
        """A pipe that has both of its ends here is for this process alone, or for children that it will have."""
        ends = {}
        for one in self.found:
            if one.fate == Fate.DEAD and one.of is not None:
                ends.setdefault(one.of, []).append(one)
        for inode, group in ends.items():
            modes = {one.flags & posix.O_ACCMODE for one in group}
            if modes == {posix.O_RDONLY, posix.O_WRONLY} and link(group[0].fd) == "pipe:[%d]" % inode:
                for one in group:
                    one.fate = Fate.PAIRED
                self.piped += int.from_bytes(ioctl(group[0].fd, FIONREAD, EMPTY), sys.byteorder)
            else:
                self.pipes += 1

    def tell(self):
        self.lost += ["the contents of %s" % name for name in self.contents]
        self.lost += ["the lock on %s" % name for name in self.locks]
        if self.pipes:
            self.lost.append("%d pipe%s to other processes" % (self.pipes, "s"[:self.pipes > 1]))
        if self.piped:
            self.lost.append("%d byte%s in pipes within the process" % (self.piped, "s"[:self.piped > 1]))


def link(fd):
    try:
        return posix.readlink("/proc/self/fd/%d" % fd)
    except OSError:
        return ""


def address(name):
    return "%s:%s" % name[:2] if isinstance(name, tuple) else safe_str(name)


def refuse_database(one, name, path, locks):
    """A library that keeps part of a file in memory would go on from there in a woken copy, although the file has changed."""
    held = [lock for lock in locks if "POSIX" in lock]
    starts = [int(lock[-2]) for lock in held]
    head = b""
    if one.flags & posix.O_ACCMODE == posix.O_RDWR:
        try:
            head = posix.pread(one.fd, 20, 0)
        except OSError:
            pass
    # With a write-ahead log a connection always holds a lock on its database file; the locks that matter are on the -shm file.
    if head.startswith(b"SQLite format 3\0") and held and head[18:20] != b"\2\2":
        raise CopyRefused("a transaction is open in %s (SQLite), which a copy would break" % name)
    if name.endswith("-shm") and [at for at in starts if 120 <= at < 128]:
        raise CopyRefused("a transaction is open in %s (SQLite), which a copy would break" % name[:-4])
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        raise CopyRefused("%s is open for writing (HDF5), and a copy would break it" % name)
    if head[8:12] == b"DUCK":
        raise CopyRefused("%s is open for writing (DuckDB), and a copy would break it" % name)
    if name in ("data.mdb", "lock.mdb"):
        raise CopyRefused("%s is open (LMDB), and a copy would break it" % path)


def joined_sockets():
    """The two sockets with which each asyncio loop wakes itself, each with the other one."""
    found = {}
    for loop in loops():
        try:
            near, far = loop._ssock.fileno(), loop._csock.fileno()
        except Exception:  # closed, or of another library
            continue
        if near >= 0 and far >= 0:
            found[near], found[far] = far, near
    return found


def loops():
    """The asyncio loops that can be found: the session's, the current one, and those that have a name."""
    events, base = modules.get("asyncio.events"), modules.get("asyncio.base_events")
    if base is None:
        return []
    current = getattr(getattr(getattr(events, "_event_loop_policy", None), "_local", None), "_loop", None)
    found = [S.loop, current, *SPACE.values()]
    return list({id(one): one for one in found if isinstance(type(one), type) and issubclass(type(one), base.BaseEventLoop)}.values())


# ---- in a copy ---------------------------------------------------------------------------------

def isolate(found):
    """Makes every descriptor this process's own."""
    null = posix.open("/dev/null", posix.O_RDWR | posix.O_CLOEXEC)
    dead, other = _socket.socketpair()
    other.close()
    for one in found:
        try:
            if one.fate == Fate.STREAM:
                dup2(null, one.fd, one.inherited)
            elif one.fate == Fate.REOPENED:
                reopen(one)
            elif one.fate != Fate.KEPT:
                dup2(dead.fileno(), one.fd, one.inherited)
        except OSError:  # the file may not be opened once more, so it stays shared
            pass
    close(null)
    dead.close()


def reopen(one):
    new = posix.open("/proc/self/fd/%d" % one.fd, one.flags & REOPENS | posix.O_CLOEXEC)
    posix.lseek(new, one.at, 0)
    dup2(new, one.fd, one.inherited)
    close(new)


def revive(found, given):
    """Gives a woken copy what it can have again. `given` are the three streams."""
    pipes, dead = {}, set()
    for one in found:
        if one.fate == Fate.STREAM:
            dup2(given[one.of], one.fd, one.inherited)
        elif one.fate == Fate.PAIRED:
            if one.of not in pipes:
                pipes[one.of] = posix.pipe()
            dup2(pipes[one.of][one.flags & posix.O_ACCMODE != posix.O_RDONLY], one.fd, one.inherited)
            fcntl(one.fd, F_SETFL, one.flags)
        elif one.fate == Fate.JOINED and one.fd < one.of:
            for fd, sock in zip((one.fd, one.of), _socket.socketpair()):
                dup2(sock.fileno(), fd, False)
                fcntl(fd, F_SETFL, one.flags)
                sock.close()
        elif one.fate == Fate.REOPENED:
            attempt(posix.lseek, one.fd, one.at, 0)  # if the file stayed shared, others have moved its offset
        elif one.fate == Fate.DEAD and not one.ends:
            dead.add(one.fd)
    for ends in pipes.values():
        for fd in ends:
            close(fd)
    for one in found:
        if one.fate == Fate.POLLED:
            poll_again(one, dead)


def poll_again(one, dead):
    """A dead descriptor that was polled is told as ended, for ever if its owner does not know that this can happen: such are left out."""
    poll = import_stdlib("select").epoll()
    for fd, events, _ in one.of:
        if fd not in dead:
            attempt(poll.register, fd, events)
    dup2(poll.fileno(), one.fd, one.inherited)
    poll.close()

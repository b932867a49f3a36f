# Streams: sys.stdin, sys.stdout and sys.stderr, which know the eval that reads or writes.

class Output(TextIOWrapper):
    """sys.stdout and sys.stderr: plain text files, except that a write knows its eval."""

    def write(self, text):
        if S.last is self and get_ident() == MAIN:
            look_across(self)
            return text_write(self, text)
        return write_elsewhere(self, text)


def look_across(stream):
    """Before the main thread writes again to the stream that it wrote to last: waits until the host has taken what a child or
    C code has put into the other pipe. Code that writes many lines in a row is then no longer looked at."""
    fd = 1 if stream is ERR else 2
    if S.children:
        unblock(1, 2)
    try:
        if ioctl(fd, FIONREAD, EMPTY) != EMPTY:
            wait_taken(fd)
    except OSError:  # closed, or no pipe any more
        pass
    S.writes += 1
    if S.writes >= MANY_WRITES:
        now, since = monotonic(), S.writes_since
        S.writes, S.writes_since = 0, now
        if now - since < MANY_WRITES * SHORT and not BORN and not may_have_children():
            make_plain(stream)


def make_plain(stream):
    """Gives the stream TextIOWrapper's own `write` until anything else happens than that the main thread writes to it. A print
    calls `write` for each of its parts, so that this is most of its time. A `write` that the user has set stays."""
    if "write" not in vars(stream):
        QUICK[stream] = plain = text_write.__get__(stream)
        stream.write = plain


def make_knowing():
    """Undoes make_plain for all streams: from here on every write is looked at again."""
    for stream, plain in list(QUICK.items()):
        if vars(stream).get("write") is plain:
            del stream.write
    QUICK.clear()


def write_elsewhere(stream, text):
    """A write to the other stream than the last one, or from another thread, or while no eval runs."""
    if S.life != Life.SERVING or not isinstance(text, str):
        return text_write(stream, text)
    if S.children:
        unblock(1, 2)
    me = get_ident()
    if me == MAIN:
        return send_background(stream, text, None) if S.phase <= Phase.ASKED else write_switching(stream, text)
    tag = THREADS.get(me, S.eval)
    while not WRITING.acquire(True, WRITING_SECONDS):
        # The eval's last flush may block on a pipe of the user's that this very thread reads.
        if S.phase == Phase.IDLE:
            return send_background(stream, text, tag)
    try:
        WRITERS.append(me)
        try:  # end_writes waits for this lock, so that the eval cannot end between this check and the write
            if S.phase > Phase.ASKED and tag == S.eval:
                return write_switching(stream, text)
        finally:
            WRITERS.pop()
    finally:
        WRITING.release()
    return send_background(stream, text, tag)


def end_writes():
    """From here on what is written is no longer the eval's. A thread either sees that, or is waited for here."""
    S.phase = Phase.IDLE
    if WRITERS:
        with WRITING:
            pass
    S.last = None
    if QUICK:
        make_knowing()


def end_writes_flushed():
    """The same, and flushes; whether nothing is left. A thread that goes on writing waits until its own earlier text, which is
    still the eval's, is out, else what it writes now would come first."""
    with WRITING:
        end_writes()
        return flush_last()


def write_switching(stream, text):
    last = S.last
    if last is not stream:
        make_knowing()
        if last is not None:
            barrier(last)
        S.last = stream
    return text_write(stream, text)


def send_background(stream, text, tag):
    name = "err" if stream is ERR else "out"
    owner = '"eval":' + quote(tag) + "," if tag else ""
    for start in range(0, len(text), 1 << 16):
        send('{"ev":"background",%s"stream":"%s","text":%s}\n' % (owner, name, quote(text[start:start + (1 << 16)])))
    return len(text)


def barrier(other):
    """Waits until the host has read the other pipe, so that it sees both in order."""
    try:
        other.flush()
        wait_taken(2 if other is ERR else 1)
    except (OSError, ValueError):  # closed, or no pipe any more
        pass


def wait_taken(fd):
    """Waits until the host has taken what is in the pipe now, even if a child wrote it."""
    if ioctl(fd, FIONREAD, EMPTY) == EMPTY:
        return
    if file_id(fd) != file_id(SAVED[fd]):  # the user's own pipe, which nobody may read
        return
    for _ in range(50):
        sched_yield()
        if ioctl(fd, FIONREAD, EMPTY) == EMPTY:
            return
    # The host is busy, or a child goes on writing: asked by `sync`, the host takes what is there and answers. In a finalizer
    # that runs while a frame is being sent, no other frame can be sent.
    if S.holder != get_ident():
        exchange('{"ev":"sync"}\n')
        if S.pending:
            raise_pending()


def exchange(line):
    """Critical: an answer that an interrupt had kept us from reading would be taken for that to a later frame."""
    with EXCHANGING:
        transmit(line)
        await_ack()


CRITICAL.add(exchange.__code__)


class RawStdin(_io._RawIOBase):
    """Descriptor 0, announcing a wait before it blocks. End of file is not remembered."""
    name = "<stdin>"
    mode = "rb"
    # These are builtin methods, because an interrupt raised below input()'s own call of fileno() would be swallowed there.
    file = _io.FileIO(0, "rb", closefd=False)
    # A child that forked may have a terminal here (pty.fork).
    readable, fileno, isatty = file.readable, file.fileno, file.isatty

    def readinto(self, buffer):
        if S.draining:
            return 0
        if S.life == Life.CHILD:
            return self.read_waiting(buffer)
        me = get_ident()
        if me == MAIN and (S.hung_up or S.phase == Phase.ASKED):  # nobody could answer what a `__repr__` asks
            return 0
        READERS[me] = get_native_id()
        try:
            S.stdin_used = True
            flush_all()
            announce_wait(me)
            return self.read_waiting(buffer)
        finally:
            READERS.pop(me, None)

    def read_waiting(self, buffer):
        """Reads, and waits also where the pipe does not: to Python's buffers a read that would have to wait looks like an end of file."""
        count = self.file.readinto(buffer)
        if count is None:
            # An open file description of our own blocks even if others made theirs non-blocking, and the host sees the read.
            try:
                own = _io.FileIO("/proc/self/fd/0", opener=open_waiting)
            except OSError:  # no pipe, or no /proc
                select = import_stdlib("select").select
                while count is None:
                    select([0], [], [])
                    count = self.file.readinto(buffer)
            else:
                with own:
                    count = own.readinto(buffer)
        return count


def open_waiting(path, flags):
    """Opens a pipe for reading. To open one that nobody writes to must not block."""
    fd = posix.open(path, flags | O_NONBLOCK)
    set_blocking(fd, True)
    return fd


READ_STDIN = RawStdin.readinto.__code__


class Stdin(TextIOWrapper):
    """sys.stdin. Threads that read wait for each other here, because a wait for the lock of Python's buffer cannot be interrupted."""

    def readline(self, *args):
        take_turn()
        return text_readline(self, *args)

    def read(self, *args):
        take_turn()
        return text_read(self, *args)

    def __next__(self):
        take_turn()
        return text_next(self)


def take_turn():
    """Waits until no other thread reads stdin."""
    if READERS and not S.draining and S.life != Life.CHILD:
        told = None
        try:
            while READERS:
                reader = next(iter(list(READERS.values())), None)
                if reader != told and get_ident() == MAIN:
                    # The host sees the other thread read, and must be told that the main thread waits for it.
                    flush_all()
                    told = reader  # set first, since an interrupt may be raised as soon as the host has been told
                    announce_wait(MAIN, ',"behind":%d' % reader if reader else "")
                sleep(0.02)
        finally:
            if told is not None:
                send('{"ev":"stdin_turn"}\n')


def announce_wait(me, more=""):
    """Tells the host that this thread is about to wait, if stdin is empty."""
    try:
        if ioctl(0, FIONREAD, EMPTY) != EMPTY:
            return
    except OSError:
        return
    if CHANGED:
        show_changed()
    tag = (None if S.phase == Phase.IDLE else S.eval) if me == MAIN else THREADS.get(me)
    owner = ',"eval":' + quote(tag) if tag else ""
    if is_for_secret():
        more += ',"secret":true'
    send('{"ev":"stdin_wait","tid":%d%s%s}\n' % (get_native_id(), owner, more))


def is_for_secret():
    """Whether the caller was called by `getpass`, so that the answer is not for others to see."""
    frame = getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == GETPASS:
            return True
        frame = frame.f_back
    return False


GETPASS = _home + "/getpass.py"


def flush_all():
    for stream in (sys.stdout, sys.stderr, OUT, ERR):
        try:
            stream.flush()
        except KeyboardInterrupt:
            raise
        except BaseException:  # the stream is None, closed, or an object of the user's own
            pass


def flush_own():
    for stream in (OUT, ERR):
        try:
            stream.flush()
        except BaseException:
            pass


def are_ours():
    """Whether output goes to our own streams, as we made them, so that flushing it runs no code of the user's."""
    return (SYS.get("stdout") is OUT and SYS.get("stderr") is ERR and Output.flush is text_flush
            and "flush" not in vars(OUT) and "flush" not in vars(ERR))


def flush_last():
    """Flushes when the eval can write no more; whether nothing is left. An interrupt may be older than the flush, so one does not
    end it. If the flush goes to a pipe of the user's that nobody reads, the nudges that follow the interrupt end the other tries."""
    for _ in range(3):
        try:
            return flush_ours()
        except BaseException:
            S.pending = True
    return False


def flush_ours():
    """Flushes our own streams; whether nothing is left. As in run_user an interrupt is raised in here, since a write may block."""
    done = True
    for stream in (OUT, ERR):
        try:
            flush_waiting(stream)
        except KeyboardInterrupt:
            raise
        except BaseException:
            done = False
    return done


FLUSH_OURS = flush_ours.__code__


def flush_waiting(stream):
    """Flushes also where user code or a child has set that the pipe does not block: what is left would be the next eval's."""
    try:
        stream.flush()
    except BlockingIOError:
        unblock(1, 2)
        stream.flush()


# -u or PYTHONUNBUFFERED, which sys.flags does not have: Python's own stream tells.
UNBUFFERED = getattr(sys.__stdout__, "write_through", False) is True


class Unbuffered(_io.BufferedWriter):
    """Keeps nothing back. Python has no buffer at all then, but a raw file may take a part of what it is given only."""

    def write(self, data):
        count = buffered_write(self, data)
        buffered_flush(self)
        return count


def make_output(fd, name, errors):
    raw = _io.FileIO(fd, "wb", closefd=False)
    raw.name = name
    buffer = (Unbuffered if UNBUFFERED else _io.BufferedWriter)(raw)
    stream = Output(buffer, encoding="utf-8", errors=errors, newline="\n", line_buffering=True, write_through=UNBUFFERED)
    stream.mode = "w"
    return stream


def make_input():
    stream = Stdin(_io.BufferedReader(RawStdin()), encoding="utf-8", errors="surrogateescape", newline="\n")
    stream.mode = "r"
    return stream


def open_streams():
    global IN, OUT, ERR
    IN = sys.stdin = sys.__stdin__ = make_input()
    OUT = sys.stdout = sys.__stdout__ = make_output(1, "<stdout>", "surrogateescape")
    ERR = sys.stderr = sys.__stderr__ = make_output(2, "<stderr>", "backslashreplace")


def is_dead(stream):
    try:
        return stream is None or stream.closed is True
    except ValueError:  # a detached stream raises this
        return isinstance(stream, TextIOWrapper)
    except BaseException:
        return False


def repair_descriptors():
    for fd in (0, 1, 2):
        try:
            if fcntl(fd, F_GETFL) & O_NONBLOCK:
                unblock(fd)
        except OSError:
            try:
                dup2(SAVED[fd], fd)
            except OSError:
                pass


def unblock(*numbers):
    """Makes pipes of the session block again. User code or a child, like Node, may have set that they do not, for all who have
    them: programs that are started later would lose output and take stdin for broken."""
    for number in numbers:
        try:
            if fcntl(SAVED[number], F_GETFL) & O_NONBLOCK and not (number == 0 and is_polled()):
                set_blocking(SAVED[number], True)
        except OSError:
            pass


def is_polled():
    """Whether an event loop of this process listens to stdin. It counts on reads that do not block: another reader or the host, which
    drops what was not used, may have taken what it was told of. Other processes, and writers, do as well with a pipe that blocks."""
    names = attempt(posix.listdir, "/proc/self/fd")
    if names is None:
        return "asyncio" in modules
    pipe = file_id(SAVED[0])
    for name in names:
        if attempt(posix.readlink, "/proc/self/fd/" + name) == "anon_inode:[eventpoll]":
            for line in (contents("/proc/self/fdinfo/" + name) or "").splitlines():
                if line.startswith("tfd:") and attempt(file_id, int(line.split()[1])) == pipe:
                    return True
    return False


def file_id(fd):
    status = fstat(fd)
    return status.st_dev, status.st_ino


def repair_streams():
    """Makes streams anew that an earlier eval closed or set to None. One that the user has put in their place stays."""
    global IN, OUT, ERR
    repair_descriptors()
    if is_dead(SYS.get("stdin")):
        if is_dead(IN):
            IN = sys.__stdin__ = make_input()
        sys.stdin = IN
    if is_dead(SYS.get("stdout")):
        if is_dead(OUT):
            OUT = sys.__stdout__ = make_output(1, "<stdout>", "surrogateescape")
        sys.stdout = OUT
    if is_dead(SYS.get("stderr")):
        if is_dead(ERR):
            ERR = sys.__stderr__ = make_output(2, "<stderr>", "backslashreplace")
        sys.stderr = ERR


def drop_input():
    """Forgets what was read ahead of an eval's last `input` and not used. What is still in the pipe the host drops itself."""
    READERS.pop(MAIN, None)  # an interrupt may have cut the read's own bookkeeping
    if not S.stdin_used or READERS:  # a thread inside the read holds the buffer's lock
        return
    S.stdin_used = False
    S.draining = True
    for _ in range(2):  # strict decoding may fail on the first half of a character
        try:
            text_read(IN)
            break
        except BaseException:
            pass
    S.draining = False

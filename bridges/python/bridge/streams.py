# Streams: sys.stdin, sys.stdout and sys.stderr, which know the eval that reads or writes.

class Output(TextIOWrapper):
    """sys.stdout and sys.stderr: plain text files, except that a write knows its eval."""

    def write(self, text):
        if S.last is self and get_ident() == MAIN:
            look_across(self)
            return text_write(self, text)
        return write_elsewhere(self, text)


def look_across(stream):
    """Before a write of the main thread to the stream that it wrote to last: what anybody else (a child, C code) has
    put into the other pipe comes first. A writer of many lines is then left alone."""
    fd = 1 if stream is ERR else 2
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
    """As long as the eval does nothing but write, and only here, what is written needs no looking at: a print calls
    `write` for each of its parts. Not if the user has put another in its place."""
    if "write" not in vars(stream):
        QUICK[stream] = plain = text_write.__get__(stream)
        stream.write = plain


def make_knowing():
    """From here on every write is looked at again."""
    for stream, plain in list(QUICK.items()):
        if vars(stream).get("write") is plain:
            del stream.write
    QUICK.clear()


def write_elsewhere(stream, text):
    """A write that changes the stream, or comes from a thread, or from nobody's eval."""
    if S.life != Life.SERVING or not isinstance(text, str):
        return text_write(stream, text)
    me = get_ident()
    if me == MAIN:
        return send_background(stream, text, None) if S.phase == Phase.IDLE else write_switching(stream, text)
    tag = THREADS.get(me, S.eval)
    with WRITING:
        WRITERS.append(me)
        try:  # the eval cannot end between the question and the write
            if S.phase != Phase.IDLE and tag == S.eval:
                return write_switching(stream, text)
        finally:
            WRITERS.pop()
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
    """Waits until the host has taken what is in the pipe now, whoever wrote it."""
    if ioctl(fd, FIONREAD, EMPTY) == EMPTY:
        return
    here, ours = fstat(fd), fstat(SAVED[fd])
    if (here.st_ino, here.st_dev) != (ours.st_ino, ours.st_dev):  # the user's own pipe, which nobody may read
        return
    for _ in range(50):
        sched_yield()
        if ioctl(fd, FIONREAD, EMPTY) == EMPTY:
            return
    # A host that is busy, or a child that goes on writing: the host takes what there is and says so. Not within a
    # frame that is being sent, which a finalizer may be.
    if S.holder != get_ident():
        exchange('{"ev":"sync"}\n')
        if S.pending:
            raise_pending()


def exchange(line):
    """Critical: an answer that nobody waits for any more would be taken for a later one."""
    with EXCHANGING:
        transmit(line)
        await_ack()


CRITICAL.add(exchange.__code__)


class RawInput(_io._RawIOBase):
    """Descriptor 0, announcing a wait before it blocks. End of file is not remembered."""
    name = "<stdin>"
    mode = "rb"
    # Builtins, because an interrupt raised below input()'s own call of fileno() would be swallowed there.
    file = _io.FileIO(0, "rb", closefd=False)
    readable, fileno = file.readable, file.fileno

    def readinto(self, buffer):
        if S.draining:
            return 0
        if S.life == Life.CHILD:
            return self.file.readinto(buffer)
        me = get_ident()
        if S.hung_up and me == MAIN:
            return 0
        READERS[me] = get_native_id()
        try:
            S.stdin_used = True
            flush_all()
            announce_wait(me)
            return self.file.readinto(buffer)
        finally:
            READERS.pop(me, None)


READ_INPUT = RawInput.readinto.__code__


class Input(TextIOWrapper):
    """sys.stdin. Threads take turns here, because the wait for C's own lock cannot be interrupted."""

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
    if READERS and not S.draining and S.life != Life.CHILD:
        told = None
        try:
            while READERS:
                reader = next(iter(list(READERS.values())), None)
                if reader != told and get_ident() == MAIN:
                    # The host sees the other thread read, and must know that this one waits for that.
                    flush_all()
                    told = reader  # first, since an interrupt may be raised as soon as the host has been told
                    announce_wait(MAIN, ',"behind":%d' % reader if reader else "")
                sleep(0.02)
        finally:
            if told is not None:
                send('{"ev":"stdin_turn"}\n')


def announce_wait(me, more=""):
    try:
        if ioctl(0, FIONREAD, EMPTY) != EMPTY:
            return
    except OSError:
        return
    if CHANGED:
        show_changed()
    tag = (None if S.phase == Phase.IDLE else S.eval) if me == MAIN else THREADS.get(me)
    owner = ',"eval":' + quote(tag) if tag else ""
    send('{"ev":"stdin_wait","tid":%d%s%s}\n' % (get_native_id(), owner, more))


def flush_all():
    for stream in (sys.stdout, sys.stderr, OUT, ERR):
        try:
            stream.flush()
        except KeyboardInterrupt:
            raise
        except BaseException:  # None, closed, or the user's own object
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
    """Flushes when the eval can write no more. An interrupt may come before anything is written, so it does not end
    the first try; the nudges that follow it end the others, if it is a pipe of the user's that nobody reads."""
    for _ in range(3):
        try:
            return flush_ours()
        except BaseException:
            S.pending = True
    return False


def flush_ours():
    """Like run_user, an interrupt is raised in here: a write may block. Whether nothing is left."""
    done = True
    for stream in (OUT, ERR):
        try:
            stream.flush()
        except KeyboardInterrupt:
            raise
        except BaseException:
            done = False
    return done


FLUSH_OURS = flush_ours.__code__


def make_output(fd, name, errors):
    raw = _io.FileIO(fd, "wb", closefd=False)
    raw.name = name
    stream = Output(_io.BufferedWriter(raw), encoding="utf-8", errors=errors, newline="\n", line_buffering=True)
    stream.mode = "w"
    return stream


def make_input():
    stream = Input(_io.BufferedReader(RawInput()), encoding="utf-8", errors="surrogateescape", newline="\n")
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
    except ValueError:  # what a detached one says
        return isinstance(stream, TextIOWrapper)
    except BaseException:
        return False


def repair_descriptors():
    for fd in (0, 1, 2):
        try:
            fcntl(fd, F_GETFD)
        except OSError:
            try:
                dup2(SAVED[fd], fd)
            except OSError:
                pass


def repair_streams():
    """Gives back what an earlier eval closed or set to None; a replacement by the user stays."""
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
    """Forgets what was read ahead and not used (the host empties the pipe)."""
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

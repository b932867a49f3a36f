# Taking: the fork, and what both sides of it do before the copy rests.

_socket, _warnings, _gc = import_stdlib("_socket"), import_stdlib("_warnings"), import_stdlib("gc")

ALL_SIGNALS = set(map(int, _signal.valid_signals())) - {_signal.SIGKILL, _signal.SIGSTOP}
PATIENCE, SHORT_PATIENCE = 5.0, 1.0     # how long a copy may take to come to rest; the second if nobody asked for it
LOST_TOLD = 20
SMALL = 300 << 20                       # bytes of a process in which looking at every object takes no time that matters
LEAKED = []                             # buffers that a thread may have locked which the copy does not have


class Numbers:
    """Copies are numbered for all processes that were copied from one another: the host says where a woken one goes on."""
    next = 1


class Copying:
    """A copy from before its fork until it goes live; each side of a fork has its own."""

    def __init__(self, automatic):
        refuse_libraries()
        threads = Threads()
        refuse_threads(threads, automatic)
        with_threads = threads.count > 0
        maps = contents("/proc/self/maps") or "" if with_threads or "mmap" in modules or "_multiprocessing" in modules else ""
        timeout = _socket.getdefaulttimeout()
        _socket.setdefaulttimeout(None)  # a socket object that is made with a default timeout makes the socket non-blocking for all who share it
        try:
            survey = Survey()
        finally:
            _socket.setdefaulttimeout(timeout)
        if max([CONTROL, REPORT, NEST, *[one.fd for one in survey.found]]) >= posix.sysconf("SC_OPEN_MAX"):
            raise CopyRefused("the system does not let this process be copied: fewer open files are allowed than there are")
        if with_threads:
            rest_openmp(maps)
        self.found, self.threads = survey.found, threads.python
        reap()
        self.children = [pid for pid in children() if pid not in FROZEN] if S.children else []
        self.lost = [*self.lost_threads(threads), *self.lost_children(), *survey.lost, *shared_memory(maps), *self.lost_timers(), *flush_appended(self.found)]
        self.automatic, self.isolated, self.copied_from = automatic, False, PID
        self.number = self.near = self.far = self.mask = None
        self.began = self.worked = self.ms = 0.0
        self.kept = Kept()

    def lost_threads(self, threads):
        lost = [named_threads(threads.python)] if threads.python else []
        return lost + (["threads of libraries (%s)" % ", ".join(sorted(threads.named))] if threads.named else [])

    def lost_children(self):
        tracker = getattr(getattr(modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None), "_pid", None)
        names = ["%s (%d)" % ((contents("/proc/%d/comm" % pid) or "?").strip(), pid) for pid in self.children if pid != tracker]
        return ["the process %s" % name for name in names[:5]] + (["%d more processes" % (len(names) - 5)] if len(names) > 5 else [])

    def lost_timers(self):
        timers = (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF)
        return ["an alarm (signal.alarm, signal.setitimer)"] if [which for which in timers if _signal.getitimer(which)[0]] else []

    # ---- called at the fork: before_fork behind all other hooks that run before a fork, the other two ahead of all others.

    def before_fork(self):
        """Critical."""
        flush_own()
        self.mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, ALL_SIGNALS)
        self.began, self.worked = monotonic(), process_time()

    def after_fork(self):
        """Critical."""
        if self.mask is not None:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, self.mask)

    def in_copy(self):
        global LOCK, WRITING, EXCHANGING
        _signal.pthread_sigmask(_signal.SIG_BLOCK, ALL_SIGNALS)
        attempt(posix.setsid)  # signals to the user's group are not for a copy, and a woken copy leads its own group as a new interpreter does
        first, S.life = S.life != Life.CHILD, Life.CHILD
        S.last, S.holder = None, None
        # Other threads do not exist in the copy, so locks that they held are made anew.
        LOCK, WRITING, EXCHANGING = allocate_lock(), _thread.RLock(), _thread.RLock()
        for kept in (WRITERS, LATER, INBOX, THREADS, READERS, FROZEN):
            kept.clear()
        if first:
            # The numbers of these descriptors stay taken until go_live: what it is given must not come to lie there.
            null = posix.open("/dev/null", posix.O_RDWR | posix.O_CLOEXEC)
            for fd in {CONTROL, REPORT, NEST}:
                dup2(null, fd, False)
            close(null)
        self.near.close()
        isolate(self.found)
        if BORN:
            BORN.clear()
            renew_streams()
        self.isolated = True

    # ----

    def fork(self):
        """Forks: 0 in the copy, which has no descriptor of ours any more, and else its pid, once it rests."""
        self.isolated, self.mask = False, None
        try:
            self.near, self.far = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        except OSError as error:
            raise CopyRefused("the system does not let this process be copied: %s" % safe_str(error)) from None
        self.near.settimeout(None)
        self.far.settimeout(None)
        filters, entry = hush()
        S.copying = self
        try:
            pid = fork()
            if pid == 0:
                self.leave_fork(filters, entry)
                return 0
            return self.wait_until_it_rests(pid, filters, entry)
        except OSError as error:
            self.give_up(filters, entry)
            raise CopyRefused("the system does not let this process be copied: %s" % safe_str(error)) from None
        except BaseException:
            self.give_up(filters, entry)
            raise

    def leave_fork(self, filters, entry):
        S.copying = None
        for place, one in enumerate(filters):
            if one is entry:
                del filters[place]
                break

    def wait_until_it_rests(self, pid, filters, entry):
        """Critical: a copy that nobody knows of would be left."""
        self.leave_fork(filters, entry)
        self.far.close()
        try:
            self.near.settimeout(SHORT_PATIENCE if self.automatic else PATIENCE)
            said = self.near.recv(64)
            self.near.settimeout(None)
        except OSError:
            said = b""
        if not said:
            kill(pid, 9)
            attempt_wait(waitpid, pid, 0)
            self.near.close()
            why = "the copy did not come to rest: code that is called at each fork blocks in it or ends it"
            not_at_rest(why)
            raise CopyRefused(why)
        self.ms = round((monotonic() - self.began) * 1000, 2)
        note_cost((process_time() - self.worked) * 1000)
        FROZEN[pid] = self.number
        return pid

    def give_up(self, filters, entry):
        """Critical. After an interrupt, whether it came before the fork or after it: the copy ends when it finds itself alone."""
        if S.copying is None:
            return
        self.leave_fork(filters, entry)
        self.far.close()
        try:
            self.near.settimeout(PATIENCE)
            said = self.near.recv(64)
        except OSError:
            said = b""
        self.near.close()
        if said:
            attempt_wait(waitpid, int(said.split()[1]), 0)

    def hand_over(self, pid, taken):
        """Critical. Gives the host the one end by which this copy can be woken."""
        nest = _socket.socket(fileno=NEST)
        try:
            nest.settimeout(None)
            nest.sendmsg([dump(self.told(pid)).encode("utf-8", "backslashreplace")],
                         [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, self.near.fileno().to_bytes(4, sys.byteorder))])
            taken.append(self.told(pid))
        finally:
            nest.detach()
            self.near.close()

    def told(self, pid):
        lost = self.lost if len(self.lost) <= LOST_TOLD else [*self.lost[:LOST_TOLD], "%d more" % (len(self.lost) - LOST_TOLD)]
        return {"copy": self.number, "pid": pid, "ms": self.ms, "threads": len(self.threads), "lost": [cut(text, 200) for text in lost]}


CRITICAL.update([_call.__code__ for _call in (
    Copying.before_fork, Copying.after_fork, Copying.in_copy, Copying.wait_until_it_rests, Copying.give_up, Copying.hand_over)])


def take_copy(automatic, taken):
    """Puts into `taken` what is told of the copy, once the host has it."""
    flush_all()
    copying = Copying(automatic)
    watch_sigchld()
    number = copying.number = Numbers.next
    pid = copying.fork()
    if pid == 0:
        wait_for_host(copying)
        raise Restored
    try:
        Numbers.next = number + 1
        copying.hand_over(pid, taken)
    finally:
        copying.near.close()  # a copy that an interrupt kept from the host ends with this


def hush():
    """Keeps Python's warning about a fork beside threads, and those of libraries, from the user: the copy is no child as they
    mean it. Gives what undoes it."""
    filters = getattr(modules.get("warnings", _warnings), "filters", None)
    entry = ("ignore", None, Warning, None, 0)
    if type(filters) is not list:
        filters = []
    filters.insert(0, entry)
    return filters, entry


def renew_streams():
    """Gives our streams new buffers: a thread that is no more in a copy may have been in the middle of a write or a read, and
    holds the old ones' locks. The streams stay the objects that the user may have kept."""
    for stream in (IN, OUT, ERR):
        try:
            old = stream.buffer
            if stream is IN:
                new = _io.BufferedReader(RawStdin())
            else:
                raw = _io.FileIO(1 if stream is OUT else 2, "wb", closefd=False)
                raw.name = old.raw.name
                new = _io.BufferedWriter(raw)
            LEAKED.append(old)
            import_stdlib("ctypes").pythonapi.Py_IncRef(import_stdlib("ctypes").py_object(old))  # else Python would flush the buffer at its end
            TextIOWrapper.__init__(stream, new, stream.encoding, stream.errors, "\n", stream.line_buffering, stream.write_through)
        except Exception:  # the stream is closed and will be made anew
            pass


# ---- files that are appended to ----------------------------------------------------------------

def flush_appended(found):
    """What a file object has not written yet is written by the session and by a woken copy. That is the same bytes at the same
    place, except in a file that is appended to: so those are flushed. What is lost where one is not found, in words."""
    wanted = {one.fd for one in found if one.fate == Fate.REOPENED and one.flags & posix.O_APPEND and one.flags & posix.O_ACCMODE != posix.O_RDONLY}
    if not wanted:
        return []
    handlers = [handler() for handler in getattr(modules.get("logging"), "_handlerList", ())]
    flush_those(wanted, [*SPACE.values(), *[getattr(handler, "stream", None) for handler in handlers]])
    if wanted and resident() < SMALL:
        flush_those(wanted, _gc.get_objects())
        wanted.clear()  # a file that is not found by now has no buffer
    return ["what %s has not flushed, which would be written twice" % link(fd).rpartition("/")[2] for fd in sorted(wanted)]


def flush_those(wanted, values):
    for value in values:
        if issubclass(type(value), (TextIOWrapper, _io.BufferedWriter, _io.BufferedRandom)):
            try:
                fd = value.fileno()
                if fd in wanted:
                    value.flush()
                    if isinstance(value, TextIOWrapper):
                        wanted.discard(fd)
            except (OSError, ValueError):
                pass


def resident():
    return int((contents("/proc/self/statm") or "0 0").split()[1]) * 4096


# ---- a copy that ends --------------------------------------------------------------------------

class ChildHandler:
    """Stands for the user's SIGCHLD handler, which is not to hear of a copy that ended."""
    __slots__ = ("user",)

    def __init__(self, user):
        self.user = user
        Reaping.known = Reaping.count

    def __call__(self, signum, frame):
        # Python calls a handler within the call for the signal before, even at its very beginning: that call sees to both then.
        if frame is not None and frame.f_code is ChildHandler.__call__.__code__ and "known" not in frame.f_locals:
            return
        known = Reaping.known
        Reaping.heard = self.user, signum, frame
        reap(known)


def watch_sigchld():
    """From the first copy on: a handler for SIGCHLD that the user has, or sets later, is called through ours."""
    if _signal.signal is not signal:
        return

    def set_signal(number, handler, /):
        is_child = number == _signal.SIGCHLD and callable(handler)
        return users_own(signal(number, ChildHandler(handler) if is_child else handler))

    def get_signal(number, /):
        return users_own(getsignal(number))

    _signal.signal, _signal.getsignal = StandIn(set_signal, signal), StandIn(get_signal, getsignal)
    handler = getsignal(_signal.SIGCHLD)
    if callable(handler):
        signal(_signal.SIGCHLD, ChildHandler(handler))


def users_own(handler):
    return handler.user if type(handler) is ChildHandler else handler

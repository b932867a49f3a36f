# Waking: what a copy does while it rests, and how it becomes the session again.

class Kept:
    """What a fork changes in a copy, as it was before."""

    def __init__(self):
        self.random = attempt(modules["random"].getstate) if "random" in modules else None
        policy = getattr(modules.get("asyncio.events"), "_event_loop_policy", None)
        self.local = getattr(policy, "_local", None)
        self.wakeup = -1
        if policy is not None:
            self.wakeup = _signal.set_wakeup_fd(-1)
            if self.wakeup >= 0:
                _signal.set_wakeup_fd(self.wakeup)

    def put_back(self):
        if self.random is not None:
            attempt(modules["random"].setstate, self.random)
        policy = getattr(modules.get("asyncio.events"), "_event_loop_policy", None)
        if policy is not None and self.local is not None:
            policy._local = self.local
        if self.wakeup >= 0:
            attempt(_signal.set_wakeup_fd, self.wakeup)


def wait_for_host(copying):
    """In a copy: rests until the host wakes it, or drops it. A copy that is woken leaves one behind that rests in its place."""
    mask = copying.mask or set()  # the next fork makes a new mask
    try:
        while True:
            if not copying.isolated:
                _exit(71)
            flush_own()  # flushes what hooks wrote
            copying.far.send(b"frozen %d" % getpid())
            words, given = receive_wake(copying.far)
            asked = copying.far
            pid, why = copy_again(copying)
            asked.close()
            if pid != 0:
                break
            for fd in given:
                close(fd)
        go_live(copying, words, given, pid, why, mask)
    except BaseException:
        _exit(71)


def receive_wake(sock):
    while True:
        data, ancillary, _, _ = sock.recvmsg(256, _socket.CMSG_SPACE(6 * 4), _socket.MSG_CMSG_CLOEXEC)
        if not data:
            _exit(0)
        given = [int.from_bytes(part[at:at + 4], sys.byteorder) for _, _, part in ancillary for at in range(0, len(part) - 3, 4)]
        words = data.decode("ascii", "replace").split()
        if words[:1] == ["wake"] and len(given) == 6:
            return words, given
        for fd in given:
            close(fd)


def copy_again(copying):
    try:
        return copying.fork(), None
    except CopyRefused as error:
        return -1, str(error)


def go_live(copying, words, given, pid, why, mask):
    global PID
    dup2(given[3], CONTROL, False)
    if REPORT != CONTROL:
        dup2(given[4], REPORT, False)
    dup2(given[5], NEST, False)
    revive(copying.found, given[:3])
    for fd in given:
        close(fd)
    PID = getpid()
    S.life, S.phase, S.since, S.children, S.pending = Life.SERVING, Phase.IDLE, Since.RAN, False, False
    S.stdin_used, S.task = False, None
    forget_interrupt()
    make_knowing()
    GONE.clear()
    GONE.update(copying.children)
    if len(words) > 1:
        Numbers.next = int(words[-1])
    copying.kept.put_back()
    for mend in (mend_pools, mend_waits, mend_processes):
        attempt(mend)
    while _signal.sigtimedwait(ALL_SIGNALS, 0) is not None:
        pass  # the signal came for the whole group while the copy rested
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    if pid > 0:
        copying.hand_over(pid, [])
    if pid < 0:
        copying.lost = [*copying.lost, "the copy itself, which cannot be gone back to again (%s)" % why]
    copying.lost = [*copying.lost, *lost_pid(copying.copied_from)]
    transmit_own(dump({"ev": "restored", "pid": PID, "variables": len(KNOWN), "lost": copying.told(pid)["lost"] or None}) + "\n")


def lost_pid(old):
    names = [name for name, value in list(SPACE.items()) if type(name) is str and type(value) is int and value == old]
    return ["the process id, which was %d and is %d (`%s` has the old one)" % (old, PID, names[0])] if names else []


# ---- libraries ---------------------------------------------------------------------------------

def mend_pools():
    """Pools of threads start new ones for what comes, and for what had not begun."""
    thread_module = modules.get("concurrent.futures.thread")
    for executor, threads in pools().items():
        waiting, queue = [], executor._work_queue
        while not queue.empty():
            waiting.append(queue.get_nowait())
        executor._work_queue = type(queue)()
        for item in waiting:
            executor._work_queue.put(item)
        threading = modules["threading"]
        executor._threads, executor._idle_semaphore, executor._shutdown_lock = set(), threading.Semaphore(0), threading.Lock()
        for thread in threads:
            thread_module._threads_queues.pop(thread, None)
        if waiting:
            executor._adjust_thread_count()


def mend_waits():
    """asyncio waits for a child in a thread of its own, up to Python 3.11: what waits for that thread is told how its child ended."""
    watcher = getattr(getattr(modules.get("asyncio.events"), "_event_loop_policy", None), "_watcher", None)
    for pid, thread in list(getattr(watcher, "_threads", {}).items()):
        loop, _, call, args = thread._args
        if not loop.is_closed():
            loop.call_soon(call, pid, -9, *args)
        del watcher._threads[pid]


def mend_processes():
    """What has a process behind it forgets that: those were ended, and their numbers may be anybody's."""
    for name, module in list(modules.items()):
        if name.endswith("resource_tracker"):  # loky has its own
            tracker = getattr(module, "_resource_tracker", None)
            if tracker is not None:
                tracker._fd = tracker._pid = None
    for process in list(getattr(modules.get("multiprocessing.process"), "_children", ())):
        modules["multiprocessing.process"]._children.discard(process)
    util = modules.get("multiprocessing.util")
    if util is not None:
        util._finalizer_registry.clear()
        util._run_after_forkers()
    for name in ("joblib.externals.loky.reusable_executor", "loky.reusable_executor"):
        if name in modules:
            modules[name]._executor = None
    for thread in list(getattr(modules.get("concurrent.futures.process"), "_threads_wakeups", ())):
        executor = getattr(thread, "executor_reference", lambda: None)()
        if executor is not None:
            executor._broken = "its processes were ended"
    for value in list(SPACE.values()):
        if type(value).__module__ == "multiprocessing.pool" and hasattr(value, "_state"):
            value._state = "CLOSE"  # work that is given to the pool is refused, and does not wait for ever

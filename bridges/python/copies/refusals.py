# Refusals: where a copy would hang or corrupt something, none is taken, and the reason is said. A fork takes along one
# thread only, so what matters most is whose threads there are.

class CopyRefused(Trouble):
    """Why no copy was taken."""


# Threads that a library never starts anew in a copy, so that code which uses them waits there for ever.
POOLS = (("polars-", "polars has started its threads"), ("tokio-", "a library has started its threads (tokio)"),
         ("async-executor", "a library has started its threads (async-executor)"), ("rayon", "a library has started its threads (rayon)"),
         ("grpc_", "grpc has started its threads"))
# Threads that a copy can do without: jemalloc starts its own again, and this thread of polars only removes old files.
HARMLESS_THREADS = ("jemalloc_bg_thd", "polars-ooc-clea")
GPUS = ("/dev/nvidia", "/dev/kfd", "/dev/dxg")


class Threads:
    """The threads of this process beside the main one."""

    def __init__(self):
        own = contents("/proc/self/comm") or ""
        names = [contents("/proc/self/task/%s/comm" % task) or "" for task in posix.listdir("/proc/self/task") if int(task) != PID]
        self.count = len(names)  # of all threads, those of Python and those of libraries
        self.named = {name.rstrip("\n") for name in names if name != own and not name.startswith(HARMLESS_THREADS)}
        self.python = python_threads()


def python_threads():
    """Names of Python's threads that would be missing. A pool's workers that have nothing to do are not: the pool of a woken copy
    starts new ones (mend_pools). tqdm starts its monitor again by itself."""
    if not BORN:
        return []
    alive = dict(getattr(modules.get("threading"), "_active", ()))
    idle = idle_workers()
    known = {ident for ident, thread in alive.items() if thread in idle or type(thread).__name__ == "TMonitor"}
    names = sorted([safe_str(thread.name) for ident, thread in alive.items() if ident not in known and ident in THREADS])
    return names + ["without a name"] * (len(BORN) - len(known & set(THREADS)) - len(names))


def pools():
    """Each pool of concurrent.futures that has threads, with them."""
    found = {}
    for thread in list(getattr(modules.get("concurrent.futures.thread"), "_threads_queues", ())):
        executor = thread._args[0]()
        if executor is not None:
            found.setdefault(executor, []).append(thread)
    return found


def idle_workers():
    return {thread for executor, threads in (attempt(pools) or {}).items()
            if executor._work_queue.empty() and executor._idle_semaphore._value >= len(threads) for thread in threads}


def refuse_libraries():
    """Libraries that forbid forks, or whose hooks block at one."""
    for name, forbids in FORBIDDING.items():
        if name in modules:
            reason = attempt(forbids, modules[name])
            if reason:
                raise CopyRefused(reason)


def manager_runs(module):
    for end in list(module._finalizer_registry.values()):
        if getattr(end._callback, "__name__", "") == "_finalize_manager" and end._pid == PID:
            return "a multiprocessing.Manager runs (%s), which a copy could not reach" % safe_str(end._args[0].name)
    return None


FORBIDDING = {
    "grpc._cython.cygrpc": lambda module: "grpc is loaded, which blocks at forks and does not work after one",
    "tensorflow": lambda module: "tensorflow is loaded, whose threads do not survive a fork",
    "ray": lambda module: module.is_initialized() and "ray runs, which does not work after a fork",
    "pyspark": lambda module: module.SparkContext._active_spark_context is not None and "pyspark runs, whose connection a copy cannot share",
    "jax._src.xla_bridge": lambda module: bool(module._backends) and "jax has started its threads, which do not survive a fork",
    "mpi4py.MPI": lambda module: module.Is_initialized() and "MPI runs, which does not work after a fork",
    "gevent._hub_local": lambda module: module.get_hub_if_exists() is not None and "gevent runs, whose loop a copy cannot share",
    "eventlet": lambda module: "eventlet is loaded, whose loop a copy cannot share",
    "multiprocessing.util": manager_runs,
}


def refuse_threads(threads, automatic):
    for prefix, reason in POOLS:
        if [name for name in threads.named if name.startswith(prefix)]:
            raise CopyRefused(reason + ": what uses them would wait for ever in a copy")
    if automatic:
        if threads.python:
            raise CopyRefused("%s: they would be missing in a copy" % named_threads(threads.python))
        for hook in FORK_HOOKS:
            if is_users(hook):
                raise CopyRefused("code of yours is called at each fork (os.register_at_fork)")


def named_threads(names):
    shown = ", ".join(names[:5]) + (" and %d more" % (len(names) - 5) if len(names) > 5 else "")
    return "%d thread%s of yours run%s (%s)" % (len(names), "s"[:len(names) > 1], "s"[:len(names) == 1], shown)


def is_users(hook):
    """Whether what is called at a fork is neither the standard library's nor an installed package's."""
    hook = getattr(hook, "func", getattr(hook, "__func__", hook))
    name = getattr(getattr(hook, "__code__", None), "co_filename", None)
    return name is not None and not name.startswith((_home, "<frozen")) and "-packages/" not in name


# ---- OpenMP ------------------------------------------------------------------------------------

def rest_openmp(maps):
    """GNU's OpenMP has no handler for forks, and a copy would wait for the threads that it does not have. Its pools are ended;
    they are started again when they are next needed, here as in the copy. Others (LLVM, Intel) do that by themselves."""
    if "/libgomp" not in maps:
        return
    paths = {line.split(None, 5)[5] for line in maps.splitlines() if "/libgomp" in line}
    for path in sorted(paths):
        try:
            rest = import_stdlib("ctypes").CDLL(path).omp_pause_resource_all
        except (OSError, AttributeError):
            raise CopyRefused("the threads of %s cannot be ended for the moment of a fork, and a copy would wait for them" % path.rpartition("/")[2]) from None
        rest(2)  # omp_pause_hard


# ---- memory that is shared ---------------------------------------------------------------------

def shared_memory(maps):
    """What a copy has in common with the session as it goes on, in words."""
    found = {}
    for line in maps.splitlines():
        if "-s " not in line and "xs " not in line:  # nearly all lines, of which there are thousands
            continue
        parts = line.split(None, 5)
        if len(parts) > 5 and parts[1][1] == "w" and parts[1][3] == "s":
            path = parts[5]
            if path.startswith("/dev/shm/sem."):
                found["locks and queues of multiprocessing"] = None
            elif path.startswith(("/dev/shm/", "/memfd:", "/dev/zero", "/SYSV")) or "/pym-" in path:
                found["what is in shared memory"] = None
            elif path.startswith("/") and not path.startswith("/dev/"):
                found["the contents of %s" % path.rpartition("/")[2].replace(" (deleted)", "")] = None
    return list(found)

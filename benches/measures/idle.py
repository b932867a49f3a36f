"""What a session costs beside its interpreter while nothing runs and no other stead is there."""

import procfs
import stats
from lines import Line
from targets import AtMost

from .languages import PYTHON

SESSION = "idle"


def memory(run):
    """Private memory of host and guard of sessions that have answered, each round a new one."""
    place = run.place
    # Pages of the program that another stead has mapped too would not count as private.
    place.stop_all()
    hosts, guards, used = [], [], []
    for _ in range(run.rounds(3, 10)):
        place.eval(SESSION, "python", PYTHON.code)
        host = place.command("status", "-n", SESSION)["host_pid"]
        hosts.append(procfs.private(host))
        guards.append(procfs.private(procfs.parent(host)))
        server = place.mcp()
        for _ in range(run.pick(5, 500, 5000)):
            server.eval(PYTHON.code, SESSION)
        place.drop(server)
        used.append(procfs.private(host) + procfs.private(procfs.parent(host)))
        place.stop(SESSION)
    both = [host + guard for host, guard in zip(hosts, guards)]
    yield Line("idle-host", "idle host, private memory", "bytes", stats.median(hosts), target=AtMost(4_000_000, "4 MB"))
    yield Line("idle-guard", "idle guard, private memory", "bytes", stats.median(guards))
    yield Line("idle-both", "host and guard, private memory", "bytes", stats.median(both), target=AtMost(4_000_000, "4 MB"))
    evals = run.pick(5, 500, 5000)
    yield Line("idle-used", f"host and guard after {evals:,} evals", "bytes", stats.median(used), target=AtMost(4_000_000, "4 MB"))

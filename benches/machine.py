"""What the numbers were taken on, and whether it was quiet."""

import os
import platform
import re
import subprocess

# More than this of all processors busy, and medians no longer say much.
QUIET = 0.25


def describe(place):
    """Processor, system, load and versions."""
    return {
        "cpu": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory(),
        "kernel": platform.release(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "node": version([place.env, "node", "--version"]),
        "bash": version([place.env, "bash", "-c", "echo $BASH_VERSION"]),
        "stead": version([place.env, place.stead, "--version"]),
        "commit": version([None, "git", "-C", os.path.dirname(os.path.abspath(__file__)), "describe", "--always", "--dirty"]),
    }


def noise(machine):
    """A warning if other work runs here; None if the machine is quiet."""
    if machine["load"][0] <= QUIET * machine["cores"]:
        return None
    return f"load {machine['load'][0]} on {machine['cores']} cores: the machine is not quiet, do not trust small differences"


def heading(machine):
    """The machine in two lines."""
    load = " ".join(str(load) for load in machine["load"])
    programs = [machine["python"], *(f"{name} {machine[name]}" for name in ("node", "bash") if machine[name])]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB; Linux {machine['kernel']}; load {load}\n"
        f"{machine['stead']} ({machine['commit']}); {', '.join(programs)}"
    )


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            found = re.search(r"^(?:model name|Hardware|Model)\s*:\s*(.+)$", file.read(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.machine()


def memory():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def version(command):
    """The first line that a program prints of itself; empty if there is no such program."""
    env, *argv = command
    try:
        done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30)
    except OSError:
        return ""
    return (done.stdout.decode(errors="replace").splitlines() or [""])[0].strip()

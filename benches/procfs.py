"""Memory of processes, as the kernel tells it."""

import os
import re


def private(pid):
    """Bytes that would be free if the process ended: Private_Clean and Private_Dirty."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        found = re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+) kB", file.read(), re.MULTILINE)
    return sum(int(kilobytes) * 1024 for kilobytes in found)


def resident(pid):
    """Bytes in memory now, and the most there were since the last `forget_peak`."""
    with open(f"/proc/{pid}/status") as file:
        status = file.read()
    now, peak = (re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE) for name in ("VmRSS", "VmHWM"))
    return int(now.group(1)) * 1024, int(peak.group(1)) * 1024


def forget_peak(pid):
    """Begins to look for the peak anew."""
    with open(f"/proc/{pid}/clear_refs", "w") as file:
        file.write("5")


def parent(pid):
    """The process that a process belongs to."""
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def size(directory):
    """Bytes of all files below a directory."""
    return sum(os.lstat(os.path.join(path, name)).st_size for path, _, names in os.walk(directory) for name in names)


class Watch:
    """The growth of some processes, by name, from here on."""

    def __init__(self, pids):
        self.pids = pids
        self.before = {}
        for name, pid in pids.items():
            forget_peak(pid)
            self.before[name] = resident(pid)[0]

    def grown(self):
        """How far each went beyond where it was at its highest."""
        return {name: max(resident(pid)[1] - self.before[name], 0) for name, pid in self.pids.items()}

    def peaks(self):
        """The most that each had in memory."""
        return {name: resident(pid)[1] for name, pid in self.pids.items()}

# Brakes: a copy that nobody asked for is not taken where it would cost the session more than it is worth. Whatever makes
# copies dear may pass, so after a brake the next copies are left out, twice as many each time, and then one is tried again.

SLOW = 30.0             # milliseconds of the processor that a copy may take
MOST_LEFT_OUT = 64
MANY_FAULTS = 1 << 14   # if more pages were touched anew since the last copy, those that were rewritten are counted
DEAR = 200 << 20        # bytes that were rewritten since the last copy, each page of which had to be copied first


class Brake:
    times, left_out, why = 0, 0, None           # how often in a row the brake was pulled, how many copies it still leaves out, and why
    faults, resident = 0, 0                     # as they were at the last copy
    stuck = False                               # a copy did not come to rest


def brake():
    """Before a copy that nobody asked for. Gives how many bytes were rewritten since the last one."""
    if Brake.left_out > 0:
        Brake.left_out -= 1
        raise CopyRefused(Brake.why)
    size, free = resident(), available()
    if free < 2 * size:
        raise CopyRefused("only %s of memory are free, and the session has %s" % (in_bytes(free), in_bytes(size)))
    faults = page_faults()
    many = bool(FROZEN) and faults - Brake.faults > MANY_FAULTS
    # Memory that this process shares with no other was rewritten, or is new.
    rewritten = max(0, private() - max(0, size - Brake.resident)) if many else 0
    Brake.faults, Brake.resident = faults, size
    if rewritten > DEAR:
        pull("evals rewrite much of what the session has (%s since the last copy), and copies make that slow" % in_bytes(rewritten))
        error = CopyRefused(Brake.why)
        error.answer = {"drop": True}
        raise error
    return rewritten


def pull(why):
    Brake.times = Brake.times + 1
    Brake.left_out, Brake.why = min(1 << Brake.times, MOST_LEFT_OUT), why


def note_cost(ms):
    """After a copy, which took the processor so long."""
    if ms > SLOW:
        pull("the last copy took %d ms, with %s of memory" % (ms, in_bytes(resident())))
    else:
        Brake.times = 0
    Brake.faults, Brake.resident = page_faults(), resident()


def not_at_rest(why):
    """A copy did not come to rest. Once that may be a pause or a machine that has much to do; the next time there is none after it."""
    if Brake.stuck:
        Brake.left_out, Brake.why = 1 << 60, why
    else:
        pull("the last copy did not come to rest in time")
    Brake.stuck = True


def available():
    for line in (contents("/proc/meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 1 << 62


def page_faults():
    return int((contents("/proc/self/stat") or "").rpartition(")")[2].split()[7])


def private():
    lines = (contents("/proc/self/smaps_rollup") or "").splitlines()
    return sum([int(line.split()[1]) << 10 for line in lines if line.startswith("Private_Dirty:")])


def in_bytes(count):
    return "%.1f GB" % (count / 1e9) if count >= 1e9 else "%d MB" % (count // 1e6)

"""Which test belongs to which tier. Everything is in the smallest tier, unless a rule here says otherwise.

quick:    for daily work, a few minutes.
default:  before a change lands: the core and one real peer of each kind. CI runs this.
all:      every interpreter, every client, long storms.
"""

TIERS = ["quick", "default", "all"]


class Rule:
    """What holds for tests whose label (`e2e input::e8_…`, `peers test_lives`) begins with `prefix`."""

    def __init__(self, prefix, tier="quick", timeout=180, per=None):
        self.prefix = prefix
        self.tier = tier  # The smallest tier that has them.
        self.timeout = timeout  # Seconds after which one of them hangs; ten times that in `all`.
        self.per = per  # "pythons" or "nodes": run once for each of the tier's.


# Kills and failures at many moments, limits that are waited for, floods: seconds each, together more than all the others.
LONG = [
    "any_bytes ",
    "bridge bash test_names",
    "bridge bash test_saving",
    "bridge bash test_taken",
    "e2e disk::",
    "e2e escalate::",
    "e2e exit::py6_whatever",
    "e2e files::",
    "e2e garbage::",
    "e2e homes::",
    "e2e input::e6_",
    "e2e install::u5_doctor_starts",
    "e2e interrupt::e10_paused",
    "e2e interrupt::e3_",
    "e2e interrupt::py12_",
    "e2e jupyter::k1_",
    "e2e jupyter::k4_",
    "e2e jupyter_trouble::",
    "e2e kernel_saving::",
    "e2e kill::",
    "e2e leftovers::",
    "e2e nrepl::k3_a",
    "e2e nrepl::k3_s6",
    "e2e nrepl::k4_",
    "e2e race::",
    "e2e refused::",
    "e2e silent::",
    "e2e stdlib::st4_a_",
    "e2e undo::e",
    "e2e undo::st3_a_checkpoint_at_any",
    "e2e undo::st5_a_hard",
    "e2e undo::st5_code_that_comes",
    "e2e waits::e17_a_host_that_stops",
    "harness ",
    "mcp bounds::",
    "mcp control::e6_a_loop",
    "mcp ending::",
    "mcp flood::",
    "mcp formats::m3_hard",
    "mcp silent::",
    "near ",
]
# The same among the modules of the Python bridge, for each Python.
LONG_PYTHON = ["test_copies", "test_copy_threads", "test_rich", "test_saving_classes", "test_saving_trouble", "test_streams"]

# The longest prefix that fits counts.
RULES = [
    Rule(""),
    *(Rule(prefix, tier="default", timeout=300) for prefix in LONG),
    Rule("stress ", tier="default", timeout=400),
    Rule("stress interrupts::", tier="default", timeout=400, per="pythons"),
    Rule("stress node::", tier="default", timeout=400, per="nodes"),
    Rule("e2e findings::pr132_case_45", per="pythons"),
    # Needs a binary of an older version, which is built for it.
    Rule("e2e skew::", tier="all"),
    # Need Debian's Clojure and Leiningen.
    Rule("e2e clojure::", tier="all", timeout=300),
    Rule("stress nrepl::clojure", tier="all", timeout=400),
    # They start real Jupyter servers.
    Rule("e2e gateway", tier="default", timeout=300),
    # Need the two gateways, which are large to install.
    Rule("e2e gateway::all_", tier="all", timeout=300),
    Rule("e2e gateway_cuts::all_", tier="all", timeout=300),
    Rule("e2e gateway_left::all_", tier="all", timeout=300),
    Rule("waiting ", tier="default", timeout=300),
    Rule("conformance ", tier="default", timeout=300),
    # They need environments of their own, and kernels take longer than bridges.
    Rule("conformance jupyter_", tier="all", timeout=300),
    Rule("conformance clojure_", tier="all", timeout=600),
    Rule("conformance gateway", tier="all", timeout=300),
    Rule("bridge ", timeout=300),
    Rule("bridge python-libraries", tier="default", timeout=300),
    # Needs a venv with libraries for each Python.
    Rule("bridge python-saved", tier="all", timeout=300),
    Rule("check docs", tier="default", timeout=600),
    Rule("bench ", tier="default", timeout=300),
    Rule("peers ", tier="default", timeout=600),
    # Needs a venv with some forty libraries.
    Rule("peers test_values_all", tier="all", timeout=600),
    # Need clients that are large to download.
    Rule("peers test_clients_all", tier="all", timeout=600),
    # The whole list in a session that has gone back: one such session is enough before a change lands.
    Rule("conformance bash_after_", tier="all", timeout=300),
    Rule("conformance python_after_undo", tier="all", timeout=300),
    # Peers, end-to-end tests and the conformance list with the binary that is shipped.
    Rule("shipped ", tier="all", timeout=600),
    Rule("shipped mcp ", tier="default"),
    # Floods, kills and limits that are waited for: the test build has shown them.
    Rule("shipped mcp ending::", tier="all", timeout=600),
    Rule("shipped mcp flood::", tier="all", timeout=600),
    Rule("shipped mcp silent::", tier="all", timeout=600),
    Rule("shipped conformance ", tier="default", timeout=300),
    # The binary is one and the same before and after a rollback; the test build has shown that the state is.
    Rule("shipped conformance bash_after_", tier="all", timeout=300),
    Rule("shipped conformance python_after_", tier="all", timeout=300),
    # What ./package makes, installed as a stranger would.
    Rule("packages ", tier="default", timeout=600),
]

# How far storms go. A test has the size of `default` built in; only what differs is here.
SIZES = {
    "quick": {
        "PROPTEST_CASES": "64",
        "STEAD_INTERRUPTS": "100",
        "STEAD_BASH_INTERRUPTS": "50",
        "STEAD_DEATHS": "4",
        "STEAD_KILLER_SECONDS": "4",
        "STEAD_ROLLBACKS": "20",
    },
    "default": {},
    "all": {
        "PROPTEST_CASES": "5000",
        "STEAD_BASH_ORDERS": "1000",
        "STEAD_BASH_INTERRUPTS": "2000",
        "STEAD_BIG": "1",
        "STEAD_CUTS": "100",
        "STEAD_DEATHS": "200",
        "STEAD_INTERRUPTS": "10000",
        "STEAD_KILLER_SECONDS": "60",
        "STEAD_LONG_LIFE": "100000",
        "STEAD_NODE_INTERRUPTS": "1000",
        "STEAD_NREPL_INTERRUPTS": "500",
        "STEAD_ORDERS": "300",
        "STEAD_REFUSE_ALL": "1",
        "STEAD_ROLLBACKS": "1000",
        "STEAD_SAVES": "300",
        "STEAD_SILENT_ROUNDS": "100",
        "STEAD_STRESS_EVALS": "30000",
        "STEAD_WAKES": "200",
    },
}


def rule(label):
    found = max((one for one in RULES if label.startswith(one.prefix)), key=lambda one: len(one.prefix))
    if found.tier == "quick" and label.startswith("bridge python-") and label.split()[-1] in LONG_PYTHON:
        return Rule(label, tier="default", timeout=found.timeout)
    return found


def has(tier, label):
    return TIERS.index(rule(label).tier) <= TIERS.index(tier)


def timeout(tier, label):
    return rule(label).timeout * (10 if tier == "all" else 1)

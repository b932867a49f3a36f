"""Cargo's side: builds the tests, learns from its messages where they are, and makes jobs of them."""

import json
import os
import re
import subprocess

import tiers
from jobs import Job, Result

# The HTTP server for tests is built apart: its features of shared libraries must not get into `stead`.
WORKSPACE = ["--workspace", "--exclude", "stead-test-http"]
# Tests of a crate alone are short: so many share a process.
BATCH = 20


class Binary:
    """A test binary: its name, where its tests are to run, and what it has."""

    def __init__(self, message):
        self.path = message["executable"]
        self.name = message["target"]["name"]
        self.package = os.path.dirname(message["manifest_path"])
        every = self.listed()
        self.ignored = self.listed("--ignored")
        self.tests = [name for name in every if name not in self.ignored]

    def listed(self, *options):
        argv = [self.path, "--list", "--format", "terse", *options]
        said = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, cwd=self.package).stdout
        return re.findall(r"^(.+): test$", said, re.M)

    def job(self, label, tests, options=(), env=None, timeout=180):
        argv = [self.path, "--exact", "--test-threads=1", *options, *tests]
        env = {"CARGO_MANIFEST_DIR": self.package, **(env or {})}
        return Job(label, argv, read, tests, cwd=self.package, env=env, timeout=timeout)


def build(*options):
    """Runs cargo; gives the executables that it names, by kind and name."""
    argv = ["cargo", *options, "--message-format=json-render-diagnostics"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    with process.stdout:
        messages = [json.loads(line) for line in process.stdout if line.startswith("{")]
    if process.wait() != 0:
        raise SystemExit("test: `%s` failed" % " ".join(argv))
    return [message for message in messages if message.get("executable")]


def target_directory():
    argv = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    told = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(told)["target_directory"]


def program(messages, name):
    """Where the program of that name was put."""
    for message in messages:
        if message["target"]["name"] == name and not message["profile"]["test"]:
            return message["executable"]
    raise SystemExit("test: cargo built no `%s`" % name)


def binaries(messages):
    return [Binary(message) for message in messages if message["profile"]["test"]]


def jobs(binary, tier, pythons, nodes, wanted):
    """The jobs of a binary. `pythons` and `nodes` are the tier's, oldest first."""
    usual = {"STEAD_TEST_PYTHONS": pythons[-1].path, "STEAD_TEST_NODES": nodes[0].path}
    alone = os.path.samefile(binary.package, os.getcwd())
    batch = []
    for name in binary.tests:
        label = "%s %s" % (binary.name, name)
        if not tiers.has(tier, label) or not wanted(label) or label in REPLACED:
            continue
        if not alone:
            batch.append(name)
            continue
        per = tiers.rule(label).per
        if per:
            variable = {"pythons": "STEAD_TEST_PYTHONS", "nodes": "STEAD_TEST_NODES"}[per]
            for one in {"pythons": pythons, "nodes": nodes}[per]:
                env = {**usual, variable: one.path}
                yield binary.job("%s (%s)" % (label, one.label), [name], env=env, timeout=tiers.timeout(tier, label))
        else:
            yield binary.job(label, [name], env=usual, timeout=tiers.timeout(tier, label))
    for n in range(0, len(batch), BATCH):
        tests = batch[n : n + BATCH]
        label = "%s %s" % (binary.name, tests[0] if len(tests) == 1 else "%d to %d" % (n + 1, n + len(tests)))
        yield binary.job(label, tests, env=usual, timeout=tiers.timeout(tier, label))
    if binary.name == "conformance":
        yield from conformance(binary, tier, pythons, nodes, wanted)


# `python` and `node` of the conformance list are for plain `cargo test`; here each version has its own.
REPLACED = ["conformance python", "conformance node"]


# Jupyter kernels and servers, and the environments that tests/peers/install --all makes for them.
KERNELS = {
    "jupyter_ipykernel_7": ".test/venv",
    "jupyter_ipykernel_6": ".test/kernels-6",
    "jupyter_xeus_python": ".test/kernels",
    "jupyter_bash_kernel": ".test/kernels",
    # These need no Python; the environment does no harm.
    "jupyter_irkernel": ".test/kernels",
    "jupyter_deno": ".test/kernels",
    "jupyter_tslab": ".test/kernels",
    "clojure_nrepl": ".test/venv",
    "clojure_nbb": ".test/venv",
}


def conformance(binary, tier, pythons, nodes, wanted):
    """The list on each interpreter of the tier; the tests are marked `ignore`, since a machine has only some."""
    each = {"python_3_%d" % one.version[1]: ("STEAD_TEST_PYTHONS", one.path) for one in reversed(pythons)}
    each.update({"node_%d" % one.version[0]: ("STEAD_TEST_NODES", one.path) for one in nodes})
    usual = {"STEAD_TEST_PYTHONS": pythons[-1].path, "STEAD_TEST_NODES": nodes[0].path}
    for name, (variable, path) in each.items():
        label = "conformance " + name
        if not tiers.has(tier, label) or not wanted(label):
            continue
        if name not in binary.ignored:
            raise SystemExit("test: tests/conformance has no test `%s` for `%s`" % (name, path))
        env = {**usual, variable: path}
        yield binary.job(label, [name], ["--ignored"], env, tiers.timeout(tier, label))
    for name, place in KERNELS.items():
        label = "conformance " + name
        if tiers.has(tier, label) and wanted(label):
            env = {**usual, "STEAD_TEST_VENV": os.path.abspath(place + "/bin/python")}
            yield binary.job(label, [name], ["--ignored"], env, tiers.timeout(tier, label))
    label = "conformance gateway"
    if tiers.has(tier, label) and wanted(label):
        yield binary.job(label, ["gateway"], ["--ignored"], usual, tiers.timeout(tier, label))


def gateways(binary, tier, pythons, nodes, wanted):
    """Tests with servers that only `tests/peers/install --all` brings, which are marked `ignore`."""
    names = [name for name in binary.ignored if name.startswith("gateway")] if binary.name == "e2e" else []
    for name in names:
        label = "e2e " + name
        if tiers.has(tier, label) and wanted(label):
            env = {"STEAD_TEST_PYTHONS": pythons[-1].path, "STEAD_TEST_NODES": nodes[0].path}
            yield binary.job(label, [name], ["--ignored"], env, tiers.timeout(tier, label))


def skew(binary, tier, old, pythons, nodes, wanted):
    """Tests of two versions at once, which are marked `ignore` since they need an older binary: `old()` gives it."""
    names = [name for name in binary.ignored if name.startswith("skew::")] if binary.name == "e2e" else []
    for name in names:
        label = "e2e " + name
        if tiers.has(tier, label) and wanted(label):
            env = {"STEAD_TEST_PYTHONS": pythons[-1].path, "STEAD_TEST_NODES": nodes[0].path, "STEAD_OLD_BINARY": old()}
            yield binary.job(label, [name], ["--ignored"], env, tiers.timeout(tier, label))


# Tests that start the binary, so that another one can be put in its place.
WITH_BINARY = ["e2e", "mcp", "waiting", "conformance"]
# What crates/testkit says when a test needs what only test builds have.
NEEDS_HOOKS = "[needs test hooks]"


def shipped(binary, tier, stead, pythons, nodes, wanted):
    """The same tests with the binary that ./dist built. One that needs test hooks says so by itself and is left out."""
    if binary.name not in WITH_BINARY:
        return
    env = {"STEAD_TEST_PYTHONS": pythons[-1].path, "STEAD_TEST_NODES": nodes[0].path, "STEAD_BIN": stead}
    for name in binary.tests:
        label = "shipped %s %s" % (binary.name, name)
        if tiers.has(tier, label) and wanted(label):
            job = binary.job(label, [name], env=env, timeout=tiers.timeout(tier, label))
            job.read = read_shipped
            yield job


def read_shipped(job, code, output):
    if code != 0 and NEEDS_HOOKS in output:
        return Result(hooked=[job.label])
    return read(job, code, output)


def read(job, code, output):
    """What libtest said."""
    counted = re.search(r"^test result: \w+\. (\d+) passed; (\d+) failed;", output, re.M)
    if code == 0 and counted and int(counted.group(1)) == len(job.tests):
        return Result(passed=len(job.tests))
    name = re.match(r"(shipped )?\S+", job.label).group()
    failed = re.findall(r"^    (\S+)$", output.rpartition("\nfailures:\n")[2], re.M) if counted else []
    passed = int(counted.group(1)) if counted else 0
    if failed:
        return Result(passed, [("%s %s" % (name, test), "failed") for test in failed])
    how = "signal %d" % -code if code < 0 else "exit code %d" % code
    return Result(passed, [(job.label, "ended without a result: " + how)])


def doctests(label):
    """Examples in documentation; only crates that have some are not `doctest = false`."""
    argv = ["cargo", "test", *WORKSPACE, "--doc", "--quiet"]

    def total(job, code, output):
        passed = sum(map(int, re.findall(r"^test result: \w+\. (\d+) passed;", output, re.M)))
        if code == 0 and passed > 0:
            return Result(passed)
        return Result(passed, [(job.label, "exit code %d" % code)])

    return Job(label, argv, total, timeout=600)

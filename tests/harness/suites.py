"""Everything that is not cargo's: the bridges' own suites, the benchmark's, linters, and real MCP peers. Each unittest module is a job."""

import glob
import os
import re
import sys

import tiers
from jobs import Job, Result

# They need packages and are run with the Python that has them.
LIBRARIES = ["test_copy_libraries", "test_dataframes", "test_figures", "test_frames", "test_plotting", "test_pyplot", "test_rendering", "test_saving_libraries"]


def modules(folder, but=()):
    """The unittest modules of a folder; `test_bridge` only gathers the others."""
    found = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(folder, "test_*.py")))
    if not found:
        raise SystemExit("test: no tests in `%s`" % folder)
    return [name for name in found if name not in {"test_bridge", *but}]


def suite(label, folder, python, names, env, tier, wanted):
    for name in names:
        whole = "%s %s" % (label, name)
        if tiers.has(tier, whole) and wanted(whole):
            argv = [python, "-m", "unittest", "-v", name]
            yield Job(whole, argv, read_unittest, cwd=folder, env=env, timeout=tiers.timeout(tier, whole))


def bridges(tier, pythons, nodes, venv, wanted):
    newest = pythons[-1].path
    for one in pythons:
        label = "bridge python-%s" % one.label
        env = {"STEAD_TEST_PYTHONS": ":".join([other.path for other in pythons])}
        yield from suite(label, "bridges/python", one.path, modules("bridges/python", LIBRARIES), env, tier, wanted)
    yield from suite("bridge jupyter", "bridges/jupyter", newest, modules("bridges/jupyter"), {}, tier, wanted)
    yield from suite("bridge bash", "bridges/bash", newest, modules("bridges/bash"), {}, tier, wanted)
    for one in nodes:
        label = "bridge node-%s" % one.label
        env = {"STEAD_NODE": one.path}
        yield from suite(label, "bridges/node", newest, modules("bridges/node"), env, tier, wanted)
        whole = label + " test_rewrite"
        if tiers.has(tier, whole) and wanted(whole):
            argv = [one.path, "--test", "--test-reporter=tap", "test_rewrite.js"]
            yield Job(whole, argv, read_tap, cwd="bridges/node", timeout=tiers.timeout(tier, whole))
    env = {"STEAD_TEST_LIBRARIES": "1"}
    yield from suite("bridge python-libraries", "bridges/python", venv, LIBRARIES, env, tier, wanted)
    for place in sorted(glob.glob(".test/saved-*")):
        label, python = "bridge python-" + os.path.basename(place), os.path.abspath(place + "/bin/python3")
        yield from suite(label, "bridges/python", python, ["test_saving_libraries"], env, tier, wanted)


def bench(tier, python, stead, wanted):
    yield from suite("bench", "benches", python, modules("benches"), {"STEAD_BIN": stead}, tier, wanted)


def peers(label, tier, venv, env, wanted):
    """Real MCP clients against one binary; `peers` is the test build, `shipped` the one of ./dist."""
    yield from suite(label, "tests/peers", venv, modules("tests/peers"), env, tier, wanted)


def packages(tier, venv, env, wanted):
    """What ./package makes of the binary of ./dist, installed into empty places."""
    yield from suite("packages", "tests/packages", venv, modules("tests/packages"), env, tier, wanted)


def harness(tier, python, wanted):
    yield from suite("harness", "tests/harness", python, modules("tests/harness"), {}, tier, wanted)


def lint(tier, python, wanted):
    """What cargo's own lints do not see: Python, shell and JavaScript."""
    for name in ("ruff", "shellcheck", "oxlint"):
        whole = "lint " + name
        if tiers.has(tier, whole) and wanted(whole):
            yield Job(whole, [python, "tests/harness/lint.py", name], read_lint, timeout=tiers.timeout(tier, whole))


def read_lint(job, code, output):
    return Result(1) if code == 0 else Result(0, [(job.label, "exit code %d" % code)])


def checks(tier, wanted):
    """What is neither code nor a test: licences, manifests, the text of the documentation."""
    manifest = [sys.executable, "tests/harness/manifest.py"]
    docs = ["cargo", "doc", "--workspace", "--exclude", "stead-test-http", "--no-deps", "--quiet"]
    every = [
        ("check licences", [*manifest, "licences"], {}),
        ("check dependencies", [*manifest, "dependencies"], {}),
        ("check docs", docs, {"RUSTDOCFLAGS": "-D warnings"}),
    ]
    for label, argv, env in every:
        if tiers.has(tier, label) and wanted(label):
            yield Job(label, argv, read_check, env=env, timeout=tiers.timeout(tier, label))


def read_check(job, code, output):
    return Result(passed=1) if code == 0 else Result(failed=[(job.label, "exit code %d" % code)])


def read_unittest(job, code, output):
    ran = re.search(r"^Ran (\d+) tests?", output, re.M)
    failed = [
        ("%s %s" % (job.label, name), "failed")
        for name in re.findall(r"^(?:FAIL|ERROR): (.+)$", output, re.M)
    ]
    skipped = ["%s %s" % (job.label, line) for line in re.findall(r"^(test_.*) \.\.\. skipped", output, re.M)]
    names = {name for name, _ in failed}
    passed = max(0, int(ran.group(1)) - len(names) - len(skipped)) if ran else 0
    if code == 0 and not failed and passed > 0:
        return Result(passed, skipped=skipped)
    if not failed:
        failed = [(job.label, "exit code %d" % code if ran else "ended without a result: exit code %d" % code)]
    return Result(passed, failed, skipped)


def read_tap(job, code, output):
    count = {word: int(n) for word, n in re.findall(r"^# (pass|fail) (\d+)$", output, re.M)}
    passed = count.get("pass", 0)
    if code == 0 and passed > 0 and not count.get("fail"):
        return Result(passed)
    names = re.findall(r"^not ok \d+ - (.+)$", output, re.M)
    return Result(passed, [("%s %s" % (job.label, name), "failed") for name in names or ["exit code %d" % code]])

"""Runs the tests of a tier side by side: see ./test --help and docs/TESTING.md."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import machine  # noqa: E402
import old  # noqa: E402
import rust  # noqa: E402
import suites  # noqa: E402
import tiers  # noqa: E402
from jobs import Pool, default_signals  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def main():
    options = arguments()
    os.chdir(ROOT)
    run = Run(options)
    default_signals(run.stop)
    return run.run()


def arguments():
    parser = argparse.ArgumentParser(prog="./test", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    tier = parser.add_mutually_exclusive_group()
    tier.add_argument("--quick", dest="tier", action="store_const", const="quick", help="what daily work needs, in a few minutes")
    tier.add_argument("--all", dest="tier", action="store_const", const="all", help="every interpreter, every client, long storms")
    # Half of the time a test waits for something, so one more than there are processors keeps those busy.
    width = (os.cpu_count() or 2) + 1
    parser.add_argument("-j", "--jobs", type=int, default=width, help="how many at once; one more than there are processors unless given")
    parser.add_argument("--times", type=int, default=1, help="run each test so often")
    parser.add_argument("--list", action="store_true", help="only list what would run")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each test, and its output if it passed")
    parser.add_argument("filter", nargs="*", help="only tests whose label contains one of these, without format and lints")
    options = parser.parse_args()
    options.tier = options.tier or "default"
    return options


class Run:
    def __init__(self, options):
        self.options = options
        self.pool = Pool(options.jobs, self.done)
        self.total, self.over = 0, 0
        self.passed, self.failures, self.skipped, self.hooked = 0, [], [], []
        self.times = {}
        self.began = self.told = time.monotonic()

    def wanted(self, label):
        return not self.options.filter or any(part in label for part in self.options.filter)

    def stop(self, number):
        """Asked to end: by a signal."""
        if self.pool.stopped is None and self.pool.running:
            self.pool.stopped = number
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def run(self):
        if not self.options.filter:
            say("format and lints")
            check("cargo", "fmt", "--all", "--check")
            check("cargo", "clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings")
            check_hooks()
        say("build")
        jobs = self.jobs() * self.options.times
        if self.options.list:
            print("\n".join(job.label for job in jobs))
            return 0
        remembered = recall()
        # The longest first, so that none is left to run alone in the end; unknown ones before them.
        jobs.sort(key=lambda job: -remembered.get(job.label, 1e9))
        self.total = len(jobs)
        say("%d jobs, %d at a time" % (len(jobs), self.options.jobs))
        whole = self.pool.run(jobs)
        remember({**remembered, **self.times})
        self.report(whole)
        return 0 if whole and self.passed and not self.failures else 1

    def jobs(self):
        tier, wanted = self.options.tier, self.wanted
        messages = rust.build("test", *rust.WORKSPACE, "--no-run")
        stead = rust.program(messages, "stead")
        os.environ.update({**tiers.SIZES[tier], **{name: os.environ[name] for name in tiers.SIZES[tier] if name in os.environ}})
        pythons, nodes = self.interpreters()
        found = []
        dist = os.path.join(rust.target_directory(), "dist", "stead")
        for binary in rust.binaries(messages):
            found += rust.jobs(binary, tier, machine.minors(pythons), nodes, wanted)
            found += rust.shipped(binary, tier, dist, pythons, nodes, wanted)
            found += rust.gateways(binary, tier, pythons, nodes, wanted)
            try:
                found += rust.skew(binary, tier, self.old, pythons, nodes, wanted)
            except old.Missing as missing:
                self.skipped.append("e2e skew::, two versions at once: %s" % missing)
        if wanted("doc"):
            found.append(rust.doctests("doc"))
        venv = os.path.join(ROOT, ".test/venv/bin/python")
        found += suites.checks(tier, wanted)
        found += suites.harness(tier, pythons[-1].path, wanted)
        found += suites.lint(tier, pythons[-1].path, wanted)
        found += suites.bridges(tier, pythons, nodes, venv, wanted)
        found += suites.bench(tier, pythons[-1].path, stead, wanted)
        node = {"STEAD_TEST_NODE": os.path.join(ROOT, ".test/node/node_modules/.bin")}
        peers = list(suites.peers("peers", tier, venv, {**node, "STEAD_BIN": stead}, wanted))
        peers += suites.peers("shipped", tier, venv, {**node, "STEAD_BIN": dist}, wanted)
        made = os.path.join(rust.target_directory(), "packages")
        packages = list(suites.packages(tier, venv, {"STEAD_BIN": dist, "STEAD_PACKAGES": made}, wanted))
        peers += packages
        if self.options.list:
            return found + peers
        if packages or any(job.label.startswith("shipped") for job in found + peers):
            check("./dist")
        if packages:
            check("./package", "--binary", dist)
        if any("test_conformance" in job.label for job in peers):
            server = rust.program(rust.build("build", "--package", "stead-test-http"), "stead-test-http")
            for job in peers:
                job.env["STEAD_TEST_HTTP"] = server
        return found + peers

    def old(self):
        return "" if self.options.list else old.binary(ROOT, rust.target_directory())

    def interpreters(self):
        """The tier's Pythons and Nodes, oldest first."""
        pythons = machine.pythons()
        tier = self.options.tier
        nodes = machine.nodes([os.path.join(ROOT, ".test/node/node_modules/.bin/node")] if tier == "all" else [])
        if tier == "quick":
            pythons = pythons[-1:]
        elif tier == "default":
            pythons = pythons[:1] + pythons[-1:] if len(pythons) > 1 else pythons
        elif not os.environ.get("STEAD_TEST_PYTHONS"):
            here = {one.version[:2] for one in pythons}
            lacking = ["3.%d" % minor for minor in machine.MINORS if (3, minor) not in here]
            if lacking:
                raise SystemExit("test: --all needs CPython %s (or STEAD_TEST_PYTHONS with what there is)" % ", ".join(lacking))
        print("with %s" % ", ".join(map(repr, [*pythons, *nodes])))
        return pythons, nodes

    def done(self, job, result, took, output):
        """A job is over."""
        self.over += 1
        self.passed += result.passed
        self.skipped += result.skipped
        self.hooked += result.hooked
        self.times[job.label] = round(took, 2)
        if result.failed:
            self.failures.append((job, result, output))
        for name, why in result.failed:
            print("FAILED %s: %s (%.1f s)" % (name, why, took))
        if self.options.verbose:
            print("%s %6.1f s  %s" % ("      " if result.failed else "    ok", took, job.label))
            if not result.failed and len(job.tests) == 1:
                print(output)
        now = time.monotonic()
        if now - self.told > 20:
            self.told = now
            print("%5d s  %d of %d jobs, %d tests passed" % (now - self.began, self.over, self.total, self.passed))
        sys.stdout.flush()

    def report(self, whole):
        for _, result, output in self.failures:
            say("FAILED: " + ", ".join(name for name, _ in result.failed))
            print(output.rstrip())
        slowest = sorted(self.times.items(), key=lambda item: -item[1])[:12]
        say("slowest of %d jobs in %d s" % (self.over, time.monotonic() - self.began))
        for label, took in slowest:
            print("%7.1f s  %s" % (took, label))
        for name in self.skipped:
            print("skipped: " + name)
        if self.hooked:
            print("%d tests need test hooks, which the shipped binary has not; the test build ran them" % len(self.hooked))
        failed = [name for _, result, _ in self.failures for name, _ in result.failed]
        if failed:
            say("failed")
            print("\n".join(failed))
        if not whole:
            say("stopped by signal %d with %d of %d jobs done" % (self.pool.stopped, self.over, self.total))
        print("\n%d passed, %d failed" % (self.passed, len(failed)), flush=True)


def say(text):
    print("\n== " + text, flush=True)


def check(*argv):
    if subprocess.run(argv).returncode != 0:
        raise SystemExit("test: `%s` failed" % " ".join(argv))


def check_hooks():
    """Points at which tests stop or break a host are in test builds only: what is shipped must have none."""
    argv = ["cargo", "tree", "--package", "stead", "--edges", "normal,features", "--prefix", "none", "--format", "{p} {f}"]
    tree = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout
    if "stead-host" not in tree or "test-hooks" in tree:
        raise SystemExit("test: a plain build of `stead` has test hooks, or their feature is not where it is looked for")


def times_file():
    return os.path.join(rust.target_directory(), "test-times.json")


def recall():
    """How long each job took last time."""
    try:
        with open(times_file()) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def remember(times):
    with open(times_file(), "w") as file:
        json.dump(times, file, indent=0, sort_keys=True)


if __name__ == "__main__":
    sys.exit(main())

"""The benchmark: measures stead against floors in the same run (docs/PERFORMANCE.md)."""

import argparse
import fnmatch
import os
import subprocess
import sys

import machine
import report
from measures import MEASURES
from place import Missing, Place
from run import LEVELS, Run

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Exit codes.
HOLDS, MISSED, BROKEN = 0, 1, 2


def main(arguments=None):
    """Runs what was asked for; whether all targets hold is the exit code."""
    options = parse(arguments)
    if options.list:
        for name, title, _ in MEASURES:
            print(f"{name:10} {title}")
        return HOLDS
    chosen = [measure for measure in MEASURES if wanted(measure[0], options.only)]
    if not chosen:
        print(f"bench: nothing is named {' '.join(options.only)}; see --list", file=sys.stderr)
        return BROKEN
    stead = options.stead or build(options.no_build)
    if options.save:
        files = os.path.join(ROOT, "benches", "latest.json"), os.path.join(ROOT, "docs", "bench.svg")
    else:
        files = os.path.join(ROOT, "target", "bench", "latest.json"), os.path.join(ROOT, "target", "bench", "bench.svg")
    files = os.path.abspath(options.json) if options.json else files[0], files[1]
    peers = os.path.abspath(options.peers) if options.peers else None
    try:
        with Place(stead) as place:
            here = machine.describe(place)
            print(machine.heading(here))
            warning = machine.noise(here)
            if warning:
                print(f"warning: {warning}")
            sys.stdout.flush()
            run = Run(place, options.level, options.rounds, peers, options.seed)
            lines, skipped = measure(run, chosen)
    except KeyboardInterrupt:
        print("bench: stopped", file=sys.stderr)
        return BROKEN
    print()
    holds = report.show(lines, skipped)
    report.write(report.document(here, run, lines, skipped), *files)
    print(f"written: {' '.join(files)}")
    return HOLDS if holds else MISSED


def measure(run, chosen):
    """All lines of the chosen measures, and what had to be left out."""
    lines, skipped = [], []
    for name, title, function in chosen:
        run.say(f"bench: {name}: {title}")
        try:
            lines.extend(function(run))
        except Missing as missing:
            skipped.append(f"{name}: {missing}")
    return lines, skipped


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench", description="Measure stead against floors, side by side.")
    parser.add_argument("--quick", dest="level", action="store_const", const="quick", default="full", help="under two minutes")
    parser.add_argument("--level", choices=LEVELS, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="measure only these (patterns of --list)")
    parser.add_argument("--rounds", type=int, metavar="N", help="as many rounds for every measure")
    parser.add_argument("--list", action="store_true", help="list the measures")
    parser.add_argument("--no-build", action="store_true", help="take target/dist/stead as it is")
    parser.add_argument("--stead", metavar="PATH", help="measure this binary; builds nothing")
    parser.add_argument("--peers", metavar="DIR", help="directory of virtual environments with peers to measure too")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there instead of target/bench/latest.json")
    parser.add_argument("--save", action="store_true", help="write benches/latest.json and docs/bench.svg, which the README shows")
    parser.add_argument("--seed", type=int, help="of the random order")
    return parser.parse_args(arguments)


def wanted(name, patterns):
    return not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def build(as_it_is):
    """The binary that is shipped."""
    if not as_it_is:
        subprocess.run(["cargo", "build", "--quiet", "--profile", "dist", "--package", "stead"], cwd=ROOT, check=True)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "dist", "stead")

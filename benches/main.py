"""The benchmark: measures stead against floors in the same run (docs/PERFORMANCE.md)."""

import argparse
import fnmatch
import os
import signal
import subprocess
import sys
import time
import traceback

import machine
import report
import units
from measures import MEASURES
from place import Missing, Place
from run import LEVELS, Run

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Exit codes.
HOLDS, MISSED, BROKEN = 0, 1, 2
# Seconds after which a measure is given up: something hangs.
LIMIT = 1800


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
    files = places(options)
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
            measured = measure(run, chosen)
    except KeyboardInterrupt:
        print("bench: stopped", file=sys.stderr)
        return BROKEN
    print()
    holds = report.show(measured)
    if measured.stopped:
        print("bench: stopped; nothing is written", file=sys.stderr)
        return BROKEN
    report.write(report.document(here, run, measured), *files)
    print(f"written: {' '.join(files)}")
    return BROKEN if measured.failed else HOLDS if holds else MISSED


def places(options):
    """Where the numbers and the picture go: to what the README shows only if that is asked for."""
    if options.save:
        return os.path.join(ROOT, "benches", "latest.json"), os.path.join(ROOT, "docs", "bench.svg")
    numbers = os.path.abspath(options.json or os.path.join(target(), "bench", "latest.json"))
    return numbers, os.path.join(os.path.dirname(numbers), "bench.svg")


class Measured:
    """What came of a run: lines, what was left out and why, what failed, and whether somebody stopped it."""

    def __init__(self):
        self.lines, self.skipped, self.failed, self.stopped = [], [], [], False
        # How long each measure took in all.
        self.seconds = {}


def measure(run, chosen):
    """The chosen measures one after the other; one that fails does not take the others with it."""
    measured = Measured()
    signal.signal(signal.SIGALRM, give_up)
    for name, title, function in chosen:
        run.say(f"{name}: {title}")
        began = time.monotonic()
        signal.alarm(LIMIT)
        try:
            for line in function(run):
                run.say(f"    {line.title}: {units.amount(line.stead, line.unit)}")
                measured.lines.append(line)
        except Missing as missing:
            measured.skipped.append(f"{name}: {missing}")
        except KeyboardInterrupt:
            measured.stopped = True
            break
        except Exception as error:
            traceback.print_exc()
            measured.failed.append(f"{name}: {type(error).__name__}: {error}")
            run.place.reset()
        finally:
            signal.alarm(0)
        measured.seconds[name] = round(time.monotonic() - began, 1)
    return measured


def give_up(_number, _frame):
    """Turns a hang into a failure of one measure."""
    raise TimeoutError(f"no end after {LIMIT} s")


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
    parser.add_argument("--json", metavar="FILE", help="write the numbers there, and the picture beside it, instead of to target/bench")
    parser.add_argument("--save", action="store_true", help="write benches/latest.json and docs/bench.svg, which the README shows")
    parser.add_argument("--seed", type=int, help="of the random order")
    return parser.parse_args(arguments)


def wanted(name, patterns):
    return not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def build(as_it_is):
    """The binary that is shipped."""
    if not as_it_is:
        subprocess.run([os.path.join(ROOT, "dist")], cwd=ROOT, check=True)
    return os.path.join(target(), "dist", "stead")


def target():
    """Where cargo puts what it builds: `./dist` runs it in the root, so that is what a relative path begins at."""
    return os.path.join(ROOT, os.environ.get("CARGO_TARGET_DIR") or "target")

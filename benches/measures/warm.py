"""Warm evals: what every call of an agent costs once the session is there."""

import json
import time

import processes
from apart import apart
from lines import Line
from place import Missing
from targets import Times

from .languages import ALL, BASH, PYTHON

WARM_UP = 200


def mcp(run):
    """`1+1` over MCP on stdio against the loop on a pipe: batches, so that both sides are warm, each with a client of its own."""
    for language in available(run):
        count = run.pick(3, 30, 60) if language is BASH else run.pick(3, 150, 300)
        sides = {
            "floor": lambda: batch(run, lambda: language.floor(run.place), language, None, count),
            "stead": lambda: batch(run, run.place.mcp, language, language.session, count),
        }
        pair = run.pairs(run.batches(run.rounds(30, 100), sides), "floor")["stead"]
        target = Times(2.5, stretch=1.8) if language is PYTHON else None
        yield Line.compared(f"warm-{language.name}", f"{language.title}, MCP", pair, "a loop on a pipe", target)


def batch(run, start, language, session, count):
    """Seconds of each of so many evals by a new client, after as many as make it warm."""

    def work():
        client = start()
        times(client, language, session, run.pick(1, WARM_UP, WARM_UP))
        return times(client, language, session, count)

    return apart(run.place, work)


def cli(run):
    """`stead eval` against `/bin/true`, both started in the same way, one by one in random order."""
    languages = available(run)
    for language in languages:
        run.place.eval(language.session, language.name, language.code)
    sides = {language.name: (lambda language=language: called(run, language)) for language in languages}
    sides["floor"] = lambda: processes.timed(["/bin/true"], run.place.env)[0]
    for side in sides.values():
        side()
    pairs = run.pairs(run.singles(run.rounds(30, 100), run.pick(1, 8, 20), sides), "floor")
    for language in languages:
        target = Times(3, stretch=2) if language is PYTHON else None
        yield Line.compared(f"cli-{language.name}", f"{language.title}, command line", pairs[language.name], "/bin/true", target)


def available(run):
    """The languages that this machine has, each with a session of its own."""
    languages = []
    for language in ALL:
        try:
            language.nothing(run.place)
        except Missing as missing:
            run.say(f"bench: {missing}; left out")
            continue
        run.place.eval(language.session, language.name, language.code)
        languages.append(language)
    return languages


def times(client, language, session, count):
    """Seconds of each of so many evals."""
    samples = []
    for _ in range(count):
        began = time.perf_counter()
        text = client.eval(language.code, session)
        samples.append(time.perf_counter() - began)
        language.check(text)
    return samples


def called(run, language):
    """Seconds of one eval by the command line."""
    took, output, _ = processes.timed([run.place.stead, "eval", "-n", language.session, language.code], run.place.env)
    language.check(answered(output))
    return took


def answered(output):
    """What the code of a language answered: its value, or what it printed if it has none."""
    data = json.loads(output)["data"]
    return data["value"] or data["chunks"][0]["content"]

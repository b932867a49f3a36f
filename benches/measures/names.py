"""Whether an eval costs more when there are many names: it tells which of them changed, and renders a value."""

from lines import Line
from stats import Pair
from targets import Times

from .languages import BASH, NODE, PYTHON
from .warm import available, times

FEW, MANY = 10, 10_000
FILL = {
    "python": "for i in range({count}): globals()['n%d' % i] = i\ndel i",
    "bash": "for ((i = 0; i < {count}; i++)); do declare -g n$i=$i; done; unset i",
    "node": "for (let i = 0; i < {count}; i++) globalThis['n' + i] = i; undefined",
}
CHANGE = {"python": "n5 = n5 + 1", "bash": "n5=$((n5 + 1))", "node": "n5 = n5 + 1"}


class Change:
    """An eval that rebinds a name."""

    def __init__(self, language):
        self.code = CHANGE[language.name]

    def check(self, _text):
        """The value counts up; nothing to compare."""


def kept(run):
    """`1+1`, and a name rebound, with 10 names and with 10,000: two sessions of each language, in alternation."""
    place = run.place
    many = run.pick(100, MANY, MANY)
    for language in available(run):
        server = place.mcp()
        for name, count in (("few", FEW), ("lots", many)):
            place.eval(name, language.name, FILL[language.name].format(count=count))
        count = {PYTHON: run.pick(2, 50, 100), NODE: run.pick(2, 20, 50), BASH: run.pick(1, 1, 2)}[language]
        rounds = run.rounds(3, 5) if language is BASH else run.rounds(10, 30)
        for kind, asked in (("value", language), ("changed", Change(language))):
            sides = {name: (lambda name=name: times(server, asked, name, count)) for name in ("few", "lots")}
            for side in sides.values():
                side()
            samples = run.batches(rounds, sides)
            title = f"{language.title}, {many:,} names, {'`1+1`' if kind == 'value' else 'one rebound'}"
            target = Times(1.2) if language is PYTHON else None
            yield Line.compared(f"names-{language.name}-{kind}", title, Pair(samples["few"], samples["lots"]), f"{FEW} names", target)
        place.drop(server)
        for name in ("few", "lots"):
            place.stop(name)

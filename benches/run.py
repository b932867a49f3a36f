"""One run of the benchmark: how much of everything, in which order, and where."""

import random
import sys

import stats

LEVELS = ("smoke", "quick", "full")


class Run:
    """What every measure is given."""

    def __init__(self, place, level="full", rounds=None, peers=None, seed=None):
        self.place, self.level, self.peers = place, level, peers
        self.fixed_rounds = rounds
        self.random = random.Random(seed)

    def pick(self, smoke, quick, full):
        """The count for this level."""
        return dict(zip(LEVELS, (smoke, quick, full)))[self.level]

    def rounds(self, quick, full):
        """How many rounds; `--rounds` says it for every measure."""
        return self.fixed_rounds or self.pick(1, quick, full)

    def say(self, text):
        """Tells the person who waits."""
        print(text, file=sys.stderr, flush=True)

    def batches(self, rounds, sides):
        """Each side once a round, in random order; a side is a function that returns samples."""
        samples = {name: [] for name in sides}
        for _ in range(rounds):
            order = list(sides)
            self.random.shuffle(order)
            for name in order:
                samples[name].append(sides[name]())
        return samples

    def singles(self, rounds, count, sides):
        """Each side `count` times a round, call by call in random order; a side is a function that returns a sample."""
        samples = {name: [] for name in sides}
        for _ in range(rounds):
            order = list(sides) * count
            self.random.shuffle(order)
            taken = {name: [] for name in sides}
            for name in order:
                taken[name].append(sides[name]())
            for name in sides:
                samples[name].append(taken[name])
        return samples

    def pairs(self, samples, floor):
        """All other sides, each compared with the floor."""
        return {name: stats.Pair(samples[floor], rounds) for name, rounds in samples.items() if name != floor}

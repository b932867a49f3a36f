"""What a measure must reach. `used` is the share of what is allowed: up to 1 the target holds."""


class Times:
    """At most so many times the floor, plus a constant."""

    def __init__(self, factor, plus=0.0, stretch=None):
        self.factor, self.plus, self.stretch = factor, plus, stretch

    @property
    def text(self):
        plus = f" + {self.plus * 1000:g} ms" if self.plus else ""
        return f"≤ {self.factor:g}×{plus}"

    def used(self, line):
        if not self.plus:
            return line.ratio / self.factor
        return line.stead / (self.factor * line.floor + self.plus)

    def stretched(self, line):
        """Whether the goal beyond the target is reached; None if there is none."""
        return None if self.stretch is None else line.ratio <= self.stretch


class AtMost:
    """At most an amount, in the line's own unit."""

    stretch = None

    def __init__(self, amount, text):
        self.amount, self.text = amount, f"≤ {text}"

    def used(self, line):
        return line.stead / self.amount

    def stretched(self, _line):
        return None


class Rate:
    """At least a rate, or at least a share of the floor's rate, whichever is easier."""

    stretch = None

    def __init__(self, rate, share):
        self.rate, self.share = rate, share

    @property
    def text(self):
        return f"≥ {self.rate:,}/s or {self.share:g}×"

    def used(self, line):
        return min(self.rate / line.stead, self.share / line.ratio)

    def stretched(self, _line):
        return None


class All:
    """Every one of so many."""

    stretch = None

    def __init__(self, count):
        self.count, self.text = count, f"all {count}"

    def used(self, line):
        return self.count / line.stead if line.stead else float("inf")

    def stretched(self, _line):
        return None

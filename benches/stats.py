"""Numbers from samples: quantiles, and how one side compares with the other round by round."""


def quantile(values, share):
    """The value below which `share` of them lie, between neighbours in proportion."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no samples")
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def median(values):
    """The middle value."""
    return quantile(values, 0.5)


def quartiles(values):
    """The first and the third quartile."""
    return quantile(values, 0.25), quantile(values, 0.75)


def percentiles(values):
    """The middle and both tails that people feel."""
    return {"p50": quantile(values, 0.5), "p95": quantile(values, 0.95), "p99": quantile(values, 0.99)}


class Pair:
    """Samples of two sides, taken in the same rounds; a round is compared with itself alone.

    A machine drifts while a benchmark runs. Both sides of one round stand close together in time, so the
    middle of the rounds' ratios says more than the ratio of two middles.
    """

    def __init__(self, floor_rounds, stead_rounds):
        if len(floor_rounds) != len(stead_rounds):
            raise ValueError("both sides need the same rounds")
        self.floors = [median(samples) for samples in floor_rounds]
        self.steads = [median(samples) for samples in stead_rounds]
        self.all_floor = [value for samples in floor_rounds for value in samples]
        self.all_stead = [value for samples in stead_rounds for value in samples]

    def ratios(self):
        """What stead needs for each unit of the floor, a value a round."""
        return [stead / floor for floor, stead in zip(self.floors, self.steads)]

    @property
    def floor(self):
        return median(self.floors)

    @property
    def stead(self):
        return median(self.steads)

    @property
    def ratio(self):
        return median(self.ratios())

    @property
    def spread(self):
        return quartiles(self.ratios())

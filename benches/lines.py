"""A line of the result: one thing that was measured."""

import stats


class Line:
    """What the floor took, what stead took, and what was wanted. `unit`: s, bytes, rate or count."""

    def __init__(self, name, title, unit, stead, floor=None, floor_title="", ratio=None, spread=None,
                 target=None, details=None):  # fmt: skip
        self.name, self.title, self.unit = name, title, unit
        self.stead, self.floor, self.floor_title = stead, floor, floor_title
        self.ratio, self.spread, self.target = ratio, spread, target
        self.details = details or {}
        # Whether `stead` holds what a peer took, and `floor` what stead took.
        self.peer = False
        if self.ratio is None and floor:
            self.ratio = stead / floor

    @classmethod
    def compared(cls, name, title, pair, floor_title, target=None, unit="s", details=None):
        """A line from rounds of both sides."""
        details = dict(details or {})
        if unit == "s":
            details["floor"] = stats.percentiles(pair.all_floor)
            details["stead"] = stats.percentiles(pair.all_stead)
        details.update(rounds=len(pair.floors), samples=len(pair.all_stead))
        return cls(name, title, unit, pair.stead, pair.floor, floor_title, pair.ratio, pair.spread, target, details)

    @property
    def used(self):
        """The share of the target's allowance; None without a target."""
        return None if self.target is None else self.target.used(self)

    @property
    def ok(self):
        """Whether the target holds; None without one."""
        return None if self.target is None else self.used <= 1

    def as_json(self):
        """The line as it is written to the result file."""
        return {
            "name": self.name,
            "title": self.title,
            "peer": self.peer,
            "unit": self.unit,
            "floor": self.floor,
            "floor_is": self.floor_title,
            "stead": self.stead,
            "ratio": self.ratio,
            "spread": list(self.spread) if self.spread else None,
            "target": self.target.text if self.target else None,
            "used": self.used,
            "ok": self.ok,
            "stretch": self.target.stretch if self.target else None,
            "stretched": self.target.stretched(self) if self.target else None,
            "details": self.details,
        }

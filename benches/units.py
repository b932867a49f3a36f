"""Amounts as people read them."""


def seconds(value):
    """A time with three digits and the unit that fits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{digits(value / scale)} {unit}"
    return f"{value * 1e9:.0f} ns"


def digits(value):
    """Three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def amount(value, unit):
    """A value of a line in its unit."""
    if value is None:
        return ""
    if unit == "s":
        return seconds(value)
    if unit == "bytes":
        return f"{digits(value / 1e6)} MB"
    if unit == "rate":
        return f"{value:,.0f}/s"
    return f"{value:g}"

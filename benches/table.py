"""The result as one table for a terminal, and what of it did not hold."""

from units import amount, digits

HEAD = ("measure", "floor", "stead", "ratio", "quartiles", "target", "")
PEERS = ("peer", "stead", "peer", "ratio", "quartiles", "", "")


def cells(line):
    """A line of the result as cells of the table."""
    ratio = f"{digits(line.ratio)}×" if line.ratio is not None else ""
    spread = "–".join(digits(value) for value in line.spread) if line.spread else ""
    target = line.target.text if line.target else ""
    mark = {None: "", True: "ok", False: "NOT"}[line.ok]
    if line.ok and line.target.stretched(line):
        mark = f"ok, ≤ {line.target.stretch:g}×"
    return (line.title, amount(line.floor, line.unit), amount(line.stead, line.unit), ratio, spread, target, mark)


def render(lines):
    """Stead against floors, then peers against stead."""
    own, peers = [line for line in lines if not line.peer], [line for line in lines if line.peer]
    return "\n\n".join(grid(head, part) for head, part in ((HEAD, own), (PEERS, peers)) if part)


def grid(head, lines):
    """A table: names to the left, numbers to the right."""
    rows = [head] + [cells(line) for line in lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    text = []
    for number, row in enumerate(rows):
        left = row[0].ljust(widths[0])
        middle = [cell.rjust(width) for cell, width in zip(row[1:5], widths[1:5])]
        right = [cell.ljust(width) for cell, width in zip(row[5:], widths[5:])]
        text.append("  ".join([left, *middle, *right]).rstrip())
        if number == 0:
            text.append("  ".join("─" * width for width in widths if width))
    return "\n".join(text)


def failures(lines):
    """A sentence for each target that does not hold."""
    return [
        f"{line.title}: {amount(line.stead, line.unit)}"
        + (f", {digits(line.ratio)}× of {line.floor_title}" if line.ratio is not None else "")
        + f"; wanted {line.target.text}"
        for line in lines
        if line.ok is False
    ]

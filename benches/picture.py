"""The result as an SVG for the README: what is used of each target, and others beside stead.

Colours follow the reader's light or dark mode; the background is the page's own.
"""

from xml.sax.saxutils import escape

from units import amount, digits

WIDTH, LEFT, BAR, ROW = 920, 270, 340, 26
# Beyond this a bar is cut; its numbers say the rest.
MOST = 1.5

STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 15px } .soft { fill: #59636e }
  .bar { fill: #2f81f7 } .over { fill: #cf222e } .peer { fill: #8c959f } .goal { stroke: #1f2328; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .soft { fill: #9198a1 } .goal { stroke: #f0f6fc }
    .bar { fill: #4493f8 } .over { fill: #f85149 } .peer { fill: #656c76 }
  }
"""


def draw(document):
    """The picture of a result document."""
    parts, top = targets([line for line in document["lines"] if shown(line)], 26)
    for title in ("warm eval", "first answer"):
        more, top = peers([line for line in document["lines"] if line["peer"] and line["title"].endswith(title)], title, top)
        parts.extend(more)
    machine = document["machine"]
    where = f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, {machine['python']}, {document['when'][:10]}"
    parts.append(text(16, top, where, "soft"))
    height = top + 14
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
    return "\n".join([head, f"<title>stead, measured</title><style>{STYLE}</style>", *parts, "</svg>", ""])


def shown(line):
    """Whether a target has a bar; a count that is complete would only look as if it were at its limit."""
    return line["used"] is not None and not (line["unit"] == "count" and line["ok"])


def targets(lines, top):
    """A bar for each target and the line that none should cross."""
    goal = LEFT + BAR / MOST
    parts = [
        text(16, top, "stead against its floors, in the same run", "head"),
        text(16, top + 20, "share of what the target allows; × of the floor", "soft"),
        text(goal, top + 20, "target", "soft", "middle"),
    ]
    first = top + 34
    for number, line in enumerate(lines):
        kind = "bar" if line["ok"] else "over"
        parts.extend(row(first + ROW * number, line["title"], min(line["used"], MOST) / MOST, kind, wanted(line)))
    last = first + ROW * len(lines)
    parts.append(f'<line class="goal" x1="{goal:.1f}" x2="{goal:.1f}" y1="{first - 4}" y2="{last}"/>')
    return parts, last + 30


def peers(lines, title, top):
    """A bar for stead and for each peer, in proportion to their times."""
    if not lines:
        return [], top
    entries = [("stead", lines[0]["floor"], "bar")]
    entries.extend((line["title"].rpartition(",")[0], line["stead"], "peer") for line in lines)
    longest = max(seconds for _, seconds, _ in entries)
    parts = [text(16, top, f"{title} of a Python session, median", "head")]
    for number, (name, seconds, kind) in enumerate(entries):
        parts.extend(row(top + 12 + ROW * number, name, seconds / longest, kind, amount(seconds, "s")))
    return parts, top + 12 + ROW * len(entries) + 30


def row(top, title, share, kind, numbers):
    """One bar with its name and its numbers."""
    yield text(LEFT - 10, top + 14, title, "", "end")
    yield f'<rect class="{kind}" x="{LEFT}" y="{top + 2}" width="{max(BAR * share, 1):.1f}" height="{ROW - 10}" rx="3"/>'
    yield text(LEFT + BAR + 12, top + 14, numbers, "soft")


def wanted(line):
    """What was measured and what was wanted."""
    measured = amount(line["stead"], line["unit"])
    if line["ratio"] is not None:
        measured += f", {digits(line['ratio'])}×"
    return f"{measured}; target {line['target']}"


def text(x, y, content, kind, anchor="start"):
    return f'<text x="{x:.1f}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(content)}</text>'

"""The result as an SVG: how much of each target's allowance is used, the shorter the better."""

from xml.sax.saxutils import escape

from units import amount, digits

WIDTH, LEFT, BAR, ROW, TOP = 860, 270, 330, 26, 64
# Beyond this a bar is cut; its numbers say the rest.
MOST = 1.5

STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 15px } .soft { fill: #59636e }
  .bar { fill: #2f81f7 } .over { fill: #cf222e } .goal { stroke: #1f2328; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .soft { fill: #9198a1 } .goal { stroke: #f0f6fc }
    .bar { fill: #4493f8 } .over { fill: #f85149 }
  }
"""


def draw(document):
    """The picture of a result document."""
    lines = [line for line in document["lines"] if line["used"] is not None]
    height = TOP + ROW * len(lines) + 40
    machine = document["machine"]
    goal = LEFT + BAR / MOST
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>stead against its floors</title><style>{STYLE}</style>",
        text(16, 26, "stead against its floors, measured side by side", "head"),
        text(16, 46, "share of what the target allows; shorter is better", "soft"),
        text(goal, 46, "target", "soft", "middle"),
    ]
    for number, line in enumerate(lines):
        parts.extend(row(line, TOP + ROW * number))
    parts.append(f'<line class="goal" x1="{goal:.1f}" x2="{goal:.1f}" y1="{TOP - 10}" y2="{TOP + ROW * len(lines)}"/>')
    where = f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, {machine['python']}, {document['when'][:10]}"
    parts.append(text(16, height - 12, where, "soft"))
    return "\n".join(parts + ["</svg>", ""])


def row(line, top):
    """One bar with its name and its numbers."""
    length = max(BAR * min(line["used"], MOST) / MOST, 1)
    yield text(LEFT - 10, top + 14, line["title"], "", "end")
    yield f'<rect class="{"bar" if line["ok"] else "over"}" x="{LEFT}" y="{top + 2}" width="{length:.1f}" height="{ROW - 10}" rx="3"/>'
    yield text(LEFT + BAR + 12, top + 14, numbers(line), "soft")


def numbers(line):
    """What was measured and what was wanted."""
    measured = amount(line["stead"], line["unit"])
    if line["ratio"] is not None:
        measured += f" = {digits(line['ratio'])}× floor"
    return f"{measured}, target {line['target']}"


def text(x, y, content, kind, anchor="start"):
    return f'<text x="{x:.1f}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(content)}</text>'

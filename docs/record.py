#!/usr/bin/env python3
"""Draws docs/session.svg, the picture of the README, from a real run: an agent over MCP and a person at a terminal.

    docs/record.py           runs it and writes the picture
    docs/record.py --check   runs it and fails if the picture tells anything else (times apart)

STEAD_BIN names the binary; without it that of ./dist is taken.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from html import escape

HERE = os.path.dirname(os.path.realpath(__file__))
PICTURE = os.path.join(HERE, "session.svg")
STEAD = os.environ.get("STEAD_BIN") or os.path.join(HERE, "..", os.environ.get("CARGO_TARGET_DIR", "target"), "dist/stead")
# What the agent works on. `train` goes on when the picture has shown that it runs: it reads a pipe that is opened then.
FILES = {
    "sales.csv": "item,price\n" + "".join("item %d,%d.50\n" % (n, n % 40) for n in range(1000)),
    "model.py": """import time
def train(rows):
    print("epoch 1: loss 0.41", flush=True)
    open("gate").read()
    print("epoch 2: loss 0.17")
    return {"loss": 0.17}
""",
}
LINE, LEFT, TOP, WIDTH = 20, 20, 56, 900
COLOURS = {"ask": "#7ee787", "reply": "#c9d1d9", "mark": "#79c0ff", "person": "#ffa657", "faint": "#8b949e"}


def main():
    if not os.path.exists(STEAD):
        raise SystemExit("record: there is no `%s`; build it with ./dist, or name another by STEAD_BIN" % STEAD)
    lines = record()
    drawn = draw(lines)
    if sys.argv[1:] == ["--check"]:
        with open(PICTURE, encoding="utf-8") as file:
            if settled(file.read()) != settled(drawn):
                print("\n".join(text for _, text in lines))
                print("docs/session.svg tells something else; draw it anew with docs/record.py")
                return 1
        return 0
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(drawn)
    return 0


def settled(text):
    """Without what differs from run to run."""
    text = re.sub(r"agent#\w+", "agent#NUMBER", text)
    return re.sub(r" +", " ", re.sub(r"\b\d+(\.\d+)? ?m?s\b", "TIME", text))


def record():
    """The run as lines of (kind, text)."""
    with tempfile.TemporaryDirectory() as home:
        place = os.path.join(home, "shop")
        os.mkdir(place)
        for name, content in FILES.items():
            with open(os.path.join(place, name), "w") as file:
                file.write(content)
        os.mkfifo(os.path.join(place, "gate"))
        run = Recording(place, home)
        try:
            return run.lines()
        finally:
            run.end()


class Recording:
    def __init__(self, place, home):
        self.place, self.count = place, 0
        self.env = {
            "HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "NO_COLOR": "1",
            "STEAD_STATE_DIR": os.path.join(home, "state"), "STEAD_RUNTIME_DIR": os.path.join(home, "run"),
        }  # fmt: skip
        self.server = subprocess.Popen([STEAD, "mcp"], cwd=place, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        client = {"name": "agent", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.tell({"method": "notifications/initialized"})

    def lines(self):
        return [
            *self.call("eval", code="import csv; rows = list(csv.DictReader(open('sales.csv')))"),
            *self.call("eval", code="sum(float(row['price']) for row in rows)"),
            *self.call("eval", code="from model import train; train(rows)", timeout_ms=1000),
            *self.command("ls"),
            *self.call("eval", session="sh", code="read -rp 'Deploy? [y/N] ' answer"),
            *self.call("input", target="sh:1", text="y"),
            *self.go_on("output", id="py:3", wait_ms=30000),
        ]

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = result["content"][0]["text"]
        shown = "%s %s" % (tool, json.dumps(arguments))
        return [("ask", shown), *((("mark" if line.startswith("[") else "reply"), line) for line in text.splitlines()), ("", "")]

    def go_on(self, tool, **arguments):
        """A call that finds the end of what waited."""
        with open(os.path.join(self.place, "gate"), "w"):
            pass
        return self.call(tool, **arguments)

    def command(self, *words):
        ran = subprocess.run([STEAD, *words, "--text"], cwd=self.place, env=self.env, capture_output=True, text=True, check=True)
        return [("person", "$ stead " + " ".join(words)), *(("reply", line.rstrip()) for line in ran.stdout.splitlines()), ("", "")]

    def ask(self, method, params):
        self.count += 1
        self.tell({"id": self.count, "method": method, "params": params})
        for line in self.server.stdout:
            reply = json.loads(line)
            if reply.get("id") == self.count:
                return reply["result"]
        raise SystemExit("record: `stead mcp` ended")

    def tell(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def end(self):
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()
        for name in ("py", "sh"):
            subprocess.run([STEAD, "kill", "-n", name], cwd=self.place, env=self.env, capture_output=True)


def draw(lines):
    """The lines as a picture of a terminal."""
    lines = lines[:-1]
    height = TOP + LINE * len(lines) + 10
    rows = []
    for number, (kind, text) in enumerate(lines):
        if not kind:
            continue
        y = TOP + LINE * number
        who = {"ask": "agent ", "person": "you   "}.get(kind, "")
        if who:
            rows.append('<text x="%d" y="%d" fill="%s">%s</text>' % (LEFT, y, COLOURS["faint"], who.strip()))
        rows.append('<text x="%d" y="%d" fill="%s">%s</text>' % (LEFT + 54, y, COLOURS[kind], escape(text, quote=False)))
    dots = "".join('<circle cx="%d" cy="18" r="6" fill="%s"/>' % (20 + 20 * n, c) for n, c in enumerate(("#ff5f56", "#ffbd2e", "#27c93f")))
    return """<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" xml:space="preserve">
<title>An agent loads data, uses it and starts a long run by MCP; a person sees it with stead ls; the agent reads on</title>
<style>text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }</style>
<rect width="%d" height="%d" rx="8" fill="#0d1117"/>
%s
%s
</svg>
""" % (WIDTH, height, WIDTH, height, WIDTH, height, dots, "\n".join(rows))


if __name__ == "__main__":
    sys.exit(main())

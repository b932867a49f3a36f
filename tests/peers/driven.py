"""A real client with a home of its own, driven by a model that follows a script."""

import json
import os
import subprocess
import unittest
from pathlib import Path

from place import DEADLINE, STEAD, Place
from scripted_model import ScriptedModel

# Where `install` puts packages of Node.
PACKAGES = Path(os.environ["STEAD_TEST_NODE"]).parents[2]

# Text and a value, a picture, a question and its answer, code that fails, a command, a look back, a call that is refused.
STEPS = [
    ("eval", {"code": "print('héllo')\n6 * 7", "timeout_ms": 50_000}),
    ("eval", {"code": "from PIL import Image\nImage.new('RGB', (40, 30), 'red')", "timeout_ms": 50_000}),
    ("eval", {"code": "name = input('who? ')"}),
    ("input", {"target": "py", "text": "Ada"}),
    ("eval", {"code": "1 / 0"}),
    ("shell", {"command": "echo out; exit 3"}),
    ("output", {"id": "py:1", "offset": 0}),
    ("input", {"target": "nobody", "text": "x"}),
]
# A line of each of the answers.
LINES = ["42", "[image: 40×30, image/png, ", "waits for input", "+name str(3)", "ZeroDivisionError", "exit code 3", "héllo", "session_not_found"]


class DrivenClient(unittest.TestCase):
    """A place with a client's programs on the PATH."""

    packages = ""

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.leave)
        bin_dir = PACKAGES / self.packages / "node_modules/.bin"
        self.assertTrue(bin_dir.is_dir(), f"{bin_dir} is missing: tests/peers/install --all")
        node = os.environ["STEAD_TEST_NODE"]
        self.place.env["PATH"] = f"{bin_dir}:{self.place.env['PATH']}:{node}"
        self.home = Path(self.place.env["HOME"])
        # What stead sends is kept on its way.
        self.sent = self.place.root / "sent"
        self.tee = self.place.root / "tee"
        self.tee.write_text(f'#!/bin/sh\n"{STEAD}" "$@" | tee -a "{self.sent}"\n')
        self.tee.chmod(0o755)

    def client(self, *words, **env):
        """Runs a client's program to its end."""
        done = subprocess.run(
            words, cwd=self.place.workspace, env={**self.place.env, **env}, stdin=subprocess.DEVNULL,
            text=True, capture_output=True, timeout=DEADLINE,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def stead(self, *words):
        """Runs a command of stead; gives its data."""
        done = self.place.run(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)["data"]

    def install(self, client, *words):
        """Tells a client of stead and gives what was done."""
        return self.stead("install", "--client", client, *words)["clients"][0]

    def model(self, steps=STEPS):
        """A model that follows the steps."""
        model = ScriptedModel(steps)
        self.addCleanup(model.close)
        return model

    def results_sent(self):
        """Results of calls as stead sent them, in order."""
        messages = [json.loads(line) for line in self.sent.read_text().splitlines()]
        results = [message["result"] for message in messages if "content" in message.get("result", {})]
        self.assertEqual(len(results), len(STEPS), results)
        for result, line in zip(results, LINES, strict=True):
            self.assertIn(line, result["content"][0]["text"])
        self.assertEqual([result["isError"] for result in results], [False] * 7 + [True])
        self.assertEqual([block["type"] for block in results[1]["content"]], ["text", "image"])
        return results

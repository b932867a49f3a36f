"""The MCP Inspector's command line as a client over stdio."""

import json
import os
import subprocess
import unittest
from pathlib import Path

from place import DEADLINE, STEAD, Place
from test_calls import TOOLS

NODE = Path(os.environ["STEAD_TEST_NODE"])


class Inspector(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.leave)

    def inspect(self, *arguments):
        """What the Inspector prints about one request."""
        env = {**self.place.env, "PATH": f"{NODE}:{self.place.env['PATH']}"}
        server = [word for pair in self.place.env.items() for word in ("-e", "=".join(pair))]
        done = subprocess.run(
            [NODE / "mcp-inspector", "--cli", *server, STEAD, "mcp", *arguments],
            cwd=self.place.workspace, env=env, text=True, capture_output=True, timeout=DEADLINE,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_m2_it_lists_the_tools(self):
        listed = self.inspect("--method", "tools/list")
        self.assertEqual([tool["name"] for tool in listed["tools"]], TOOLS)

    def test_m3_it_calls_eval_and_finds_the_session_again(self):
        call = ["--method", "tools/call", "--tool-name", "eval", "--tool-arg"]
        first = self.inspect(*call, "code=x = 41")
        self.assertIn("+x int", first["content"][0]["text"])
        second = self.inspect(*call, "code=x + 1")
        self.assertEqual(second["content"][0]["text"].splitlines()[0], "42")
        self.assertFalse(second.get("isError", False))


if __name__ == "__main__":
    unittest.main()

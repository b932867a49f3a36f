"""The Python of a project, with real tools (SPEC S-11)."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from place import Place

TOOLS = Path(sys.executable).parent


class Environments(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.leave)
        # The project's tools are on the PATH, as its user has them; `python3` there is not the project's.
        self.env = dict(
            self.place.env, POETRY_VIRTUALENVS_IN_PROJECT="false", POETRY_CACHE_DIR=str(self.place.root / "cache"),
            UV_CACHE_DIR=str(self.place.root / "uv"), UV_PYTHON_DOWNLOADS="never",
        )  # fmt: skip

    def tool(self, *words, **more):
        done = subprocess.run(words, cwd=self.place.workspace, env=dict(self.env, **more), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.strip()

    def session(self, **more):
        """The prefix that a session's code sees, and why its interpreter was chosen."""
        self.place.env.update(self.env, **more)
        reply = json.loads(self.place.run("eval", "-n", "py", "--json", "import sys; sys.prefix").stdout)
        self.assertEqual(reply["status"], "complete", reply)
        status = json.loads(self.place.run("status", "-n", "py", "--json").stdout)["data"]
        return os.path.realpath(reply["data"]["value"].strip("'")), status["why"]

    def in_force(self, prefix):
        """What shell commands find is the environment's."""
        reply = json.loads(self.place.run("shell", "--json", "command -v python; echo $VIRTUAL_ENV").stdout)
        written = "".join(chunk["content"] for chunk in reply["data"]["chunks"]).split()
        self.assertEqual([os.path.realpath(os.path.dirname(written[0])), os.path.realpath(written[1])], [prefix + "/bin", prefix])

    def hint(self, code):
        return json.loads(self.place.run("eval", "-n", "py", "--json", code).stdout)["error"].get("hint", "")

    def test_s11_a_venv_of_the_project(self):
        self.tool(sys.executable, "-m", "venv", "--without-pip", ".venv")
        prefix, why = self.session()
        self.assertEqual(prefix, os.path.realpath(self.place.workspace / ".venv"))
        self.assertIn("`.venv` in", why)
        self.in_force(prefix)
        self.assertIn("uv pip install --python %s/bin/python opencv-python" % prefix, self.hint("import cv2"))

    def test_s11_a_uv_project(self):
        self.tool("uv", "init", "--bare", "--offline", "--name", "sample", "--python", sys.executable)
        self.tool("uv", "sync", "--offline", "--python", sys.executable)
        prefix, why = self.session()
        self.assertEqual(prefix, os.path.realpath(self.place.workspace / ".venv"))
        self.assertIn("`.venv` in", why)
        self.in_force(prefix)
        self.assertIn("'uv add opencv-python'", self.hint("import cv2"))
        self.assertIn("'uv add rich'", self.hint("!pip install rich"))

    def test_s11_a_uv_project_with_its_environment_elsewhere(self):
        elsewhere = str(self.place.root / "elsewhere")
        self.tool("uv", "init", "--bare", "--offline", "--name", "sample", "--python", sys.executable)
        self.tool("uv", "sync", "--offline", "--python", sys.executable, UV_PROJECT_ENVIRONMENT=elsewhere)
        prefix, why = self.session(UV_PROJECT_ENVIRONMENT=elsewhere)
        self.assertEqual(prefix, os.path.realpath(elsewhere))
        self.assertIn("uv environment", why)
        self.in_force(prefix)
        self.assertIn("'uv add opencv-python'", self.hint("import cv2"))

    def test_s11_a_poetry_project(self):
        self.tool("poetry", "init", "--no-interaction", "--name", "sample")
        self.tool("poetry", "env", "use", "--no-interaction", sys.executable)
        path = self.tool("poetry", "env", "info", "--path")
        prefix, why = self.session()
        self.assertEqual(prefix, os.path.realpath(path))
        self.assertIn("poetry environment", why)
        self.in_force(prefix)
        self.assertIn("'poetry add opencv-python'", self.hint("import cv2"))

    def test_s11_a_virtual_env_that_is_active_wins(self):
        self.tool(sys.executable, "-m", "venv", "--without-pip", ".venv")
        self.tool(sys.executable, "-m", "venv", "--without-pip", "active")
        active = str(self.place.workspace / "active")
        prefix, why = self.session(VIRTUAL_ENV=active)
        self.assertEqual(prefix, os.path.realpath(active))
        self.assertIn("VIRTUAL_ENV", why)
        self.in_force(prefix)


if __name__ == "__main__":
    unittest.main()

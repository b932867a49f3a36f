"""A project with a configuration of five sessions, with real tools (SPEC CF-2, CF-3, CF-4)."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from place import Place

CONFIG = """
[sessions.venv]
toolchain = "python.venv"
init = "kind = 'venv'"

[sessions.uv]
toolchain = "python.uv"
cwd = "uv"
env = { KIND = "uv" }

[sessions.poetry]
toolchain = "python.poetry"
cwd = "poetry"
init = "import os; kind = os.getcwd()"

[sessions.build]
toolchain = "bash"
init = "greet() { echo hello $1; }"

[sessions.web]
toolchain = "node"
cwd = "web"
"""


class Config(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.leave)
        self.place.env.update(
            POETRY_VIRTUALENVS_IN_PROJECT="false", POETRY_CACHE_DIR=str(self.place.root / "cache"),
            UV_CACHE_DIR=str(self.place.root / "uv-cache"), UV_PYTHON_DOWNLOADS="never",
        )  # fmt: skip
        self.workspace = self.place.workspace
        for folder in (".stead", "uv", "poetry", "web"):
            (self.workspace / folder).mkdir()
        (self.workspace / ".stead" / "config.toml").write_text(CONFIG)

    def tool(self, folder, *words):
        done = subprocess.run(words, cwd=self.workspace / folder, env=self.place.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.strip()

    def ask(self, *words):
        reply = json.loads(self.place.run(*words, "--json").stdout)
        self.assertTrue(reply["ok"], reply)
        return reply["data"]

    def value(self, session, code):
        data = self.ask("eval", "-n", session, code)
        return data["value"] or "".join(chunk["content"] for chunk in data["chunks"])

    def refused(self, *words):
        reply = json.loads(self.place.run(*words, "--json").stdout)
        self.assertFalse(reply["ok"], reply)
        return reply["error"]

    def test_cf2_five_sessions_start_as_they_are_set_up_once_they_are_allowed(self):
        sessions = ("venv", "uv", "poetry", "build", "web")
        for session in sessions:
            self.assertIn("`stead allow`", self.refused("launch", "-n", session)["hint"])
        self.ask("allow")
        # What is missing is named with the command that makes it.
        for session, make in (("venv", "python3 -m venv .venv"), ("uv", "uv init"), ("poetry", "poetry init")):
            error = self.refused("launch", "-n", session)
            self.assertEqual(error["code"], "launch_failed", error)
            self.assertIn(make, error["hint"])
        self.tool(".", sys.executable, "-m", "venv", "--without-pip", ".venv")
        self.tool("uv", "uv", "init", "--bare", "--offline", "--name", "sample", "--python", sys.executable)
        self.assertIn("`uv sync`", self.refused("launch", "-n", "uv")["hint"])
        self.tool("uv", "uv", "sync", "--offline", "--python", sys.executable)
        self.tool("poetry", "poetry", "init", "--no-interaction", "--name", "sample")
        self.assertIn("`poetry install`", self.refused("launch", "-n", "poetry")["hint"])
        self.tool("poetry", "poetry", "env", "use", "--no-interaction", sys.executable)
        poetry = self.tool("poetry", "poetry", "env", "info", "--path")

        toolchains = {one["name"]: one for one in self.ask("toolchains")["toolchains"]}
        self.assertTrue(toolchains["python.venv"]["starts"] and toolchains["bash"]["starts"], toolchains)
        why = {}
        for session in sessions:
            launched = self.ask("launch", "-n", session)
            why[session] = self.ask("status", session)["why"]
            self.assertEqual(launched["why"], why[session])
        for session, part in (("venv", "`.venv` in"), ("uv", "uv environment of"), ("poetry", "poetry environment of")):
            self.assertIn(part, why[session])
            self.assertIn("toolchain `python.%s` (%s/.stead/config.toml:" % (session, self.workspace), why[session])
        prefix = "import sys, os; os.path.realpath(sys.prefix)"
        self.assertEqual(self.value("venv", prefix), repr(os.path.realpath(self.workspace / ".venv")))
        self.assertEqual(self.value("uv", prefix), repr(os.path.realpath(self.workspace / "uv/.venv")))
        self.assertEqual(self.value("poetry", prefix), repr(os.path.realpath(poetry)))
        self.assertEqual(self.value("uv", "os.environ['KIND']"), "'uv'")
        self.assertEqual(self.value("web", "process.cwd()"), repr(str(self.workspace / "web")))
        self.assertEqual(self.value("build", "greet you"), "hello you\n")
        self.ask("eval", "-n", "poetry", "kind = 'changed'")
        for session in ("poetry", "build"):
            self.ask("restart", session)
        self.assertEqual(self.value("poetry", "kind"), repr(str(self.workspace / "poetry")))
        self.assertEqual(self.value("build", "greet again"), "hello again\n")

    def test_cf4_a_clone_starts_nothing_before_its_user_has_allowed_it(self):
        self.ask("allow")
        self.assertEqual(self.value("build", "greet you"), "hello you\n")
        self.ask("stop", "build")
        clone = self.place.root / "clone"
        shutil.copytree(self.workspace, clone)
        for session in ("venv", "uv", "poetry", "build", "web"):
            error = self.refused("eval", "-n", session, "1", "--workspace", str(clone))
            self.assertEqual(error["code"], "launch_failed", error)
        # Another user of the same place has allowed nothing.
        self.place.env["STEAD_STATE_DIR"] = str(self.place.root / "other-state")
        self.assertIn("not allowed", self.refused("eval", "-n", "build", "1")["message"])
        self.ask("allow")
        self.assertEqual(self.value("build", "greet you"), "hello you\n")
        self.ask("stop", "build")
        (self.workspace / ".stead" / "config.toml").write_text(CONFIG + "\n# changed\n")
        self.assertIn("has changed", self.refused("eval", "-n", "build", "1")["message"])

    def test_cf4_nothing_of_a_poetry_project_runs_when_somebody_only_looks(self):
        ran = self.place.root / "ran"
        (self.workspace / "pyproject.toml").write_text('[tool.poetry]\nname = "a"\nversion = "1"\ndescription = ""\nauthors = []\n')
        plugins = self.workspace / ".poetry/plugins"
        about = plugins / "evil-1.dist-info"
        about.mkdir(parents=True)
        (plugins / "evil.py").write_text(f"open({str(ran)!r}, 'w')\n")
        (about / "entry_points.txt").write_text("[poetry.application.plugin]\nevil = evil:Evil\n")
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
        toolchains = {one["name"]: one for one in self.ask("toolchains")["toolchains"]}
        self.assertIn("poetry install", toolchains["python.poetry"]["hint"])
        self.place.run()
        self.assertFalse(ran.exists(), "poetry ran a plugin of the project")


if __name__ == "__main__":
    unittest.main()

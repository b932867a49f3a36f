"""The npm packages, run by npx and installed for all."""

import json
import os
import select
import signal
import subprocess
import unittest

from rig import DEADLINE, FACTS, PackageTest, package


class Npm(PackageTest):
    def setUp(self):
        super().setUp()
        self.place.env["npm_config_update_notifier"] = "false"

    def test_npx_runs_it(self):
        both = [package("stead-[0-9]*.npm.tgz"), package("stead-linux-*.npm.tgz")]
        self.run_command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *both)
        self.assertWorks("npx", "stead")

    def test_it_is_installed_for_all_and_ends_as_the_binary_does(self):
        self.place.env["npm_config_prefix"] = str(self.root / "npm")
        self.as_in_the_readme("npm install")
        stead = self.root / "npm/bin/stead"
        self.assertEqual(json.loads(self.run_command(stead, "eval", "6*7"))["data"]["value"], "42")
        self.assertIn(FACTS.version, self.run_command("npm", "ls", "--global", "stead"))
        # A client that wants a server gone sends a signal to what it started, which is Node.
        server = subprocess.Popen(
            [stead, "mcp"], cwd=self.place.workspace, env=self.place.env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with server:
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n")
            server.stdin.flush()
            self.assertIn(FACTS.version, server.stdout.readline())
            server.send_signal(signal.SIGTERM)
            # The binary ends, and so its end of the pipe; the shim would keep it open.
            ended, _, _ = select.select([server.stdout], [], [], DEADLINE)
            self.assertTrue(ended, "the server lives on")
            self.assertEqual(server.stdout.read(), "")
            self.assertIn(server.wait(timeout=60), (-signal.SIGTERM, 0, 128 + signal.SIGTERM))
        self.run_command("npm", "uninstall", "--global", "stead", FACTS.machine.npm_name)
        self.assertFalse(stead.exists())

    def test_without_the_binary_it_says_what_is_missing(self):
        self.run_command("npm", "install", "--no-audit", "--no-fund", "--omit=optional", package("stead-[0-9]*.npm.tgz"))
        ran = subprocess.run(
            [self.place.workspace / "node_modules/.bin/stead", "ls"],
            env=self.place.env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.assertEqual(ran.returncode, 2)
        self.assertIn(f"`{FACTS.machine.npm_name}` is not installed", ran.stderr)
        self.assertIn("--omit=optional", ran.stderr)
        self.assertEqual(os.listdir(self.root / "home") or [".npm"], [".npm"])


if __name__ == "__main__":
    unittest.main()

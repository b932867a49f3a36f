"""The wheel, installed by pip and run by uvx."""

import os
import subprocess
import sys
import unittest

from rig import STEAD, VENV, PackageTest, package


class Wheel(PackageTest):
    def setUp(self):
        super().setUp()
        self.fresh = self.root / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.fresh], check=True)

    def pip(self):
        """The pip of the fresh environment. Making one of its own would take longer than all the rest."""
        script = self.bin / "pip"
        script.unlink(missing_ok=True)
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -m pip --python {self.fresh}/bin/python "$@"\n')
        script.chmod(0o755)
        return script

    def test_pip_installs_the_binary_itself(self):
        self.pip()
        self.as_in_the_readme("pip install")
        installed = self.fresh / "bin/stead"
        with open(installed, "rb") as ours, open(STEAD, "rb") as built:
            self.assertEqual(ours.read(), built.read(), "no Python stands around it")
        self.assertWorks(installed)
        said = self.run_command(self.bin / "pip", "show", "--files", "stead")
        self.assertIn("licenses/LICENSE-MIT", said)
        # What is running goes on when the package is removed, and another one finds it.
        self.run_command(installed, "eval", "kept = 'still here'")
        self.run_command(self.bin / "pip", "uninstall", "--yes", "stead")
        self.assertFalse(installed.exists())
        self.assertEqual([path for path in self.fresh.rglob("*") if "stead" in path.name], [])
        self.assertIn("still here", self.run_command(STEAD, "eval", "kept"))

    def test_uvx_runs_it(self):
        for name in ("uv", "uvx"):
            os.symlink(VENV / name, self.bin / name)
        self.assertEqual(self.as_in_the_readme("uvx ").strip().count('"value":"42"'), 1)
        self.assertWorks("uvx", "--from", package("*.whl"), "stead")


if __name__ == "__main__":
    unittest.main()

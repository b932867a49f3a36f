"""A module that is missing: what its environment installs packages with (SPEC E-18)."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

from driver import BOOT, BRIDGE, BridgeTest, Host


class Packages(BridgeTest):
    def setUp(self):
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.bin = os.path.join(self.root, "bin")
        os.mkdir(self.bin)

    def write(self, path, text=""):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def tool(self, name):
        os.chmod(self.write("bin/" + name, "#!/bin/sh\nexit 1\n"), 0o755)

    def venv(self, folder, *options):
        subprocess.run([sys.executable, "-m", "venv", *options, os.path.join(self.root, folder)], check=True)
        return os.path.join(self.root, folder, "bin/python")

    def told(self, host, code="import cv2"):
        result = host.eval(code)
        self.assertEqual(result.status, "error")
        return result.event("error").get("missing")

    def in_env(self, python):
        """A bridge whose environment is that of a Python."""
        there = type("There", (Host,), {"argv": [python, "-c", BOOT]})
        host = there(cwd=self.root, env={"PATH": self.bin + ":/usr/bin:/bin", "HOME": self.root})
        self.addCleanup(host.close)
        return host

    def test_py7_no_two_files_of_the_bridge_define_one_name(self):
        """They are one text: a second definition would silently take the place of the first."""
        names = re.findall(r"^(?:def|class) (\w+)", BRIDGE.decode(), re.MULTILINE)
        self.assertEqual(sorted({name for name in names if names.count(name) > 1}), [])

    def test_e18_the_command_is_that_of_the_environment(self):
        plain = self.venv("plain", "--without-pip")
        installs = lambda python: self.told(self.in_env(python))["install"]  # noqa: E731
        self.assertEqual(installs(plain), "%s -m ensurepip && %s -m pip install" % (plain, plain))
        self.tool("uv")
        self.assertEqual(installs(plain), "uv pip install --python %s" % plain)
        os.makedirs(os.path.join(self.root, "plain/lib/python%d.%d/site-packages/pip" % sys.version_info[:2]))
        self.write("plain/lib/python%d.%d/site-packages/pip/__init__.py" % sys.version_info[:2])
        self.assertEqual(installs(plain), "%s -m pip install" % plain)
        with open(os.path.join(self.root, "plain/pyvenv.cfg"), "a") as file:
            file.write("uv = 0.5.1\n")
        self.assertEqual(installs(plain), "uv pip install --python %s" % plain)
        self.write("pyproject.toml", "[tool.poetry]\nname = 'x'\n")
        self.tool("poetry")
        own = self.venv(".venv", "--without-pip")
        self.assertEqual(installs(own), "poetry add")
        self.write("uv.lock")
        self.assertEqual(installs(own), "uv add")
        os.mkdir(os.path.join(self.root, "plain/conda-meta"))
        self.assertEqual(installs(plain), "conda install -p %s/plain -c conda-forge" % self.root)

    def test_e18_a_project_tool_is_named_for_the_environment_of_its_project_only(self):
        digest = base64.urlsafe_b64encode(hashlib.sha256(self.root.encode()).digest()).decode()[:8]
        version = "%d.%d" % sys.version_info[:2]
        foreign = self.venv("elsewhere/foreign", "--without-pip")
        cached = self.venv("cache/x-%s-py%s" % (digest, version), "--without-pip")
        other = self.venv("cache/x-AbCdEfGh-py" + version, "--without-pip")
        installs = lambda python: self.told(self.in_env(python))["install"]  # noqa: E731
        for name, files, install in (("poetry", {"pyproject.toml": "[tool.poetry]\n"}, "poetry add"), ("pdm", {"pdm.lock": ""}, "pdm add"), ("pipenv", {"Pipfile": ""}, "pipenv install")):
            self.tool(name)
            for path, text in files.items():
                self.write(path, text)
            for python in (foreign, other):
                self.assertIn("-m pip install", installs(python), name)
            if name == "poetry":
                self.assertEqual(installs(cached), install)
            elif name == "pdm":
                self.write(".pdm-python", foreign)
                self.assertEqual(installs(foreign), install)
                self.assertIn("-m pip install", installs(other))
            else:
                self.write("cache/x-AbCdEfGh-py%s/.project" % version, self.root + "\n")
                self.assertEqual(installs(other), install)
            os.remove(os.path.join(self.root, "bin", name))

    def test_e18_what_no_package_brings_is_told_apart(self):
        host = self.start(cwd=self.root)
        told = self.told(host)
        self.assertEqual((told["module"], told["of_language"]), ("cv2", False))
        self.assertIsNone(self.told(host, "import json.nothing"))
        self.assertIsNone(self.told(host, "1 +"))
        self.assertIsNone(self.told(host, "from json import nothing"))
        self.assertIn("install", self.told(host, "pip install x"))
        self.write("cv2.py")
        self.assertIsNone(self.told(host, "import cv2.part"))
        self.assertEqual(self.told(host, "try:\n    import no_such\nexcept ImportError as error:\n    raise ImportError('get it') from error")["module"], "no_such")
        self.assertTrue(self.told(host, "raise ModuleNotFoundError('x', name='tkinter')")["of_language"])
        self.assertIsNone(self.told(host, "raise ModuleNotFoundError('x')"))
        self.assertIsNone(self.told(host, "class E(ModuleNotFoundError):\n    name = property(lambda self: 1 / 0)\nraise E('x')"))
        self.ok(host, "1+1", "2")

    def test_e18_what_is_installed_is_found_without_a_restart(self):
        host = self.start(cwd=self.root)
        self.ok(host, "import os, sys; sys.path[:0] = [%r, %r]" % (self.root + "/site", self.root + "/later"))
        os.mkdir(os.path.join(self.root, "site"))
        for path in ("site/here.py", "later/there.py"):
            name = os.path.basename(path)[:-3]
            self.told(host, "import " + name)
            folder = os.path.join(self.root, os.path.dirname(path))
            times = os.stat(folder) if os.path.isdir(folder) else None
            self.write(path, "x = 5\n")
            if times:  # as if it had been written within one tick of the clock
                os.utime(folder, ns=(times.st_atime_ns, times.st_mtime_ns))
            self.ok(host, "import %s; %s.x" % (name, name), "5")


if __name__ == "__main__":
    import unittest

    unittest.main()

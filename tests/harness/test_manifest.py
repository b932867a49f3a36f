"""Tests of the checks of manifests, and of the recipes that people run."""

import os
import re
import sys
import unittest

sys.dont_write_bytecode = True

import manifest  # noqa: E402


class Licences(unittest.TestCase):
    def test_expressions(self):
        allow = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"}
        for good in ("MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception OR GPL-3.0"):
            self.assertTrue(manifest.permits(good, allow), good)
        for bad in ("GPL-3.0", "MIT AND GPL-3.0", "GPL-3.0 OR (MIT AND BSD-2-Clause)", "GPL-2.0 WITH Classpath-exception-2.0"):
            self.assertFalse(manifest.permits(bad, allow), bad)
        for odd in ("MIT MIT", "(MIT"):
            self.assertRaises((ValueError, IndexError), manifest.permits, odd, allow)

    def test_a_package_of_another_kind_is_named(self):
        told = {"packages": [
            {"name": "good", "version": "1", "source": manifest.REGISTRY, "license": "MIT", "dependencies": []},
            {"name": "copyleft", "version": "2", "source": manifest.REGISTRY, "license": "GPL-3.0", "dependencies": []},
            {"name": "elsewhere", "version": "3", "source": "git+https://example.org/x", "license": "MIT", "dependencies": []},
            {"name": "none", "version": "4", "source": None, "license": None, "dependencies": [{"name": "x", "req": "*", "path": None}]},
        ]}
        wrong = manifest.licences(told)
        self.assertEqual([line.split()[0].rstrip(":") for line in wrong], ["copyleft", "elsewhere", "none", "none"])


class Dependencies(unittest.TestCase):
    def test_uses(self):
        for code in ("use serde::Serialize;", "    libc::kill(1, 2);", "#[derive(serde::Serialize)]", "use libc as c;", "pub use x;\nuse libc;"):
            self.assertTrue(manifest.names(code, "serde") or manifest.names(code, "libc"), code)
        for code in ("// serde::x\n", "use serde_json::Value;", "use crate::serde::x;", "my_serde::x"):
            self.assertFalse(manifest.names(code, "serde"), code)


class Recipes(unittest.TestCase):
    """The justfile names programs and tests that exist."""

    def setUp(self):
        with open(os.path.join(manifest.ROOT, "justfile")) as file:
            self.lines = [line.strip() for line in file if line.startswith("    ")]

    def test_programs_are_there(self):
        programs = [line.split()[0] for line in self.lines if line.startswith("./")]
        self.assertIn("./test", programs)
        for program in programs:
            self.assertTrue(os.access(os.path.join(manifest.ROOT, program), os.X_OK), program)

    def test_filters_name_tests(self):
        packages = {package["name"]: package for package in manifest.metadata()["packages"]}
        found = [match for match in (re.search(r"cargo test (-p|--test) (\S+)(?: (\w+))?", line) for line in self.lines) if match]
        self.assertGreaterEqual(len(found), 2)
        for option, target, test in (match.groups() for match in found):
            if option == "-p":
                text = manifest.sources(packages[target])
            else:
                [one] = [one for one in packages["stead"]["targets"] if one["name"] == target]
                text = manifest.sources({"targets": [one]})
            if test:
                self.assertRegex(text, r"#\[test\]\s+fn \w*%s|mod %s\b[^{]*[;{]" % (test, test))

    def test_what_can_be_written_anew_is_in_bless(self):
        """Each test that obeys STEAD_BLESS is reached by `just bless`."""
        blessed = [line for line in self.lines if line.startswith("STEAD_BLESS=1")]
        for folder in ("crates", "tests", "bridges", "src"):
            for path, _, files in os.walk(os.path.join(manifest.ROOT, folder)):
                for name in files:
                    if not name.endswith(".rs"):
                        continue
                    with open(os.path.join(path, name)) as file:
                        text = file.read()
                    if 'var_os("STEAD_BLESS")' not in text:
                        continue
                    tests = re.findall(r"#\[test\]\s+fn (\w+)\(\)[^}]*STEAD_BLESS", text)
                    known = [name[:-3], *tests]
                    self.assertTrue(any(word in line.split() for word in known for line in blessed), "%s/%s" % (path, name))


if __name__ == "__main__":
    unittest.main()

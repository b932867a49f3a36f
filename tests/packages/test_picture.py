"""The picture of the README is what happens."""

import os
import subprocess
import sys
import unittest
import xml.dom.minidom

from rig import ROOT, STEAD


class Picture(unittest.TestCase):
    def test_it_shows_a_run_as_it_is(self):
        env = {**os.environ, "STEAD_BIN": STEAD, "PATH": "/usr/bin:/bin"}
        ran = subprocess.run([sys.executable, ROOT / "docs/record.py", "--check"], env=env, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_it_is_a_picture_without_scripts_or_addresses(self):
        text = (ROOT / "docs/session.svg").read_text()
        xml.dom.minidom.parseString(text)
        self.assertNotIn("<script", text)
        self.assertEqual(text.count("http"), 1, "the name of the format")
        self.assertIn("(docs/session.svg)", (ROOT / "README.md").read_text())


if __name__ == "__main__":
    unittest.main()

"""All values of `value_list`, in sessions whose Python is a venv with all their libraries: `install --all` makes it."""

import unittest
from pathlib import Path

from place import PeerTest
from value_list import CASES
from values_test import look

VENV = Path(__file__).parents[2] / ".test/values/bin"


class AllValues(PeerTest):
    mode = "auto"

    async def test_o9_forty_values_are_useful_short_and_no_html(self):
        self.assertTrue((VENV / "python3").exists(), "tests/peers/install --all has not been run")
        self.assertGreaterEqual(len(CASES), 40)
        self.place.env["PATH"] = f"{VENV}:/usr/bin:/bin"
        await look(self, CASES)


if __name__ == "__main__":
    unittest.main()

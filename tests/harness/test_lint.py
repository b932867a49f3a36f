"""Tests of the linters: they see each bridge as a whole, and say in which of its files something is."""

import sys
import unittest

sys.dont_write_bytecode = True

import lint  # noqa: E402

# A fault of each language that a linter can only find if it knows all parts of a bridge, and the rule that finds it.
FAULTS = {
    "ruff": ("PYTHON", "def a_new_one():\n    return name_of_no_part\n", "F821"),
    "shellcheck": ("BASH", "a_new_one() {\n    echo $name_of_no_part\n}\n", "SC2154"),
    "oxlint": ("NODE", "function aNewOne() {\n  return nameOfNoPart;\n}\naNewOne();\n", "eslint(no-undef)"),
}


class Lint(unittest.TestCase):
    def test_a_line_of_the_whole_is_found_in_its_part(self):
        joined = lint.Joined("PYTHON")
        second = lint.read("bridges/python/bridge/base.py").count("\n") + 1
        self.assertEqual(joined.place(1), ("bridges/python/bridge/base.py", 1))
        path, line = joined.place(second)
        self.assertEqual(line, 1)
        self.assertEqual(joined.text.splitlines()[second - 1], lint.read(path).splitlines()[0])

    def test_a_name_of_no_part_is_found_and_names_of_other_parts_are_not(self):
        for linter, (bridge, fault, rule) in FAULTS.items():
            joined = lint.Joined(bridge)
            joined.text += fault
            joined.places += [("fault", line + 1) for line in range(fault.count("\n"))]
            found = lint.findings(linter, joined)
            self.assertIn(("fault", 2, rule), [one[:3] for one in found], linter)
            self.assertEqual([one for one in found if one[0] != "fault"], [], linter)


if __name__ == "__main__":
    unittest.main()

"""Values of the libraries that the peers' venv has (SPEC O-5, O-8, O-9, PY-16). `test_values_all` looks at all others too."""

import unittest

from place import PeerTest
from value_list import CASES
from values_test import look


class Values(PeerTest):
    mode = "auto"

    async def test_o9_values_of_common_libraries_are_useful_and_short(self):
        cases = [case for case in CASES if case.is_core()]
        self.assertGreaterEqual(len({case.needs for case in cases}), 12)
        await look(self, cases)

    async def test_o9_display_shows_as_a_last_value_is_shown(self):
        async with self.connect() as peer:
            await peer.eval("from IPython.display import display, HTML\nimport pandas as pd, numpy as np\nNone")
            text = await peer.eval("print('before')\ndisplay(HTML('<b>bold</b>'), pd.DataFrame({'a': [1, 2]}))\nprint('after')")
            self.assertRegex(text, r"^before\n\[html: \d+ bytes, \S+\]\nbold\n   a\n0  1\n1  2\nafter\n\[py:2")
            code = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nlines = ax.plot([1, 2])\ndisplay(fig)"
            result = await peer.call("eval", {"code": code, "timeout_ms": 50_000})
            self.assertEqual([block.type for block in result.content], ["text", "image"])
            result = await peer.call("eval", {"code": "display(fig)", "timeout_ms": 50_000})
            self.assertEqual([block.type for block in result.content], ["text", "image"])


if __name__ == "__main__":
    unittest.main()

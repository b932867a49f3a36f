"""Tests of the Bash bridge alone: driver.py plays the host.

Run:    python3 bridges/bash/test_bridge.py   (STEAD_TEST_BASH names a Bash, STEAD_BASH_INTERRUPTS=1000 the long storm)
Names:  each test names the item of SPEC.md that it holds to.
"""
import sys
import unittest

sys.dont_write_bytecode = True

from test_ends import *  # noqa: E402, F403
from test_evals import *  # noqa: E402, F403
from test_golden import *  # noqa: E402, F403
from test_incomplete import *  # noqa: E402, F403
from test_names import *  # noqa: E402, F403
from test_quick import *  # noqa: E402, F403
from test_robust import *  # noqa: E402, F403
from test_saving import *  # noqa: E402, F403

if __name__ == "__main__":
    unittest.main()

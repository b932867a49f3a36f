"""Tests of the Python bridge alone: driver.py plays the host, in the Python under test.

Run:    PYTHON bridges/python/test_bridge.py   (STEAD_INTERRUPTS=10000 for the long storm)
        PYTHON bridges/python/test_bridge.py Evals.test_py16_values
        STEAD_TEST_LIBRARIES=1 adds the tests that need packages (matplotlib, numpy, pandas, plotly, polars, Pillow, scikit-learn, seaborn); a missing one fails.
Names:  each test names the item of SPEC.md that it holds to.
"""
import os
import sys
import unittest

sys.dont_write_bytecode = True

from test_between import *  # noqa: E402, F403
from test_copies import *  # noqa: E402, F403
from test_copy_children import *  # noqa: E402, F403
from test_copy_files import *  # noqa: E402, F403
from test_copy_threads import *  # noqa: E402, F403
from test_displays import *  # noqa: E402, F403
from test_evals import *  # noqa: E402, F403
from test_incomplete import *  # noqa: E402, F403
from test_interrupts import *  # noqa: E402, F403
from test_rich import *  # noqa: E402, F403
from test_saving import *  # noqa: E402, F403
from test_saving_files import *  # noqa: E402, F403
from test_saving_trouble import *  # noqa: E402, F403
from test_session import *  # noqa: E402, F403
from test_stale_modules import *  # noqa: E402, F403
from test_streams import *  # noqa: E402, F403
from test_values import *  # noqa: E402, F403

if os.environ.get("STEAD_TEST_LIBRARIES") == "1":
    for package in ("numpy", "pandas", "PIL", "polars", "matplotlib", "seaborn", "sklearn", "plotly"):
        __import__(package)  # a missing one fails here
    from test_copy_libraries import *  # noqa: F403
    from test_dataframes import *  # noqa: F403
    from test_figures import *  # noqa: F403
    from test_frames import *  # noqa: F403
    from test_plotting import *  # noqa: F403
    from test_pyplot import *  # noqa: F403
    from test_rendering import *  # noqa: F403
    from test_saving_libraries import *  # noqa: F403

if __name__ == "__main__":
    unittest.main()

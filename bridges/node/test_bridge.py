"""All tests of the Node bridge that need a process: one run for one Node (STEAD_NODE)."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

if __name__ == "__main__":
    names = ["test_evals", "test_golden", "test_incomplete", "test_saving", "test_streams", "test_session", "test_waits"]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(name) for name in names)
    sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())

"""The golden transcripts: what host and bridge say to each other, word by word."""
import glob
import os
import tempfile

from host import NodeTest, driver


class Golden(NodeTest):
    files = sorted(glob.glob(os.path.join(driver.GOLDEN, "node-*.jsonl")))

    def test_golden_transcripts(self):
        self.assertTrue(self.files)
        for path in self.files:
            with self.subTest(path), tempfile.TemporaryDirectory() as folder:
                self.replay(self.start(cwd=folder), path)

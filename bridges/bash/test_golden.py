"""The golden transcripts: what host and bridge say to each other, word by word."""
import glob
import json
import os
import re
import tempfile

from driver import BashTest, Host, shared


class Golden(BashTest):
    files = sorted(glob.glob(os.path.join(shared.GOLDEN, "bash-*.jsonl")))

    def test_golden_transcripts(self):
        self.assertTrue(self.files)
        for path in self.files:
            with self.subTest(path), tempfile.TemporaryDirectory() as folder:
                self.replay(self.start(cwd=folder), path)

    def test_every_message_occurs_in_a_golden_transcript(self):
        told, heard = set(), set()
        for path in self.files:
            with open(path, encoding="utf-8") as file:
                for line in map(json.loads, file):
                    if "bridge" in line:
                        told.add(line["bridge"]["ev"])
                    else:
                        heard.add(line["host"].split(" ")[0])
        self.assertEqual(told, set(re.findall(r'{\\"ev\\":\\"(\w+)', Host.bridge.decode())))
        self.assertEqual(heard, {"eval", "interrupt", "query", "clear", "work", "last", "exit"})

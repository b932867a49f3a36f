"""What a model is given to read: short, clean, whole where it matters (SPEC O-5 to O-8)."""

import re
import unittest

from place import both_eras


@both_eras
class Text:
    async def test_o7_a_tqdm_bar_costs_one_line(self):
        async with self.connect() as peer:
            code = "from tqdm import tqdm\nfor i in tqdm(range(2000), mininterval=0): pass"
            text = await peer.eval(code, timeout_ms=50_000)
            lines = text.splitlines()
            self.assertEqual(lines[0], "[stderr]")
            self.assertIn("2000/2000", lines[1])
            self.assertTrue(lines[2].startswith("[py:1"), text)
            self.assertEqual(len(lines), 3)

    async def test_o7_a_bar_that_runs_is_shown_in_its_present_state(self):
        gate = self.place.pipe("gate")
        async with self.connect() as peer:
            code = (
                "from tqdm import tqdm\nbar = tqdm(total=100, mininterval=0)\nfor i in range(40): bar.update(1)\n"
                "bar.refresh()\nopen('gate').close()\nbar.update(60)\nbar.close()"
            )
            await peer.eval(code, background=True)
            while "40/100" not in (text := await peer.text("output", {"id": "py:1", "wait_ms": 200, "tail": 5})):
                pass
            self.assertEqual(len(re.findall(r"\d+/100", text)), 1, text)
            await gate.open()
            text = await peer.text("output", {"id": "py:1", "wait_ms": 50_000, "tail": 5})
            self.assertIn("100/100", text)

    async def test_o7_spinners_and_colours_read_like_plain_text(self):
        async with self.connect() as peer:
            code = (
                "import sys, time\nfor c in '|/-\\\\' * 50:\n    sys.stdout.write('\\r' + c + ' Collecting'); sys.stdout.flush()\n"
                "sys.stdout.write('\\r\\x1b[K')\nprint('\\x1b[32mInstalled\\x1b[0m \\x1b]8;;http://x\\x07link\\x1b]8;;\\x07')"
            )
            self.assertEqual((await peer.eval(code)).splitlines()[0], "Installed link")

    async def test_o7_a_coloured_pytest_run_reads_like_a_plain_one(self):
        (self.place.workspace / "test_sample.py").write_text("def test_one():\n    assert 1 == 1\n\ndef test_two():\n    assert 1 == 2\n")
        async with self.connect() as peer:
            run = "import subprocess, sys\n_ = subprocess.run([sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', '--color=%s', 'test_sample.py'])"
            texts = []
            for colour in ("yes", "no"):
                text = await peer.eval(run % colour, timeout_ms=50_000)
                self.assertNotIn("\x1b", text)
                self.assertIn("1 failed, 1 passed", text)
                texts.append([re.sub(r"\d+\.\d+s", "", line) for line in text.splitlines() if not line.startswith("[py:")])
            self.assertEqual(*texts)

    async def test_o5_ten_megabytes_are_head_and_tail_and_the_call_that_reads_the_rest(self):
        async with self.connect() as peer:
            text = await peer.eval("for n in range(100_000): print(f'line {n:06} ' + 'x' * 88)", timeout_ms=50_000)
            self.assertLess(len(text), 8_400)
            lines = text.splitlines()
            self.assertTrue(lines[0].startswith("line 000000 "))
            self.assertTrue(lines[-2].startswith("line 099999 "))
            gap = next(line for line in lines if line.startswith("[…"))
            left, offset = re.search(r"(\d+) lines.*\"offset\":(\d+)", gap).groups()
            shown = sum(line.startswith("line ") for line in lines)
            self.assertEqual(shown + int(left), 100_000)
            more = await peer.text("output", {"id": "py:1", "offset": int(offset), "limit": 1000})
            before = lines[lines.index(gap) - 1]
            self.assertEqual(int(more.splitlines()[0].split()[1]), int(before.split()[1]) + 1)

    async def test_o6_grep_finds_a_line_in_the_middle_by_number(self):
        async with self.connect() as peer:
            await peer.eval("for n in range(100_000): print('needle' if n == 54_320 else n)", timeout_ms=50_000)
            text = await peer.text("output", {"id": "py:1", "grep": "need.e", "context": 1})
            self.assertEqual(text.splitlines()[:3], ["54320-54319", "54321:needle", "54322-54321"])
            self.assertIn("[py:1 1 match in 100000 lines", text)

    async def test_o8_big_values_stay_within_their_budget(self):
        async with self.connect() as peer:
            await peer.eval("import numpy as np, pandas as pd\ndf = pd.DataFrame(np.zeros((1_000_000, 20)))", timeout_ms=50_000)
            for code in ("df", "list(range(10_000_000))", "'x' * 5_000_000", "{n: [n] * 9 for n in range(1000)}", "df[0]", "df.to_numpy()"):
                text = await peer.eval(code, timeout_ms=50_000)
                self.assertLess(len(text), 2_100, code)
            self.assertTrue((await peer.eval("df")).startswith("DataFrame(1000000×20)"))

    async def test_e14_a_module_that_changed_on_disk_is_named_once(self):
        module = self.place.workspace / "helper_mod.py"
        module.write_text("def f():\n    return 1\n")
        async with self.connect() as peer:
            await peer.eval("import helper_mod")
            module.write_text("def f():\n    return 22\n")
            self.assertIn("helper_mod", await peer.eval("1"))
            self.assertNotIn("helper_mod", await peer.eval("1"))


if __name__ == "__main__":
    unittest.main()

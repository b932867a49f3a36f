"""Tests of the benchmark itself: fixed numbers through statistics, table and picture, and one small run without any claim on time.

Run:    STEAD_BIN=target/debug/stead python3 benches/test_bench.py
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import picture  # noqa: E402
import stats  # noqa: E402
import table  # noqa: E402
import units  # noqa: E402
from apart import apart  # noqa: E402
from lines import Line  # noqa: E402
from run import Run  # noqa: E402
from targets import All, AtMost, Rate, Times  # noqa: E402

MACHINE = {"cpu": "A <fast> one", "cores": 2, "kernel": "6.1", "python": "CPython 3.11.7"}


def line(**changes):
    """A line of 2 ms against a floor of 1 ms."""
    given = {"name": "a", "title": "A", "unit": "s", "stead": 0.002, "floor": 0.001, "floor_title": "nothing"}
    given.update(changes)
    return Line(**given)


class Statistics(unittest.TestCase):
    def test_quantiles_lie_between_neighbours(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([1, 2, 3, 4]), 2.5)
        self.assertEqual(stats.quantile([7], 0.99), 7)
        self.assertEqual(stats.quartiles(range(1, 6)), (2, 4))
        self.assertAlmostEqual(stats.percentiles(range(101))["p95"], 95)
        self.assertRaises(ValueError, stats.median, [])

    def test_a_round_is_compared_with_itself(self):
        # The machine becomes ten times slower in the middle: the medians mislead, the ratios do not.
        pair = stats.Pair([[1, 1], [1, 1], [10, 10]], [[2, 2], [20, 20], [20, 20]])
        self.assertEqual((pair.floor, pair.stead), (1, 20))
        self.assertEqual(pair.ratios(), [2, 20, 2])
        self.assertEqual(pair.ratio, 2)
        self.assertEqual(pair.spread, (2, 11))

    def test_both_sides_need_the_same_rounds(self):
        self.assertRaises(ValueError, stats.Pair, [[1]], [])


class Rounds(unittest.TestCase):
    def test_every_side_is_asked_in_every_round_in_changing_order(self):
        asked = []
        sides = {name: (lambda name=name: asked.append(name) or [1]) for name in "ab"}
        samples = Run(None, seed=1).batches(20, sides)
        self.assertEqual({name: len(rounds) for name, rounds in samples.items()}, {"a": 20, "b": 20})
        rounds = ["".join(asked[at : at + 2]) for at in range(0, 40, 2)]
        self.assertEqual(set(rounds), {"ab", "ba"})

    def test_single_calls_are_mixed_within_a_round(self):
        sides = {"a": lambda: 1, "b": lambda: 2}
        self.assertEqual(Run(None, seed=1).singles(2, 3, sides), {"a": [[1] * 3] * 2, "b": [[2] * 3] * 2})

    def test_rounds_given_by_hand_hold_for_all(self):
        self.assertEqual(Run(None, "quick").rounds(3, 9), 3)
        self.assertEqual(Run(None, "full").rounds(3, 9), 9)
        self.assertEqual(Run(None, "full", rounds=2).rounds(3, 9), 2)


class Clients:
    """A place with one client, and a client that writes down that it is ended."""

    def __init__(self, path):
        self.path, self.children = path, [self]

    def close(self):
        with open(self.path, "a") as file:
            file.write("closed\n")


class Apart(unittest.TestCase):
    def setUp(self):
        handle, self.path = tempfile.mkstemp()
        os.close(handle)
        self.addCleanup(os.unlink, self.path)
        self.place = Clients(self.path)

    def test_a_batch_is_done_in_another_process_which_ends_what_it_started_alone(self):
        def work():
            self.place.children.append(Clients(self.path))
            return [os.getpid(), *range(100000)]

        pid, *numbers = apart(self.place, work)
        self.assertNotEqual(pid, os.getpid())
        self.assertEqual(numbers, list(range(100000)))
        with open(self.path) as file:
            self.assertEqual(file.read(), "closed\n")
        self.assertEqual(self.place.children, [self.place])

    def test_a_batch_that_fails_is_an_error_here(self):
        quiet = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            self.assertRaisesRegex(RuntimeError, "a batch failed", apart, self.place, lambda: 1 // 0)
        finally:
            os.dup2(quiet, 2)


class Targets(unittest.TestCase):
    def test_times_the_floor(self):
        self.assertTrue(line(target=Times(2)).ok)
        self.assertFalse(line(target=Times(1.9)).ok)
        self.assertTrue(line(target=Times(1.5, plus=0.010)).ok)
        self.assertTrue(Times(2.5, stretch=2).stretched(line()))
        self.assertFalse(Times(2.5, stretch=1.8).stretched(line()))
        self.assertIsNone(line().ok)

    def test_amounts_rates_and_counts(self):
        self.assertTrue(line(target=AtMost(0.002, "2 ms")).ok)
        self.assertFalse(line(target=AtMost(0.001, "1 ms")).ok)
        slow = {"unit": "rate", "stead": 3000, "floor": 5000}
        self.assertTrue(line(target=Rate(4000, 0.5), **slow).ok)
        self.assertFalse(line(target=Rate(4000, 0.7), **slow).ok)
        self.assertTrue(line(unit="count", stead=200, target=All(200)).ok)
        self.assertFalse(line(unit="count", stead=199, target=All(200)).ok)
        self.assertFalse(line(unit="count", stead=0, target=All(200)).ok)


class Table(unittest.TestCase):
    def test_amounts_read_well(self):
        self.assertEqual(units.seconds(0.0001234), "123 µs")
        self.assertEqual(units.seconds(0.01234), "12.3 ms")
        self.assertEqual(units.seconds(2.5), "2.50 s")
        self.assertEqual(units.amount(1_650_000, "bytes"), "1.65 MB")
        self.assertEqual(units.amount(12345.6, "rate"), "12,346/s")
        self.assertEqual(units.amount(200, "count"), "200")

    def test_the_table_is_in_columns_and_peers_have_their_own(self):
        peer = line(title="ipykernel, warm eval", floor_title="stead")
        peer.peer = True
        lines = [line(spread=(1.9, 2.1), target=Times(2.5, stretch=1.8)), line(title="B", target=Times(1.5)), peer]
        self.assertEqual(
            table.render(lines),
            "measure    floor    stead  ratio  quartiles  target\n"
            "───────  ───────  ───────  ─────  ─────────  ──────  ───\n"
            "A        1.00 ms  2.00 ms  2.00×  1.90–2.10  ≤ 2.5×  ok\n"
            "B        1.00 ms  2.00 ms  2.00×             ≤ 1.5×  NOT\n"
            "\n"
            "peer                    stead     peer  ratio  quartiles\n"
            "────────────────────  ───────  ───────  ─────  ─────────\n"
            "ipykernel, warm eval  1.00 ms  2.00 ms  2.00×",
        )
        self.assertEqual(table.failures(lines), ["B: 2.00 ms, 2.00× of nothing; wanted ≤ 1.5×"])


class Picture(unittest.TestCase):
    def draw(self, *lines):
        return picture.draw({"machine": MACHINE, "when": "2026-01-02T03:04:05Z", "lines": [line.as_json() for line in lines]})

    def test_it_is_an_svg_for_light_and_dark(self):
        peer = line(title="ipykernel, warm eval", stead=0.010)
        peer.peer = True
        drawn = self.draw(line(target=Times(2.5)), line(title="B & C", target=Times(1.5)), line(title="no target"), peer)
        tree = xml.fromstring(drawn)
        bars = [(bar.get("class"), float(bar.get("width"))) for bar in tree.iter("{http://www.w3.org/2000/svg}rect")]
        # 2.0 of 2.5 allowed; 2.0 of 1.5; stead and the peer in proportion.
        expected = [("bar", 340 * 0.8 / 1.5), ("over", 340 * (2 / 1.5) / 1.5), ("bar", 34), ("peer", 340)]
        self.assertEqual([kind for kind, _ in bars], [kind for kind, _ in expected])
        for (_, width), (_, wanted) in zip(bars, expected):
            self.assertAlmostEqual(width, wanted, delta=0.1)
        self.assertIn("prefers-color-scheme: dark", drawn)
        texts = [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("B & C", texts)
        self.assertIn("A <fast> one, 2 cores, Linux 6.1, CPython 3.11.7, 2026-01-02", texts)
        self.assertNotIn("no target", texts)

    def test_a_bar_far_over_its_target_stays_in_the_picture(self):
        tree = xml.fromstring(self.draw(line(target=Times(0.01))))
        (bar,) = tree.iter("{http://www.w3.org/2000/svg}rect")
        self.assertEqual(float(bar.get("width")), picture.BAR)


class Smoke(unittest.TestCase):
    def test_a_small_run_measures_writes_and_leaves_nothing(self):
        stead = os.environ.get("STEAD_BIN", os.path.join(os.path.dirname(HERE), "target", "debug", "stead"))
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "numbers.json")
            command = [sys.executable, os.path.join(os.path.dirname(HERE), "bench"), "--level", "smoke", "--stead", stead,
                       "--json", path, "--only", "warm", "cli", "first", "interrupt", "prints", "idle", "names", "frames", "save", "age"]  # fmt: skip
            done = subprocess.run(command, env={**os.environ, "TMPDIR": directory}, capture_output=True)
            # Whether the targets hold is not this test's business; 2 is a failure of the benchmark itself.
            self.assertIn(done.returncode, (0, 1), done.stdout.decode() + done.stderr.decode())
            with open(path, encoding="utf-8") as file:
                written = json.load(file)
            self.assertEqual(sorted(os.listdir(directory)), ["bench.svg", "numbers.json"])
        names = [entry["name"] for entry in written["lines"]]
        for name in ("warm-python", "cli-python", "first-python", "interrupt", "prints", "idle-host", "names-python-changed", "age-200"):
            self.assertIn(name, names)
        self.assertNotIn("was left and is killed", done.stderr.decode())
        self.assertEqual(written["failed"], [])


if __name__ == "__main__":
    unittest.main()

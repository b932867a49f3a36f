"""The helper of Jupyter kernels by itself: `exec`uted as the adapter does, with a namespace that stands for the user's."""

import json
import os
import random
import re
import sys
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def source():
    """The text as lib.rs puts it together."""
    with open(os.path.join(HERE, "../lib.rs")) as file:
        parts = re.search(r"JUPYTER_NAMES: &str = concat!\((.*?)\);", file.read(), re.S).group(1)
    texts = []
    for name in re.findall(r'include_str!\("(.+?)"\)', parts):
        with open(os.path.join(HERE, "..", name)) as file:
            texts.append(file.read())
    return "".join(texts)


class Names(unittest.TestCase):
    def setUp(self):
        self.helper = types.ModuleType("_stead_names")
        exec(compile(source(), "<helper>", "exec"), vars(self.helper))
        self.space = {"__name__": "__main__", "given": 1}
        self.call("begin")

    def call(self, function, *arguments):
        return json.loads(repr(getattr(self.helper, function)(self.space, *arguments)))

    def test_e13_new_rebound_and_removed_names_are_told(self):
        self.space["x"] = [1, 2]
        told = self.call("after")
        self.assertEqual(told, {"changed": {"added": [{"name": "x", "type": "list", "size": "2"}]}, "variables": 1})
        self.assertEqual(self.call("after")["changed"], {})
        self.space["x"] = "three"
        self.assertEqual(self.call("after")["changed"], {"rebound": [{"name": "x", "type": "str", "size": "5"}]})
        del self.space["x"]
        self.assertEqual(self.call("after")["changed"], {"removed": ["x"]})

    def test_e13_what_the_kernel_has_is_no_name_of_the_user_until_it_is_bound_anew(self):
        for name in ("_", "__", "_1", "_i", "_ii", "_i12", "_ih", "__builtins__"):
            self.space[name] = 5
        self.assertEqual(self.call("after")["changed"], {})
        self.space["given"] = 2
        self.assertEqual([one["name"] for one in self.call("after")["changed"]["added"]], ["given"])
        self.space["_mine"] = 3
        self.assertEqual([one["name"] for one in self.call("after")["changed"]["added"]], ["_mine"])

    def test_e13_many_changes_are_counted(self):
        self.space.update({"n%d" % n: n for n in range(120)})
        changed = self.call("after")["changed"]
        self.assertEqual((len(changed["added"]), changed["more"]), (50, 70))

    def test_e13_p6_only_names_that_were_touched_are_looked_at(self):
        self.space.update({name + str(n): [n] for n in range(1, 5000) for name in ("_", "_i", "x")})
        self.call("after")
        looked, is_user_name = [], self.helper.is_user_name
        self.helper.is_user_name = lambda space, name: looked.append(name) or is_user_name(space, name)
        self.space.update({"x7": [8], "_i": "x7 = [8]", "_i5000": "x7 = [8]", "y": 1})
        told = self.call("after")
        self.assertEqual(sorted(looked), ["x7", "y"])
        self.assertEqual([one["name"] for one in told["changed"]["rebound"]], ["x7"])
        self.assertEqual([one["name"] for one in told["changed"]["added"]], ["y"])
        self.assertEqual(told["variables"], 5000)

    def test_e13_a_name_that_was_deleted_and_bound_again_is_rebound(self):
        first = self.space["x"] = [1]
        self.space["y"] = 2
        self.call("after")
        del self.space["x"]
        self.space["x"] = [3]
        self.assertEqual(self.call("after")["changed"], {"rebound": [{"name": "x", "type": "list", "size": "1"}]})
        del self.space["y"], first
        self.space["z"] = 4
        told = self.call("after")
        self.assertEqual(told, {"changed": {"added": [{"name": "z", "type": "int"}], "removed": ["y"]}, "variables": 2})

    def test_e13_whatever_is_bound_and_deleted_in_whatever_order_is_told(self):
        chance = random.Random(7)
        names = ["a", "b", "c", "d", "given", "_", "_i", "_1"]
        mine = [name for name in names if not name.startswith("_")]
        before, given = {}, self.space["given"]
        for n in range(2000):
            for _ in range(chance.randrange(4)):
                name = chance.choice(names)
                if chance.random() < 0.4:
                    self.space.pop(name, None)
                else:
                    self.space[name] = [n]  # kept by `before`, so that no id comes twice
            now = {name: self.space[name] for name in mine if name in self.space and self.space[name] is not given}
            changed = self.call("after")["changed"]
            told = [sorted(one["name"] for one in changed.get(kind, ())) for kind in ("added", "rebound")] + [sorted(changed.get("removed", ()))]
            rebound = [name for name in now if name in before and now[name] is not before[name]]
            self.assertEqual(told, [sorted(now.keys() - before.keys()), sorted(rebound), sorted(before.keys() - now.keys())], n)
            before = now

    def test_st1_values_are_short_and_broken_ones_are_told(self):
        class Broken:
            def __repr__(self):
                raise ValueError("no")

        self.space.update(big=list(range(10 ** 6)), broken=Broken(), text="x" * 10 ** 6)
        told = {one["name"]: one["value"] for one in self.call("vars")["vars"]}
        self.assertLessEqual(max(map(len, told.values())), 100)
        self.assertIn("Broken", told["broken"])

    def test_st1_a_name_is_described_or_its_neighbours_are(self):
        self.space["double"] = lambda x: 2 * x
        told = self.call("inspect", "double")
        self.assertEqual((told["type"], told["signature"]), ("function", "(x)"))
        self.assertIn("near: double", self.call("inspect", "duoble")["error"])
        self.assertIn("has no attribute", self.call("inspect", "double.nothing")["error"])
        self.assertIn("double", self.call("complete", "dou")["names"])
        self.assertIn("sys.path", (self.space.update(sys=sys), self.call("complete", "sys.pa"))[1]["names"])

    def test_s7_clear_forgets_names_and_values(self):
        self.space.update(x=1, _oh={1: "kept"}, _1="kept")
        self.call("clear")
        self.assertEqual([name for name in self.space if name in ("x", "_1")], [])
        self.assertEqual(self.space["_oh"], {})
        self.assertEqual(self.call("vars")["vars"], [])

    def test_e20_what_ends_too_early_is_told(self):
        for code, early in (("f(1,", True), ("x = 'a", True), ("if x:", True), ("x = = 2", False), ("f(1]", False)):
            self.assertEqual(self.call("after", code)["incomplete"], early, code)

    def test_e13_the_type_of_the_value_is_told_once(self):
        self.space["_oh"] = {1: 5}
        self.assertEqual(self.call("after")["type"], "int")
        self.assertNotIn("type", self.call("after"))


if __name__ == "__main__":
    unittest.main()

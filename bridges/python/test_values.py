"""Values: exactly repr where that fits, within the budget where not, and no more work than is shown."""
import os
import tempfile

from driver import BridgeTest

BUDGET = 2000
RENDER = "import sys\nrender = sys.displayhook.__globals__['render']"
FUZZ = r"""
import array, collections, dataclasses, random, types, typing
class L(list): pass
class T(tuple): pass
class D(dict): pass
class Z(set): pass
class O(collections.OrderedDict): pass
class Q(collections.deque): pass
class DD(collections.defaultdict): pass
class C(collections.Counter): pass
class Text(str): pass
class Own(list):
    def __repr__(self): return 'Own' + list.__repr__(self)
P = collections.namedtuple('P', 'x y')
class N(typing.NamedTuple):
    a: int
    b: list
@dataclasses.dataclass
class DC:
    p: object
    q: object = dataclasses.field(default=1, repr=False)
    r: typing.ClassVar = 3
@dataclasses.dataclass
class Sub(DC):
    s: object = None
dice = random.Random(5)
def hashable(depth):
    return dice.choice((dice.randrange(-5, 10**dice.randrange(1, 30)), 'k%d\'"' % dice.randrange(9), b'\x00', 1.5, None, (1, 'a'), frozenset({1}), Text('t\n')))
def make(depth):
    if not depth or dice.random() < .2: return hashable(0)
    some = [make(depth - 1) for _ in range(dice.randrange(4))]
    flat = [hashable(0) for _ in range(dice.randrange(4))]
    pairs = [(hashable(0), make(depth - 1)) for _ in range(dice.randrange(3))]
    return dice.choice((
        lambda: some, lambda: tuple(some), lambda: dict(pairs), lambda: set(flat), lambda: frozenset(flat), lambda: L(some), lambda: T(some),
        lambda: D(pairs), lambda: Z(flat), lambda: collections.OrderedDict(pairs), lambda: O(pairs), lambda: collections.deque(some),
        lambda: collections.deque(some, 7), lambda: Q(some), lambda: collections.defaultdict(list, pairs), lambda: DD(None, pairs),
        lambda: collections.Counter(['a', 'b', 'a'] + flat), lambda: C(flat), lambda: types.MappingProxyType(dict(pairs)), lambda: dict(pairs).keys(),
        lambda: dict(pairs).values(), lambda: dict(pairs).items(), lambda: collections.OrderedDict(pairs).items(), lambda: range(len(some)), lambda: P(some, 1), lambda: N(1, some),
        lambda: DC(some), lambda: Sub(some, 2, make(depth - 1)), lambda: Own(some), lambda: array.array('d', [1.5] * len(some)), lambda: bytearray(b'x'),
        lambda: collections.ChainMap(dict(pairs), {}), lambda: collections.UserDict(pairs), lambda: collections.UserList(some), lambda: types.SimpleNamespace(a=some),
    ))()
"""


class Values(BridgeTest):
    def test_py16_what_is_nested_deep_is_shown_within_the_budget(self):
        host = self.start()
        self.ok(host, "x = []\nfor _ in range(3000): x = [x]")
        result = host.eval("x")
        self.assertEqual(result.status, "ok")
        self.assertLessEqual(len(result.value), 2000)
        self.ok(host, "y = [1]\nfor _ in range(300): y = [y]\ny", "[" * 301 + "1" + "]" * 301)

    def test_py16_what_fits_is_exactly_its_repr(self):
        host = self.start()
        host.eval(RENDER + FUZZ)
        self.ok(host, "bad = []\nfor i in range(6000):\n    v = make(1 + i % 4)\n    r = repr(v)\n    if len(r) <= 2000 and render(v) != r: bad.append((r, render(v)))\nbad[:2]", "[]")
        self.ok(host, "bad = []\nfor i in range(3000):\n    v = make(5)\n    for budget in (1, 2, 7, 20, 45, 100, 300, 2000):\n"
                      "        if len(render(v, budget)) > budget or len(render(v, budget, True)) > budget: bad.append((budget, render(v, budget)))\nbad[:2]", "[]")

    def test_py16_containers_in_themselves(self):
        host = self.start()
        host.eval(RENDER + FUZZ)
        for code in ("v = []; v.append(v)", "v = [1]; v.append((v, {1: v}))", "v = {}; v[1] = v", "v = collections.deque(); v.append(v)", "v = collections.OrderedDict(); v[1] = v",
                     "v = collections.defaultdict(list); v[1] = v", "v = DC(0); v.p = [v]", "v = {}; v[1] = v.values()", "v = L(); v.append(v)", "v = P([], 1); v.x.append(v)",
                     "d = {}; v = types.MappingProxyType(d); d[1] = v", "v = Z(); v.x = 1", "v = collections.Counter(); v['a'] = 1"):
            self.ok(host, code + "\nrender(v) == repr(v) or (render(v), repr(v))", "True")
            self.assertEqual(host.eval(code + "\nlong = [v, 'x' * 5000]\n(v.append if hasattr(v, 'append') else id)(long)\nlen(render(v)) <= 2000 and len(render(long)) <= 2000").value, "True")
        self.ok(host, "x = []\nfor i in range(400): x = [x]\nrender(x) == repr(x)", "True")

    def test_o8_long_values_are_cut_structurally_and_never_pass_the_budget(self):
        host = self.start()
        for code, start, end in (
                ("list(range(10**6))", "[0, 1, 2, ", ", …, 999999] (1000000 items)"),
                ("{i: str(i) for i in range(10**5)}", "{0: '0', 1: '1', ", ", …, 99999: '99999'} (100000 items)"),
                ("set(range(10**5))", "{0, 1, 2, ", ", …} (100000 items)"),
                ("import collections\ncollections.deque(range(10**5), 10**6)", "deque([0, 1, ", ", …, 99999], maxlen=1000000) (100000 items)"),
                ("collections.Counter({i: i for i in range(10**4)})", "Counter({9999: 9999, 9998: 9998, ", ", …}) (10000 items)"),
                ("{i: i for i in range(10**5)}.values()", "dict_values([0, 1, ", ", …, 99999]) (100000 items)"),
                ("import array\narray.array('i', range(10**5))", "array('i', [0, 1, ", ", …, 99999]) (100000 items)"),
                ("'ab\\n' * 10**6", "'ab\\nab\\n", "ab\\nab\\n' (3000000 characters)"),
                ("'it\\'s' * 10**6", "'it\\'sit", "it\\'s' (4000000 characters)"),
                ("b'\\x00\\x01' * 10**6", "b'\\x00\\x01", "\\x00\\x01' (2000000 bytes)"),
                ("bytearray(10**6)", "bytearray(b'\\x00", "\\x00') (1000000 bytes)"),
                ("-(10**100000)", "-0x", " (332193 bits)"),
                ("type('R', (), {'__repr__': lambda s: 'r' * 10**6})()", "rrr", "rrr"),
                ("[{'name': 'x' * 300, 'n': list(range(100))}] * 50", "[{'name': 'xxx", "}] (50 items)")):
            result = host.eval(code)
            self.assertEqual(result.status, "ok", result.events)
            self.assertLessEqual(len(result.value), BUDGET, code)
            self.assertGreater(len(result.value), BUDGET * 3 // 4, result.value)
            self.assertTrue(result.value.startswith(start) and result.value.endswith(end), (code, result.value[:60], result.value[-80:]))
        text = host.eval("P = collections.namedtuple('P', 'x y z')\nP(1, 'q' * 10**4, [3])").value
        self.assertTrue(text.startswith("P(x=1, y='qqq") and text.endswith("(10000 characters), z=[3])"), text[-60:])
        text = host.eval("{'a': list(range(10**5)), 'b': {'c': 'z' * 10**5}, 'd': 1}").value
        for part in ("{'a': [0, 1, ", "(100000 items), 'b': {'c': 'zzz", "(100000 characters)}, 'd': 1}"):
            self.assertIn(part, text)

    def test_o8_what_is_not_shown_is_not_touched(self):
        host = self.start()
        host.eval("calls = 0\nclass R:\n    def __repr__(self):\n        global calls\n        calls += 1\n        return 'R' * 40")
        self.assertIn("(100000 items)", host.eval("[R() for _ in range(10**5)]").value)
        self.ok(host, "calls < 200", "True")
        host.eval("calls = 0\none = R()\nR.__repr__ = lambda self: globals().update(calls=calls + 1) or 'R' * 10**5")
        self.assertIn("characters", host.eval("[one, 1]").value)
        self.ok(host, "calls", "1")
        host.eval("class Walked(dict):\n    def __iter__(self): 1/0\n    __len__ = items = keys = __getitem__ = __iter__")
        self.ok(host, "Walked({1: 2})", "{1: 2}")

    def test_py16_a_repr_that_raises_is_shown_and_so_is_the_rest(self):
        host = self.start()
        host.eval("import dataclasses, collections\nclass Bad:\n    def __repr__(self): raise ValueError('no')\n@dataclasses.dataclass\nclass DC:\n    a: object\n    b: object\n"
                  "class Exit:\n    def __repr__(self): raise SystemExit(3)")
        bad = "<Bad object, repr raised ValueError: no>"
        self.ok(host, "[1, {'k': (Bad(), 2)}]", "[1, {'k': (%s, 2)}]" % bad)
        self.ok(host, "DC(Bad(), 2)", "DC(a=%s, b=2)" % bad)
        self.ok(host, "collections.OrderedDict(a=Bad()).values()", "odict_values([%s])" % bad)
        self.ok(host, "x = DC(1, 2)\ndel x.a\nx", "DC(a=<AttributeError>, b=2)")
        self.ok(host, "[Exit()]", "[<Exit object, repr raised SystemExit: 3>]")
        text = host.eval("[Bad()] + ['x' * 10**4] * 3").value
        self.assertTrue(text.startswith("[%s, 'xxx" % bad), text)
        self.ok(host, "class Grows(list):\n    pass\nclass G:\n    def __repr__(self):\n        d[len(d)] = 1\n        return 'g'\nd = {0: G(), 1: G()}\nd", "{0: g, 1: g}")

    def test_py12_an_interrupt_in_a_repr_ends_the_eval(self):
        host = self.start()
        host.eval("class Slow:\n    def __repr__(self):\n        print('up', flush=True)\n        while True: pass")
        for code in ("Slow()", "[1, {2: Slow()}]", "import sys\nsys.displayhook([Slow()])"):
            result = host.submit(code)
            host.pump_until_text(result, "up\n")
            host.interrupt()
            host.finish(result)
            self.assertEqual((result.status, result.error, result.value), ("interrupted", "KeyboardInterrupt", None))
        self.ok(host, "1", "1")

    def test_py16_a_users_module_may_be_called_like_a_library(self):
        host = self.start()
        host.eval("import sys, types\nfor name in ('numpy', 'pandas', 'polars', 'torch', 'PIL', 'PIL.Image'):\n    sys.modules[name] = m = types.ModuleType(name)\n"
                  "    for c in ('ndarray', 'DataFrame', 'Series', 'Tensor', 'Image'):\n        setattr(m, c, type(c, (list,), {'__module__': name, 'shape': (5, 'x'), 'dtype': 3}))")
        for name in ("numpy.ndarray", "pandas.DataFrame", "polars.Series", "torch.Tensor"):
            module, kind = name.split(".")
            self.ok(host, "sys.modules[%r].%s([1])" % (module, kind), "[1]")
        self.ok(host, "sys.modules['PIL.Image'].Image([1])", "[1]")
        self.ok(host, "sys.modules['pandas'] = None\nsys.modules['numpy'] = 5\n[1]", "[1]")

    def test_o8_tensors_are_shown_like_arrays(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "torch"))
            with open(os.path.join(folder, "torch", "__init__.py"), "w") as file:
                file.write("from torch._tensor import Tensor\nTensor.__module__ = 'torch'\n")
            with open(os.path.join(folder, "torch", "_tensor.py"), "w") as file:
                file.write("class Tensor:\n    dtype = 'torch.float32'\n    def __init__(self, *shape, device='cpu'): self.shape, self.device = shape, device\n"
                           "    def __getitem__(self, at): return Tensor(*[s.stop for s in (at if isinstance(at, tuple) else (at,))])\n"
                           "    def __repr__(self):\n        assert len(self.shape) < 3 or self.shape[0] < 100, 'all of it'\n        return 'tensor(%s)' % (self.shape,)\n")
            host = self.start(cwd=folder)
            self.ok(host, "from torch import Tensor\nTensor(2, 3)", "tensor((2, 3))")
            self.ok(host, "Tensor(1000, 50, 60)", "Tensor(1000×50×60, torch.float32), head [:1, :5, :8]:\ntensor((1, 5, 8))")
            self.ok(host, "[Tensor(10**6, device='cuda:0')]", "[Tensor(1000000, torch.float32, cuda:0)]")

    def test_st1_a_value_in_a_list_is_one_line(self):
        host = self.start()
        host.eval("class M:\n    def __repr__(self): return 'a\\n  b'\nm = M(); l = list(range(1000)); s = 'y' * 1000; d = {'k' * 90: 'v' * 90}")
        values = {v["name"]: v["value"] for v in host.ask("query 1 vars")["data"]["vars"]}
        self.assertEqual(values["m"], "a b")
        self.assertTrue(all(len(v) <= 100 for v in values.values()), values)
        self.assertTrue(values["l"].endswith("999] (1000 items)"), values["l"])
        host.eval("import collections, array\nq = collections.deque([1]); c = collections.Counter('aab')")
        sizes = {v["name"]: v.get("size") for v in host.ask("query 1 vars")["data"]["vars"]}
        self.assertEqual((sizes["q"], sizes["c"], sizes["m"], sizes["s"]), ("1", "2", None, "1000"))
        result = host.eval("import dataclasses\nclass Sized(collections.UserList):\n    def __len__(self): print('asked'); return 1\n@dataclasses.dataclass\nclass DC:\n    x: int = 1\n"
                           "    def __getattribute__(self, name): print('asked'); return 1\na = Sized(); b = DC(); f = collections.defaultdict(type('F', (), {'__call__': 0, '__repr__': lambda s: print('asked')})())")
        self.assertEqual((result.status, result.out), ("ok", ""))

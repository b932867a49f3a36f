"""Values of real libraries: numpy, pandas, polars and Pillow must be installed in the Python under test."""
import base64
import struct

from driver import BridgeTest

IMPORTS = "import sys\nimport numpy as np, pandas as pd, polars as pl\nrender = sys.displayhook.__globals__['render']"


class Libraries(BridgeTest):
    def shown(self, host, code, *parts):
        result = host.eval(code)
        self.assertEqual((result.status, result.err), ("ok", ""), (code, result.events))
        self.assertIsNone(result.event("display"))
        self.assertLessEqual(len(result.value), 2000, code)
        for part in parts:
            self.assertIn(part, result.value, code)
        return result.value

    def start_with(self, code):
        host = self.start()
        self.assertEqual(host.eval(code).status, "ok")
        return host

    def test_o8_small_ones_are_exactly_their_repr(self):
        host = self.start_with(IMPORTS)
        for code in ("np.arange(3)", "np.float64(1.5)", "np.zeros((2, 3))", "np.array('x')", "np.zeros(0)", "np.array([1, 'a', None], dtype=object)", "np.ma.array([1, 2], mask=[0, 1])",
                     "np.dtype('f8')", "pd.DataFrame({'a': [1, 2], 'b': ['x', None]})", "pd.DataFrame()", "pd.DataFrame({'a': []})", "pd.Series([1, 2], name='n')", "pd.Index(['a', 'b'])",
                     "pd.RangeIndex(10**6)", "pd.MultiIndex.from_tuples([(1, 2)])", "pd.Timestamp('2020')", "pd.Categorical(['a'] * 10**4)", "pl.DataFrame({'a': [1, None]})", "pl.Series([1, 2])",
                     "{'a': np.arange(3), 'b': [np.float32(1)]}", "[pd.Series([1])]", "pd.DataFrame({'a': [1]}).groupby('a').ngroups", "np", "np.random.default_rng"):
            self.ok(host, "v = %s\nrender(v) == repr(v) or render(v)" % code, "True")

    def test_o8_arrays_as_shape_type_and_head(self):
        host = self.start_with(IMPORTS)
        self.shown(host, "np.arange(10**7)", "ndarray(10000000, int64), head [:20]:\narray([ 0,  1,", "19])")
        self.shown(host, "np.zeros((3000, 4))", "ndarray(3000×4, float64), head [:5, :4]:\narray([[0.")
        self.shown(host, "np.zeros((2, 2, 600, 700), 'f4')", "ndarray(2×2×600×700, float32), head [:1, :1, :5, :8]:")
        self.shown(host, "np.array([1.123456789] * 900)", "ndarray(900, float64)")
        self.shown(host, "np.zeros((2,) * 20)", "ndarray(2×2×")
        self.shown(host, "np.array(['x' * 10**5] * 30)", "ndarray(30, <U100000)", "(100000 characters)")
        self.shown(host, "np.ma.array(np.arange(10**6), mask=False)", "MaskedArray(1000000, int64)", "masked_array(")
        self.shown(host, "np.zeros(10**5, dtype=[('a', 'i4'), ('b', 'f8')])", "ndarray(100000, [('a', '<i4'), ('b', '<f8')])")
        self.shown(host, "class Sub(np.ndarray): pass\nnp.zeros(10**5).view(Sub)", "Sub(100000, float64), head")
        self.ok(host, "class Own(np.ndarray):\n    def __repr__(self): return 'mine'\nnp.zeros(10**5).view(Own)", "mine")
        host.eval("np.set_printoptions(threshold=sys.maxsize)\nclass Bad:\n    def __repr__(self): raise ValueError('no')")
        self.shown(host, "np.arange(10**6)", "ndarray(1000000, int64)")
        self.shown(host, "np.array([Bad(), 1, 'x' * 5000], dtype=object)", "ndarray(3, object)", "<Bad object, repr raised ValueError: no>, 1, 'xxx", "(5000 characters)")

    def test_o8_frames_as_shape_types_and_head(self):
        host = self.start_with(IMPORTS + "\nwide = {'c%d' % i: range(1000) for i in range(1000)}\nlong = {'n': range(10**6), 's': ['abc'] * 10**6, 'f': 0.5}")
        for library in ("pd", "pl"):
            kind = "int64" if library == "pd" else "Int64"
            make = library + ".DataFrame(%s)"
            text = self.shown(host, make % ("long" if library == "pd" else "dict(long, f=[0.5] * 10**6)"), "DataFrame(1000000×3)\ncolumns: n %s, s " % kind, "… (999995 more rows)")
            self.assertEqual(text.split("\n")[-2].split(), (["4"] if library == "pd" else []) + ["4", "abc", "0.5"])
            self.shown(host, make % "wide", "DataFrame(1000×1000)\ncolumns: c0 %s, c1 %s" % (kind, kind), " more)\n", "(995 more rows, ", " more columns)")
            self.shown(host, make % "{'t': ['y' * 10**6] * 100, 'l': [[1] * 1000] * 100}", "DataFrame(100×2)", "yyyyyy…", "items)")
            self.shown(host, make % "{'x' * 5000: [1] * 100}", "DataFrame(100×1)")
            self.shown(host, make % "{'a': [1, None] * 100, 'b': [2] * 200}", " (100 null), b " + kind)
            self.shown(host, "%s.Series('s', [1] * 1000)" % library if library == "pl" else "pd.Series([1] * 1000, name='s')", "Series(1000, %s, name='s')" % kind, "… (995 more rows)")
            self.shown(host, "{'train': %s, 'many': [%s], 'n': 1}" % (make % "wide", make % "wide"), "{'train': DataFrame(1000×1000: c0 ", ", 'many': [DataFrame(1000×1000", "'n': 1}")
        self.shown(host, "pl.DataFrame(wide).lazy()", "LazyFrame of 1000 columns, not collected\ncolumns: c0 Int64, c1")
        self.shown(host, "pl.scan_csv('/no/such/file.csv')", "LazyFrame")
        self.shown(host, "[pl.LazyFrame({'a': [1]})]", "[LazyFrame]")

    def test_o8_strange_frames(self):
        host = self.start_with(IMPORTS + "\nclass Bad:\n    def __repr__(self): raise ValueError('no')\n    __str__ = __repr__")
        self.shown(host, "pd.DataFrame({'a': [Bad(), 1], 'b': [2, 'two']})", "DataFrame(2×2)\ncolumns: a object", "<Bad object", "two")
        self.shown(host, "pd.Series([Bad()] * 3)", "Series(3, object)", "<Bad object")
        self.shown(host, "pd.DataFrame(np.zeros((1000, 3)), columns=['a', 'a', ('t', 1)])", "DataFrame(1000×3)", "a float64, a float64")
        self.shown(host, "pd.DataFrame(np.zeros((100, 2)), index=pd.MultiIndex.from_product([range(10), list('abcdefghij')]))", "DataFrame(100×2)", "(0, 'a')")
        self.shown(host, "pd.DataFrame(columns=range(1000))", "DataFrame")
        self.shown(host, "pd.DataFrame(index=range(1000))", "DataFrame(1000×0)")
        self.shown(host, "pd.DataFrame({'t': pd.date_range('2020', periods=100), 'c': pd.Categorical(['x'] * 100), 'n': pd.array([1, None] * 50)})", "datetime64", "2020-01-05", "category", "Int64 (50 null)")
        self.shown(host, "pd.MultiIndex.from_product([range(100), range(100)])", "MultiIndex(10000, object), head [:20]:")
        self.shown(host, "class F(pd.DataFrame): pass\nF({'a': range(1000)})", "F(1000×1)")
        self.ok(host, "class G(pd.DataFrame):\n    def __repr__(self): return 'mine'\nG({'a': range(1000)})", "mine")
        host.eval("pd.set_option('display.max_rows', None)\npd.set_option('display.max_seq_items', None)")
        self.shown(host, "pd.DataFrame({'a': range(10**5)})", "DataFrame(100000×1)")
        self.shown(host, "pd.Index(range(0, 10**6, 3)).astype(str)", "Index(333334, ")

    def test_st1_one_short_line_in_lists(self):
        host = self.start_with(IMPORTS + "\ndf = pd.DataFrame({'a': range(10**6)}); p = pl.DataFrame({'a': [1]}); a = np.zeros((2, 2)); b = np.arange(2); s = df['a']; z = p.lazy(); e = {'k': [df]}")
        data = {v["name"]: (v.get("size"), v["value"]) for v in host.ask("query 1 vars")["data"]["vars"]}
        self.assertEqual(data["df"], ("1000000×1", "DataFrame(1000000×1)"))
        self.assertEqual(data["p"], ("1×1", "DataFrame(1×1)"))
        self.assertEqual(data["a"], ("2×2", "ndarray(2×2, float64)"))
        self.assertEqual(data["b"], ("2", "array([0, 1])"))
        self.assertEqual(data["s"], ("1000000", "Series(1000000, int64, name='a')"))
        self.assertEqual(data["e"], ("1", "{'k': [DataFrame(1000000×1)]}"))
        self.assertEqual(data["z"], (None, "LazyFrame"))
        self.assertIn("columns: a int64", host.ask("query 2 inspect", "df")["data"]["value"])


class Images(BridgeTest):
    def image(self, host, code, mime="image/png"):
        result = host.eval(code)
        self.assertIn([e["ev"] for e in result.events], [["display", "value", "done"], ["display", "done"]], result.events[-2:])
        display = result.event("display")
        self.assertEqual(display["mime"], mime)
        return base64.b64decode(display["data"]), result.value

    def test_o9_pil_images_are_shown_within_limits(self):
        host = self.start()
        host.eval("from PIL import Image\nimport os, io")
        data, text = self.image(host, "im = Image.new('RGB', (30, 20), 'red'); im")
        self.assertEqual(struct.unpack(">II", data[16:24]), (30, 20))
        self.assertIn("size=30x20", text)
        data, text = self.image(host, "big = Image.new('RGB', (4000, 1000)); big")
        self.assertEqual(struct.unpack(">II", data[16:24]), (1568, 392))
        self.ok(host, "big.size", "(4000, 1000)")
        data, _ = self.image(host, "Image.frombytes('RGB', (1500, 1500), os.urandom(1500 * 1500 * 3))")
        self.assertLessEqual(len(data), 1_000_000)
        self.assertGreater(len(data), 300_000)
        for mode in ("1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr", "I", "F", "HSV", "I;16"):
            self.image(host, "Image.new(%r, (2000, 10))" % mode)
        self.assertEqual(host.eval("Image.Image").event("display"), None)
        self.assertEqual(host.eval("Image.new('RGB', (0, 0))").status, "ok")
        self.assertEqual(host.eval("[im]").event("display"), None)

    def test_o9_big_images_of_others_are_scaled_down(self):
        host = self.start()
        host.eval("import io, os\nfrom PIL import Image\ndef encode(size, form):\n    f = io.BytesIO(); Image.frombytes('RGB', size, os.urandom(size[0] * size[1] * 3)).save(f, form); return f.getvalue()\n"
                  "class P:\n    def __init__(self, data): self.data = data\n    def _repr_png_(self): return self.data\nclass J(P):\n    _repr_png_ = None\n    def _repr_jpeg_(self): return self.data\nsmall = encode((40, 30), 'PNG')")
        data, _ = self.image(host, "P(small)")
        self.assertEqual(repr(data), repr(eval(host.eval("small[:0] + small[:100]").value) + data[100:]))
        data, _ = self.image(host, "P(encode((3000, 40), 'PNG'))")
        self.assertEqual(struct.unpack(">I", data[16:20]), (1568,))
        data, _ = self.image(host, "P(encode((1200, 1200), 'PNG'))")
        self.assertLessEqual(len(data), 1_000_000)
        data, _ = self.image(host, "J(encode((3000, 400), 'JPEG'))", "image/jpeg")
        self.assertTrue(data.startswith(b"\xff\xd8\xff"))
        host.eval("shown = Image.open(io.BytesIO(%r))" % data)
        self.ok(host, "shown.size", "(1568, 209)")

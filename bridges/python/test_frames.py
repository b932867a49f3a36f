"""Frames and arrays say how they changed (SPEC E-13). Needs numpy, pandas and polars; pyarrow and xarray where they are."""
import importlib.util

from driver import BridgeTest

MAKE = "import pandas as pd, numpy as np\ndf = pd.DataFrame({'a': [1, 2, 3], 'b': [1.5, 2.5, 3.5]})"


class Frames(BridgeTest):
    def changes(self, host, code):
        """What the eval says of names that hold something else, by name."""
        result = host.eval(code)
        self.assertEqual(result.status, "ok", (code, result.events))
        changed = result.done.get("changed", {})
        return {entry["name"]: entry.get("change") for entry in changed.get("rebound", [])}

    def tells(self, host, rows):
        for code, wanted in rows:
            told = {"df": wanted} if isinstance(wanted, str) else wanted or {}
            self.assertEqual(self.changes(host, code), told, code)

    def start_with(self, code):
        host = self.start()
        # What the code does not name is looked at and sampled for a moment only, which may be over on a busy machine.
        self.ok(host, "import sys; sys.displayhook.__globals__.update(MARKS_SECONDS=60, SAMPLES_SECONDS=60); del sys")
        self.ok(host, code)
        return host

    def test_e13_what_an_eval_that_failed_left_does_not_hide_the_next_change(self):
        host = self.start_with("import numpy; a = numpy.zeros(3)")
        for code in ("1/0", "\n\n\nraise ValueError"):
            self.assertEqual(host.eval(code).status, "error")
            self.assertEqual(self.changes(host, "a[0] = 5"), {"a": "3 values"}, code)

    def test_e13_a_pandas_frame_says_how_it_changed_in_place(self):
        self.tells(self.start_with(MAKE), [
            ("df['c'] = 1", "3×2→3×3 +c"),
            ("df['d'] = 'x'; df['e'] = df.a", "3×3→3×5 +d +e"),
            ("del df['d']", "3×5→3×4 -d"),
            ("df.rename(columns={'c': 'z'}, inplace=True)", "3×4 c→z"),
            ("df.columns = ['a', 'b', 'y', 'e']", "3×4 z→y"),
            ("df['a'] = df.a.astype(float)", "3×4 a:int64→float64"),
            ("df['a'] = df.a * 2", "3×4 values"),
            ("df.loc[0, 'a'] = 9.0", "3×4 values"),
            ("df.iloc[0, 0] = 9.0", "3×4 values"),
            ("df.at[0, 'a'] = 9.0", "3×4 values"),
            ("df[df.a > 1] = 0", "3×4 values"),
            ("df.sort_values('b', inplace=True, ascending=False)", "3×4 values"),
            ("df.drop(index=df.index[0], inplace=True)", "3×4→2×4"),
            ("df.index = ['p', 'q']", "2×4 values"),
            ("df.fillna(0, inplace=True)", "2×4 values"),
            ("df.update(df * 2)", "2×4 values"),
            ("df.loc['r'] = [1, 2, 3, 4]", "2×4→3×4"),
            ("df.drop(columns=['a', 'b', 'y'], inplace=True)", "3×4→3×1 -a -b -y"),
        ])

    def test_e13_a_frame_that_is_rebound_says_how_it_differs(self):
        self.tells(self.start_with("import pandas as pd\ndf = pd.DataFrame({c: range(1000) for c in 'abcde'})"), [
            ("df = df[df.a >= 60].assign(ratio=1.5)", "1000×5→940×6 +ratio"),
            ("df = df.drop(columns=list('abc'))", "940×6→940×3 -a -b -c"),
            ("df = df.astype({'d': float})", "940×3 d:int64→float64"),
            ("df = df[['ratio', 'd', 'e']]", "940×3 columns reordered"),
            ("df = df.copy()", {"df": None}),
            ("df = df.rename(columns=str.upper)", "940×3 ratio→RATIO d→D e→E"),
            ("df = df['D']", {"df": None}),
            ("df = df.head(10)", "940→10"),
            ("df = df.astype(int)", "10 float64→int64"),
            ("df = 5", {"df": None}),
            ("df = 6", {"df": None}),
        ])

    def test_e13_reads_tell_nothing(self):
        host = self.start_with(MAKE + "\ndf['c'] = 2\ndf['d'] = 3.5\narr = np.arange(12.0).reshape(3, 4)\ns = df.a\nother = [df]")
        for code in ("df.describe()", "df", "repr(df), str(df), df.to_string()", "df.groupby('a').sum()", "df.values", "df.T", "df.to_numpy()", "df.sum(axis=1)", "df.corr()",
                     "x = df.a + 1", "df[df.a > 1]", "df.loc[0]", "df.merge(df, on='a')", "y = df.assign(q=1)", "df.sort_values('a')", "[c for c in df]", "df.to_csv()",
                     "arr", "arr.sum(axis=0), arr.T, arr[0], arr + 1, arr.copy()", "z = arr[1:]", "np.sort(arr)", "sorted(arr[0])", "df == df", "df.attrs['a'] = 1", "df.index.name = 'n'",
                     "df.query('a > 1')", "df.a.plot", "df.copy()", "df.head(n=2)", "np.add(arr, 1, out=None)", "s", "len(df), df.shape, df.dtypes, df.info()", "hash(id(df))",
                     "def f():\n    df.loc[0, 'a'] = 5\n    arr[0] = 1", "g = lambda: arr.sort()", "other[0].describe()", "df.memory_usage(deep=True)", "df.isna().sum()"):
            result = host.eval(code)
            self.assertEqual(result.status, "ok", (code, result.events))
            self.assertNotIn("rebound", result.done.get("changed", {}), code)

    def test_e13_arrays_say_shape_and_type(self):
        self.tells(self.start_with("import numpy as np\ndf = np.arange(12.0)\nb = df\nm = np.eye(3)"), [
            ("df = df.reshape(3, 4)", "12→3×4"),
            ("b[0] = 1", {"b": "12 values", "df": "3×4 values"}),
            ("b += 1", {"b": "12 values", "df": "3×4 values"}),
            ("c = b", {}),
            ("c[1:] *= 2", {"b": "12 values", "c": "12 values", "df": "3×4 values"}),
            ("df = df.astype('int32')", "3×4 float64→int32"),
            ("df.shape = (4, 3)", "3×4→4×3"),
            ("m[0], df[0, 0] = 5, 6", {"m": "3×3 values", "df": "4×3 values"}),
            ("m.sort()", {"m": "3×3 values"}),
            ("np.random.shuffle(m)", {"m": "3×3 values"}),
            ("np.add(m, 1, out=m)", {"m": "3×3 values"}),
            ("m.fill(0)", {"m": "3×3 values"}),
            ("for i in range(3):\n    m[i] = i", {"m": "3×3 values"}),
            ("x = np.float64(1)", {}),
            ("x = np.float64(2)", {"x": None}),
            ("df = np.zeros(3, dtype='int32')", "4×3→3"),
        ])

    def test_e13_series_polars_and_the_like(self):
        self.tells(self.start_with("import pandas as pd\ns = pd.Series([1, 2, 3], name='n')"), [
            ("s[0] = 5", {"s": "3 values"}),
            ("s.loc[9] = 5", {"s": "3→4"}),
            ("s = s.astype(float)", {"s": "4 int64→float64"}),
        ])
        self.tells(self.start_with("import polars as pl\ndf = pl.DataFrame({'a': [1, 2], 'b': ['x', 'y']})\ns = df['a']"), [
            ("df = df.with_columns(c=pl.col('a') * 2)", "2×2→2×3 +c"),
            ("df = df.rename({'c': 'd'})", "2×3 c→d"),
            ("df = df.with_columns(pl.col('a').cast(pl.Float64))", "2×3 a:Int64→Float64"),
            ("df.insert_column(0, pl.Series('i', [1, 2]))", "2×3→2×4 +i"),
            ("df[0, 'a'] = 9.0", "2×4 values"),
            ("df = df.filter(pl.col('i') > 1)", "2×4→1×4"),
            ("s = s.cast(pl.Int8)", {"s": "2 Int64→Int8"}),
            ("df.describe(), df.sort('a'), df.schema", None),
        ])
        if importlib.util.find_spec("pyarrow"):
            self.tells(self.start_with("import pyarrow as pa\ndf = pa.table({'a': [1, 2], 'b': ['x', 'y']})"), [
                ("df = df.append_column('c', [[1, 2]])", "2×2→2×3 +c"), ("df = df.slice(1)", "2×3→1×3"),
                ("df = df.set_column(0, 'a', df['a'].cast('float64'))", "1×3 a:int64→double")])
        if importlib.util.find_spec("xarray"):
            self.tells(self.start_with("import xarray as xr, numpy as np\ndf = xr.Dataset({'t': (('x', 'y'), np.zeros((2, 3)))})\na = df.t"), [
                ("df['u'] = df.t + 1", "2×3 +u"), ("a[0, 0] = 5", {"a": "2×3 values"}), ("df = df.isel(x=[0])", "2×3→1×3"),
                ("df.attrs['a'] = 1; a.mean(), df.sizes", None)])

    def test_e13_a_change_by_a_function_or_under_another_name_is_told_too(self):
        host = self.start_with(MAKE + "\nsame = df\ndef add():\n    df['new'] = 1")
        self.tells(host, [("add()", {"df": "3×2→3×3 +new", "same": "3×2→3×3 +new"}),
                          ("same.loc[0, 'a'] = 5", {"df": "3×3 values", "same": "3×3 values"}),
                          ("exec(\"df['by_exec'] = 1\")", {"df": "3×3→3×4 +by_exec", "same": "3×3→3×4 +by_exec"})])

    def test_e13_a_change_under_a_name_that_the_same_code_gives_is_told(self):
        host = self.start_with("import numpy as np\na = np.arange(12.0)\nm = np.eye(3)")
        self.tells(host, [("b = a; b[0] = 5", {"a": "12 values"}), ("del b", {}), ("t = a\nt += 1\ndel t", {"a": "12 values"}), ("v = a[2:4]; v[:] = 0", {"a": "12 values"}),
                          ("v[0] = 1", {"a": "12 values", "v": "2 values"}), ("w = a[6:]; w[0] = 2", {"a": "12 values"}), ("w[1] = 3", {"a": "12 values", "w": "6 values"}),
                          ("for row in m:\n    row[0] = 9", {"m": "3×3 values"}), ("c = a.copy(); c[0] = 1", {}), ("c = np.zeros(3); c[0] = 1; c = a", {"c": None}),
                          ("del c", {}), ("n = a\nn = n + 1\nn[0] = 7", {})])

    def test_e13_values_that_a_function_of_the_users_changes_are_told(self):
        host = self.start_with(MAKE + """
a, big, m, keep = np.zeros(3), np.zeros(100_000), np.zeros((500, 700)), np.ones(4)
alias = a
def f(): a[0] += 1
def g(x): x[...] = x + 1
class Holder:
    def __init__(self): self.data = keep
    def step(self): self.data *= 2
holder = Holder()
def reads(): return a.sum(), df.a.sum(), holder.data.max()
def frame(): df.loc[0, 'b'] = df.loc[0, 'b'] + 1
def column(): df.iloc[1, 0] += 1
odd = np.array([1, 'x', None], dtype=object)""")
        self.tells(host, [("f()", {"a": "3 values", "alias": "3 values"}), ("reads()", {}), ("g(big)", {"big": "100000 values"}), ("g(m)", {"m": "500×700 values"}), ("[g(x) for x in (a, big)]", {"a": "3 values", "alias": "3 values", "big": "100000 values"}),
                          ("holder.step()", {"keep": "4 values"}), ("frame()", {"df": "3×2 values"}), ("column()", {"df": "3×2 values"}), ("exec('a[1] = 77')", {"a": "3 values", "alias": "3 values"}),
                          ("def h(): odd[0] = 5", {}), ("h()", {"odd": "3 values"}), ("x = 1", {}), ("Holder()", {}), ("list(map(lambda i: a.__setitem__(0, i), [8, 9]))", {"a": "3 values", "alias": "3 values"}),
                          ("def now():\n    keep[0] = 99\nnow()", {"keep": "4 values"})])
        result = host.eval("f()\n1/0")
        self.assertEqual({entry["name"] for entry in result.done["changed"]["rebound"]}, {"a", "alias"})
        if importlib.util.find_spec("torch"):
            self.ok(host, "import torch\nt = torch.zeros(3)\ndef inside(): t[0] = 5")
            self.tells(host, [("inside()", {"t": "3 values"}), ("reads()", {})])

    def test_e13_what_did_not_run_is_not_told(self):
        host = self.start_with(MAKE + "\narr = np.zeros(3)")
        result = host.eval("1/0\narr[0] = 5")
        self.assertNotIn("changed", result.done)
        result = host.eval("arr[1] = 5\n1/0")
        self.assertEqual(result.done["changed"]["rebound"][0]["change"], "3 values")
        result = host.eval("df['c'] = 1; 1/0")
        self.assertEqual(result.done["changed"]["rebound"][0]["change"], "3×2→3×3 +c")
        self.assertNotIn("changed", host.eval("arr[0] = (").done)

    def test_e13_types_of_other_libraries_compare_with_those_of_numpy(self):
        self.tells(self.start_with(MAKE + "\ndf['t'] = ['x', 'y', 'x']\ndf['u'] = pd.to_datetime(['2020-01-01'] * 3)"), [
            ("df['a'] = df.a.astype('category')", "3×4 a:int64→category"),
            ("df['a'] = df.a.astype('Int64')", "3×4 a:category→Int64"),
            ("df = df.assign(b=df.b.astype('Float64'))", "3×4 b:float64→Float64"),
        ])

    def test_e13_frames_beyond_those_that_are_listed_are_told_of_too(self):
        host = self.start_with("import pandas as pd\nfor i in range(80): globals()['f%d' % i] = pd.DataFrame({'a': [1]})")
        self.tells(host, [("f79['b'] = 2; f3['c'] = 1", {"f79": "1×1→1×2 +b", "f3": "1×1→1×2 +c"})])

    def test_e13_a_change_is_told_in_bounded_words(self):
        host = self.start_with("import pandas as pd\ndf = pd.DataFrame({'c%d' % i: [1] for i in range(50)})")
        text = self.changes(host, "df = df.rename(columns=lambda c: 'a very long name indeed, ' * 9 + c).astype(float)")["df"]
        self.assertLessEqual(len(text), 200)
        self.changes(host, "df = pd.DataFrame({'k': [1]})")
        self.tells(host, [("df = pd.DataFrame({i: [1] for i in range(9)})", "1×1→1×9 +0 +1 +2 +3 (5 more new) -k"),
                          ("df['a b'] = 1; df['\\n]'] = 2", '1×9→1×11 +"a b" +"\\n]"')])

    def test_e13_a_mark_keeps_nothing_alive(self):
        host = self.start_with(MAKE + "\nimport weakref, gc\narr = np.zeros(3)\nblock = df._mgr.blocks[-1].values")
        self.ok(host, "watched = [weakref.ref(df), weakref.ref(arr), weakref.ref(block)]\ndel block")
        self.ok(host, "df['c'] = 1; arr[0] = 2")
        self.ok(host, "del df, arr\nn = gc.collect()")
        self.ok(host, "[ref() for ref in watched]", "[None, None, None]")

    def test_e13_a_frame_whose_inside_is_not_as_expected_is_compared_by_shape_and_columns(self):
        host = self.start_with("import sys\nmarkers = sys.displayhook.__globals__['MARKERS']\nfor sort in list(markers): markers[sort] = lambda mark, value: 1 / 0")
        self.ok(host, MAKE + "\narr = np.zeros(3)\nclass Odd(pd.DataFrame):\n    pass\nodd = Odd({'a': [1]})")
        self.tells(host, [("df['c'] = 2", "3×2→3×3 +c"), ("df = df[:2]", "3×3→2×3"), ("odd['b'] = 2", {"odd": "1×1→1×2 +b"}), ("arr = np.zeros(4)", {"arr": "3→4"}),
                          ("arr[0] = 1", {"arr": "4 values"}), ("df.describe()", None)])

    def test_e13_clear_forgets_the_marks(self):
        host = self.start_with(MAKE)
        host.ask("clear 1")
        self.assertNotIn("changed", host.eval("1").done)
        result = host.eval(MAKE)
        self.assertNotIn("change", {entry["name"]: entry for entry in result.done["changed"]["added"]}["df"])

    def test_e13_no_code_of_a_class_of_the_users_runs_after_an_eval(self):
        host = self.start_with(MAKE + """
asked = []
class Sub(pd.DataFrame):
    @property
    def shape(self): asked.append('shape'); return super().shape
    @property
    def columns(self): asked.append('columns'); return 5
class Arr(np.ndarray):
    dtype = property(lambda self: asked.append('dtype'))
class Any(np.ndarray):
    def __getattribute__(self, name): asked.append(name); return super().__getattribute__(name)
class Fake:
    __module__ = 'numpy'
    shape = property(lambda self: asked.append('shape') or (1, 2))
Fake.__name__ = 'ndarray'
class Plain(pd.DataFrame):
    pass""")
        self.ok(host, "fake, arr, every = Fake(), np.zeros(3).view(Arr), np.zeros(3).view(Any)\nsub = Sub({'a': [1]})\nplain = Plain({'a': [1]})\nasked.clear()")
        for code in ("fake", "arr2 = 1", "x = 1", "plain['b'] = 2"):
            result = host.eval(code + "\nNone")
            self.assertEqual(result.status, "ok", result.events)
        self.ok(host, "asked", "[]")
        # A class that changes nothing of that is marked as its base is, until it does.
        self.tells(host, [("plain['c'] = 2", {"plain": "1×2→1×3 +c"})])
        self.ok(host, "Plain.shape = property(lambda self: asked.append('late'))\nNone")
        self.ok(host, "asked", "[]")

    def test_e13_columns_and_labels_of_the_users_own_types_are_not_asked(self):
        host = self.start_with(MAKE + """
class Label:
    def __eq__(self, other): raise SystemExit
    def __hash__(self): raise SystemExit
""")
        self.ok(host, "one, two = Label(), Label()\ndf.columns = pd.Index([1, 2])\nNone")
        self.tells(host, [("df.columns.values.dtype, setattr(df._mgr, 'axes', [pd.Index(np.array([one, two], dtype=object)), df.index])\nNone", None)])
        self.ok(host, "1", "1")

    def test_e13_labels_that_are_there_twice_or_are_no_number(self):
        host = self.start_with("import pandas as pd, numpy as np\ndf = pd.DataFrame([[1, 2, 3]], columns=['a', 'b', 'b'])")
        self.tells(host, [
            ("df.columns = ['a', 'a', 'b']", "1×3 b→a"),
            ("df.columns = ['a', 'b', 'a']", "1×3 columns reordered"),
            ("df.columns = [1.5, np.nan, np.nan]", "1×3 a→1.5 b→NaN a→NaN"),
            ("df.columns = [1.5, float('nan'), np.nan]", {}),
            ("df.columns = [np.nan, 1.5, np.nan]", "1×3 columns reordered"),
            ("df = df.iloc[:, :2]", "1×3→1×2 -NaN"),
            ("df.columns = ['x', 'x']", "1×2 NaN→x 1.5→x"),
            ("df.isetitem(1, [2.5])", "1×2 x:int64→float64"),
        ])

    def test_e13_what_returns_a_copy_is_no_change(self):
        host = self.start_with("import numpy as np, random, polars as pl, pandas as pd\na = np.arange(4)\npf = pl.DataFrame({'x': [1, 2]})\nrng = np.random.default_rng(0)\n"
                               "def shuffle(*arrays): return arrays\nclass np2: pass")
        for code in ("shuffle(a)", "shuffle(a, a)", "a.byteswap()", "pf.update(pf)", "np.sort(a)", "a.copy().sort()", "sorted(a)"):
            self.assertEqual(self.changes(host, code), {}, code)
        for code in ("random.shuffle(a)", "np.random.shuffle(a)", "rng.shuffle(a)", "rng.shuffle(a, 0)", "from random import shuffle as s, shuffle\nshuffle(a)", "a.byteswap(True)", "a.byteswap(inplace=True)",
                     "np.put(a, 0, 5)", "np.copyto(a, a)"):
            self.assertEqual(self.changes(host, code).get("a"), "4 values", code)
        if importlib.util.find_spec("sklearn"):
            self.ok(host, "from sklearn.utils import shuffle\nimport sklearn.utils")
            for code in ("shuffle(a)", "X, y = shuffle(a, a)", "sklearn.utils.shuffle(a)"):
                self.assertNotIn("a", self.changes(host, code), code)
        if importlib.util.find_spec("torch"):
            self.ok(host, "import torch\nt = torch.tensor([2, 1])")
            self.tells(host, [("t.sort()", {}), ("t.put(torch.tensor([0]), torch.tensor([5]))", {}), ("t.add_(1)", {"t": "2 values"}), ("t[0] = 5", {"t": "2 values"})])

    def test_e13_looking_for_stores_touches_no_warnings_and_warns_once(self):
        host = self.start_with("import numpy as np, warnings\na = np.zeros(2)\nseen = []\nclass Watch(warnings.catch_warnings):\n    def __enter__(self): seen.append(1); super().__enter__()\n"
                               "warnings.simplefilter('always')\nwarnings.catch_warnings = Watch")
        result = host.eval("a[0] = '\\d' == 1")
        self.assertEqual((result.changed["rebound"][0]["change"], result.err.count("invalid escape")), ("2 values", 1))
        self.ok(host, "seen", "[]")

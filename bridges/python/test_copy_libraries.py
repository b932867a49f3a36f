"""Checkpoints in sessions with libraries that have threads, caches and figures of their own."""
import os
import shutil
import tempfile

from nest import NestTest


class Libraries(NestTest):
    def same_after(self, setup, use):
        """What `use` gives is the same before a checkpoint's rollback and after each of two; the copy."""
        host = self.start()
        self.assertEqual(host.eval(setup).status, "ok", setup)
        result = host.work("checkpoint", "a")
        self.assertEqual((result.status, result.err), ("ok", ""), result.events)
        copy = host.take_packet()
        live = host.eval(use)
        self.assertEqual(live.status, "ok", live.traceback)
        for _ in range(2):
            self.back(host, copy)
            self.assertEqual((host.eval(use).value, host.idle.order), (live.value, []), use)
        return copy

    def test_st3_numpy_and_its_random_state(self):
        copy = self.same_after("import numpy as np\nnp.random.seed(3); own = np.random.default_rng(5)\na = np.arange(250000.0).reshape(500, 500); b = a @ a",
                               "a += 1; float((a @ a).sum()), np.random.rand(), own.random()")
        self.assertEqual(copy.lost, [])

    def test_st3_pandas(self):
        self.same_after("import pandas as pd\ndf = pd.DataFrame({'a': range(100000)})", "df['b'] = df.a % 7; df.groupby('b').a.sum().tolist()")

    def test_st3_polars_that_was_only_imported(self):
        self.same_after("import polars as pl", "pl.DataFrame({'a': [1, 2, 3]}).lazy().group_by('a').len().collect().height")

    def test_st3_polars_that_was_used_is_refused(self):
        host = self.start()
        self.ok(host, "import polars as pl\nn = pl.DataFrame({'a': [1, 2, 3]}).lazy().group_by('a').len().collect().height")
        self.assertIn("polars has started its threads", host.refused())
        self.assertIn("polars has started its threads", host.copy())
        self.ok(host, "n", "3")

    def test_st3_threads_of_openmp_by_scikit_learn(self):
        self.same_after("import numpy as np\nfrom sklearn.ensemble import HistGradientBoostingClassifier as H\nX = np.random.RandomState(0).rand(2000, 5); y = (X[:, 0] > .5).astype(int)\nm = H(max_iter=3).fit(X, y)",
                        "H(max_iter=3, random_state=0).fit(X, y).score(X, y), m.score(X, y)")

    def test_st3_threads_and_processes_of_joblib(self):
        self.same_after("import numpy as np\nfrom sklearn.ensemble import RandomForestClassifier as R\nX = np.random.RandomState(0).rand(300, 5); y = (X[:, 0] > .5).astype(int)\nm = R(n_jobs=2, n_estimators=4).fit(X, y)",
                        "R(n_jobs=2, n_estimators=4, random_state=0).fit(X, y).score(X, y)")
        self.same_after("from joblib import Parallel, delayed\nr = Parallel(n_jobs=2)(delayed(abs)(-i) for i in range(4))", "Parallel(n_jobs=2)(delayed(abs)(-i) for i in range(4))")

    def test_st3_figures(self):
        host = self.start()
        result = host.eval("import matplotlib.pyplot as plt\nfig, ax = plt.subplots(); line, = ax.plot([1, 2])")
        self.assertIsNotNone(result.event("display"))
        copy = host.checkpoint()
        host.eval("ax.plot([3, 4]); plt.close('all')")
        self.back(host, copy)
        self.ok(host, "len(ax.lines), line.figure is fig", "(1, True)")
        self.assertIsNotNone(host.eval("line.set_color('red')").event("display"))

    def test_st3_a_memory_map_is_told(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        copy = self.same_after("import numpy as np\nm = np.memmap(%r, 'int64', 'w+', shape=(9,))" % os.path.join(folder, "m.bin"), "m[0] = 7; int(m[0])")
        self.assertIn("the contents of m.bin", copy.lost)

    def test_st3_a_progress_bar_keeps_nobody_from_copying(self):
        host = self.start()
        self.assertEqual(host.eval("from tqdm import tqdm\nfor _ in tqdm(range(10), mininterval=0): pass").status, "ok")
        copy = host.copy()
        self.back(host, copy)
        self.assertEqual(host.eval("for _ in tqdm(range(10)): pass").status, "ok")

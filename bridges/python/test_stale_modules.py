"""Modules of the workspace that have changed on disk since they were imported (E-14)."""
import glob
import os
import shutil
import tempfile
import time

from driver import BridgeTest

RELOAD = "module %s changed on disk since it was imported (importlib.reload(%s) reads it again)"


class Modules(BridgeTest):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.tick = 0

    def put(self, name, text, folder=None):
        """Writes a file with a time of its own, since two edits may come within one tick of the clock."""
        path = os.path.join(folder or self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        self.tick += 1
        os.utime(path, (1_600_000_000 + self.tick, 1_600_000_000 + self.tick))
        return path

    def begin(self, **env):
        return self.start(cwd=self.folder, env=dict({"PYTHONDONTWRITEBYTECODE": ""}, **env))

    def notice(self, host, code="None", status="ok"):
        result = host.eval(code)
        self.assertEqual(result.status, status, result.events)
        return result.done.get("notice")

    def test_e14_a_change_is_said_once(self):
        for env in ({}, {"PYTHONDONTWRITEBYTECODE": "1"}):
            self.put("helpers.py", "x = 1\n")
            self.put("other.py", "")
            host = self.begin(**env)
            self.assertIsNone(self.notice(host, "import helpers, other, importlib, json"))
            self.assertIsNone(self.notice(host))
            self.put("helpers.py", "x = 2\n")
            self.assertEqual(self.notice(host, "helpers.x"), RELOAD % ("helpers", "helpers"))
            self.assertIsNone(self.notice(host))
            self.put("helpers.py", "x = 3\n")
            self.assertEqual(self.notice(host, "1/0", "error"), RELOAD % ("helpers", "helpers"))
            self.put("helpers.py", "x = 4\n")
            self.assertIsNone(self.notice(host, "importlib.reload(helpers)\nassert helpers.x == 4"))
            self.assertIsNone(self.notice(host))
            self.put("helpers.py", "x = 5\n")
            self.put("other.py", "y = 1\n")
            self.assertEqual(self.notice(host), "modules helpers, other changed on disk since they were imported (importlib.reload reads one again)")
            self.put("helpers.py", "x = 6\n")
            self.assertIsNone(self.notice(host, "import sys\ndel sys.modules['helpers']\nimport helpers\nassert helpers.x == 6"))
            self.put("helpers.py", "x = 7\n")
            self.assertEqual(self.notice(host), RELOAD % ("helpers", "helpers"))
            self.put("helpers.py", "x = 8\n")
            self.assertIsNone(self.notice(host, "del sys.modules['helpers']"))

    def test_e14_what_counts_is_the_state_at_the_import(self):
        self.put("helpers.py", "x = 1\n")
        host = self.begin()
        edit = "open('helpers.py', 'w').write('x = 22\\n')\n"
        self.assertEqual(self.notice(host, "import helpers\n" + edit), RELOAD % ("helpers", "helpers"))
        self.assertIsNone(self.notice(host))
        self.put("later.py", "x = 1\n")
        self.assertIsNone(self.notice(host, edit.replace("helpers", "later") + "import later\nassert later.x == 22"))
        # The same with a compiled form from an earlier run, which this session reads and does not write.
        self.put("later.py", "x = 1\n")
        self.notice(self.begin(), "import later")
        host = self.begin()
        self.assertEqual(self.notice(host, "import later\n" + edit.replace("helpers", "later")), RELOAD % ("later", "later"))
        # One that is old and could not be written anew says nothing.
        self.put("later.py", "x = 333\n")
        host = self.begin(PYTHONDONTWRITEBYTECODE="1")
        self.assertIsNone(self.notice(host, "import later\nassert later.x == 333"))

    def test_e14_a_compiled_form_of_just_before_is_not_the_import(self):
        self.put("helpers.py", "x = 1\n")
        self.notice(self.begin(), "import helpers")
        self.put("helpers.py", "x = 22\n")
        host = self.begin(PYTHONDONTWRITEBYTECODE="1")
        compiled = glob.glob(os.path.join(self.folder, "__pycache__", "helpers.*.pyc"))[0]
        before = time.time_ns() - 15_000_000
        os.utime(compiled, ns=(before, before))
        self.assertIsNone(self.notice(host))
        self.assertIsNone(self.notice(host, "import helpers\nassert helpers.x == 22"))

    def test_e14_a_reload_that_fails_leaves_it_stale(self):
        self.put("helpers.py", "x = 1\n")
        host = self.begin()
        self.notice(host, "import helpers, importlib")
        self.put("helpers.py", "x = (\n")
        self.assertEqual(self.notice(host, "importlib.reload(helpers)", "error"), RELOAD % ("helpers", "helpers"))
        self.put("helpers.py", "x = 2\n")
        self.assertIsNone(self.notice(host, "importlib.reload(helpers).x"))

    def test_e14_packages_and_deleted_files(self):
        for name in ("pkg/__init__.py", "pkg/sub.py", "space/inner.py", "gone.py"):
            self.put(name, "x = 1\n")
        host = self.begin()
        self.assertIsNone(self.notice(host, "import pkg.sub, space.inner, gone"))
        self.put("pkg/sub.py", "x = 2\n")
        self.assertEqual(self.notice(host), RELOAD % ("pkg.sub", "pkg.sub"))
        self.put("pkg/__init__.py", "x = 2\n")
        self.assertEqual(self.notice(host), RELOAD % ("pkg", "pkg"))
        self.put("space/inner.py", "x = 2\n")
        os.remove(os.path.join(self.folder, "gone.py"))
        self.assertEqual(self.notice(host), RELOAD % ("space.inner", "space.inner") + "; module gone was deleted on disk since it was imported")
        self.assertIsNone(self.notice(host))
        self.put("gone.py", "x = 2\n")
        self.assertEqual(self.notice(host), RELOAD % ("gone", "gone"))
        shutil.rmtree(os.path.join(self.folder, "pkg"))
        self.assertEqual(self.notice(host), "modules pkg, pkg.sub were deleted on disk since they were imported")

    def test_e14_only_the_workspace_is_watched(self):
        elsewhere = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, elsewhere)
        outside = self.put("outside.py", "", elsewhere)
        inside = self.put("site-packages/installed.py", "")
        linked = os.path.join(elsewhere, "link")
        self.put("src/linked.py", "")
        os.symlink(os.path.join(self.folder, "src"), linked)
        host = self.begin()
        self.assertIsNone(self.notice(host, "import sys, os\nsys.path += [%r, 'site-packages', %r]\nimport outside, installed, linked" % (elsewhere, linked)))
        for path in (outside, inside):
            os.utime(path, (1, 1))
        self.assertIsNone(self.notice(host))
        self.put("src/linked.py", "x = 1\n")
        self.assertEqual(self.notice(host), RELOAD % ("linked", "linked"))
        self.assertEqual(self.notice(host, "os.chdir(%r)" % elsewhere), RELOAD % ("outside", "outside"))
        self.put("src/linked.py", "x = 22\n")
        self.assertEqual(self.notice(host), RELOAD % ("linked", "linked"))
        self.put("fresh.py", "", elsewhere)
        self.assertIsNone(self.notice(host, "import fresh"))
        self.put("fresh.py", "x = 1", elsewhere)
        self.assertEqual(self.notice(host), RELOAD % ("fresh", "fresh"))

    def test_e14_strange_modules_do_no_harm(self):
        self.put("lazy.py", "print('loaded')\n")
        host = self.begin()
        self.ok(host, "import sys, types, importlib.util\nclass Trap:\n    def __getattribute__(self, name): 1/0\nclass Meta(types.ModuleType):\n    def __getattribute__(self, name): 1/0\n"
                      "sys.modules['trap'] = Trap(); sys.modules['meta'] = Meta('meta'); sys.modules[5] = 5; sys.modules['none'] = None\n"
                      "m = types.ModuleType('bare'); m.__file__ = 'bare.py'; sys.modules['bare'] = m\n"
                      "spec = importlib.util.find_spec('lazy')\nspec.loader = importlib.util.LazyLoader(spec.loader)\nsys.modules['lazy'] = module = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(module)")
        self.put("bare.py", "")
        self.ok(host, "1", "1")
        self.put("lazy.py", "print('loaded anew')\n")
        self.ok(host, "import os\nos.getcwd = os.stat = None\nsys.modules.pop('os')\n1", "1")
        for i in range(600):
            self.put("many/m%d.py" % i, "")
        self.assertIsNone(self.notice(host, "sys.path.append('many')\nimport importlib\nfor i in range(600): importlib.import_module('m%d' % i)"))
        for i in range(600):
            self.put("many/m%d.py" % i, "x = 1")
        text = self.notice(host)
        self.assertTrue(text.startswith("modules m0, m1, ") and " more changed on disk" in text, text)
        self.assertLess(len(text), 300)
        self.ok(host, "d = 'deleted'\nimport posix\nposix.mkdir(d)\nposix.chdir(d)\nposix.rmdir(posix.getcwd())\n1", "1")
        self.ok(host, "2", "2")

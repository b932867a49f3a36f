"""Saving in a Jupyter kernel by itself: the helper and the part that it is sent, with a namespace that stands for the user's and
cells that linecache knows, as a kernel without IPython has them."""

import base64
import gc
import json
import linecache
import os
import re
import signal
import sys
import tempfile
import threading
import types
import unittest

BRIDGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def joined(name):
    """A text as lib.rs puts it together."""
    with open(os.path.join(BRIDGES, "lib.rs")) as file:
        listed = re.search(r"const %s: &str = concat!\((.*?)\n\);" % name, file.read(), re.S).group(1)
    texts = []
    for path in re.findall(r'include_str!\("(.+?)"\)', listed):
        with open(os.path.join(BRIDGES, path)) as file:
            texts.append(file.read())
    return "".join(texts)


NAMES, SAVING = joined("JUPYTER_NAMES"), joined("JUPYTER_SAVING")


class Kernel:
    """A helper of its own, in a module `__main__` of its own."""

    count = 0

    def __init__(self):
        self.helper = types.ModuleType("_stead_names")
        exec(compile(NAMES, "<helper>", "exec"), vars(self.helper))
        self.module = types.ModuleType("__main__")
        self.space = vars(self.module)
        sys.modules["__main__"] = self.module
        self.helper.begin(self.space)
        self.works = 0

    def run(self, code):
        Kernel.count += 1
        file = "/tmp/ipykernel_0/%d.py" % Kernel.count
        linecache.cache[file] = len(code), None, [line + "\n" for line in code.splitlines()], file
        try:
            exec(compile(code, file, "exec", 0, True), self.space)
        finally:
            self.helper.after(self.space)

    def ask(self, *arguments):
        answer = json.loads(repr(self.helper.saving(self.space, None, *arguments)))
        if answer.get("status") == "needs":
            answer = json.loads(repr(self.helper.saving(self.space, SAVING, *arguments)))
        return answer

    def work(self, what, *lines, place="", sent=""):
        self.works += 1
        return self.ask("work", "nb:%d" % self.works, what, "\n".join(lines), place, sent)


class Saving(unittest.TestCase):
    def setUp(self):
        main = sys.modules["__main__"]
        self.addCleanup(sys.modules.__setitem__, "__main__", main)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(os.path.realpath(folder.name), "a.stead")
        self.kernel = Kernel()

    def ok(self, *work):
        answer = self.kernel.work(*work)
        self.assertEqual(answer["status"], "ok", answer)
        return answer["report"]

    def test_st2_definitions_and_values_come_back(self):
        self.kernel.run("class A:\n    def __init__(self, v): self.v = v\na = A([1])\nb = [a, a.v]\nf = lambda: b")
        self.assertEqual(self.ok("save", self.path, "")["saved"], ["A", "a", "b", "f"])
        for _ in range(2):  # what was loaded can be saved again
            self.kernel = Kernel()
            self.assertEqual(self.ok("load", self.path)["failed"], [])
            self.kernel.run("check = f() is b and b[0] is a and b[1] is a.v == [1] and type(a) is A")
            self.assertTrue(self.kernel.space.pop("check"))
            self.assertEqual(self.ok("save", self.path, "")["failed"], [])

    def test_st2_the_kernels_own_names_are_not_saved(self):
        kernel = self.kernel
        kernel.space["get_ipython"] = joined  # a function, as IPython's `open` is
        kernel.helper.GIVEN["get_ipython"] = id(joined)
        kernel.run("def f(): return get_ipython\n_ = __ = _1 = 5\nx = f")
        self.assertEqual(self.ok("save", self.path, "")["saved"], ["f", "x"])
        self.assertEqual(self.ok("save", self.path, "", "f")["saved"], ["f"])
        answer = kernel.work("save", self.path, "", "_1")
        self.assertIn("none of the user's names", answer["trouble"]["message"])

    def test_st2_a_class_that_an_error_kept_from_being_made_is_not_taken_for_the_one_there_is(self):
        self.kernel.run("class A:\n    n = 1\na = A()")
        with self.assertRaises(ZeroDivisionError):
            self.kernel.run("1 / 0\nclass A:\n    n = 2")
        self.ok("save", self.path, "")
        self.kernel = Kernel()
        self.ok("load", self.path)
        self.assertEqual(self.kernel.space["a"].n, 1)

    def test_st2_nothing_of_ours_is_left(self):
        self.kernel.run("x = 1")
        self.ok("save", self.path, "")
        before = set(sys.modules), list(sys.path), signal.getsignal(signal.SIGINT), set(self.kernel.space)
        self.ok("load", self.path)
        self.ok("save", self.path, "")
        after = set(sys.modules), list(sys.path), signal.getsignal(signal.SIGINT), set(self.kernel.space)
        self.assertEqual(after, before)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["a.stead"])

    def test_st2_an_interrupt_ends_the_save_and_leaves_the_earlier_file(self):
        self.kernel.run("x = 1")
        self.ok("save", self.path, "")
        with open(self.path, "rb") as file:
            before = file.read()
        self.kernel.run("import os, signal\nclass Slow:\n    def __reduce__(self):\n        os.kill(os.getpid(), signal.SIGINT)\n"
                        "        while True: pass\nslow = Slow()")
        self.assertEqual(self.kernel.work("save", self.path, "")["status"], "interrupted")
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), before)
        # One that user code raises itself is a reason like any other.
        self.kernel.run("class Slow:\n    def __reduce__(self): raise KeyboardInterrupt\nslow = Slow()")
        self.assertEqual(self.ok("save", self.path, "")["failed"][0]["why"], "pickling raised KeyboardInterrupt")

    def test_st2_what_was_saved_or_loaded_is_not_kept_alive(self):
        gc.disable()
        self.addCleanup(gc.enable)
        self.kernel.run("import os, signal, weakref\nclass A: pass\no = A()")
        self.ok("save", self.path, "")
        self.kernel.run("w = weakref.ref(o)\nclass Slow:\n    def __reduce__(self):\n        os.kill(os.getpid(), signal.SIGINT)\n"
                        "        while True: pass\nslow = Slow()")
        self.assertEqual(self.kernel.work("save", self.path, "")["status"], "interrupted")
        self.kernel.run("del o\ngone = w() is None")
        self.assertTrue(self.kernel.space["gone"])
        self.ok("load", self.path)
        self.kernel.run("w = weakref.ref(o)\ndel o\ngone = w() is None")
        self.assertTrue(self.kernel.space["gone"])

    def test_st2_a_value_whose_text_takes_for_ever_is_saved_without_it(self):
        self.ok("save", self.path, "")  # now it has saving.py
        self.kernel.helper.SAVING["SHOWN_SECONDS"] = 0.1
        self.kernel.run("class Slow:\n    def __repr__(self):\n        while True: pass\nslow = Slow()")
        self.assertEqual(self.ok("save", self.path, "")["count"], 2)

    def test_st2_it_works_in_a_thread_that_takes_no_signals(self):
        self.kernel.run("x = 1")
        reports = []
        thread = threading.Thread(target=lambda: reports.append(self.kernel.work("save", self.path, "")))
        thread.start()
        thread.join()
        self.assertEqual(reports[0]["status"], "ok", reports)

    def test_st2_a_forked_child_ends_and_writes_nothing(self):
        self.kernel.run("import os\nclass Forks:\n    def __reduce__(self):\n        child = os.fork()\n        if child: os.waitpid(child, 0)\n"
                        "        return int, ()\nx = Forks()")
        self.assertEqual(self.ok("save", self.path, "")["failed"], [])
        self.assertEqual(self.ok("load", self.path)["failed"], [])

    def place(self):
        folder = os.path.dirname(self.path)
        found = os.stat(folder)
        return [self.kernel.helper.boot_id(), str(os.geteuid()), str(found.st_dev), str(found.st_ino), folder]

    def test_st2_a_path_that_means_another_file_here_is_not_written(self):
        self.kernel.run("x = 1")
        here = self.place()
        self.assertEqual(self.kernel.work("save", self.path, "", place=" ".join(here))["status"], "ok")
        os.unlink(self.path)
        for part in range(5):
            other = [*here[:part], here[part] + "1", *here[part + 1:]]
            answer = self.kernel.work("save", self.path, "", place=" ".join(other))
            self.assertEqual((answer["status"], answer["report"]["path"]), ("elsewhere", self.path))
            self.assertFalse(os.path.exists(self.path))
        self.kernel.ask("drop_copies")
        self.assertFalse(os.path.exists(os.path.dirname(answer["copy"])))

    def test_st2_a_file_goes_elsewhere_and_comes_back_in_pieces(self):
        self.kernel.run("class A: pass\na = A()\na.text = 'x' * 1000")
        elsewhere = "other " + " ".join(self.place()[1:])
        answer = self.kernel.work("save", self.path, "", place=elsewhere)
        data, copy = b"", answer["copy"]
        while len(data) < answer["size"]:
            data += base64.b64decode(self.kernel.ask("give_piece", copy, len(data), 700)["data"])
        self.assertTrue(data.startswith(b"STEADSAVE1\n"))
        self.assertFalse(os.path.exists(os.path.dirname(copy)))
        self.assertEqual(self.kernel.ask("give_piece", copy, 0, 700)["trouble"]["name"], "FileNotFoundError")
        self.kernel = Kernel()
        self.assertEqual(self.kernel.work("load", self.path, place=elsewhere)["status"], "elsewhere")
        copy = ""
        for at in range(0, len(data), 700):
            copy = self.kernel.ask("take_piece", self.path, copy, base64.b64encode(data[at:at + 700]).decode())["copy"]
        answer = self.kernel.work("load", self.path, place=elsewhere, sent=copy)
        self.assertEqual((answer["report"]["path"], answer["report"]["loaded"]), (self.path, ["A", "a"]))
        self.assertEqual(len(self.kernel.space["a"].text), 1000)
        self.assertFalse(os.path.exists(os.path.dirname(copy)))
        # One that is not whole is told by the name that the user knows.
        copy = self.kernel.ask("take_piece", self.path, "", base64.b64encode(data[:-1]).decode())["copy"]
        answer = self.kernel.work("load", self.path, place=elsewhere, sent=copy)
        self.assertTrue(answer["trouble"]["message"].startswith("`%s` is not whole" % self.path), answer)

    def test_st2_what_is_no_text_is_spelled_out(self):
        self.kernel.run("class E(Exception): pass\nclass Bad:\n    def __reduce__(self): raise E('\\ud800 \\u2028 é')\nbad = Bad()")
        why = self.ok("save", self.path, "")["failed"][0]["why"]
        self.assertEqual(why, "pickling raised E: \\ud800 é")


if __name__ == "__main__":
    unittest.main()

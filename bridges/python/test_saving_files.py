"""Save files (SPEC ST-2): where they are written and how, and files that are damaged, foreign or not files at all."""
import binascii
import glob
import os
import socket

from driver import DEADLINE
from test_saving import SavingTest


class Files(SavingTest):
    def refuses(self, host, what, *lines):
        """The message of work that must fail as a whole."""
        result = self.work(host, what, *lines)
        self.assertEqual((result.status, result.event("report"), result.out, result.err), ("error", None, "", ""), (lines, result.events))
        error = result.event("error")
        self.assertEqual((error["name"], error.get("traceback")), ({"save": "SaveError", "load": "LoadError"}[what], None), error)
        return error["message"]

    def put(self, data, path=None):
        with open(path or self.path, "wb") as file:
            file.write(data)

    def small(self):
        """A host with a few names that are saved, and the bytes of the file."""
        host = self.start(cwd=self.folder)
        self.ok(host, "x = [1, 'text', 2.5]\nclass P:\n    def f(self): return 1\np = P()\ng = lambda: x\nimport math")
        self.done(host, "save", self.path)
        return host, self.contents()

    def edited(self, data, old, new):
        """The file with another text in its manifest, whole again."""
        start = int(data[-42:-22])
        manifest = data[start:-51].replace(old, new).rpartition(b',"check":')[0]
        manifest += b',"check":%d}' % binascii.crc32(manifest)
        return data[:start] + manifest + b"STEADEND %020d %020d\n" % (start, len(manifest))

    def test_st2_a_file_is_written_whole_for_its_owner_alone(self):
        self.path = os.path.join(self.folder, "new", "deep", "a.stead")
        host, data = self.small()
        self.assertEqual(os.stat(self.path).st_mode & 0o7777, 0o600)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["a.stead"])
        self.assertTrue(data.startswith(b"STEADSAVE1\n"))
        start, length = int(data[-42:-22]), int(data[-21:-1])
        self.assertEqual((start + length + 51, data[-51:-42]), (len(data), b"STEADEND "))
        manifest = self.manifest()
        self.assertEqual((manifest["format"], manifest["language"], manifest["session"], manifest["cwd"]), (1, "python", "py", self.folder))
        self.assertEqual([entry["name"] for entry in manifest["names"]], ["x", "P", "p", "g", "math"])
        self.assertEqual({key: manifest["names"][0][key] for key in ("type", "size", "value")}, {"type": "list", "size": "3", "value": "[1, 'text', 2.5]"})
        os.chmod(self.path, 0o644)
        self.done(host, "save", self.path)  # an earlier save is replaced
        self.assertEqual(os.stat(self.path).st_mode & 0o7777, 0o600)

    def test_st2_what_would_be_lost_is_not_overwritten(self):
        host, data = self.small()
        other = os.path.join(self.folder, "notes.txt")
        self.put(b"notes", other)
        self.assertIn("would be lost", self.refuses(host, "save", other))
        self.assertEqual(self.contents(other), b"notes")
        self.done(host, "save", other, "force")
        self.assertEqual(self.contents(other)[:11], data[:11])
        os.mkdir(os.path.join(self.folder, "folder"))
        os.mkfifo(os.path.join(self.folder, "fifo"))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.join(self.folder, "socket"))
            for name, what in (("folder", "a directory"), ("fifo", "a FIFO"), ("socket", "a socket"), ("/dev/null", "a device"), ("/dev/full", "a device")):
                for force in ("", "force"):
                    self.assertIn("is " + what, self.refuses(host, "save", os.path.join(self.folder, name), force))
        self.assertIn("Not a directory", self.refuses(host, "save", os.path.join(self.path, "below")))
        self.assertIn("could not write", self.refuses(host, "save", "/proc/nowhere/a.stead"))
        self.assertIn("could not write", self.refuses(host, "save", os.path.join(self.folder, "n" * 300)))
        self.ok(host, "x[0]", "1")

    def test_st2_a_link_to_a_file_is_followed(self):
        host, _ = self.small()
        link, target = os.path.join(self.folder, "link"), os.path.join(self.folder, "below", "target.stead")
        os.symlink("below/target.stead", link)
        for _ in range(2):  # to nothing, and to a file
            self.done(host, "save", link)
            self.assertTrue(os.path.islink(link) and not os.path.islink(target))
            self.assertEqual(os.listdir(os.path.dirname(target)), ["target.stead"])
        self.assertEqual(self.done(host, "load", link)["failed"], [])
        os.symlink("round", os.path.join(self.folder, "round"))
        self.assertIn("symbolic links", self.refuses(host, "save", os.path.join(self.folder, "round")))

    def test_st2_an_interrupt_or_a_full_disk_leaves_the_old_file(self):
        host, data = self.small()
        self.ok(host, "class Slow:\n    def __reduce__(self):\n        print('up', flush=True)\n        while True: pass\nslow = Slow()")
        result = self.begin_work(host, "save", self.path)
        host.pump_until_text(result, "up\n")
        self.assertEqual(len(glob.glob(os.path.join(self.folder, ".a.stead.*.tmp"))), 1)
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.assertEqual((os.listdir(self.folder), self.contents()), (["a.stead"], data))
        self.ok(host, "del slow\nimport resource\nbefore = resource.getrlimit(resource.RLIMIT_FSIZE)\nbig = bytes(5000000)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000000, before[1]))")
        self.assertIn("could not write `%s`: File too large" % self.path, self.refuses(host, "save", self.path))
        self.assertEqual((os.listdir(self.folder), self.contents()), (["a.stead"], data))
        self.ok(host, "resource.setrlimit(resource.RLIMIT_FSIZE, before)")
        self.assertEqual(self.done(host, "save", self.path)["failed"], [])

    def test_st2_what_a_killed_save_left_is_removed_by_the_next_one(self):
        host, _ = self.small()
        other = self.start(cwd=self.folder)
        self.ok(other, "class Slow:\n    def __reduce__(self):\n        print('up', flush=True)\n        while True: pass\nslow = Slow()")
        result = self.begin_work(other, "save", self.path)
        other.pump_until_text(result, "up\n")
        left = glob.glob(os.path.join(self.folder, ".a.stead.*.tmp"))
        self.done(host, "save", self.path)  # while another one is at work
        self.assertEqual(glob.glob(os.path.join(self.folder, ".a.stead.*.tmp")), left)
        other.process.kill()
        other.process.wait(DEADLINE)
        for name in (".a.stead.mine.tmp", ".b.stead.01234567.tmp", ".a.stead.01234567.tmp.x"):
            self.put(b"", os.path.join(self.folder, name))
        self.done(host, "save", self.path)
        self.assertEqual(sorted(os.listdir(self.folder)), [".a.stead.01234567.tmp.x", ".a.stead.mine.tmp", ".b.stead.01234567.tmp", "a.stead"])

    def test_st2_names_that_do_not_exist_are_told(self):
        host, _ = self.small()
        report = self.done(host, "save", self.path, "", "x", "nope", "x", "p.f")
        self.assertEqual((report["saved"], report["count"]), (["x"], 1))
        self.assertEqual(self.why(report), {"nope": "there is no such name", "p.f": "only whole names can be saved"})
        data = self.contents()
        self.assertIn("there is no name `nope`", self.refuses(host, "save", self.path, "", "nope"))
        self.assertEqual((self.contents(), os.listdir(self.folder)), (data, ["a.stead"]))
        self.ok(host, "fh = open('/dev/null')")
        self.assertIn("nothing was saved: `fh`: an open file", self.refuses(host, "save", self.path, "", "fh"))
        self.assertEqual((self.contents(), os.listdir(self.folder)), (data, ["a.stead"]))
        # What was asked for comes with the code that it needs, and with no data.
        self.ok(host, "import string\nlimit = 5\ndef helper(): return string.digits\nclass Q(P):\n    def g(self): return helper()\nq = Q()")
        self.assertEqual(sorted(self.done(host, "save", self.path, "", "q")["saved"]), ["P", "Q", "helper", "q", "string"])
        host, _ = self.loaded()
        self.ok(host, "q.g(), q.f()", "('0123456789', 1)")

    def test_st2_a_file_that_is_cut_off_at_any_byte_is_refused(self):
        host, data = self.small()
        cut = os.path.join(self.folder, "cut")
        for length in range(len(data)):
            self.put(data[:length], cut)
            message = self.refuses(host, "load", cut)
            self.assertIn("is not whole" if length >= 10 else "`%s` is" % cut, message, length)
        self.put(data + b"x", cut)
        self.assertIn("is not whole", self.refuses(host, "load", cut))

    def test_st2_a_file_with_a_wrong_bit_anywhere_harms_nothing(self):
        host, data = self.small()
        other = os.path.join(self.folder, "other")
        names = {"x", "P", "p", "g", "math"}
        for place in range(len(data)):
            flipped = bytearray(data)
            flipped[place] ^= 1 << place % 8
            self.put(flipped, other)
            result = self.work(host, "load", other)
            if result.status == "ok":
                report = result.event("report")["data"]
                self.assertEqual({*report["loaded"], *self.why(report)}, names, place)
            else:
                self.assertEqual(result.error, "LoadError", (place, result.events))
        self.assertEqual(self.done(host, "load", self.path)["failed"], [])
        self.ok(host, "x, p.f(), g() is x", "([1, 'text', 2.5], 1, True)")

    def test_st2_what_is_no_save_file_of_this_language_and_version_is_refused(self):
        host, data = self.small()
        for old, new, message in (
            (b'"format":1,', b'"format":2,', "by a newer version of stead (format 2)"), (b'"language":"python"', b'"language":"bash"', "by a session of bash"),
            (b'"version":"3.', b'"version":"4.', "was saved by Python 4."),
        ):
            self.put(self.edited(data, old, new), os.path.join(self.folder, "other"))
            self.assertIn(message, self.refuses(host, "load", os.path.join(self.folder, "other")))
        for content, message in ((b"", "is no file that stead has saved"), (b"PK\x03\x04" * 50, "is no file that stead has saved"),
                                 (data.replace(b"STEADSAVE1", b"STEADSAVE2"), "by a newer version of stead"), (data[:-51] + b"STEADEND " + b"9" * 41 + b"\n", "is not whole")):
            self.put(content, os.path.join(self.folder, "other"))
            self.assertIn(message, self.refuses(host, "load", os.path.join(self.folder, "other")))
        os.mkdir(os.path.join(self.folder, "folder"))
        os.mkfifo(os.path.join(self.folder, "fifo"))
        for name, message in (("folder", "is a directory"), ("fifo", "is a FIFO"), ("nope", "No such file"), ("/dev/zero", "is a device"), ("a\0b", "could not read")):
            self.assertIn(message, self.refuses(host, "load", os.path.join(self.folder, name)))

    def test_st2_another_version_of_python_or_of_a_library_is_told(self):
        _, data = self.small()
        self.put(self.edited(self.edited(data, b'"version":"3.', b'"version":"3.9'), b'"packages":{}', b'"packages":{"made_up":"1.0","absent":"1"}'))
        self.put(b"__version__ = '2.0'\n", os.path.join(self.folder, "made_up.py"))
        host = self.start(cwd=self.folder)
        self.ok(host, "import made_up")
        warnings = self.done(host, "load", self.path)["warnings"]
        self.assertEqual(len(warnings), 2, warnings)
        self.assertRegex(warnings[0], r"^saved by Python 3\.9[\d.]+, this is 3\.")
        self.assertEqual(warnings[1], "saved with made_up 1.0, this is 2.0")

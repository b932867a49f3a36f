"""`save` and `load` (SPEC ST-2): what comes back in a new process, what does not and why."""
import json
import os
import sys
import tempfile

import saved_kinds
from driver import BridgeTest


class SavingTest(BridgeTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.path = os.path.join(self.folder, "a.stead")

    def done(self, host, what, *lines):
        """The report of work that must go well."""
        result = self.work(host, what, *lines)
        self.assertEqual((result.status, result.err), ("ok", ""), (what, result.events))
        return result.event("report")["data"]

    def why(self, report):
        return {entry["name"]: entry["why"] for entry in report["failed"]}

    def saved(self, *codes, names=()):
        """A file of what these evals make."""
        host = self.start(cwd=self.folder)
        for code in codes:
            self.ok(host, code, out=None)
        return self.done(host, "save", self.path, "", *names)

    def ok(self, host, code, value=None, out="", answers=()):
        if out is not None:
            return super().ok(host, code, value, out, answers)
        result = host.eval(code)
        self.assertEqual(result.status, "ok", (code, result.order, result.events))
        return result

    def loaded(self):
        host = self.start(cwd=self.folder)
        return host, self.done(host, "load", self.path)

    def holds(self, host, checks):
        results = [(check, host.eval("bool(%s)" % check)) for check in checks]
        self.assertEqual([(check, result.value, result.traceback) for check, result in results if result.value != "True"], [])

    def contents(self, path=None):
        with open(path or self.path, "rb") as file:
            return file.read()

    def manifest(self):
        data = self.contents()
        return json.loads(data[int(data[-42:-22]):-51])

    def survives(self, kinds):
        """Every kind comes back in a new process, and from there in another one."""
        report = self.saved(*[code for code, _ in kinds])
        self.assertEqual(report["failed"], [])
        for _ in range(2):
            host, report = self.loaded()
            self.assertEqual((report["failed"], report["warnings"]), ([], []))
            self.assertEqual(self.done(host, "save", self.path)["failed"], [])
            self.holds(host, [check for _, check in kinds])

    def comes_back(self, evals, check, failing=(), rounds=1):
        """What these evals make comes back whole in a new process, and from there in another one, as often as asked for."""
        host = self.start(cwd=self.folder)
        for code in evals:
            result = host.eval(code)
            self.assertEqual(result.status, "error" if code in failing else "ok", (code, result.order))
        self.holds(host, [check])
        report = self.done(host, "save", self.path)
        self.assertEqual(report["failed"], [], evals)
        for _ in range(rounds):
            host, report = self.loaded()
            self.assertEqual((report["failed"], report["warnings"]), ([], []), evals)
            self.holds(host, [check])
            if rounds > 1:
                self.done(host, "save", self.path)


class Kinds(SavingTest):
    def test_st2_every_kind_of_value_comes_back_with_its_identity(self):
        self.assertGreaterEqual(len(saved_kinds.STANDARD), 84)
        self.survives(saved_kinds.STANDARD)

    def test_st2_more_kinds_that_sessions_have_come_back(self):
        self.assertGreaterEqual(len(saved_kinds.MORE), 40)
        self.survives(saved_kinds.MORE)

    def test_st2_other_versions_of_python_load_it_from_its_source(self):
        pythons = os.environ.get("STEAD_TEST_PYTHONS", "").split(":")
        for other in [python for python in pythons if python and os.path.realpath(python) != os.path.realpath(sys.executable)]:
            self.saved(*[code for code, _ in saved_kinds.STANDARD])
            host = self.start(cwd=self.folder, python=other)
            report = self.done(host, "load", self.path)
            self.assertEqual(report["failed"], [], other)
            # Patches of one version read each other's bytecode.
            if "python%d.%d" % sys.version_info[:2] not in os.path.realpath(other):
                self.assertIn("saved by Python %s, this is " % sys.version.split()[0], report["warnings"][0])
            self.holds(host, [check for _, check in saved_kinds.STANDARD])

    def test_st2_what_cannot_be_saved_is_named_with_the_reason_and_prevents_nothing(self):
        report = self.saved("before_all = 1", *[code for code, _, _ in saved_kinds.REFUSED], "after_all = 2")
        why = self.why(report)
        for _, name, reason in saved_kinds.REFUSED:
            self.assertIn(reason, why.get(name, "it was saved"), name)
            self.assertTrue(why[name].startswith(reason), (name, why[name]))
        self.assertEqual({name: why[name] for name in ("rlock", "weak_keys", "weak_set")},
                         {"rlock": "a lock", "weak_keys": "a dictionary of weak references", "weak_set": "a set of weak references"})
        host, report = self.loaded()
        self.assertEqual(report["failed"], [])
        self.holds(host, ["before_all == 1 and after_all == 2", "'file' not in globals()"])


if __name__ == "__main__":
    import unittest
    unittest.main()

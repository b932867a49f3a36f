"""The package for Debian, installed into a root of its own and purged again."""

import os
import unittest

from rig import FACTS, PackageTest, package


class Deb(PackageTest):
    def setUp(self):
        super().setUp()
        self.system = self.root / "system"
        for folder in ("info", "updates", "triggers"):
            (self.system / "var/lib/dpkg" / folder).mkdir(parents=True)
        (self.system / "var/lib/dpkg/status").touch()
        # `sudo dpkg` of the README, for the system of this test.
        sudo = self.bin / "sudo"
        sudo.unlink(missing_ok=True)
        sudo.write_text(f'#!/bin/sh\nshift\nexec dpkg --root={self.system} --force-not-root --log=/dev/null "$@"\n')
        sudo.chmod(0o755)

    def files(self):
        """What lies in that system, without dpkg's own notes."""
        every = [path.relative_to(self.system) for path in self.system.rglob("*")]
        return sorted(str(path) for path in every if path.parts[0] != "var")

    def test_dpkg_installs_and_purges_it(self):
        self.as_in_the_readme("sudo dpkg -i")
        self.assertWorks(self.system / "usr/bin/stead")
        files = self.files()
        for path in ("bash-completion/completions/stead", "zsh/vendor-completions/_stead", "man/man1/stead-eval.1.gz", "doc/stead/copyright"):
            self.assertIn("usr/share/" + path, files)
        self.assertEqual(os.stat(self.system / "usr/bin/stead").st_mode & 0o7777, 0o755)
        self.run_command("sudo", "dpkg", "--verify", "stead")
        self.run_command("sudo", "dpkg", "--purge", "stead")
        self.assertEqual(self.files(), [])

    def test_it_says_what_it_is(self):
        about = self.run_command("dpkg-deb", "--field", package("*.deb"))
        for line in (f"Version: {FACTS.version}", f"Architecture: {FACTS.machine.debian}", "Recommends: python3"):
            self.assertIn(line + "\n", about)
        self.assertNotIn("\nDepends:", about, "a static binary needs nothing")
        owners = {line.split()[1] for line in self.run_command("dpkg-deb", "--contents", package("*.deb")).splitlines()}
        self.assertEqual(owners, {"root/root"})


if __name__ == "__main__":
    unittest.main()

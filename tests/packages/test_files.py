"""The tarball, the bundle, the registry's file, the sums; that all of them are the same bytes each time."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

from rig import FACTS, PACKAGES, ROOT, STEAD, TOOLS, PackageTest, package


class Tarball(PackageTest):
    def test_it_works_where_it_is_unpacked(self):
        self.as_in_the_readme("tar ")
        unpacked = list(self.place.workspace.glob("stead-*"))
        self.assertEqual([path.name for path in unpacked], [f"stead-{FACTS.machine.target}-v{FACTS.version}"])
        self.assertWorks(unpacked[0] / "stead")

    def test_cargo_binstall_is_told_where_it_lies(self):
        told = subprocess.run(["cargo", "metadata", "--no-deps", "--format-version=1", "--offline"], cwd=ROOT, capture_output=True, text=True, check=True)
        stead = next(one for one in json.loads(told.stdout)["packages"] if one["name"] == "stead")
        binstall = stead["metadata"]["binstall"]
        for target in (FACTS.machine.target, "x86_64-unknown-linux-musl"):
            rule = {**binstall, **binstall["overrides"].get(target, {})}
            words = {"repo": stead["repository"], "version": stead["version"], "target": target, "bin": "stead"}

            def filled(template, words=words):
                return re.sub(r"\{ (\S+) \}", lambda found: words[found.group(1)], template)

            address = filled(rule["pkg-url"])
            self.assertTrue(address.startswith(FACTS.release + "/"), address)
            with tarfile.open(PACKAGES / address.rpartition("/")[2]) as archive:
                member = archive.getmember(filled(rule["bin-dir"]))
            self.assertEqual((member.mode, member.size), (0o755, os.path.getsize(STEAD)))
        self.assertEqual(rule["pkg-fmt"], "tgz")


class Bundle(PackageTest):
    TOOL = ROOT / ".test/packages/node_modules/.bin/mcpb"

    def test_the_tool_of_its_format_takes_it_and_it_works(self):
        there = self.root / "unpacked"
        self.run_command(self.TOOL, "unpack", package("*.mcpb"), there)
        self.assertIn("passes", self.run_command(self.TOOL, "validate", there / "manifest.json"))
        manifest = json.loads((there / "manifest.json").read_text())
        self.assertEqual(manifest["version"], FACTS.version)
        self.assertEqual([tool["name"] for tool in manifest["tools"]], TOOLS)
        # As a client starts it, with its variables filled in.
        server = manifest["server"]["mcp_config"]
        words = {"${__dirname}": str(there), "${user_config.workspace}": str(self.place.workspace)}
        command = [self.filled(word, words) for word in [server["command"], *server["args"]]]
        self.assertEqual(command[1:], ["mcp", "--workspace", str(self.place.workspace)])
        self.assertWorks(command[0])

    def filled(self, word, words):
        for name, value in words.items():
            word = word.replace(name, value)
        return word


class Files(unittest.TestCase):
    def test_the_sums_are_those_of_the_files(self):
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=PACKAGES, check=True)
        named = [line.split()[1] for line in (PACKAGES / "SHA256SUMS").read_text().splitlines()]
        self.assertEqual(named, sorted(name for name in os.listdir(PACKAGES) if name != "SHA256SUMS"))

    def test_the_registry_is_told_what_there_is(self):
        told = json.loads((PACKAGES / "server.json").read_text())
        self.assertRegex(told["name"], r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$")
        self.assertLessEqual(len(told["description"]), 100, "the registry takes no longer one")
        self.assertEqual({told["version"], *(one["version"] for one in told["packages"])}, {FACTS.version})
        bundle = told["packages"][-1]
        self.assertEqual(bundle["fileSha256"], hashlib.sha256(package("*.mcpb").read_bytes()).hexdigest())
        self.assertEqual(bundle["identifier"], f"{FACTS.release}/{package('*.mcpb').name}")
        # The registry believes who says in the packages themselves that they are this server.
        with tarfile.open(package("stead-[0-9]*.npm.tgz")) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        self.assertEqual(manifest["mcpName"], told["name"])
        page = (ROOT / "README.md").read_text()
        self.assertIn(f"<!-- mcp-name: {told['name']} -->", page)
        self.assertEqual(set(re.findall(r"https://github\.com/[\w-]+/stead\b", page)), {FACTS.repository})

    def test_pages_in_packages_have_links_that_work_there(self):
        page = FACTS.readme()
        for address in re.findall(r"\]\(([^)]+)\)", page):
            self.assertRegex(address, r"^(https://|#)", "a path of the source tree")
        self.assertIn(f"/raw/v{FACTS.version}/docs/", page)

    def test_the_version_has_one_place(self):
        for manifest in [ROOT / "Cargo.toml", *ROOT.glob("crates/**/Cargo.toml"), ROOT / "bridges/Cargo.toml"]:
            if manifest.parent.joinpath("src").is_dir() or manifest.parent == ROOT:
                self.assertIn("\nversion.workspace = true\n", manifest.read_text(), manifest)
        plugin = json.loads((ROOT / "plugin/.claude-plugin/plugin.json").read_text())
        self.assertEqual(plugin["version"], FACTS.version)
        for name in os.listdir(PACKAGES):
            if name not in ("server.json", "SHA256SUMS"):
                self.assertIn(FACTS.version, name)


class Reproducible(unittest.TestCase):
    def test_two_runs_give_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as place:
            # Another clock, language, umask, and another file with the same bytes.
            binary = Path(place, "other-name")
            shutil.copy(STEAD, binary)
            os.utime(binary, (1, 1))
            env = {**os.environ, "TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "7", "PYTHONDONTWRITEBYTECODE": "1"}
            made = Path(place, "made")
            subprocess.run(
                [sys.executable, ROOT / "package", "--binary", binary, "--to", made],
                check=True, env=env, cwd=place, preexec_fn=lambda: os.umask(0o077),
            )  # fmt: skip
            self.assertEqual(sorted(os.listdir(made)), sorted(os.listdir(PACKAGES)))
            for name in os.listdir(made):
                self.assertEqual(made.joinpath(name).read_bytes(), (PACKAGES / name).read_bytes(), name)

    def test_what_cannot_be_packaged_is_refused_with_the_reason(self):
        with tempfile.TemporaryDirectory() as place:
            script = Path(place, "script")
            script.write_text("#!/bin/sh\necho stead 9.9.9\n")
            wrong = {script: "no 64 bit program for Linux", "/bin/sh": "needs libraries of the machine", Path(place, "none"): "could not read"}
            for binary, why in wrong.items():
                ran = subprocess.run(
                    [sys.executable, ROOT / "package", "--binary", binary, "--to", Path(place, "made")],
                    capture_output=True, text=True,
                )  # fmt: skip
                self.assertEqual(ran.returncode, 1)
                self.assertIn(why, ran.stdout + ran.stderr)
                self.assertFalse(Path(place, "made").exists())


if __name__ == "__main__":
    unittest.main()

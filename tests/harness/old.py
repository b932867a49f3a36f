"""An older version of the binary, for tests of two versions at once (tests/e2e/skew.rs)."""

import os
import subprocess

# The last commit before peers told each other which versions of the wire they speak.
COMMIT = "ffc08a4e6282f7acc004053de2dcfd8e01eb3aef"


class Missing(Exception):
    """Why there is no older binary."""


def binary(root, target):
    """Where it is: what STEAD_OLD_BINARY names, else built from the repository's history."""
    given = os.environ.get("STEAD_OLD_BINARY")
    if given:
        return os.path.abspath(given)
    known = subprocess.run(["git", "cat-file", "-e", COMMIT + "^{commit}"], cwd=root, stderr=subprocess.DEVNULL)
    if known.returncode != 0:
        raise Missing("commit %s is not in this copy of the repository; name a binary with STEAD_OLD_BINARY" % COMMIT[:7])
    folder = os.path.join(target, "old", COMMIT[:12])
    program = os.path.join(folder, "target", "debug", "stead")
    if os.path.exists(program):
        return program
    os.makedirs(folder, exist_ok=True)
    archive = subprocess.Popen(["git", "archive", COMMIT], cwd=root, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        raise SystemExit("test: `git archive %s` failed" % COMMIT)
    argv = ["cargo", "build", "--quiet", "--package", "stead", "--target-dir", os.path.join(folder, "target")]
    # Built once and never debugged: without this it would take a gigabyte.
    lean = {**os.environ, "CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "0"}
    if subprocess.run(argv, cwd=folder, env=lean).returncode != 0:
        raise SystemExit("test: commit %s cannot be built" % COMMIT[:7])
    return program

"""The interpreters of this machine. STEAD_TEST_PYTHONS and STEAD_TEST_NODES (paths separated by colons) override the search."""

import glob
import os
import shutil
import subprocess

MINORS = range(8, 14)  # What `./test --all` demands.


class Interpreter:
    def __init__(self, path, version):
        self.path = path
        self.version = version  # (3, 8, 18)
        self.label = ".".join(map(str, version))

    def __repr__(self):
        return "%s (%s)" % (self.path, self.label)


def pythons():
    """Every CPython 3.8 or newer, oldest first; of one version the one of pyenv comes first."""
    given = os.environ.get("STEAD_TEST_PYTHONS")
    if given:
        paths = given.split(":")
    else:
        paths = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
        paths += glob.glob("/usr/local/bin/python3.[0-9]*") + glob.glob("/usr/bin/python3.[0-9]*")
    code = "import sys; print(*sys.version_info[:3], sys.implementation.name)"
    found = []
    for path in sorted(paths):
        words = said(path, "-S", "-c", code).split()
        if words[3:] == ["cpython"] and tuple(map(int, words[:2])) >= (3, 8):
            found.append(Interpreter(path, tuple(map(int, words[:3]))))
        elif given:
            raise SystemExit("test: `%s` of STEAD_TEST_PYTHONS is no CPython 3.8 or newer" % path)
    found.sort(key=lambda one: one.version[:2])
    if not found:
        raise SystemExit("test: no CPython 3.8 or newer")
    return found


def minors(found):
    """The first of each minor version."""
    first = {}
    for one in found:
        first.setdefault(one.version[:2], one)
    return list(first.values())


def nodes(more=()):
    """The `node` on the PATH and those of `more`, oldest first, one of each major version."""
    given = os.environ.get("STEAD_TEST_NODES")
    paths = given.split(":") if given else [shutil.which("node"), *more]
    found = {}
    for path in paths:
        version = said(path, "--version").strip() if path else ""
        if not version.startswith("v"):
            raise SystemExit("test: `%s` is no Node" % path)
        version = tuple(map(int, version[1:].split(".")))
        found.setdefault(version[0], Interpreter(os.path.abspath(shutil.which(path)), version))
    return [found[major] for major in sorted(found)]


def said(*argv):
    try:
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60).stdout
    except OSError:
        return ""

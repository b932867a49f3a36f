"""What the manifests say, checked without tools that would have to be installed: licences, sources and unused dependencies.

    python3 tests/harness/manifest.py [licences|dependencies]

`deny.toml` is the one list of licences; `cargo deny` reads it too.
"""

import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
# Declared for its features alone: no source names it. Each entry says why.
UNNAMED = {}


def metadata():
    argv = ["cargo", "metadata", "--format-version=1", "--locked"]
    told = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT)
    if told.returncode != 0:
        raise SystemExit(told.stderr)
    return json.loads(told.stdout)


def allowed():
    """The licences that deny.toml allows."""
    with open(os.path.join(ROOT, "deny.toml")) as file:
        found = re.search(r"^allow = \[(.*?)\]", file.read(), re.M | re.S)
    return set(re.findall(r'"([^"]+)"', found.group(1)))


def permits(expression, allow):
    """Whether an SPDX expression can be met with the licences of `allow`. `/` is the old way to write OR."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    position = 0

    def take():
        nonlocal position
        position += 1
        return words[position - 1]

    def following():
        return words[position] if position < len(words) else None

    def one():
        word = take()
        if word == "(":
            inner = either()
            if take() != ")":
                raise ValueError("unbalanced: " + expression)
            return inner
        if following() == "WITH":
            take()
            word += " WITH " + take()
        return word in allow

    def both():
        met = one()
        while following() == "AND":
            take()
            # Read first: `and` would not look at the rest.
            right = one()
            met = met and right
        return met

    def either():
        met = both()
        while following() == "OR":
            take()
            right = both()
            met = met or right
        return met

    met = either()
    if following() is not None:
        raise ValueError("cannot read the licence `%s`" % expression)
    return met


def licences(told):
    """Packages whose licence or source is not allowed, and dependencies of ours on any version."""
    allow, wrong = allowed(), []
    for package in told["packages"]:
        name = "%s %s" % (package["name"], package["version"])
        if package["source"] not in (None, REGISTRY):
            wrong.append("%s comes from `%s`" % (name, package["source"]))
        for dependency in package["dependencies"] if package["source"] is None else ():
            if dependency["req"] == "*" and not dependency.get("path"):
                wrong.append("%s takes any version of `%s`" % (name, dependency["name"]))
        licence = package["license"]
        if not licence or not permits(licence, allow):
            wrong.append("%s: licence `%s` is not in deny.toml" % (name, licence))
    return wrong


def sources(package):
    """All Rust text of a package: its targets' folders, without those of other packages."""
    folders = {os.path.dirname(target["src_path"]) for target in package["targets"]}
    text = []
    for folder in folders:
        for path in glob.glob(os.path.join(folder, "**/*.rs"), recursive=True):
            with open(path) as file:
                text.append(file.read())
    return "\n".join(text)


def names(text, crate):
    """Whether code uses a crate: a path or an attribute that begins with its name. Remarks do not count."""
    code = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    return re.search(r"(?<![\w:])%s(::|\s*;|\s+as\s)" % re.escape(crate), code) is not None


def dependencies(told):
    """Dependencies that are declared and not used, and those of the workspace that no member takes."""
    members = [package for package in told["packages"] if package["id"] in told["workspace_members"]]
    unused, taken = [], set()
    for package in members:
        text = sources(package)
        for dependency in package["dependencies"]:
            taken.add(dependency["name"])
            crate = (dependency["rename"] or dependency["name"]).replace("-", "_")
            if not names(text, crate) and (package["name"], dependency["name"]) not in UNNAMED:
                unused.append("%s declares `%s` and does not use it" % (package["name"], dependency["name"]))
    with open(os.path.join(ROOT, "Cargo.toml")) as file:
        section = re.search(r"^\[workspace\.dependencies\]\n(.*?)^\[", file.read(), re.M | re.S).group(1)
    for name in re.findall(r"^([\w-]+) = ", section, re.M):
        if name not in taken:
            unused.append("the workspace declares `%s` and no crate takes it" % name)
    return unused


CHECKS = {"licences": licences, "dependencies": dependencies}

if __name__ == "__main__":
    told = metadata()
    wrong = [line for name in sys.argv[1:] or CHECKS for line in CHECKS[name](told)]
    print("\n".join(wrong) or "%d packages: all in order" % len(told["packages"]))
    sys.exit(1 if wrong else 0)

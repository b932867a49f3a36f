"""Runs a linter: lint.py ruff, lint.py shellcheck, lint.py oxlint. Each bridge has its settings beside it.

The files of a bridge are parts of one text (bridges/lib.rs), so a linter that saw them one by one could not tell a name
of another part from one that is nowhere. It gets the whole text, and what it finds is told by file and line.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = {
    "ruff": ".test/lint/venv/bin/ruff",
    "shellcheck": ".test/lint/venv/bin/shellcheck",
    "oxlint": ".test/lint/node/node_modules/.bin/oxlint",
}
SCRIPTS = ["test", "dist", ".ci/run", "tests/peers/install", "benches/floor.bash"]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Joined:
    """The parts of a bridge as one text."""

    def __init__(self, name):
        listed = re.search(r"const %s: &str = concat!\((.*?)\n\);" % name, read("bridges/lib.rs"), re.DOTALL)
        parts = re.findall(r'^ +(?:include_str!\("([^"]+)"\)|"([^"]*)"),$', listed.group(1), re.MULTILINE)
        self.text, self.places = "", []
        for path, between in parts:
            # What stands between files is code in Node's bridge; in the others it makes a text of the files, which no linter sees.
            if between and name != "NODE":
                continue
            text = read("bridges/" + path) if path else between.replace("\\n", "\n")
            self.text += text
            self.places += [("bridges/" + (path or "lib.rs"), number + 1) for number in range(text.count("\n"))]

    def place(self, line):
        """File and number of a line of the whole."""
        return self.places[min(line, len(self.places)) - 1]


def run(*argv):
    """What a linter says in JSON. It exits with 1 if it found something; with more, or without words, it has failed."""
    ended = subprocess.run([os.path.join(ROOT, TOOLS[argv[0]]), *argv[1:]], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if ended.returncode not in (0, 1) or not ended.stdout.strip():
        raise SystemExit("lint: `%s` failed with exit code %d" % (argv[0], ended.returncode))
    return json.loads(ended.stdout)


def shown(path):
    return os.path.relpath(path, ROOT) if os.path.isabs(path) else path


def ruff(joined, file):
    """Yields (path, line, rule, text) of all Python in the tree, then of the bridge as a whole."""
    for found in run("ruff", "check", "--no-cache", "--output-format=json", ".", "bench", "package"):
        yield shown(found["filename"]), found["location"]["row"], found["code"], found["message"]
    config = "--config=bridges/python/bridge/ruff.toml"
    for found in run("ruff", "check", "--no-cache", "--output-format=json", config, file):
        yield (*joined.place(found["location"]["row"]), found["code"], found["message"])
    # What saves in a kernel has parts in common with the bridge and is another text.
    kernels = Joined("JUPYTER_SAVING")
    with open(file, "w", encoding="utf-8") as whole:
        whole.write(kernels.text)
    for found in run("ruff", "check", "--no-cache", "--output-format=json", config, file):
        yield (*kernels.place(found["location"]["row"]), found["code"], found["message"])


def shellcheck(joined, file):
    # Files beside the bridge are text for a shell that has names of ours already.
    beside = sorted(glob.glob(os.path.join(ROOT, "bridges/bash/*.bash")))
    for found in run("shellcheck", "--format=json", *SCRIPTS) + run("shellcheck", "--format=json", "--exclude=SC2154", *beside):
        yield shown(found["file"]), found["line"], "SC%d" % found["code"], found["message"]
    for found in run("shellcheck", "--format=json", "--rcfile=bridges/bash/.shellcheckrc", file):
        yield (*joined.place(found["line"]), "SC%d" % found["code"], found["message"])


def oxlint(joined, file):
    config = "--config=bridges/node/.oxlintrc.json"
    for found in run("oxlint", config, "--format=json", "bridges/node/test_rewrite.js", "benches/floor.js", "packaging/npm/stead.js")["diagnostics"]:
        yield found["filename"], found["labels"][0]["span"]["line"], found["code"], found["message"]
    for found in run("oxlint", config, "--format=json", file)["diagnostics"]:
        yield (*joined.place(found["labels"][0]["span"]["line"]), found["code"], found["message"])


LINTERS = {"ruff": (ruff, "PYTHON", ".py"), "shellcheck": (shellcheck, "BASH", ".bash"), "oxlint": (oxlint, "NODE", ".js")}


def findings(name, joined):
    linter, _, extension = LINTERS[name]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "bridge" + extension)
        with open(file, "w", encoding="utf-8") as whole:
            whole.write(joined.text)
        return list(linter(joined, file))


def main(name):
    found = findings(name, Joined(LINTERS[name][1]))
    for path, line, rule, text in found:
        print("%s:%d: %s %s" % (path, line, rule, text.splitlines()[0]))
    print("%s: %d findings" % (name, len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

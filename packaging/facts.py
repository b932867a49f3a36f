"""What packages say of stead, each fact from its one home: Cargo.toml, the README, the binary itself."""

import json
import os
import re
import struct
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
AUTHORS = "The stead authors"
# The time in archives where nothing else is known. Zip files know no earlier one.
EARLIEST = 315532800


class Refused(Exception):
    """Why no packages were made."""


class Machine:
    """A kind of machine, under the name that each kind of package has for it."""

    def __init__(self, elf, rust, node, debian):
        self.elf = elf  # The number in the header of an ELF file.
        self.rust = rust
        self.node = node
        self.debian = debian

    @property
    def target(self):
        return "%s-unknown-linux-gnu" % self.rust

    @property
    def npm_name(self):
        return "stead-linux-%s" % self.node


MACHINES = [
    Machine(62, "x86_64", "x64", "amd64"),
    Machine(183, "aarch64", "arm64", "arm64"),
]
# What releases have a binary for; ./package works on the others too.
RELEASED = MACHINES[:1]


class Facts:
    """Everything that packages are made from."""

    def __init__(self, path):
        manifest = Manifest(text("Cargo.toml"))
        self.path = path
        self.version = manifest.value("workspace.package", "version")
        self.licence = manifest.value("workspace.package", "license")
        self.repository = manifest.value("workspace.package", "repository")
        self.description = manifest.value("package", "description")
        try:
            with open(path, "rb") as file:
                self.binary = file.read()
        except OSError as error:
            raise Refused("could not read the binary `%s`: %s" % (path, error.strerror)) from None
        self.machine = machine(path, self.binary)
        said = self.run("--version").decode().strip()
        if said != "stead %s" % self.version:
            raise Refused("`%s` says `%s`, Cargo.toml says %s; build it anew with ./dist" % (path, said, self.version))
        self.time = time_of_source()

    @property
    def registry_name(self):
        """The name in the MCP registry, which proves by it who owns the packages."""
        owner, name = self.repository.rsplit("/", 2)[1:]
        return "io.github.%s/%s" % (owner, name)

    @property
    def release(self):
        """Where the files of this version lie once it is released."""
        return "%s/releases/download/v%s" % (self.repository, self.version)

    def readme(self):
        """The README with addresses that work where there is no source tree beside it."""
        page = text("README.md")
        page = re.sub(r"(!\[[^]]*\]\()(?!https?:)", r"\g<1>%s/raw/v%s/" % (self.repository, self.version), page)
        return re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", r"\g<1>%s/blob/v%s/" % (self.repository, self.version), page)

    def licences(self):
        """Name and text of each."""
        return {name: text(name).encode() for name in ("LICENSE-APACHE", "LICENSE-MIT")}

    def completions(self):
        """The script of each shell."""
        return {shell: self.run("completions", shell) for shell in ("bash", "zsh", "fish")}

    def manual(self):
        """File name and text of each manual page."""
        with tempfile.TemporaryDirectory() as place:
            self.run("man", "--install", place)
            return {name: read(os.path.join(place, name)) for name in sorted(os.listdir(place))}

    def tools(self):
        """Name and first sentence of each tool, as the server itself tells them."""
        version = "2025-11-25"
        client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "package", "version": self.version}}
        asked = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        ]
        said = self.run("mcp", stdin="".join(json.dumps(one) + "\n" for one in asked).encode())
        replies = {reply.get("id"): reply for reply in map(json.loads, said.splitlines())}
        if "result" not in replies.get(2, {}):
            raise Refused("`%s mcp` did not list its tools: %s" % (self.path, said.decode()))
        return [(tool["name"], tool["description"].split(". ")[0].split("\n")[0]) for tool in replies[2]["result"]["tools"]]

    def run(self, *arguments, stdin=b""):
        """What the binary prints, in a home of its own."""
        with tempfile.TemporaryDirectory() as home:
            env = {"HOME": home, "PATH": "/usr/bin:/bin", "STEAD_RUNTIME_DIR": os.path.join(home, "run"), "NO_COLOR": "1"}
            try:
                ran = subprocess.run([self.path, *arguments], input=stdin, env=env, cwd=home, capture_output=True)
            except OSError as error:
                raise Refused("could not run `%s`: %s" % (self.path, error.strerror)) from None
        if ran.returncode != 0:
            raise Refused("`%s %s` failed: %s" % (self.path, " ".join(arguments), ran.stderr.decode().strip()))
        return ran.stdout


class Manifest:
    """As much of TOML as Cargo.toml has of what is asked for: `key = "text"` below a `[heading]`."""

    def __init__(self, page):
        self.page = page

    def value(self, heading, key):
        part = re.search(r"^\[%s\]\n(.*?)(?=^\[|\Z)" % re.escape(heading), self.page, re.M | re.S)
        found = part and re.search(r'^%s = "([^"]*)"' % re.escape(key), part.group(1), re.M)
        if not found:
            raise Refused("Cargo.toml has no `%s` below [%s]" % (key, heading))
        return found.group(1)


def machine(path, binary):
    """What a binary was built for. Only one that runs everywhere is packaged."""
    if binary[:6] != b"\x7fELF\x02\x01":
        raise Refused("`%s` is no 64 bit program for Linux" % path)
    number = struct.unpack_from("<H", binary, 18)[0]
    found = [one for one in MACHINES if one.elf == number]
    if not found:
        raise Refused("`%s` is for a machine that has no packages (ELF machine %d)" % (path, number))
    table, = struct.unpack_from("<Q", binary, 32)
    size, count = struct.unpack_from("<HH", binary, 54)
    kinds = [struct.unpack_from("<I", binary, table + size * n)[0] for n in range(count)]
    if 3 in kinds:  # PT_INTERP
        raise Refused("`%s` needs libraries of the machine it was built on; ./dist builds one that does not" % path)
    return found[0]


def time_of_source():
    """The time that is written into archives: no clock of this run, so that two runs give the same bytes."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
        given = told.stdout.strip() if told.returncode == 0 else "0"
    if not given.isdigit():
        raise Refused("SOURCE_DATE_EPOCH is `%s`, not a number of seconds" % given)
    return max(EARLIEST, int(given))


def text(name):
    return read(os.path.join(ROOT, name)).decode()


def read(path):
    with open(path, "rb") as file:
        return file.read()

"""A wheel for PyPI: `uvx stead`, `pip install stead`. What it installs is the binary itself, with no Python around it."""

import base64
import hashlib

from archives import Entry, zipped


def make(facts, _):
    whole = "stead-%s" % facts.version
    # A static binary runs with every C library.
    platforms = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]
    tags = ["py3-none-%s_%s" % (platform, facts.machine.rust) for platform in platforms]
    info = whole + ".dist-info"
    entries = [Entry("%s.data/scripts/stead" % whole, facts.binary, 0o755)]
    entries += [Entry("%s/licenses/%s" % (info, name), page) for name, page in facts.licences().items()]
    entries += [Entry(info + "/METADATA", metadata(facts)), Entry(info + "/WHEEL", about(tags))]
    entries.append(Entry(info + "/RECORD", record(entries, info + "/RECORD")))
    platform = ".".join(tag.split("-", 2)[2] for tag in tags)
    return {"%s-py3-none-%s.whl" % (whole, platform): zipped(entries, facts.time)}


def metadata(facts):
    lines = [
        "Metadata-Version: 2.4",
        "Name: stead",
        "Version: %s" % facts.version,
        "Summary: %s" % facts.description,
        "License-Expression: %s" % facts.licence,
        *("License-File: %s" % name for name in facts.licences()),
        "Project-URL: Source, %s" % facts.repository,
        "Keywords: mcp,agents,repl,sessions",
        "Classifier: Environment :: Console",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Rust",
        "Classifier: Topic :: Software Development :: Interpreters",
        "Description-Content-Type: text/markdown",
    ]
    return "%s\n\n%s" % ("\n".join(lines), facts.readme())


def about(tags):
    return "Wheel-Version: 1.0\nGenerator: stead\nRoot-Is-Purelib: false\n%s" % "".join("Tag: %s\n" % tag for tag in tags)


def record(entries, own):
    """Name, hash and size of every file but the record itself."""
    rows = [(one.path, hashed(one.data), len(one.data)) for one in entries]
    return "".join("%s,%s,%s\n" % row for row in [*rows, (own, "", "")])


def hashed(data):
    return "sha256=%s" % base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")

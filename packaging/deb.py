"""A package for Debian and Ubuntu: `dpkg -i`. Written here byte by byte, so it can be made on any Linux."""

import hashlib

from archives import Entry, ar, gz, tar, xz
from facts import AUTHORS, text

LONG_DESCRIPTION = """
 Sessions stay alive between calls and outlive every client. Agents reach them by
 MCP, people by the command line."""


def make(facts, _):
    entries = files(facts)
    parts = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", gz(tar(control(facts, entries), facts.time), facts.time)),
        ("data.tar.xz", xz(tar(entries, facts.time, directories=True))),
    ]
    return {"stead_%s_%s.deb" % (facts.version, facts.machine.debian): ar(parts, facts.time)}


def files(facts):
    share = "./usr/share"
    completions = facts.completions()
    entries = [
        Entry("./usr/bin/stead", facts.binary, 0o755),
        Entry(share + "/bash-completion/completions/stead", completions["bash"]),
        Entry(share + "/zsh/vendor-completions/_stead", completions["zsh"]),
        Entry(share + "/fish/vendor_completions.d/stead.fish", completions["fish"]),
        Entry(share + "/doc/stead/README.md", facts.readme()),
        Entry(share + "/doc/stead/changelog.gz", gz(text("CHANGELOG.md").encode(), facts.time)),
        Entry(share + "/doc/stead/copyright", copyright_of(facts)),
    ]
    pages = facts.manual().items()
    return entries + [Entry("%s/man/man1/%s.gz" % (share, name), gz(page, facts.time)) for name, page in pages]


def control(facts, entries):
    size = sum(-(-len(entry.data) // 1024) for entry in entries)
    about = {
        "Package": "stead",
        "Version": facts.version,
        "Architecture": facts.machine.debian,
        "Maintainer": AUTHORS,
        "Installed-Size": size,
        "Recommends": "python3",
        "Suggests": "nodejs",
        "Section": "devel",
        "Priority": "optional",
        "Homepage": facts.repository,
        "Description": facts.description + LONG_DESCRIPTION,
    }
    sums = "".join("%s  %s\n" % (hashlib.md5(one.data).hexdigest(), one.path[2:]) for one in sorted(entries, key=lambda one: one.path))
    page = "".join("%s: %s\n" % pair for pair in about.items())
    return [Entry("./control", page), Entry("./md5sums", sums)]


def copyright_of(facts):
    """In the form that Debian's tools read. Its systems have the whole text of the Apache licence."""
    mit = facts.licences()["LICENSE-MIT"].decode().strip()
    paragraphs = mit.split("\n\n", 2)
    granted = "\n .\n".join(indented(part) for part in paragraphs[2].split("\n\n"))
    return """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: stead
Source: %s

Files: *
Copyright: %s
License: Apache-2.0 or Expat

License: Apache-2.0
 On Debian systems the whole text is in /usr/share/common-licenses/Apache-2.0.

License: Expat
%s
""" % (facts.repository, paragraphs[1].replace("Copyright (c) ", ""), granted)


def indented(part):
    return "\n".join(" " + line for line in part.splitlines())

"""Packages for npm: `npx stead`. One for each kind of machine has the binary, and `stead` brings the one that fits.

Nothing runs while they are installed, so `--ignore-scripts` and mirrors do no harm.
"""

import json

from archives import Entry, gz, tar
from facts import AUTHORS, RELEASED, text


def make(facts, _):
    machine = facts.machine
    others = [one for one in RELEASED if one is not machine]
    named = {one.npm_name: facts.version for one in [machine, *others]}
    main = {
        **about(facts, "stead", facts.description),
        "mcpName": facts.registry_name,
        "keywords": ["mcp", "agents", "repl", "sessions"],
        "bin": {"stead": "stead.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": dict(sorted(named.items())),
    }
    binary = {
        **about(facts, machine.npm_name, "The binary of stead for Linux on %s; install `stead`" % machine.rust),
        "os": ["linux"],
        "cpu": [machine.node],
        "preferUnplugged": True,
    }
    licences = [Entry("package/" + name, page) for name, page in facts.licences().items()]
    of_main = [Entry("package/stead.js", text("packaging/npm/stead.js"), 0o755), Entry("package/README.md", facts.readme())]
    of_binary = [Entry("package/stead", facts.binary, 0o755)]
    return {
        archive_name(main): archive(facts, main, of_main + licences),
        archive_name(binary): archive(facts, binary, of_binary + licences),
    }


def about(facts, name, description):
    return {
        "name": name,
        "version": facts.version,
        "description": description,
        "license": facts.licence,
        "author": AUTHORS,
        "repository": {"type": "git", "url": "git+%s.git" % facts.repository},
    }


def archive_name(manifest):
    return "%s-%s.npm.tgz" % (manifest["name"], manifest["version"])


def archive(facts, manifest, entries):
    manifest = Entry("package/package.json", json.dumps(manifest, indent=2) + "\n")
    return gz(tar([manifest, *entries], facts.time), facts.time)

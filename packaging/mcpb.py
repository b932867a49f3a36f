"""A bundle that desktop clients install with a double click (`.mcpb`, manifest 0.3)."""

import json

from archives import Entry, zipped
from facts import AUTHORS


def make(facts, _):
    entries = [Entry("manifest.json", json.dumps(manifest(facts), indent=2, ensure_ascii=False) + "\n")]
    entries.append(Entry("server/stead", facts.binary, 0o755))
    entries += [Entry(name, page) for name, page in facts.licences().items()]
    return {"stead-%s-%s.mcpb" % (facts.version, facts.machine.target): zipped(entries, facts.time)}


def manifest(facts):
    return {
        "manifest_version": "0.3",
        "name": "stead",
        "display_name": "stead",
        "version": facts.version,
        "description": facts.description,
        "author": {"name": AUTHORS},
        "repository": {"type": "git", "url": facts.repository},
        "license": facts.licence,
        "keywords": ["repl", "python", "bash", "node", "sessions"],
        "server": {
            "type": "binary",
            "entry_point": "server/stead",
            "mcp_config": {
                "command": "${__dirname}/server/stead",
                "args": ["mcp", "--workspace", "${user_config.workspace}"],
            },
        },
        "tools": [{"name": name, "description": description} for name, description in facts.tools()],
        "compatibility": {"platforms": ["linux"]},
        "user_config": {
            "workspace": {
                "type": "directory",
                "title": "Project directory",
                "description": "Sessions belong to this project and start in this directory",
                "required": True,
                "default": "${HOME}",
            }
        },
    }

"""`server.json`: what the MCP registry is told. It names the packages of this version; nothing is uploaded from here."""

import hashlib
import json

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def make(facts, made):
    bundle = next(name for name in made if name.endswith(".mcpb"))
    words = [{"type": "positional", "value": "mcp"}]
    whole = {
        "$schema": SCHEMA,
        "name": facts.registry_name,
        "title": "stead",
        "description": facts.description,
        "version": facts.version,
        "repository": {"url": facts.repository, "source": "github"},
        "packages": [
            {**package(facts, "pypi", "stead"), "runtimeHint": "uvx", "packageArguments": words},
            {**package(facts, "npm", "stead"), "runtimeHint": "npx", "packageArguments": words},
            {**package(facts, "mcpb", "%s/%s" % (facts.release, bundle)), "fileSha256": hashlib.sha256(made[bundle]).hexdigest()},
        ],
    }
    return {"server.json": (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode()}


def package(facts, kind, identifier):
    return {"registryType": kind, "identifier": identifier, "version": facts.version, "transport": {"type": "stdio"}}

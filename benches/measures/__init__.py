"""The measures, in the order of the table. Each is a function from a run to lines."""

from . import first, warm

# Name, what it is, function.
MEASURES = [
    ("warm", "a warm eval over MCP against a loop on a pipe, in each language", warm.mcp),
    ("cli", "`stead eval` as a process per call against `/bin/true`", warm.cli),
    ("first", "the first answer of a new session against the bare interpreter", first.answer),
]

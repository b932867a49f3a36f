"""The measures, in the order of the table. Each is a function from a run to lines."""

from . import age, copies, crowd, first, frames, idle, interrupt, kernels, many, names, output, peers, save, warm

# Name, what it is, function.
MEASURES = [
    ("warm", "a warm eval over MCP against a loop on a pipe, in each language", warm.mcp),
    ("cli", "`stead eval` as a process per call against `/bin/true`", warm.cli),
    ("kernel", "a warm eval in a Jupyter kernel against a bare ZeroMQ client, with jupyter_client beside it", kernels.jupyter),
    ("first", "the first answer of a new session against the bare interpreter", first.answer),
    ("crowd", "evals per second of eight sessions at once", crowd.eight),
    ("interrupt", "from the interrupt of an endless loop to the next answer", interrupt.answer),
    ("prints", "100,000 prints in one eval against `| cat > file`", output.prints),
    ("output", "1 MB to 1 GiB in one eval against `| cat > file`, and memory", output.bulk),
    ("idle", "memory of an idle host", idle.memory),
    ("many", "1, 50 and 200 sessions open", many.sessions),
    ("names", "10,000 names in the namespace against 10", names.kept),
    ("frames", "what is told of changed data frames of a million rows costs", frames.told),
    ("save", "10,000 names and 1 GB saved and loaded, against `pickle`", save.kept),
    ("copies", "checkpoints, rollbacks, and what undo costs at the pace of an agent", copies.kept),
    ("peers", "others that keep a Python session, with `--peers DIR`", peers.compared),
    ("age", "the millionth eval against the tenth", age.grown_old),
]

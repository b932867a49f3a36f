"""The tarball of a release, for everyone else and for `cargo binstall stead` (Cargo.toml says where that looks)."""

from archives import Entry, gz, tar
from facts import text

COMPLETIONS = {"bash": "stead.bash", "zsh": "_stead", "fish": "stead.fish"}


def make(facts, _):
    whole = "stead-%s-v%s" % (facts.machine.target, facts.version)
    entries = [Entry("stead", facts.binary, 0o755)]
    entries += [Entry(name, text(name)) for name in ("README.md", "CHANGELOG.md", *facts.licences())]
    entries += [Entry("completions/" + COMPLETIONS[shell], script) for shell, script in facts.completions().items()]
    entries += [Entry("man/man1/" + name, page) for name, page in facts.manual().items()]
    for entry in entries:
        entry.path = "%s/%s" % (whole, entry.path)
    return {whole + ".tgz": gz(tar(entries, facts.time, directories=True), facts.time)}

"""What `1+1` is in each language, and the floors that belong to it."""


class Language:
    """A language of sessions: its code for `1+1` and what it answers."""

    def __init__(self, name, session, code, answer, title):
        self.name, self.session, self.code, self.answer, self.title = name, session, code, answer, title

    def floor(self, place):
        """A loop on a pipe in this language."""
        return getattr(place, f"{self.name}_floor")()

    def nothing(self, place):
        """The interpreter with nothing to do, as a command."""
        if self.name == "python":
            return [place.python, "-c", "pass"]
        return [place.program(self.name), *{"bash": ["-c", ":"], "node": ["-e", "0"]}[self.name]]

    def check(self, text):
        """Fails on a wrong answer: speed is no use then."""
        if not text or text.split("\n")[0] != self.answer:
            raise RuntimeError(f"{self.name} answered {text!r} to {self.code!r}")


PYTHON = Language("python", "py", "1+1", "2", "Python")
BASH = Language("bash", "sh", "echo $((1+1))", "2", "Bash")
NODE = Language("node", "js", "1+1", "2", "Node")
ALL = (PYTHON, BASH, NODE)

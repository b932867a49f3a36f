"""The first answer: a session that does not exist yet, from the command to what it prints."""

import processes
from lines import Line
from targets import Times

from .languages import NODE, PYTHON
from .warm import answered, available


def answer(run):
    """`stead eval` on a new name against the interpreter that does nothing, one by one in random order."""
    for language in available(run):
        sides = {
            "floor": lambda: processes.timed(language.nothing(run.place), run.place.env)[0],
            "stead": lambda: new_session(run, language),
        }
        for side in sides.values():
            side()
        count = run.pick(1, 2, 5) if language is NODE else run.pick(1, 4, 10)
        pair = run.pairs(run.singles(run.rounds(8, 20), count, sides), "floor")["stead"]
        target = Times(1.5, plus=0.010) if language is PYTHON else None
        floor = " ".join(["python3", "-c", "pass"] if language is PYTHON else [language.name, *language.nothing(run.place)[1:]])
        yield Line.compared(f"first-{language.name}", f"{language.title}, first answer", pair, f"`{floor}`", target)


def new_session(run, language):
    """Seconds from the command to its end; the session is gone again afterwards."""
    command = [run.place.stead, "eval", "-n", "new", "-l", language.name, language.code]
    took, output, _ = processes.timed(command, run.place.env)
    language.check(answered(output))
    run.place.stop("new")
    return took

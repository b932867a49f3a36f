"""Writes the result: a table to the terminal, JSON and a picture to files."""

import json
import os
import time

import picture
import table


def document(machine, run, measured):
    """The whole result for a file."""
    return {
        "machine": machine,
        "level": run.level,
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "lines": [line.as_json() for line in measured.lines],
        "seconds": measured.seconds,
        "skipped": measured.skipped,
        "failed": measured.failed,
    }


def write(document_, json_path, picture_path):
    """Both files, made anew."""
    for path in (json_path, picture_path):
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(json_path, "w", encoding="utf-8") as file:
        json.dump(document_, file, indent=1, ensure_ascii=False)
        file.write("\n")
    with open(picture_path, "w", encoding="utf-8") as file:
        file.write(picture.draw(document_))


def show(measured):
    """The table and which targets do not hold; whether all of them do."""
    print(table.render(measured.lines))
    for text in measured.skipped:
        print(f"left out: {text}")
    for text in measured.failed:
        print(f"failed: {text}")
    missed = table.failures(measured.lines)
    for text in missed:
        print(f"not reached: {text}")
    if not missed and not measured.failed and any(line.ok for line in measured.lines):
        print("all measured targets hold")
    return not missed

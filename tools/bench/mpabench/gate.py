# SPDX-License-Identifier: GPL-2.0-only
"""Compares the instructions of reference operations with those that are recorded."""

import json

from mpalab.common import LabError

# The largest increase that passes.
LIMIT = 0.02


# What the figures depend on, apart from the sources of this repository.
ABOUT = ("source", "compiler")


def read(path):
    """The recorded figures, and how they were measured; empty if there is no file."""
    if not path.exists():
        return {"instructions": {}}
    found = json.loads(path.read_text("utf-8"))
    if not all(isinstance(value, (int, float)) and value > 0
               for value in found["instructions"].values()):
        raise LabError(f"{path}: an operation without instructions")
    return found


def differences(known, about):
    """Lines about what makes the recorded figures another machine's."""
    return [f"# recorded with {name} {known[name]}, measured with {about[name]}"
            for name in ABOUT if name in known and known[name] != about[name]]


def record_text(figures, about):
    """What is recorded, an operation to a line. about: how it was measured."""
    return json.dumps({**about, "instructions": {
        name: round(value) for name, value in figures.items()}}, indent=1) + "\n"


def compare(wanted, figures, known):
    """(lines, number of failures): one line for each operation of `wanted`. An operation
    that was not measured, or of which nothing is recorded, fails."""
    lines, failed = [], 0
    for number, name in enumerate(wanted, 1):
        now, before = figures.get(name), known.get(name)
        if now is None or before is None:
            good = False
            why = "not measured" if now is None else \
                f"{now:,.0f} instructions, nothing is recorded: --record"
        else:
            good = now <= before * (1 + LIMIT)
            why = (f"{now:,.0f} instructions, recorded {before:,.0f}, "
                   f"{100 * (now / before - 1):+.1f} %")
        failed += not good
        lines.append(f"{'ok' if good else 'not ok'} {number} - {name}: {why}")
    return lines, failed

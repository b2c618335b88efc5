"""Several systems for one command: opened together, each with a label of its own.

    labelled([("runs/toy_bahdanau_0", None), (None, "transformer")], device)

Whoever asks for `runs/*` gets what can be used there, and is told of the rest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from course_lib.cli import checkpoints
from course_lib.cli.trouble import Trouble


def asked_for(args: argparse.Namespace) -> list[tuple[str | None, str | None]]:
    """Each system as (checkpoint, name), one of them given; without any it is the usual one."""
    paths, names = args.checkpoint or (), args.system or ()
    for name in names:
        checkpoints.check_name(name)  # a slip of the pen; nobody has the shell write names
    return [*((path, None) for path in paths), *((None, name) for name in names)] or [(None, None)]


def labelled(wanted: Sequence[tuple[str | None, str | None]], device) -> list[tuple]:
    """(label, path, `SavedSystem`) of each: its name if no other has it, else its run's, else its path."""
    opened = list(open_all(wanted, device).items())
    choices = (
        [saved.name for _, saved in opened],
        [path.parent.name if path.name == checkpoints.BEST else path.stem for path, _ in opened],
        [str(path) for path, _ in opened],
    )
    labels = next(labels for labels in choices if len(set(labels)) == len(labels))
    return [(label, *one) for label, one in zip(labels, opened, strict=True)]


def open_all(wanted: Sequence[tuple[str | None, str | None]], device) -> dict:
    """The systems by their files. Of several, those that cannot be used are left out, and named."""
    opened, last = {}, None
    for checkpoint, name in wanted:
        try:
            path = checkpoints.find(checkpoint, name)
            if path not in opened:
                opened[path] = checkpoints.open_translator(path, device=device)
        except Trouble as trouble:
            if len(wanted) == 1:
                raise
            asked = name if checkpoint is None else checkpoint
            why = trouble.happened.removeprefix(asked).strip().rstrip(".")
            print(f"left out: {asked} ({why})", file=sys.stderr)
            last = trouble
    if not opened:
        raise Trouble(f"None of the {len(wanted)} can be measured.", last.todo)
    return opened

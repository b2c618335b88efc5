"""`progress`: what the learner has done so far, and which functions have been saved."""

from __future__ import annotations

import argparse

from tools.cli.arguments import command


def add(commands) -> None:
    parser = command(
        commands, "progress", "show your progress, delete it, or change your track", progress, "lab"
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--delete", action="store_true", help="delete your progress, but keep your functions")
    action.add_argument(
        "--track", choices=("full", "short"), help="take the full course or the short track from now on"
    )


def progress(args: argparse.Namespace) -> int:
    """Print the report. It must not import torch, which takes seconds to load."""
    from course_lib.teaching import progress
    from course_lib.teaching.own_code.kept_file import KeptFileError, kept_file, read_kept_file

    if args.delete:
        print(progress.delete())
        file = progress.progress_file()
        others = [path for path in file.parent.glob("*") if path != file and path.suffix != ".lock"]
        if others:
            names = ", ".join(sorted(path.name for path in others))
            print(f"Everything else in {file.parent} has been kept: {names}.")
        return 1 if file.exists() else 0
    if args.track:
        progress.choose_track(args.track)
    print(progress.read().report())
    try:
        _, saved_functions = read_kept_file()
    except KeptFileError as error:
        print(f"\nYour own functions: {error}.")
        return 0
    if saved_functions:
        print("\nYour own functions")
        for name, number, day, _ in saved_functions:
            print(f"  {name} (lesson {number}, {day})")
        print(f"They are saved in {kept_file()}, which you may read and edit.")
    else:
        print(
            "\nYour own functions: none yet. When a function passes its check, it is saved for later lessons."
        )
    return 0

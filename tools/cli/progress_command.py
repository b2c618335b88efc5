"""`progress`: what a learner has done so far, and the functions that were kept."""

from __future__ import annotations

import argparse

from tools.cli.arguments import command


def add(commands) -> None:
    own = command(commands, "progress", "show what you have done so far, or delete it", progress, "lab")
    own.add_argument("--delete", action="store_true", help="forget all of it")


def progress(args: argparse.Namespace) -> int:
    """Without torch, which takes seconds to load."""
    from course_lib.teaching import progress
    from course_lib.teaching.own_code.kept_file import kept_file, list_own_functions

    if args.delete:
        print(progress.delete())
        return 1 if progress.progress_file().exists() else 0
    print(progress.read().report())
    if kept := list_own_functions():
        print("\nYour own functions")
        for name, number, day, _ in kept:
            print(f"  {name} (lesson {number}, {day})")
        print(f"Kept in {kept_file()}, yours to read and edit.")
    else:
        print("\nYour own functions: none yet. A function that passes its check is kept for later lessons.")
    return 0

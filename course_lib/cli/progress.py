"""Show what you have done so far. It is kept on this computer only."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--delete", action="store_true", help="forget all of it")


def road_text() -> str:
    """The learner's own functions, kept for later lessons."""
    from course_lib.teaching.keeping import road, road_file

    kept = road()
    if not kept:
        return "\nYour own functions: none yet. A function that passes its check is kept for later lessons."
    lines = [f"  {name} (lesson {lesson}, {day})" for name, lesson, day in kept]
    return "\n".join(["\nYour own functions", *lines, f"Kept in {road_file()}, yours to read and edit."])


def run(args: argparse.Namespace) -> int:
    from course_lib.teaching import progress

    if not args.delete:
        print(progress.read().report())
        print(road_text())
        return 0
    print(progress.delete())
    return 1 if progress.progress_file().exists() else 0

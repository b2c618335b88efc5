"""`build`: make the notebooks from the lesson sources."""

from __future__ import annotations

import argparse
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.cli.arguments import command
from tools.cli.environment import CommandError


def add(commands) -> None:
    parser = command(commands, "build", "build the notebooks from the lesson sources", build, "lab")
    lessons = "the number or topic of a lesson, such as 08 or query_key_value (default: all lessons)"
    parser.add_argument("lessons", nargs="*", metavar="NN", help=lessons)
    check = "only check whether the notebooks match their sources; run and write nothing"
    without_run = "update only text and links, and the repository's address, without running the code"
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help=check)
    action.add_argument("--no-run", action="store_true", help=without_run)
    homework = "make a course folder for nbgrader instead, with the lessons as assignments"
    action.add_argument("--edition", choices=["homework"], help=homework)
    folder = "the course folder, for --edition homework (default: build/homework in the course)"
    parser.add_argument("--out", type=Path, metavar="FOLDER", help=folder)
    force = "replace assignments in the course folder that differ from the lessons"
    parser.add_argument("--force", action="store_true", help=force)


def build(args: argparse.Namespace) -> int:
    if args.edition:
        from tools.grading.course_folder import write_course_folder

        folder = args.out or PROJECT_ROOT / "build" / "homework"
        return write_course_folder(args.lessons, folder, force=args.force)
    if args.out or args.force:
        raise CommandError("--out and --force need --edition homework.", "Add it, or leave them out.")
    from tools.authoring.build import build_all

    return build_all(args.lessons, args.check, run=not args.no_run)

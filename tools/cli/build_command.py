"""`build`: make the notebooks from the lesson sources."""

from __future__ import annotations

import argparse

from tools.cli.arguments import command


def add(commands) -> None:
    parser = command(commands, "build", "build the notebooks from the lesson sources", build, "lab")
    lessons = "the number or topic of a lesson, such as 08 or query_key_value (default: all lessons)"
    parser.add_argument("lessons", nargs="*", metavar="NN", help=lessons)
    check = "only check whether the notebooks match their sources; run and write nothing"
    without_run = "update only text and links, and the repository's address, without running the code"
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help=check)
    action.add_argument("--no-run", action="store_true", help=without_run)


def build(args: argparse.Namespace) -> int:
    from tools.authoring.build import build_all

    return build_all(args.lessons, args.check, run=not args.no_run)

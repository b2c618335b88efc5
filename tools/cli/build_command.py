"""`build`: make the notebooks from the lesson sources."""

from __future__ import annotations

import argparse

from tools.cli.arguments import command


def add(commands) -> None:
    parser = command(commands, "build", "make the notebooks from their sources", build, "lab")
    parser.add_argument("lessons", nargs="*", metavar="NN", help="a lesson's number or topic (default: all)")
    parser.add_argument(
        "--check", action="store_true", help="run nothing: do the notebooks fit their sources?"
    )


def build(args: argparse.Namespace) -> int:
    from tools.authoring.build import build_all

    return build_all(args.lessons, args.check)

"""`build`: the notebooks, made from their sources."""

from __future__ import annotations

import argparse

from tools.cli.arguments import command


def add(commands) -> None:
    own = command(commands, "build", "make the notebooks from their sources", build, "lab")
    own.add_argument("lessons", nargs="*", metavar="NN", help="a lesson's number or topic (default: all)")
    own.add_argument("--check", action="store_true", help="run nothing: do the notebooks fit their sources?")


def build(args: argparse.Namespace) -> int:
    from tools.authoring.build import build_all

    return build_all(args.lessons, args.check)

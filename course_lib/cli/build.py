"""Make the notebooks of all lessons, or of those named, from notebooks/source."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lessons", nargs="*", metavar="NN", help="a lesson's number or topic (default: all)")
    parser.add_argument(
        "--check", action="store_true", help="run nothing: say whether the stored notebooks fit their sources"
    )


def run(args: argparse.Namespace) -> int:
    from course_lib.authoring.build import build_all

    return build_all(args.lessons, args.check)

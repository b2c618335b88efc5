"""Show what you have done so far. It is kept on this computer only."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--delete", action="store_true", help="forget all of it")


def run(args: argparse.Namespace) -> int:
    from course_lib.teaching import progress

    if not args.delete:
        print(progress.read().report())
        return 0
    print(progress.delete())
    return 1 if progress.progress_file().exists() else 0

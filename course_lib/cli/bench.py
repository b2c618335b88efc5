"""Measure how fast the course is, on this machine.

explorables  how long a move of a slider takes, side by side with `ipywidgets.interact`
text         how long it takes to make the toy language, and to read, tokenise and batch Multi30k
training     how long a training step takes, side by side with torch's own modules
decoding     how long it takes to say 64 words, with a cache and without
"""

from __future__ import annotations

import argparse

from course_lib.cli.device import find_device
from course_lib.cli.paths import user_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="what", metavar="WHAT", required=True, title="what to measure")
    explorables = chosen.add_parser("explorables", help="how fast the explorables answer", allow_abbrev=False)
    explorables.set_defaults(stage="test")  # in a real browser; the others need no Jupyter at all
    text = chosen.add_parser("text", help="how fast text is made and read", allow_abbrev=False)
    text.add_argument(
        "--folder",
        metavar="FOLDER",
        help="where Multi30k is; else the folder that COURSE_MULTI30K names, else the course's own. "
        "Without Multi30k the toy language is measured alone",
    )
    for name, help in (
        ("training", "how fast a step of training is"),
        ("decoding", "what a cache is worth when a sentence is said"),
    ):
        own = chosen.add_parser(name, help=help, allow_abbrev=False)
        own.add_argument("--device", help="cpu, cuda, ...; else a GPU where there is one")


def run(args: argparse.Namespace) -> int:
    if args.what == "text":
        from course_lib.bench.text import run as bench_text

        return bench_text(None if args.folder is None else str(user_path(args.folder)))
    if args.what == "training":
        from course_lib.bench.training import run as bench_training

        return bench_training(device=find_device(args.device))
    if args.what == "decoding":
        from course_lib.bench.decoding import run as bench_decoding

        return bench_decoding(device=find_device(args.device))
    from course_lib.bench.explorables import run as bench_explorables

    return bench_explorables()

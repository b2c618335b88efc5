"""Measure how fast the explorables answer, side by side with `ipywidgets.interact`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["explorables"], help="what to measure")


def run(args: argparse.Namespace) -> int:
    from course_lib.bench.explorables import run as bench_explorables

    return bench_explorables()

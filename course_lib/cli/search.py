"""How a translation is searched for, where it can be asked for: --beam and --length-penalty."""

from __future__ import annotations

import argparse

from course_lib.cli.trouble import Trouble

WIDEST = 1000  # a beam of this is slow already, and says nothing that one of 50 does not
USUAL_LENGTH_PENALTY = 0.6
STEEPEST = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--beam", type=int, default=1, metavar="N", help="beam size (1: greedy)")
    parser.add_argument(
        "--length-penalty",
        type=float,
        metavar="X",
        help=f"how far a beam favours long sentences, 0 not at all ({USUAL_LENGTH_PENALTY})",
    )


def check(args: argparse.Namespace) -> None:
    """Whether both make sense; afterwards `args.length_penalty` is a number."""
    if not 1 <= args.beam <= WIDEST:
        raise Trouble(
            f"Expected --beam to be from 1 to {WIDEST}, but got {args.beam}.",
            "--beam 5 is usual, 1 is greedy.",
        )
    if args.length_penalty is not None and args.beam == 1:
        raise Trouble(
            "--length-penalty ranks the sentences of a beam, and greedy search has but one.",
            "Add --beam 5, or leave --length-penalty out.",
        )
    args.length_penalty = USUAL_LENGTH_PENALTY if args.length_penalty is None else args.length_penalty
    if not 0 <= args.length_penalty <= STEEPEST:
        raise Trouble(
            f"Expected --length-penalty to be from 0 to {STEEPEST:g}, but got {args.length_penalty:g}.",
            f"{USUAL_LENGTH_PENALTY} is usual; 0 does not look at the length.",
        )


def told(args: argparse.Namespace) -> str:
    """In words: "greedy", or "beam 5, length penalty 0.6"."""
    return "greedy" if args.beam == 1 else f"beam {args.beam}, length penalty {args.length_penalty:g}"

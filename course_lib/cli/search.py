"""How a translation is searched for, where it can be asked for: --beam and --alpha."""

from __future__ import annotations

import argparse

from course_lib.cli.trouble import Trouble

WIDEST = 1000  # a beam of this is slow already, and says nothing that one of 50 does not
USUAL_ALPHA = 0.6
STEEPEST = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--beam", type=int, default=1, metavar="N", help="sentences kept open (1: greedy)")
    parser.add_argument(
        "--alpha", type=float, metavar="X", help=f"how far a beam favours long sentences ({USUAL_ALPHA})"
    )


def check(args: argparse.Namespace) -> None:
    """Whether both make sense; afterwards `args.alpha` is a number."""
    if not 1 <= args.beam <= WIDEST:
        raise Trouble(
            f"Expected --beam to be from 1 to {WIDEST}, but got {args.beam}.",
            "--beam 5 is usual, 1 is greedy.",
        )
    if args.alpha is not None and args.beam == 1:
        raise Trouble(
            "--alpha ranks the sentences of a beam, and greedy search has but one.",
            "Add --beam 5, or leave --alpha out.",
        )
    args.alpha = USUAL_ALPHA if args.alpha is None else args.alpha
    if not 0 <= args.alpha <= STEEPEST:
        raise Trouble(
            f"Expected --alpha to be from 0 to {STEEPEST:g}, but got {args.alpha:g}.",
            f"{USUAL_ALPHA} is usual; 0 does not look at the length.",
        )

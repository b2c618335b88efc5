"""Print sentences of the toy language, with the gold alignment under each pair.

    the cat drank the water
    le chat a bu l' eau
    the—le  cat—chat  drank—a bu  the—l'  water—eau

`--rule` shows one phenomenon only; a name that does not exist prints the names there are.
"""

from __future__ import annotations

import argparse

from course_lib.cli.trouble import Trouble

AT_MOST = 20_000  # sentences looked at for a rule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--n", type=int, default=5, metavar="N", help="how many pairs (5)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, other sentences (0)")
    parser.add_argument("--rule", metavar="NAME", help="only pairs in which this rule is at work")
    parser.add_argument(
        "--length",
        type=int,
        nargs=2,
        default=(3, 12),
        metavar=("A", "B"),
        help="at least A and at most B English words (3 12)",
    )


def run(args: argparse.Namespace) -> int:
    shown = 0
    for pair in _wanted(args):
        print("\n".join(lines(pair)), end="\n\n")
        shown += 1
    if not shown and args.n > 0:
        shortest, longest = args.length
        raise Trouble(
            f"No sentence of {shortest} to {longest} words needs the rule {args.rule}.",
            "Ask for longer ones, such as --length 8 16.",
        )
    return 0


def _wanted(args: argparse.Namespace) -> list:
    import random
    from itertools import islice

    from course_lib.text.toy.generate import draw
    from course_lib.text.toy.grammar import check_rule

    try:
        if args.rule:
            check_rule(args.rule)
        stream = islice(draw(random.Random(args.seed), length=tuple(args.length)), AT_MOST)
        pairs = (drawn.pair for drawn in stream)
        return list(islice((p for p in pairs if not args.rule or args.rule in p.phenomena), max(args.n, 0)))
    except ValueError as error:
        raise Trouble(str(error), "`python3 -m course_lib data show --help` lists the options.") from error


def lines(pair) -> list[str]:
    """The two sentences, who became whom, and who is meant by a pronoun.

    Each English word stands with its French ones; words that came together (ice cream—glace) stay together.
    """
    groups = []
    for at, word in enumerate(pair.src):
        there = tuple(sorted(right for left, right in pair.links if left == at))
        if groups and there and groups[-1][1] == there:
            groups[-1] = (f"{groups[-1][0]} {word}", there)
        else:
            groups.append((word, there))
    links = [f"{word}—{' '.join(pair.tgt[at] for at in there)}" for word, there in groups]
    found = [pair.src_text, pair.tgt_text, "    " + "  ".join(link.removesuffix("—") for link in links)]
    if pair.antecedents:
        meant = [f"{pair.src[left]} = {pair.src[right]}" for left, right in pair.antecedents]
        found.append("    " + ", ".join(meant))
    found.append("    " + ", ".join(sorted(pair.phenomena)))
    return found

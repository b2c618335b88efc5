"""`data show`, `data words` and `data multi30k`: the toy language to look at, the real corpus to get.

the cat drank the water
le chat a bu l' eau
the—le  cat—chat  drank—a bu  the—l'  water—eau
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from course_lib.cli.door import Trouble, called

AT_MOST = 20_000  # sentences looked at for a rule


def show(args: argparse.Namespace) -> int:
    """Sentences of the toy language, with the gold alignment under each pair."""
    import random
    from itertools import islice

    from course_lib.text.toy.generate import draw
    from course_lib.text.toy.grammar import check_rule

    try:
        if args.rule:
            check_rule(args.rule)
        pairs = (drawn.pair for drawn in draw(random.Random(args.seed), length=tuple(args.length)))
        fitting = (pair for pair in islice(pairs, AT_MOST) if not args.rule or args.rule in pair.phenomena)
        shown = ["\n".join(lines(pair)) for pair in islice(fitting, args.n)]
    except ValueError as error:
        raise Trouble(str(error), f"`{called()} data show --help` lists the options.") from error
    if not shown:
        raise Trouble(
            f"No sentence of {args.length[0]} to {args.length[1]} words needs the rule {args.rule}.",
            "Ask for longer ones, such as --length 8 16.",
        )
    print("\n\n".join(shown))
    return 0


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
    return [*found, "    " + ", ".join(sorted(pair.phenomena))]


def words(args: argparse.Namespace) -> int:
    """Every English word that the toy language knows, by kind."""
    for kind, known in words_by_kind().items():
        print(textwrap.fill(", ".join(known), 100, initial_indent=f"{kind:12}", subsequent_indent=" " * 12))
    return 0


def words_by_kind() -> dict[str, list[str]]:
    """Nouns as person, animal and so on; verbs; adjectives; and what the grammar needs besides."""
    from course_lib.text.toy.generate import generate
    from course_lib.text.toy.lexicon import KINDS, lexicon

    known = lexicon()
    found = {kind: [noun.name for noun in known.nouns if noun.kind == kind] for kind in KINDS}
    found["verb"] = [verb.name for verb in known.verbs]
    found["adjective"] = sorted({quality.en for quality in known.qualities})
    listed = [form for noun in known.nouns for form in noun.en] + found["adjective"]
    listed += [f"{form} {verb.particle}" for verb in known.verbs for form in verb.en]
    met = {word for pair in generate(2000, seed=0) for word in pair.src}
    return found | {"other": sorted(met - set(" ".join(listed).split()))}


# ---- Multi30k


def multi30k(args: argparse.Namespace) -> int:
    """0 when all nine files are there and right, in the end."""
    from course_lib.text import multi30k
    from course_lib.text.download import DownloadError

    folder, why = multi30k.find_folder(args.folder)
    by_hand = f"""
Multi30k is public: {multi30k.HOME}, folder data/task1/raw. It comes to 2 MB. The command
    {multi30k.command(args.folder)}
gets what is missing. By hand: put these files into
{folder}"""
    try:
        if wrong := report(folder, why):
            if not args.download:
                print(by_hand, *(f"    {multi30k.SOURCE}/{name}" for name in wrong), "", sep="\n")
            if not (args.download or agreed()):
                return 1
            multi30k.fetch(folder)
            report(folder, why)
    except (DownloadError, OSError) as error:
        raise Trouble(str(error), f"The files also come by hand, from {multi30k.HOME}.") from error
    print("All nine files are there, and every checksum is right.")
    print("Whoever writes about results on them cites Elliott et al. 2016 and 2017.")
    return 0


def report(folder: Path, why: str) -> list[str]:
    """Print how it is with each file; the names of those that are missing or wrong."""
    from course_lib.text.multi30k import published, state

    print(f"Multi30k in {folder} ({why})")
    found = {name: state(folder, name) for name in published()}
    for name, how in found.items():
        print(f"  {'✓' if how == 'right' else '·'} {name:24} {how}")
    return [name for name, how in found.items() if how != "right"]


def agreed() -> bool:
    """Ask, where there is somebody to answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("Download them now? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False

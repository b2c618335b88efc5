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

from course_lib.runtime import program_name
from tools.cli.arguments import at_least, command, seed
from tools.cli.environment import CommandError

AT_MOST = 20_000  # sentences looked at for a rule
MULTI30K = """31,014 captions of photographs in German, English and French, from their makers' public
repository. Looked for in FOLDER, else in the folder that the environment variable COURSE_MULTI30K names,
else in a folder of the course on this computer. It is never part of the course: please do not pass it on."""


def add(commands) -> None:
    what = "show the toy language and its words, or get the real corpus"
    own = command(commands, "data", what, show)
    chosen = own.add_subparsers(dest="what", metavar="WHAT", required=True)
    own = command(chosen, "show", "print sentences of the toy language, with their alignment", show)
    own.add_argument("--n", type=at_least(1), default=5, metavar="N", help="how many pairs (5)")
    own.add_argument("--seed", type=seed, default=0, metavar="S", help="another seed, other sentences (0)")
    rule = "only pairs with this phenomenon; a wrong name lists them"
    own.add_argument("--rule", metavar="NAME", help=rule)
    length = "at least A and at most B English words (3 12)"
    own.add_argument("--length", type=int, nargs=2, default=(3, 12), metavar=("A", "B"), help=length)
    command(chosen, "words", "list the words that the toy language knows, by kind", words)
    own = command(chosen, "multi30k", "find, check or download the Multi30k corpus", multi30k)
    own.epilog = MULTI30K
    own.add_argument("folder", nargs="?", metavar="FOLDER", help="where the files are, or shall be")
    own.add_argument("--download", action="store_true", help="get what is missing, without asking")


def show(args: argparse.Namespace) -> int:
    """Sentences of the toy language, with the gold alignment under each pair."""
    import random
    from itertools import islice

    from course_lib.text.toy.generate import draw
    from course_lib.text.toy.lexicon import check_rule

    try:
        if args.rule:
            check_rule(args.rule)
        pairs = (drawn.pair for drawn in draw(random.Random(args.seed), length=tuple(args.length)))
        fitting = (pair for pair in islice(pairs, AT_MOST) if not args.rule or args.rule in pair.phenomena)
        shown = ["\n".join(lines(pair)) for pair in islice(fitting, args.n)]
    except ValueError as error:
        raise CommandError(str(error), f"`{program_name()} data show --help` lists the options.") from error
    if not shown:
        raise CommandError(f"No such sentence among {AT_MOST:,}.", "Ask for longer ones, as --length 8 16.")
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

    folder, why = multi30k.find_folder(args.folder)
    if wrong := report(folder, why):
        if not args.download:
            print(f"\nMulti30k is public ({multi30k.HOME}, 2 MB). The command")
            print(f"    {multi30k.command(args.folder)}\ngets what is missing. By hand: put these files into")
            print(folder, *(f"    {multi30k.SOURCE}/{name}" for name in wrong), sep="\n")
            if not agreed():
                return 1
        try:
            multi30k.fetch(folder)
        except (multi30k.DownloadError, OSError) as error:
            raise CommandError(str(error), f"The files also come by hand, from {multi30k.HOME}.") from error
        report(folder, why)
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
        return input("Download what is missing now? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False

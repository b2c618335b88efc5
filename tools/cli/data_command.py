"""`data show`, `data words` and `data multi30k`: print the toy language; get the real corpus.

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
from tools.cli.arguments import at_least, command, not_empty, seed
from tools.cli.environment import CommandError

MAX_SEARCHED = 20_000  # sentences generated in search of a rule
MULTI30K = """Multi30k consists of 31,014 photo captions in German, English and French, from the authors'
public repository. The command looks for it in FOLDER if you give one, otherwise in the folder named by the
environment variable COURSE_MULTI30K, otherwise in the folder multi30k next to your progress file. Multi30k
is not part of the course; please don't redistribute it."""
STATES = {"right": "OK", "wrong": "wrong checksum"}


def add(commands) -> None:
    help_text = "show sentences or words of the toy language, or get the Multi30k corpus"
    parser = command(commands, "data", help_text, show)
    subcommands = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    parser = command(
        subcommands, "show", "print sentence pairs of the toy language with their alignment", show
    )
    parser.add_argument(
        "--n",
        type=at_least(1, MAX_SEARCHED),
        default=5,
        metavar="N",
        help="number of sentence pairs (default: 5)",
    )
    parser.add_argument("--seed", type=seed, default=0, metavar="S", help="random seed (default: 0)")
    rule = (
        "only pairs with this phenomenon, such as because or negation; an invalid NAME prints the full list"
    )
    parser.add_argument("--rule", metavar="NAME", help=rule)
    length = "minimum and maximum number of English words (default: 3 12)"
    parser.add_argument("--length", type=int, nargs=2, default=(3, 12), metavar=("A", "B"), help=length)
    command(subcommands, "words", "list the words of the toy language by category", words)
    parser = command(subcommands, "multi30k", "find, check or download the Multi30k corpus", multi30k)
    parser.epilog = MULTI30K
    parser.add_argument(
        "folder",
        nargs="?",
        type=not_empty,
        metavar="FOLDER",
        help="the folder that contains the files, or that they should be downloaded to",
    )
    parser.add_argument("--download", action="store_true", help="download missing files without asking")


def show(args: argparse.Namespace) -> int:
    """Print sentences of the toy language, with the gold alignment under each pair."""
    import random
    from itertools import islice

    from course_lib.text.toy.generate import LONGEST, SHORTEST, draw
    from course_lib.text.toy.lexicon import check_rule

    shortest, longest = args.length
    if not SHORTEST <= shortest <= longest <= LONGEST:
        raise CommandError(
            f"Expected --length with the minimum and the maximum number of words, from {SHORTEST} to "
            f"{LONGEST}, but got {shortest} {longest}.",
            "Use for example --length 5 12.",
        )
    try:
        if args.rule is not None:
            check_rule(args.rule)
        pairs = (drawn.pair for drawn in draw(random.Random(args.seed), length=(shortest, longest)))
        searched = islice(pairs, MAX_SEARCHED)
        matches = (pair for pair in searched if not args.rule or args.rule in pair.phenomena)
        blocks = ["\n".join(format_pair(pair)) for pair in islice(matches, args.n)]
    except ValueError as error:
        raise CommandError(
            str(error), f"Run `{program_name()} data show --help` to see the options."
        ) from error
    if not blocks:
        raise CommandError(
            f"None of {MAX_SEARCHED:,} generated sentences matched.",
            "Allow longer sentences, for example with --length 8 16.",
        )
    print("\n\n".join(blocks))
    return 0


def format_pair(pair) -> list[str]:
    """The two sentences, their alignment, the antecedents of pronouns, and the phenomena, a line each.

    Each English word is shown with its French words. Neighbours that align with the same words are grouped:
    ice cream—glace.
    """
    groups = []
    for position, word in enumerate(pair.src):
        aligned = tuple(sorted(tgt for src, tgt in pair.links if src == position))
        if groups and aligned and groups[-1][1] == aligned:
            groups[-1] = (f"{groups[-1][0]} {word}", aligned)
        else:
            groups.append((word, aligned))
    links = [f"{word}—{' '.join(pair.tgt[position] for position in aligned)}" for word, aligned in groups]
    lines = [pair.src_text, pair.tgt_text, "    " + "  ".join(link.removesuffix("—") for link in links)]
    if pair.antecedents:
        references = [f"{pair.src[pronoun]} = {pair.src[noun]}" for pronoun, noun in pair.antecedents]
        lines.append("    " + ", ".join(references))
    return [*lines, "    " + ", ".join(sorted(pair.phenomena))]


def words(args: argparse.Namespace) -> int:
    """Print every English word of the toy language, by kind."""
    for kind, names in words_by_kind().items():
        print(textwrap.fill(", ".join(names), 100, initial_indent=f"{kind:12}", subsequent_indent=" " * 12))
    return 0


def words_by_kind() -> dict[str, list[str]]:
    """Nouns by kind (person, animal, ...), verbs, adjectives, and all other words the grammar uses."""
    from course_lib.text.toy.generate import generate
    from course_lib.text.toy.lexicon import KINDS, lexicon

    entries = lexicon()
    by_kind = {kind: [noun.name for noun in entries.nouns if noun.kind == kind] for kind in KINDS}
    by_kind["verb"] = [verb.name for verb in entries.verbs]
    by_kind["adjective"] = sorted({quality.en for quality in entries.qualities})
    forms = [form for noun in entries.nouns for form in noun.en] + by_kind["adjective"]
    forms += [f"{form} {verb.particle}" for verb in entries.verbs for form in verb.en]
    generated = {word for pair in generate(2000, seed=0) for word in pair.src}
    return by_kind | {"other": sorted(generated - set(" ".join(forms).split()))}


# ---- Multi30k


def multi30k(args: argparse.Namespace) -> int:
    """Check the nine files and download what is missing; 0 if all of them are right in the end."""
    from course_lib.text import multi30k

    folder, reason = multi30k.find_folder(args.folder)
    if wrong := check_files(folder, reason):
        if not args.download:
            print(f"\nMulti30k is publicly available ({multi30k.HOME}, 2 MB). To download it, run")
            print(f"    {multi30k.command(args.folder)}\nTo get it by hand, download these files to")
            print(folder, *(f"    {multi30k.SOURCE}/{name}" for name in wrong), sep="\n")
            if not confirm_download():
                return 1
        try:
            multi30k.fetch(folder)
        except (multi30k.DownloadError, OSError) as error:
            raise CommandError(
                str(error), f"You can also get the files by hand from {multi30k.HOME}."
            ) from error
        check_files(folder, reason)
    print("All nine files are present and have the right checksums.")
    print("If you publish results on Multi30k, please cite Elliott et al. 2016 and 2017.")
    return 0


def check_files(folder: Path, reason: str) -> list[str]:
    """Print the state of each file; return the names of those that are missing or wrong."""
    from course_lib.text.multi30k import published, state

    print(f"Multi30k in {folder} ({reason})")
    states = {name: state(folder, name) for name in published()}
    for name, file_state in states.items():
        print(f"  {'✓' if file_state == 'right' else '·'} {name:24} {STATES.get(file_state, file_state)}")
    return [name for name, file_state in states.items() if file_state != "right"]


def confirm_download() -> bool:
    """Ask the user; without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("Download the missing files now? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False

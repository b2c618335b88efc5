"""Measure how well trained systems translate: BLEU, chrF, exact match, alignment error, by length.

    course evaluate --checkpoint runs/toy_transformer_0
    course evaluate --checkpoint runs/* --split long --beam 5 --json long.json

Several systems stand side by side, on the same sentences. By default they are those of the corpus that the
systems were trained on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from course_lib.cli import checkpoints
from course_lib.cli.trouble import Trouble

SPLITS = {
    "toy": ("test", "long", "recombination", "coreference", "validation"),
    "multi30k": ("test", "validation"),
}
NONE = "–"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    checkpoints.add_arguments(parser, several=True)
    parser.add_argument("--data", choices=[*SPLITS], help="the corpus; else the one they were trained on")
    parser.add_argument("--split", choices=SPLITS["toy"], default="test", help="which part of it (test)")
    parser.add_argument("--from", dest="src", metavar="LANG", help="Multi30k: de, en or fr; else as trained")
    parser.add_argument("--to", dest="tgt", metavar="LANG", help="Multi30k: de, en or fr; else as trained")
    parser.add_argument("--multi30k", metavar="FOLDER", help="where Multi30k is")
    parser.add_argument("--beam", type=int, default=1, metavar="N", help="sentences kept open (1: greedy)")
    parser.add_argument("--first", type=int, metavar="N", help="only the first N sentences, for a quick look")
    parser.add_argument("--json", metavar="FILE", help="keep every number there")


def run(args: argparse.Namespace) -> int:
    check(args)
    paths = [checkpoints.find(path, None) for path in args.checkpoint or ()]
    paths += [checkpoints.find(None, name) for name in args.system or ()]
    paths = paths or [checkpoints.find(None, None)]
    opened = {label: (path, saved) for label, path, saved in labelled(paths, args.device)}
    data = choose_data(args, {label: trained_on(saved) for label, (_, saved) in opened.items()})
    pairs = load_pairs(data, args)
    print(f"{data}, {args.split}: {len(pairs):,} sentences", end="\n\n", flush=True)

    found = {label: measure(saved, pairs, args, label, data) for label, (_, saved) in opened.items()}
    if len(found) == 1:
        ((label, evaluation),) = found.items()
        print(label, evaluation.table(), sep="\n")
    else:
        print(side_by_side(found))
    if args.json is not None:
        keep(Path(args.json).expanduser(), args, data, opened, found)
    return 0


def check(args: argparse.Namespace) -> None:
    """What can be known to be wrong before anything is loaded."""
    for name in ("beam", "first"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise Trouble(f"Expected --{name} to be 1 or more, but got {value}.", "Or leave it out.")


# ---- which systems, which sentences


def labelled(paths: Sequence[Path], device: str | None) -> list[tuple]:
    """(label, path, `SavedSystem`) of each: its name if no other has it, else its run's, else its path."""
    opened = [(path, checkpoints.open_translator(path, device=device)) for path in dict.fromkeys(paths)]
    choices = (
        [saved.name for _, saved in opened],
        [path.parent.name if path.name == checkpoints.BEST else path.stem for path, _ in opened],
        [str(path) for path, _ in opened],
    )
    labels = next(labels for labels in choices if len(set(labels)) == len(labels))
    return [(label, *one) for label, one in zip(labels, opened, strict=True)]


def trained_on(saved) -> str:
    """The name of a `SavedSystem`'s corpus, such as toy or multi30k-de-en; nothing where it does not say."""
    data = saved.about.get("data")
    return str(data.get("name", "")) if isinstance(data, dict) else ""


def choose_data(args: argparse.Namespace, trained: Mapping[str, str]) -> str:
    """The corpus to measure on: toy, toy-SEED or multi30k-FROM-TO."""
    corpora = sorted({name for name in trained.values() if args.data in (None, name.partition("-")[0])})
    if len(corpora) > 1 and args.data is None:
        told = ", ".join(f"{label} on {name or 'nobody knows what'}" for label, name in trained.items())
        raise Trouble(
            f"These were trained on different corpora: {told}.", "Choose one: --data toy or --data multi30k."
        )
    usual = corpora[0] if corpora else args.data
    kind, *rest = usual.split("-")
    if kind not in SPLITS:
        raise Trouble(
            "The checkpoint does not say what it was trained on.", "Add --data toy or --data multi30k."
        )
    if args.split not in SPLITS[kind]:
        raise Trouble(f"{kind} has no split {args.split}.", f"It has: {', '.join(SPLITS[kind])}.")
    if kind == "toy":
        return usual
    src, tgt = rest if len(rest) == 2 else ("de", "en")
    return f"multi30k-{args.src or src}-{args.tgt or tgt}"


def load_pairs(data: str, args: argparse.Namespace):
    """The sentences, with all that is known about them."""
    from dataclasses import replace

    kind, *rest = data.split("-")
    if kind == "toy":
        from course_lib.text.toy.splits import SIZES_OF_TESTS, splits

        seed = int(rest[0]) if rest and rest[0].isdecimal() else 0
        return getattr(splits(seed=seed, sizes=SIZES_OF_TESTS), args.split)[: args.first]

    from course_lib.text.multi30k import load_multi30k

    try:
        whole = load_multi30k(*rest, args.split, args.multi30k)
    except (ValueError, OSError) as error:
        raise Trouble(str(error), "`course evaluate --help` tells what can be asked for.") from error
    return replace(whole, src=whole.src[: args.first], tgt=whole.tgt[: args.first])


def measure(saved, pairs, args: argparse.Namespace, label: str, data: str):
    """An `Evaluation` of one system. Real text was learned in small letters, and is compared so."""
    from tqdm import tqdm

    from course_lib.training.bar import watched
    from course_lib.translation.evaluate import evaluate

    with tqdm(total=len(pairs), desc=label, unit=" sentences", leave=False, disable=not watched()) as bar:
        return evaluate(
            saved.model,
            saved.tokenizer,
            pairs,
            beam=args.beam,
            lowercase=data.startswith("multi30k"),
            progress=bar.update,
        )


# ---- what goes out


def side_by_side(found: Mapping[str, object]) -> str:
    """One column a system, one row a number; a number that a system has not is a dash.

    >>> print(side_by_side({"bahdanau": ..., "transformer": ...}))
                       bahdanau  transformer
    BLEU                   96.1         98.7
    """
    each = list(found.values())
    blocks = [
        [
            ("BLEU", [f"{one.bleu.value:.1f}" for one in each]),
            ("chrF", [f"{one.chrf.value:.1f}" for one in each]),
            ("exact match", [f"{one.exact:.1%}" for one in each]),
            ("il or elle", [percent(one.coreference and one.coreference.share) for one in each]),
            ("AER, saying", [percent(one.alignment and one.alignment.producing) for one in each]),
            ("AER, reading", [percent(one.alignment and one.alignment.reading) for one in each]),
            ("found no end", [f"{one.n_cut:,}" for one in each]),
        ]
    ]
    for title, part in (("source words", "by_length"), ("phenomenon", "by_phenomenon")):
        slices = [{one.name: one for one in getattr(evaluation, part)} for evaluation in each]
        rows = [(name, [percent(those[name].exact) for those in slices]) for name in slices[0]]
        blocks += [[(f"exact match by {title}", [""] * len(each)), *rows]] if rows else []
    # A row in which nobody has a number says nothing.
    blocks = [[row for row in block if set(row[1]) != {NONE}] for block in blocks]
    first = max(len(name) for block in blocks for name, _ in block) + 2
    widths = [max(len(label), 8) for label in found]

    def line(name: str, values: Sequence[str]) -> str:
        columns = "  ".join(f"{value:>{width}}" for value, width in zip(values, widths, strict=True))
        return f"{name:<{first}}{columns}".rstrip()

    parts = ["\n".join(line(*row) for row in block) for block in blocks]
    signatures = f"BLEU  {each[0].bleu.signature}\nchrF  {each[0].chrf.signature}"
    return "\n".join([line("", list(found)), "\n\n".join([*parts, signatures])])


def percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.1%}"


def keep(path: Path, args: argparse.Namespace, data: str, opened: Mapping, found: Mapping) -> None:
    """Write every number, with what it was measured on and by what."""
    from course_lib.models.sizes import n_parameters
    from course_lib.runtime import write_json
    from course_lib.training.saved_system import machine, versions

    systems = [
        {
            "label": label,
            "system": saved.name,
            "checkpoint": str(file),
            "trained": {key: saved.about.get(key) for key in ("command", "data")},
            "n_parameters": n_parameters(saved.model),
            **found[label].to_json(),
        }
        for label, (file, saved) in opened.items()
    ]
    whole = {
        "data": data,
        "split": args.split,
        "beam": args.beam,
        "first": args.first,
        "versions": versions(),
        "machine": machine(),
        "systems": systems,
    }
    try:
        write_json(path, whole)
    except OSError as error:
        raise Trouble(
            f"{path} cannot be written: {error}", "Choose another place for the numbers."
        ) from error
    print(f"Every number is in {path}.", file=sys.stderr)

"""Measure how well trained systems translate: BLEU, chrF, exact match, alignment error, by length.

    python3 -m course_lib evaluate --checkpoint runs/toy_transformer_0
    python3 -m course_lib evaluate --checkpoint runs/* --split long --beam 5 --json long.json
    python3 -m course_lib evaluate --checkpoint data/checkpoints/* --split all

Several systems stand side by side, on the same sentences. By default they are those of the corpus that the
systems were trained on. A checkpoint that cannot be measured is left out, unless it is the only one.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from course_lib.cli import checkpoints, search, systems
from course_lib.cli.device import find_device
from course_lib.cli.endings import STOPPED
from course_lib.cli.paths import target_path, unwritable, user_path
from course_lib.cli.side_by_side import laid_out, percent, side_by_side
from course_lib.cli.trouble import Trouble

SPLITS = {
    "toy": ("test", "long", "depth", "recombination", "coreference", "validation"),
    "multi30k": ("test", "validation"),
}
ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    checkpoints.add_arguments(parser, several=True)
    parser.add_argument("--data", choices=[*SPLITS], help="the corpus; else the one they were trained on")
    parser.add_argument(
        "--split",
        choices=[*SPLITS["toy"], ALL],
        default="test",
        help="which part of it (test); all: exact match on every test split of the toy language",
    )
    parser.add_argument("--from", dest="src", metavar="LANG", help="Multi30k: de, en or fr; else as trained")
    parser.add_argument("--to", dest="tgt", metavar="LANG", help="Multi30k: de, en or fr; else as trained")
    parser.add_argument("--multi30k", metavar="FOLDER", help="where Multi30k is")
    search.add_arguments(parser)
    parser.add_argument("--first", type=int, metavar="N", help="only the first N sentences, for a quick look")
    parser.add_argument("--json", metavar="FILE", help="keep every number there")


def run(args: argparse.Namespace) -> int:
    check(args)
    kept = None if args.json is None else target_path(args.json)
    device = find_device(args.device)
    opened = {
        label: (path, saved) for label, path, saved in systems.labelled(systems.asked_for(args), device)
    }
    data = choose_data(args, {label: trained_on(saved) for label, (_, saved) in opened.items()})
    if args.split == ALL:
        return by_split(args, data, opened)
    pairs = load_pairs(data, args)
    print(f"{data}, {args.split}: {len(pairs):,} sentences, {search.told(args)}", end="\n\n", flush=True)

    found = {}
    try:
        for label, (_, saved) in opened.items():
            found[label] = measure(saved, pairs, args, label, data)
    except KeyboardInterrupt:
        if not found:
            raise
        print(f"\nStopped. Measured so far: {len(found)} of {len(opened)}.", file=sys.stderr)
    show(found)
    if kept is not None:
        keep(kept, args, data, opened, found, device)
    return 0 if len(found) == len(opened) else STOPPED


def check(args: argparse.Namespace) -> None:
    """What can be known to be wrong before anything is loaded."""
    search.check(args)
    if args.split == ALL and args.json is not None:
        raise Trouble("--json keeps one split at a time.", "Name it with --split, or leave --json out.")
    if args.first is not None and args.first < 1:
        raise Trouble(f"Expected --first to be 1 or more, but got {args.first}.", "Or leave it out.")


# ---- which sentences


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
    if args.split not in (*SPLITS[kind], *([ALL] if kind == "toy" else [])):
        raise Trouble(f"{kind} has no split {args.split}.", f"It has: {', '.join(SPLITS[kind])}.")
    if kind == "toy":
        vain = {"--from": args.src, "--to": args.tgt, "--multi30k": args.multi30k}
        if flags := " and ".join(flag for flag, value in vain.items() if value is not None):
            raise Trouble(
                f"The corpus is {usual}, but only Multi30k takes {flags}.",
                "Leave it out, or add --data multi30k.",
            )
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

    folder = None if args.multi30k is None else user_path(args.multi30k)
    try:
        whole = load_multi30k(*rest, args.split, folder)
    except (ValueError, OSError) as error:
        more = "`python3 -m course_lib evaluate --help` tells what can be asked for."
        raise Trouble(str(error), more) from error
    return replace(whole, src=whole.src[: args.first], tgt=whole.tgt[: args.first])


def by_split(args: argparse.Namespace, data: str, opened: Mapping) -> int:
    """A row for each test split, a column for each system: the share of sentences without a fault."""
    from course_lib.text.toy.splits import TESTS

    print(
        f"{data}, sentences without a fault on every test split, {search.told(args)}", end="\n\n", flush=True
    )
    rows = [("", *opened)]
    for split in TESTS:
        args.split = split
        pairs = load_pairs(data, args)
        found = [
            measure(saved, pairs, args, f"{label}, {split}", data) for label, (_, saved) in opened.items()
        ]
        rows.append((f"{split} ({len(pairs):,})", *(percent(one.exact) for one in found)))
    pronouns = [percent(one.coreference and one.coreference.share) for one in found]
    rows.append(("il/elle", *pronouns))  # of the last split, coreference
    print(laid_out(rows, shutil.get_terminal_size((100, 24)).columns))
    return 0


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
            length_penalty=args.length_penalty,
            lowercase=data.startswith("multi30k"),
            progress=bar.update,
        )


# ---- what goes out


def show(found: Mapping) -> None:
    """The table of one `Evaluation`, or of several."""
    if len(found) == 1:
        ((label, evaluation),) = found.items()
        print(label, evaluation.table(), sep="\n")
    else:
        print(side_by_side(found, width=shutil.get_terminal_size((100, 24)).columns))


def seconds_of(saved) -> float | None:
    """How long its training took, as far as its last look; None if it does not say."""
    history = saved.about.get("history") or [{}]
    return history[-1].get("seconds")


def keep(path: Path, args: argparse.Namespace, data: str, opened: Mapping, found: Mapping, device) -> None:
    """Write every number, with what it was measured on and by what."""
    from course_lib.models.sizes import n_parameters
    from course_lib.runtime import write_json
    from course_lib.training.saved_system import machine, versions

    systems = [
        {
            "label": label,
            "system": saved.name,
            "checkpoint": str(file),
            "trained": {key: saved.about.get(key) for key in ("command", "data", "machine", "versions")}
            | {"seconds": seconds_of(saved)},
            "n_parameters": n_parameters(saved.model),
            **found[label].to_json(),
        }
        for label, (file, saved) in opened.items()
        if label in found
    ]
    whole = {
        "command": shlex.join(["python3", "-m", "course_lib", *args.words]),
        "data": data,
        "split": args.split,
        "beam": args.beam,
        "length_penalty": args.length_penalty,
        "first": args.first,
        "versions": versions(),
        "machine": machine(device),
        "systems": systems,
    }
    try:
        write_json(path, whole)
    except OSError as error:
        raise unwritable(path, error) from error
    print(f"Every number is in {path}.", file=sys.stderr)

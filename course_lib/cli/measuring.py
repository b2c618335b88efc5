"""`evaluate`: how well trained systems do, by their kind, on the same sentences.

    python3 -m course_lib evaluate --checkpoint runs/* --split long --beam 5 --json long.json

Translators by BLEU, chrF, exact match and alignment error, language models by perplexity, the sentence
encoder by accuracy. What cannot be measured is left out.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from course_lib.cli.door import Trouble
from course_lib.cli.trying import BEST, find_device, find_weights, open_system

SPLITS = ("test", "long", "depth", "recombination", "coreference", "validation")
ALL = "all"
NONE = "–"


@dataclass(frozen=True)
class Opened:
    """A system to be measured, under a label of its own."""

    label: str
    path: Path
    saved: object  # a SavedSystem
    kind: str


@dataclass(frozen=True)
class Measured:
    """What was found of one system: `row` for the table, `whole` to be printed where it stands alone."""

    row: dict[str, str]
    json: dict
    whole: str = ""
    by_length: Mapping[str, str] = field(default_factory=dict)  # exact match by the words of the source


def evaluate(args: argparse.Namespace) -> int:
    if args.split == ALL and args.json is not None:
        args.refuse("--json keeps one split at a time")
    device = find_device(args.device)
    opened = open_all(args, device)
    data = choose_data(args, opened)
    found: dict[str, Measured] = {}
    stopped = False
    try:
        if args.split == ALL:
            print(f"{data}, every test split, {search(args)}\n")
            print(table({one.label: on_all_splits(one, data, args) for one in opened}))
            return 0
        pairs = load_pairs(data, args)
        print(f"{data}, {args.split}: {len(pairs):,} sentences, {search(args)}", end="\n\n", flush=True)
        for one in opened:
            found[one.label] = measure(one, pairs, args)
    except KeyboardInterrupt:
        if not found:
            raise
        print(f"\nStopped. Measured so far: {len(found)} of {len(opened)}.", file=sys.stderr)
        stopped = True
    if len(found) == 1 and (whole := next(iter(found.values())).whole):
        print(*found, whole, sep="\n")
    else:
        for kind in dict.fromkeys(one.kind for one in opened if one.label in found):
            labels = [one.label for one in opened if one.kind == kind and one.label in found]
            print(table({label: found[label].row for label in labels}), end="\n\n")
        if by_length := {label: one.by_length for label, one in found.items() if one.by_length}:
            print("exact match by source words", table(by_length), sep="\n")
    if args.json is not None:
        keep(args, data, opened, found, device)
    return 130 if stopped else 0


def search(args: argparse.Namespace) -> str:
    return "greedy" if args.beam == 1 else f"beam {args.beam}, length penalty {args.length_penalty:g}"


def table(rows: Mapping[str, Mapping[str, str]]) -> str:
    """A row a system, a column a number; a dash where a system has none.

    >>> print(table({"seq2seq": {"BLEU": "80.1"}, "bahdanau": {"BLEU": "96.1", "AER": "6.5%"}}))
                BLEU     AER
    seq2seq     80.1       –
    bahdanau    96.1    6.5%
    """
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    whole = {"": {name: name for name in columns}, **rows}
    margin, widths = max(map(len, rows)), {name: max(len(name), len("100.0%")) + 2 for name in columns}
    lines = []
    for label, row in whole.items():
        cells = (f"{row.get(name, NONE):>{width}}" for name, width in widths.items())
        lines.append(f"{label:<{margin}}" + "".join(cells))
    return "\n".join(lines)


# ---- which systems


def open_all(args: argparse.Namespace, device) -> list[Opened]:
    """The systems that were asked for. Of several, those that cannot be used are left out, and named."""
    asked = [find_weights(path, None) for path in args.checkpoint or ()]
    asked += [find_weights(None, name) for name in args.system or ()]
    asked = list(dict.fromkeys(asked)) or [find_weights(None, "transformer")]
    opened = {}
    for path in asked:
        try:
            opened[path] = open_system(path, device)
        except Trouble as trouble:
            if len(asked) == 1:
                raise
            print(f"left out: {trouble.happened}", file=sys.stderr)
    if not opened:
        raise Trouble(f"None of the {len(asked)} can be measured.", "Why is said above, for each.")
    choices = (
        [saved.name for saved, _ in opened.values()],
        [path.parent.name if path.name == BEST else path.stem for path in opened],
        [str(path) for path in opened],
    )
    labels = next(labels for labels in choices if len(set(labels)) == len(labels))
    return [Opened(label, path, *found) for label, (path, found) in zip(labels, opened.items(), strict=True)]


# ---- which sentences


def choose_data(args: argparse.Namespace, opened: list[Opened]) -> str:
    """The corpus to measure on, by its name: toy, multi30k-de-en, or a path of your own."""
    trained = {one.label: one.saved.about.get("data", {}).get("name", "") for one in opened}
    if args.data in ("toy", "multi30k"):
        fitting = {name for name in trained.values() if name.partition("-")[0] == args.data}
        name = min(fitting, default="toy" if args.data == "toy" else "multi30k-de-en")
    elif args.data is not None:
        name = args.data
    elif len(set(trained.values())) > 1:
        told = ", ".join(f"{label} on {name}" for label, name in trained.items())
        raise Trouble(f"These were trained on different corpora: {told}.", "Choose one with --data.")
    else:
        name = next(iter(trained.values()))
        if Path(name).is_file():
            raise Trouble(f"It was trained on {name} itself.", "Name a test file: --data my/test.tsv.")
    if name.startswith("multi30k") and (args.src or args.tgt):
        _, src, tgt = name.split("-")
        name = f"multi30k-{args.src or src}-{args.tgt or tgt}"
    return name


def load_pairs(data: str, args: argparse.Namespace):
    """The sentences of a corpus, with all that is known about them."""
    from course_lib.training.corpora import read_own

    try:
        if data == "toy" or data.startswith("toy-"):
            from course_lib.text.toy import splits

            seed = int(data.partition("-")[2] or 0)
            return getattr(splits.splits(seed=seed, sizes=splits.SIZES_OF_TESTS), args.split)[: args.first]
        if data.startswith("multi30k-"):
            from course_lib.text.multi30k import load_multi30k

            found = load_multi30k(*data.split("-")[1:], args.split, args.multi30k)
        else:
            found = read_own(data, args.split, args.src, args.tgt)
    except (ValueError, FileNotFoundError) as error:
        more = (
            "--data names another corpus: toy, multi30k, a file with tabs, or a folder with --from and --to."
        )
        raise Trouble(str(error), more) from error
    return replace(found, src=found.src[: args.first], tgt=found.tgt[: args.first])


# ---- measuring


def measure(one: Opened, pairs, args: argparse.Namespace) -> Measured:
    """One system on these sentences, in the way of its kind."""
    by_kind = {"translator": of_translator, "language model": of_language_model}
    return by_kind.get(one.kind, of_sentence_encoder)(one, pairs, args)


def of_translator(one: Opened, pairs, args: argparse.Namespace) -> Measured:
    """Text that was learned in small letters is compared so."""
    from tqdm import tqdm

    from course_lib.training.console import watched
    from course_lib.translation.evaluate import evaluate

    tokenizer = one.saved.tokenizer
    with tqdm(total=len(pairs), desc=one.label, unit=" sentences", leave=False, disable=not watched()) as bar:
        found = evaluate(
            one.saved.model,
            tokenizer,
            pairs,
            beam=args.beam,
            length_penalty=args.length_penalty,
            lowercase=tokenizer.normalise("A") == "a",
            progress=bar.update,
        )
    row = {
        "BLEU": f"{found.bleu.value:.1f}",
        "chrF": f"{found.chrf.value:.1f}",
        "exact": f"{found.exact:.1%}",
    }
    if found.coreference is not None:
        row["il/elle"] = f"{found.coreference.share:.1%}"
    if found.alignment is not None:
        row["AER"] = f"{found.alignment.producing:.1%}"
    return Measured(row, found.to_json(), found.table(), {p.name: f"{p.exact:.1%}" for p in found.by_length})


def of_language_model(one: Opened, pairs, args: argparse.Namespace) -> Measured:
    """How surprised it is by the target side of each pair, which is what it was trained on."""
    from course_lib.translation.perplexity import perplexity

    found = perplexity(one.saved.model, [one.saved.tokenizer.encode(text) for _, text in fitting(one, pairs)])
    row = {"perplexity": f"{found.perplexity:.2f}", "tokens": f"{found.n_tokens:,}"}
    return Measured(row, {"results": {"perplexity": found.perplexity, "n_tokens": found.n_tokens}})


def of_sentence_encoder(one: Opened, pairs, args: argparse.Namespace) -> Measured:
    """The share of sentences of which it says the right French pronoun, all together and by pronoun."""
    from course_lib.text.encoded import encode_corpus
    from course_lib.training.objective import pronoun_labels, right_by_class

    model, tokenizer = one.saved.model, one.saved.tokenizer
    sides = zip(*fitting(one, pairs), strict=True)
    corpus = encode_corpus(*map(list, sides), tokenizer).to(next(model.parameters()).device)
    try:
        right = right_by_class(model, corpus, pronoun_labels(corpus, tokenizer))
    except ValueError as error:
        raise Trouble(str(error), "Take more sentences, or another split.") from error
    row = {"accuracy" if name == "all" else name: f"{share:.1%}" for name, share in right.items()}
    return Measured(row, {"results": {"accuracy": right}})


def fitting(one: Opened, pairs) -> list[tuple[str, str]]:
    """Both texts of each pair that this system can read; how many are too long for it is said."""
    both = [pair if isinstance(pair, tuple) else (pair.src_text, pair.tgt_text) for pair in pairs]
    longest, encode = one.saved.model.config.max_len, one.saved.tokenizer.encode
    short = [pair for pair in both if max(len(encode(text)) for text in pair) < longest]
    if not short:
        raise Trouble(f"{one.label} reads {longest} tokens, and every sentence is longer.", "Take others.")
    if n := len(both) - len(short):
        print(f"{one.label}: left out, for they have over {longest} tokens: {n:,} pairs", file=sys.stderr)
    return short


def on_all_splits(one: Opened, data: str, args: argparse.Namespace) -> dict[str, str]:
    """The number that matters most on each test split of the toy language, and il/elle on the last."""
    from course_lib.text.toy.splits import TESTS

    row = {}
    for split in TESTS:
        args.split = split
        found = measure(one, load_pairs(data, args), args).row
        row[split] = found.get("exact") or found.get("perplexity") or found["accuracy"]
    args.split = ALL
    return row | {name: share for name, share in found.items() if name == "il/elle"}


# ---- keeping


def keep(args: argparse.Namespace, data: str, opened: list[Opened], found: Mapping, device) -> None:
    """Write every number, with what it was measured on and by what."""
    from course_lib.models.registry import n_parameters
    from course_lib.runtime import write_json
    from course_lib.training.checkpoint import machine, versions

    systems = []
    for one in opened:
        if one.label in found:
            about = one.saved.about
            trained = {key: about.get(key) for key in ("command", "data", "machine", "versions")}
            trained["seconds"] = (about.get("history") or [{}])[-1].get("seconds")
            systems.append(
                {
                    "label": one.label,
                    "system": one.saved.name,
                    "checkpoint": str(one.path),
                    "trained": trained,
                    "n_parameters": n_parameters(one.saved.model),
                    **found[one.label].json,
                }
            )
    whole = {
        "command": f"python3 -m course_lib {shlex.join(args.words_typed)}",
        "data": data,
        **{name: getattr(args, name) for name in ("split", "beam", "length_penalty", "first")},
        "versions": versions(),
        "machine": machine(device),
        "systems": systems,
    }
    write_json(args.json, whole)
    print(f"Every number is in {args.json}.", file=sys.stderr)

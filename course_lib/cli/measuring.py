"""`evaluate`: how well trained systems do, by their kind, on the same sentences.

    python3 -m course_lib evaluate --checkpoint runs/* --split long --beam 5 --json long.json

Translators by BLEU, chrF, exact match and alignment error, language models by perplexity, the sentence
encoder by accuracy. What cannot be measured is left out.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from course_lib.cli.door import Trouble, called
from course_lib.cli.trying import BEST, find_device, find_weights, open_system

SPLITS = ("test", "long", "depth", "recombination", "coreference", "validation")


class Opened(NamedTuple):
    """A system to be measured: its file's name, its file, a `SavedSystem`, its kind."""

    label: str
    path: Path
    saved: object
    kind: str


def evaluate(args: argparse.Namespace) -> int:
    if args.split == "all" and args.json is not None:
        args.refuse("--json keeps one split at a time")
    device = find_device(args.device)
    opened = open_all(args, device)
    data = choose_data(args, opened)
    search = "greedy" if args.beam == 1 else f"beam {args.beam}, length penalty {args.length_penalty:g}"
    kept = []
    for split in SPLITS[:-1] if args.split == "all" else [args.split]:
        pairs = load_pairs(data, split, args)
        between = "\n" if kept else ""
        print(f"{between}{data}, {split}: {len(pairs):,} sentences, {search}", end="\n\n", flush=True)
        for one in opened:  # a line as soon as it is known
            row, numbers, whole = MEASURES[one.kind](one, pairs, args)
            told = "  ".join(f"{name} {value}" for name, value in row.items())
            alone = whole and len(opened) == 1 and args.split != "all"
            print(f"{one.label}\n{whole}" if alone else f"{one.label:22}{told}", flush=True)
            kept.append(description(one) | numbers)
    if args.json is not None:
        keep(args, data, kept, device)
    return 0


# ---- which systems


def open_all(args: argparse.Namespace, device) -> list[Opened]:
    """The systems that were asked for. Of several, those that cannot be used are left out, and named."""
    asked = [find_weights(path, None) for path in args.checkpoint]
    asked += [find_weights(None, name) for name in args.system]
    asked = asked or [find_weights(None, "transformer")]
    opened = []
    for path in asked:
        try:
            label = path.parent.name if path.name == BEST else path.stem
            opened.append(Opened(label, path, *open_system(path, device)))
        except Trouble as trouble:
            if len(asked) == 1:
                raise
            print(f"left out: {trouble.args[0]}", file=sys.stderr)
    if not opened:
        raise Trouble(f"None of the {len(asked)} can be measured.", "Why is said above, for each.")
    return opened


# ---- which sentences


def choose_data(args: argparse.Namespace, opened: list[Opened]) -> str:
    """The corpus to measure on, by its name: toy, multi30k-de-en, or a path of your own."""
    trained = {one.label: one.saved.about.get("data", {}).get("name", "") for one in opened}
    name = args.data or next(iter(trained.values()))
    if args.data is None and len(set(trained.values())) > 1:
        told = ", ".join(f"{label} on {name}" for label, name in trained.items())
        raise Trouble(f"These were trained on different corpora: {told}.", "Choose one with --data.")
    if args.data is None and Path(name).is_file():
        raise Trouble(f"It was trained on {name} itself.", "Name a test file: --data my/test.tsv.")
    if name.startswith("multi30k"):
        known = [one for one in trained.values() if one.startswith("multi30k-")]
        _, src, tgt = (known[0] if known else "multi30k-de-en").split("-")
        name = f"multi30k-{args.src or src}-{args.tgt or tgt}"
    return name


def load_pairs(data: str, split: str, args: argparse.Namespace):
    """The sentences of a corpus, with all that is known about them."""
    from course_lib.text.multi30k import load_multi30k
    from course_lib.text.toy import splits
    from course_lib.training.corpora import read_own

    try:
        if data == "toy" or data.startswith("toy-"):
            seed = int(data.partition("-")[2] or 0)
            return getattr(splits.splits(seed=seed, sizes=splits.SIZES_OF_TESTS), split)[: args.first]
        if data.startswith("multi30k-"):
            found = load_multi30k(*data.split("-")[1:], split, args.multi30k)
        else:
            found = read_own(data, split, args.src, args.tgt)
    except (ValueError, FileNotFoundError) as error:
        more = "--data names another: toy, multi30k, a file with tabs, or a folder with --from and --to."
        raise Trouble(str(error), more) from error
    return replace(found, src=found.src[: args.first], tgt=found.tgt[: args.first])


# ---- numbers: for a line, for the JSON, and as a page for a system alone

Numbers = tuple[dict[str, str], dict, str]


def of_translator(one: Opened, pairs, args: argparse.Namespace) -> Numbers:
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
        "BLEU": f"{found.bleu.value:5.1f}",
        "chrF": f"{found.chrf.value:5.1f}",
        "exact": f"{found.exact:6.1%}",
    }
    if found.coreference is not None:
        row["il/elle"] = f"{found.coreference.share:6.1%}"
    if found.alignment is not None:
        row["AER"] = f"{found.alignment.producing:6.1%}"
    return row, found.to_json(), found.table()


def of_language_model(one: Opened, pairs, args: argparse.Namespace) -> Numbers:
    """How surprised it is by the target side of each pair, which is what it was trained on."""
    from course_lib.translation.perplexity import perplexity

    found = perplexity(one.saved.model, [one.saved.tokenizer.encode(text) for _, text in fitting(one, pairs)])
    row = {"perplexity": f"{found.perplexity:8.2f}", "tokens": f"{found.n_tokens:,}"}
    return row, {"results": {"perplexity": found.perplexity, "n_tokens": found.n_tokens}}, ""


def of_sentence_encoder(one: Opened, pairs, args: argparse.Namespace) -> Numbers:
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
    row = {"accuracy" if name == "all" else name: f"{share:6.1%}" for name, share in right.items()}
    return row, {"results": {"accuracy": right}}, ""


MEASURES = {
    "translator": of_translator,
    "language model": of_language_model,
    "sentence encoder": of_sentence_encoder,
}


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


# ---- keeping


def description(one: Opened) -> dict:
    """Which system it is, and how it was trained."""
    from course_lib.models.registry import n_parameters

    about = one.saved.about
    trained = {key: about.get(key) for key in ("command", "data", "machine", "versions")}
    trained["seconds"] = (about.get("history") or [{}])[-1].get("seconds")
    return {
        "label": one.label,
        "system": one.saved.name,
        "checkpoint": str(one.path),
        "trained": trained,
        "n_parameters": n_parameters(one.saved.model),
    }


def keep(args: argparse.Namespace, data: str, systems: list[dict], device) -> None:
    """Write every number, with what it was measured on and by what."""
    from course_lib.runtime import write_json
    from course_lib.training.checkpoint import machine, versions

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


# ---- bench and experiment


def bench(args: argparse.Namespace) -> int:
    """How fast it is here. It informs, and fails nobody's machine."""
    from importlib import import_module

    run = import_module(f"course_lib.bench.{args.what}").run
    if args.what == "explorables":
        run()
    else:
        run(device=find_device(args.device))
    return 0


def experiment(args: argparse.Namespace) -> int:
    """Run experiments again, list them, or show the tables of what was run."""
    from course_lib.bench import experiments
    from course_lib.bench.tables import table

    known = experiments.experiments()
    if args.list or not args.names:
        for one in known.values():
            print(f"{one.name}  (lesson {one.lesson}, {len(one.variants)} variants)\n    {one.asks}")
        return 0
    if unknown := [name for name in args.names if name not in known]:
        raise Trouble(f"There is no experiment {unknown[0]!r}.", f"There are: {', '.join(known)}.")
    if args.table:
        for path in (args.out / f"{name}.json" for name in args.names):
            if not path.exists():
                raise Trouble(f"{path} is not there.", f"Run `{called()} experiment {path.stem}` first.")
            print(f"{path.stem}\n\n{table(json.loads(path.read_text(encoding='utf-8')))}\n")
        return 0
    find_device(args.device)
    names = ("out", "seeds", "variants", "n_steps", "device", "at_a_time")
    try:
        failed = experiments.run(args.names, **{name: getattr(args, name) for name in names})
    except ValueError as error:
        raise Trouble(str(error), f"`{called()} experiment --list` shows them all.") from error
    return 1 if failed else 0

"""`evaluate`: how well trained systems do, by their kind.

    python3 -m course_lib evaluate --checkpoint runs/* --split long --beam 5 --json long.json

Translators by BLEU, chrF, exact match and alignment error, language models by perplexity, the sentence
encoder by accuracy. Of several, those that cannot be measured are left out and named.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from tools.cli.arguments import (
    BEST,
    add_corpus,
    add_search,
    add_weights,
    at_least,
    command,
    find_device,
    find_weights,
    open_system,
)
from tools.cli.environment import CommandError

SPLITS = ("test", "long", "depth", "recombination", "coreference", "validation")


def add(commands) -> None:
    own = command(commands, "evaluate", "measure trained systems", evaluate)
    own.epilog = __doc__.partition("\n\n")[2]
    add_weights(own, "transformer", nargs="+")
    add_corpus(own, "toy, multi30k, a file with tabs, or a folder; else what they were trained on")
    own.add_argument("--split", choices=SPLITS, default="test", help="which part of it (test)")
    add_search(own)
    own.add_argument("--first", type=at_least(1), metavar="N", help="only the first N sentences")
    own.add_argument("--json", type=Path, metavar="FILE", help="keep every number there")


def evaluate(args: argparse.Namespace) -> int:
    device = find_device(args.device)
    named = [find_weights(None, name) for name in args.system]
    paths = [find_weights(path, None) for path in args.checkpoint] if args.checkpoint else named
    kept = []
    for path in paths:  # a line as soon as it is known
        try:
            found, page = measured(path, args, device)
        except CommandError as trouble:
            if len(paths) == 1:
                raise
            print(f"{path} is left out: {trouble.args[0]}", file=sys.stderr)
            continue
        kept.append(found)
        if page and len(paths) == 1:
            print(f"\n{page}")
    if args.json is not None:
        keep(args, kept, device)
    return 0 if kept else 1


def measured(path: Path, args: argparse.Namespace, device) -> tuple[dict, str]:
    """Print a system's line; every number of it for the JSON, and a page of them."""
    from tqdm import tqdm

    from course_lib.training.console import watched
    from tools.experiments.measure import measure

    saved, kind = open_system(path, device)
    label = path.parent.name if path.name == BEST else path.stem
    about = {key: saved.about.get(key) for key in ("command", "data", "machine", "versions")}
    if (trained := (about["data"] or {}).get("name")) is None and args.data is None:
        raise CommandError(
            f"{label} does not say what it was trained on.", "Name what to measure it on: --data."
        )
    data, pairs = find_pairs(args, trained or "")
    warn_of_unknown(label, saved, pairs)
    if kind != "translator":  # a translator reads of a long sentence what it can
        pairs = fitting(label, saved, pairs)
    search = {"beam": args.beam, "length_penalty": args.length_penalty}
    try:
        with tqdm(total=len(pairs), unit=" sentences", leave=False, disable=not watched()) as bar:
            found = measure(saved.name, saved.model, saved.tokenizer, pairs, **search, progress=bar.update)
    except ValueError as error:
        raise CommandError(f"{label}: {error}", "Take more sentences, or another split.") from error
    line, results, page = told(found)
    where = data if Path(data).is_file() else f"{data}, {args.split}"
    print(f"{label:24} {where}: {len(pairs):,} sentences  {line}", flush=True)
    which = {"label": label, "system": saved.name, "checkpoint": str(path), "data": data}
    return which | {"trained": about, "results": results}, page


def find_pairs(args: argparse.Namespace, trained: str):
    """The corpus to measure on, by its full name, and its sentences: what was asked for, else its own."""
    from course_lib.text.corpus import Sentences
    from course_lib.training.corpora import corpus_name, read_corpus

    data = args.data or trained
    if args.data is None and Path(data).is_file():
        raise CommandError(f"It was trained on {data} itself.", "Name a test file: --data my/test.tsv.")
    if data == "multi30k" and trained.startswith("multi30k-"):
        data = trained  # in its own languages
    try:
        data = corpus_name(data, args.src, args.tgt)
        found = read_corpus(data, args.split, multi30k=args.multi30k)
    except (ValueError, FileNotFoundError) as error:
        whose = "" if args.data else f"It was trained on {data}; --data names another corpus. "
        raise CommandError(f"{whose}{error}") from error
    if isinstance(found, Sentences):
        return data, Sentences(found.src[: args.first], found.tgt[: args.first])
    return data, found[: args.first]


def warn_of_unknown(label: str, saved, pairs) -> None:
    """Say so where references have words that this system cannot say."""
    from course_lib.training.corpora import sides

    unknown = [words for text in sides(pairs)[1] if (words := saved.tokenizer.unknown(text))]
    if unknown:
        told = f"{len(unknown):,} of {len(pairs):,} references have words that it does not know"
        print(f"{label}: {told}, such as {unknown[0][0]!r}", file=sys.stderr)


def fitting(label: str, saved, pairs) -> list[tuple[str, str]]:
    """The pairs that this system can read; how many are too long for it is said."""
    from course_lib.training.corpora import sides

    longest, encode = saved.model.config.max_len, saved.tokenizer.encode
    both = zip(*sides(pairs), strict=True)
    short = [pair for pair in both if max(len(encode(text)) for text in pair) < longest]
    if not short:
        told = f"{label} reads {longest - 1} tokens, but all {len(pairs):,} pairs have more."
        raise CommandError(told, "Take another split, or shorter sentences.")
    if n := len(pairs) - len(short):
        print(f"{label}: left out, for they have over {longest - 1} tokens: {n:,} pairs", file=sys.stderr)
    return short


def told(found) -> tuple[str, dict, str]:
    """What `measure` found: in a line, as numbers, and as a page where there is more to tell."""
    if isinstance(found, dict) and "perplexity" in found:
        return f"perplexity {found['perplexity']:.2f}  tokens {found['n_tokens']:,}", found, ""
    if isinstance(found, dict):
        shares = found["right"].items()
        line = "  ".join(f"{'accuracy' if name == 'all' else name} {share:.1%}" for name, share in shares)
        return line, found, ""
    line = f"BLEU {found.bleu.value:.1f}  chrF {found.chrf.value:.1f}  exact {found.exact:.1%}"
    if found.coreference is not None:
        line += f"  il/elle {found.coreference.share:.1%}"
    if found.alignment is not None:
        line += f"  AER {found.alignment.producing:.1%}"
    return line, found.to_json()["results"], found.table()


def keep(args: argparse.Namespace, systems: list[dict], device) -> None:
    """Write every number, with what it was measured on and by what."""
    from course_lib.runtime import write_json
    from course_lib.training.checkpoint import machine, versions

    whole = {
        "command": f"python3 -m course_lib {shlex.join(args.words_typed)}",
        **{name: getattr(args, name) for name in ("split", "beam", "length_penalty", "first")},
        "versions": versions(),
        "machine": machine(device),
        "systems": systems,
    }
    write_json(args.json, whole)
    print(f"Every number is in {args.json}.", file=sys.stderr)

"""`evaluate`: measure how good trained systems are.

    python3 -m course_lib evaluate --checkpoint runs/* --split long --beam 5 --json long.json

Translators are scored by BLEU, chrF, exact match and alignment error, language models by perplexity, and the
sentence encoder by accuracy. If you name several systems, those that can't be evaluated are skipped with a
message.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from tools.cli.arguments import (
    BEST,
    add_corpus,
    add_model_file,
    add_search,
    add_weights,
    at_least,
    command,
    find_device,
    find_weights,
    model_file_errors,
    open_system,
    path_name,
)
from tools.cli.environment import CommandError

SPLITS = ("test", "long", "depth", "recombination", "coreference", "validation")
DEFAULT_SPLIT = "test"


def add(commands) -> None:
    parser = command(commands, "evaluate", "measure the quality of trained systems", evaluate)
    parser.epilog = "Example:\n" + __doc__.partition("\n\n")[2]
    add_weights(parser, "transformer", nargs="+")
    add_model_file(parser)
    corpus = (
        "toy, multi30k, a tab-separated file, or a folder of aligned files "
        "(default: the corpus that the system was trained on)"
    )
    add_corpus(parser, corpus)
    parser.add_argument("--split", choices=SPLITS, help="the part of the corpus (default: test)")
    add_search(parser)
    parser.add_argument("--first", type=at_least(1), metavar="N", help="use only the first N sentences")
    parser.add_argument("--json", type=path_name, metavar="FILE", help="write all results to this file")


def evaluate(args: argparse.Namespace) -> int:
    device = find_device(args.device)
    if args.json is not None and args.json.is_dir():
        raise CommandError(f"{args.json} is a folder.", "Name a file for --json, such as results.json.")
    shipped = [find_weights(None, name) for name in args.system or [args.default_system]]
    paths = [find_weights(path, None) for path in args.checkpoint] if args.checkpoint else shipped
    records = []
    for path in paths:
        try:
            record, details = measure_system(path, args, device)
        except CommandError as error:
            if len(paths) == 1:
                raise
            print(f"{path} was skipped: {error.args[0]}", file=sys.stderr)
            continue
        records.append(record)
        if details and len(paths) == 1:
            print(f"\n{details}")
    if args.json is not None:
        write_records(args, records, device)
    return 0 if records else 1


def measure_system(path: Path, args: argparse.Namespace, device) -> tuple[dict, str]:
    """Print a system's line; return its record for the JSON file, and a table of details or ""."""
    from tqdm import tqdm

    from course_lib.formatting import counted
    from course_lib.training.console import bar_enabled
    from tools.experiments.measure import measure

    saved, kind = open_system(path, device, args.model)
    label = path.parent.name if path.name == BEST else path.stem
    about = {key: saved.about.get(key) for key in ("command", "data", "machine", "versions")}
    trained_on = (about["data"] or {}).get("name")
    if trained_on is None and args.data is None:
        raise CommandError(
            f"The checkpoint of {label} doesn't say which corpus it was trained on.",
            "Choose a corpus with --data.",
        )
    data, pairs = find_pairs(args, trained_on or "")
    warn_of_unknown(label, saved, pairs)
    if kind != "translator":  # a translator cuts long sentences itself
        pairs = short_enough(label, saved, pairs)
    search = {"beam": args.beam, "length_penalty": args.length_penalty}
    try:
        bar = tqdm(total=len(pairs), unit=" sentences", leave=False, disable=not bar_enabled())
        with bar, model_file_errors():
            scores = measure(saved.name, saved.model, saved.tokenizer, pairs, **search, progress=bar.update)
    except ValueError as error:
        raise CommandError(f"{label}: {error}", "Use more sentences, or choose another split.") from error
    line, results, details = summarise(scores)
    corpus = data if Path(data).is_file() else f"{data}, {args.split or DEFAULT_SPLIT}"
    print(f"{label:24} {corpus}: {counted(len(pairs), 'sentence')}  {line}", flush=True)
    identity = {"label": label, "system": saved.name, "checkpoint": str(path), "data": data}
    return identity | {"trained": about, "results": results}, details


def find_pairs(args: argparse.Namespace, trained_on: str):
    """The corpus to measure on, by its full name, and its sentences: --data, or what it was trained on."""
    from course_lib.text.corpus import Sentences
    from tools.corpora import corpus_name, read_corpus

    data = args.data or trained_on
    if args.data is None and Path(data).is_file():
        raise CommandError(
            f"This system was trained on {data}, which has no separate test set.",
            "Name a file to test it on, for example --data my/test.tsv.",
        )
    if data == "multi30k" and trained_on.startswith("multi30k-"):
        data = trained_on  # in its own languages
    if args.multi30k and not data.startswith("multi30k"):
        args.refuse(f"--multi30k can only be used with --data multi30k, but the corpus is {data}")
    try:
        data = corpus_name(data, args.src, args.tgt)
        if args.split and Path(data).is_file():
            raise ValueError(f"{data} is a single file without splits, so --split can't be used with it.")
        pairs = read_corpus(data, args.split or DEFAULT_SPLIT, multi30k=args.multi30k)
    except (ValueError, FileNotFoundError) as error:
        origin = (
            "" if args.data else f"This system was trained on {data}; choose another corpus with --data. "
        )
        raise CommandError(f"{origin}{error}") from error
    if isinstance(pairs, Sentences):
        return data, Sentences(pairs.src[: args.first], pairs.tgt[: args.first])
    return data, pairs[: args.first]


def warn_of_unknown(label: str, saved, pairs) -> None:
    """Warn if references contain words that this system cannot generate."""
    from course_lib.training.data import sides

    unknown = [words for text in sides(pairs)[1] if (words := saved.tokenizer.unknown(text))]
    if unknown:
        message = f"{len(unknown):,} of {len(pairs):,} references contain words that it doesn't know"
        print(f"{label}: {message}, such as {unknown[0][0]!r}", file=sys.stderr)


def short_enough(label: str, saved, pairs) -> list[tuple[str, str]]:
    """The pairs within this system's maximum length; prints how many are left out."""
    from course_lib.training.data import sides

    max_len, encode = saved.model.config.max_len, saved.tokenizer.encode
    both = zip(*sides(pairs), strict=True)
    short = [pair for pair in both if max(len(encode(text)) for text in pair) < max_len]
    if not short:
        message = f"{label} accepts at most {max_len - 1} tokens, but all {len(pairs):,} pairs are longer."
        raise CommandError(message, "Choose another split, or use shorter sentences.")
    if n := len(pairs) - len(short):
        print(f"{label}: skipped {n:,} pairs with more than {max_len - 1} tokens", file=sys.stderr)
    return short


def summarise(scores) -> tuple[str, dict, str]:
    """The scores of `measure` as a line, as numbers, and for a translator as a table ("" otherwise)."""
    from tools.evaluation_report import evaluation_json, evaluation_table

    if isinstance(scores, dict) and "perplexity" in scores:
        return f"perplexity {scores['perplexity']:.2f}  tokens {scores['n_tokens']:,}", scores, ""
    if isinstance(scores, dict):
        by_class = scores["right"].items()
        line = "  ".join(f"{'accuracy' if name == 'all' else name} {value:.1%}" for name, value in by_class)
        return line, scores, ""
    line = f"BLEU {scores.bleu.value:.1f}  chrF {scores.chrf.value:.1f}  exact {scores.exact:.1%}"
    if scores.coreference is not None:
        line += f"  il/elle {scores.coreference.fraction:.1%}"
    if scores.alignment is not None:
        line += f"  AER {scores.alignment.producing:.1%}"
    return line, evaluation_json(scores), evaluation_table(scores)


def write_records(args: argparse.Namespace, systems: list[dict], device) -> None:
    """Write every number, with what it was measured on and by what."""
    from course_lib.runtime import write_json
    from course_lib.training.checkpoint import machine, versions

    content = {
        "command": f"python3 -m course_lib {shlex.join(args.argv)}",
        "split": args.split or DEFAULT_SPLIT,
        **{name: getattr(args, name) for name in ("beam", "length_penalty", "first")},
        "versions": versions(),
        "machine": machine(device),
        "systems": systems,
    }
    write_json(args.json, content)
    print(f"All results are in {args.json}.", file=sys.stderr)

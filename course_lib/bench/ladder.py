"""The ladder: every system trained and scored in one way, and the results kept.

    python3 -m course_lib.bench.ladder train                        the toy checkpoints, on whatever is here
    python3 -m course_lib.bench.ladder score                        their results, on the CPU
    python3 -m course_lib.bench.ladder multi30k --seeds 0 1 2       real sentences, on a GPU
    python3 -m course_lib.bench.ladder clock                        raw text to a scored Transformer, timed
    python3 -m course_lib.bench.ladder table                        what came out, against what was aimed at

`data/checkpoints` and `data/results` are made by these commands and by nothing else. They need no Jupyter.
With `--at-a-time 6`, six systems are trained at once on one GPU (`at_a_time.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from course_lib.bench.at_a_time import run_all
from course_lib.bench.ladder_table import table
from course_lib.models.registry import SYSTEMS, system, translators
from course_lib.models.road import System
from course_lib.models.sizes import n_parameters
from course_lib.runtime import PROJECT_ROOT, write_atomically, write_json
from course_lib.text.encoded import encode_corpus
from course_lib.text.multi30k import load_multi30k
from course_lib.text.toy.splits import SIZES_OF_TESTS, TESTS, Splits, splits
from course_lib.training.checkpoint import save_checkpoint
from course_lib.training.corpora import TrainingData, multi30k_data, toy_data
from course_lib.training.job import Job, Outcome, run_job
from course_lib.training.labels import pronoun_labels, right_by_class
from course_lib.training.saved_system import SavedSystem, load_system
from course_lib.translation.evaluate import evaluate
from course_lib.translation.perplexity import perplexity

CHECKPOINTS, RESULTS = PROJECT_ROOT / "data" / "checkpoints", PROJECT_ROOT / "data" / "results"
TOY_SPLITS = TESTS
BEAMS = (1, 5)


def names(chosen: Sequence[str], usual: Sequence[System] = SYSTEMS) -> list[str]:
    """The systems asked for; by default all of the road."""
    return [system(name).name for name in chosen or [one.name for one in usual]]


def train_toy(chosen: Sequence[str], *, seed: int, rate: float | None, out: Path, at_a_time: int) -> None:
    """Train each system on the toy language and keep its best weights."""
    data = toy_data()
    for name in names(chosen):
        outcome = run_job(Job(system=name, seed=seed, learning_rate=rate), data=data)
        about = outcome.about | {
            "history": outcome.result.history.to_json(),
            "seconds": round(outcome.result.seconds, 1),
            "at_a_time": at_a_time,
        }
        save_checkpoint(out / f"{name}.safetensors", outcome.model.state_dict(), about)
        print(_line(name, outcome), flush=True)


def write_manifest(folder: Path) -> None:
    """The SHA-256 of each checkpoint, in the form of `sha256sum`."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.glob("*.safetensors"))
    ]
    write_atomically(folder / "manifest.sha256", "".join(lines))


def score_toy(chosen: Sequence[str], *, checkpoints: Path, out: Path) -> None:
    """Measure each toy checkpoint on every test split, on the CPU, and keep what came out."""
    toy = splits(sizes=SIZES_OF_TESTS)
    found = sorted(path.stem for path in checkpoints.glob("*.safetensors"))
    for name in [name for name in found if not chosen or name in chosen]:
        saved = load_system(checkpoints / f"{name}.safetensors")
        began = time.perf_counter()
        scores = toy_scores(saved, toy)
        kept = {
            "system": name,
            "data": saved.about["data"]["name"],
            "parameters": n_parameters(saved.model),
            "scores": scores,
            "training": {
                key: saved.about[key]
                for key in ("command", "recipe", "seconds", "at_a_time", "machine", "versions", "history")
            },
            "scored": {"command": "python3 -m course_lib.bench.ladder score", "on": "cpu"},
        }
        write_json(out / f"{name}.json", kept)
        print(f"{name:22} {time.perf_counter() - began:6.1f} s  {brief(scores)}", flush=True)


def toy_scores(saved: SavedSystem, toy: Splits) -> dict:
    """What is measured of a system on the toy test splits, by its kind."""
    if system(saved.name).kind == "translator":
        return {
            split: evaluate(saved.model, saved.tokenizer, getattr(toy, split)).to_json()["results"]
            for split in TOY_SPLITS
        }
    if system(saved.name).kind == "sentence encoder":
        texts = [pair.src_text for pair in toy.test], [pair.tgt_text for pair in toy.test]
        corpus = encode_corpus(*texts, saved.tokenizer)
        labels = pronoun_labels(corpus, saved.tokenizer)
        return {"test": {"right": right_by_class(saved.model, corpus, labels)}}
    sentences = [saved.tokenizer.encode(pair.tgt_text) for pair in toy.test]
    surprise = perplexity(saved.model, sentences)
    return {"test": {"perplexity": surprise.perplexity, "n_tokens": surprise.n_tokens}}


def run_multi30k(
    chosen: Sequence[str],
    like: Job,
    *,
    seeds: Sequence[int],
    beams: Sequence[int],
    out: Path,
    at_a_time: int,
) -> None:
    """Train and score each system as this job asks, once for each seed."""
    data = multi30k_data(like.src, like.tgt, folder=like.multi30k)
    kind = f"{like.src}-{like.tgt}" + ("_r_drop" if like.r_drop else "")
    for name in chosen:
        for seed in seeds:
            job = replace(like, system=name, seed=seed)
            outcome = run_job(job, data=data)
            kept = multi30k_result(name, job, outcome, data, beams) | {"at_a_time": at_a_time}
            write_json(out / f"{name}_{kind}_{seed}.json", kept)
            print(f"{_line(name, outcome)}  {kind} seed {seed}  {brief(kept['scores'])}", flush=True)


def multi30k_result(name: str, job: Job, outcome: Outcome, data: TrainingData, beams: Sequence[int]) -> dict:
    """Scores on the test set of 2016, lower-cased, and how the system came about."""
    test = load_multi30k(job.src, job.tgt, "test", job.multi30k)
    scores, seconds = {}, {"train": round(outcome.result.seconds, 1)}
    for beam in beams:
        found = evaluate(outcome.model, data.tokenizer, test, beam=beam, length_penalty=1.0, lowercase=True)
        scores[f"beam {beam}"] = found.to_json()["results"]
        seconds[f"beam {beam}"] = round(found.seconds.translate, 1)
    about = outcome.about
    return {
        "system": name,
        "data": data.name,
        "seed": job.seed,
        "parameters": n_parameters(outcome.model),
        "scores": scores,
        "seconds": seconds,
        "training": {key: about[key] for key in ("command", "recipe", "machine", "versions")}
        | {"history": outcome.result.history.to_json()},
    }


def clock(*, src: str, tgt: str, beam: int, folder: str | None, out: Path) -> None:
    """From a cold start to a scored Transformer, timed from outside: imports, data, training, scoring."""
    command = ["-m", "course_lib.bench.ladder", "multi30k", "transformer", "--from", src, "--to", tgt]
    command += ["--beams", str(beam)] + (["--folder", folder] if folder else [])
    with TemporaryDirectory() as aside:
        began = time.perf_counter()
        subprocess.run([sys.executable, *command, "--out", aside], check=True, cwd=PROJECT_ROOT)
        seconds = time.perf_counter() - began
        kept = json.loads((Path(aside) / f"transformer_{src}-{tgt}_0.json").read_text(encoding="utf-8"))
    found = {
        "seconds": round(seconds, 1),
        "parts": kept["seconds"],
        "scores": kept["scores"],
        "machine": kept["training"]["machine"],
        "versions": kept["training"]["versions"],
        "command": "python3 -m course_lib.bench.ladder clock",
    }
    write_json(out / f"clock_{src}-{tgt}.json", found)
    print(f"raw text to a scored Transformer: {seconds:.1f} s, {brief(kept['scores'])}")


def brief(scores: dict) -> str:
    """One line of the figures that matter most.

    >>> brief({"test": {"exact": 0.971, "bleu": {"value": 98.2}}, "mini": {"perplexity": 4.2}})
    'test: BLEU 98.2, exact 97.1%; mini: perplexity 4.20'
    """

    def figures(found: dict) -> str:
        if "perplexity" in found:
            return f"perplexity {found['perplexity']:.2f}"
        if "right" in found:
            return ", ".join(f"{name} {share:.1%}" for name, share in found["right"].items())
        return f"BLEU {found['bleu']['value']:.1f}, exact {found['exact']:.1%}"

    return "; ".join(f"{name}: {figures(found)}" for name, found in scores.items())


def _line(name: str, outcome: Outcome) -> str:
    best = outcome.result.history.best
    size, seconds = n_parameters(outcome.model), outcome.result.seconds
    return f"{name:22} {size:>9,} parameters {seconds:6.1f} s  loss {best.loss:.3f}"


def main() -> int:
    args = _parser().parse_args()
    out = args.out or {"train": CHECKPOINTS, "score": RESULTS / "toy"}.get(args.what, RESULTS / "multi30k")
    if args.what in ("train", "multi30k") and args.at_a_time > 1 and not args.is_one_of_many:
        failed = run_all(_one_by_one(args, out), at_a_time=args.at_a_time)
    else:
        failed = []
        _do(args, out)
    if args.what == "train" and not args.is_one_of_many:
        write_manifest(out)
    for program in failed:
        print("failed:", " ".join(program), file=sys.stderr)
    return 1 if failed else 0


def _do(args: argparse.Namespace, out: Path) -> None:
    if args.what == "train":
        train_toy(args.systems, seed=args.seeds[0], rate=args.rate, out=out, at_a_time=args.at_a_time)
    elif args.what == "score":
        score_toy(args.systems, checkpoints=CHECKPOINTS, out=out)
    elif args.what == "clock":
        clock(src=args.src, tgt=args.tgt, beam=args.beams[0], folder=args.folder, out=out)
    elif args.what == "table":
        print(table(out))
    else:
        like = Job(
            system="",
            data="multi30k",
            src=args.src,
            tgt=args.tgt,
            multi30k=args.folder,
            tokens_per_batch=args.tokens_per_batch,
            learning_rate=args.rate,
            r_drop=args.r_drop,
        )
        chosen = names(args.systems, translators())
        run_multi30k(chosen, like, seeds=args.seeds, beams=args.beams, out=out, at_a_time=args.at_a_time)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ladder", description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("what", choices=["train", "score", "multi30k", "clock", "table"])
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help="by default all")
    parser.add_argument("--from", dest="src", default="de")
    parser.add_argument("--to", dest="tgt", default="en")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--beams", type=int, nargs="+", default=list(BEAMS))
    parser.add_argument("--tokens-per-batch", type=int, help="otherwise than the recipe, as in `train`")
    parser.add_argument("--learning-rate", type=float, help="likewise")
    parser.add_argument("--r-drop", type=float, help="likewise; kept under a name of its own")
    parser.add_argument("--folder", help="where Multi30k is")
    parser.add_argument("--out", type=Path, help="by default below data/")
    parser.add_argument("--at-a-time", type=int, default=1, help="how many to train at once")
    parser.add_argument("--is-one-of-many", action="store_true", help=argparse.SUPPRESS)
    return parser


def _one_by_one(args: argparse.Namespace, out: Path) -> list[list[str]]:
    """The same, as a program for each system and seed."""
    given = [("--from", args.src), ("--to", args.tgt), ("--folder", args.folder)]
    given += [
        ("--tokens-per-batch", args.tokens_per_batch),
        ("--learning-rate", args.rate),
        ("--r-drop", args.r_drop),
    ]
    same = [word for flag, value in given if value is not None for word in (flag, str(value))]
    same += ["--beams", *map(str, args.beams), "--out", str(out)]
    same += ["--at-a-time", str(args.at_a_time), "--is-one-of-many"]
    # A toy checkpoint is named by its system alone, so there is one seed of each.
    usual, seeds = (SYSTEMS, args.seeds[:1]) if args.what == "train" else (translators(), args.seeds)
    return [
        ["-m", "course_lib.bench.ladder", args.what, name, "--seeds", str(seed), *same]
        for name in names(args.systems, usual)
        for seed in seeds
    ]


if __name__ == "__main__":
    sys.exit(main())

"""Experiments: what the lessons quote, run by name, one JSON of results each.

    python3 -m course_lib experiment --list
    python3 -m course_lib experiment positions --at-a-time 4
    python3 -m course_lib experiment positions --variants none rotary --seeds 0 --steps 200     # a small one

Every variant of an experiment (`catalogue.py`) is run once for each seed. A run that is done is written down
at once, so an experiment can be stopped, and goes on where it was.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import NamedTuple

import torch

from course_lib.runtime import write_atomically
from course_lib.training.checkpoint import machine, versions
from tools.experiments.catalogue import Experiment, experiments, results_file
from tools.experiments.cpu_runs import run_claim, run_divisor, run_faulty, run_key_and_value
from tools.experiments.recall_run import run_recall
from tools.experiments.tables import brief
from tools.experiments.trained_run import run_trained

LARGE = {"train": run_trained, "recall": run_recall}  # on a GPU where there is one
SMALL = {"divisor": run_divisor, "key and value": run_key_and_value, "sick": run_faulty, "claim": run_claim}


def run(
    names: Sequence[str],
    *,
    out: Path,
    seeds: Sequence[int] | None = None,
    variants: Sequence[str] | None = None,
    n_steps: int | None = None,
    device: str | None = None,
    at_a_time: int = 1,
    tell: Callable[[str], None] = print,
) -> int:
    """Run what is not there yet, several at a time; each that is done is kept at once. How many failed."""
    chosen = {name: experiments()[name] for name in names}
    for name, one in chosen.items():
        for unknown in set(variants or ()) - set(one.variants):
            raise ValueError(f"{name} has no variant {unknown!r}. There are: {', '.join(one.variants)}.")
    files = {name: results_file(out, name, n_steps) for name in names}
    kept = {name: kept_runs(file) for name, file in files.items()}
    missing = [
        Run(name, variant, seed)
        for name, one in chosen.items()
        for seed in seeds or one.seeds
        for variant in variants or one.variants
        if (variant, seed) not in kept[name]
    ]
    if not missing:
        tell("All of it was run before: --table shows it.")
    failed = 0
    # Processes of their own: a small model leaves most of a large GPU idle, and most cores too.
    hands = ProcessPoolExecutor(at_a_time, mp_context=get_context("spawn"))
    try:
        work = {hands.submit(run_one, one, out, n_steps, device, at_a_time): one for one in missing}
        for done in as_completed(work):
            one = work[done]
            name = ", ".join(filter(None, (one.experiment, one.variant, f"seed {one.seed}")))
            try:
                found = done.result()
            except Exception as error:
                failed += 1
                tell(f"{name} FAILED")
                traceback.print_exception(error, file=sys.stderr)
                continue
            kept[one.experiment][one.variant, one.seed] = found
            keep(chosen[one.experiment], kept[one.experiment], files[one.experiment], n_steps)
            tell(f"{name}: {brief(found, chosen[one.experiment].kind)}")
    except BaseException:  # Ctrl-C: some are in the middle of a run
        hands.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            child.kill()
        raise
    hands.shutdown()
    return failed


class Run(NamedTuple):
    """One variant of an experiment with one seed."""

    experiment: str
    variant: str
    seed: int


def run_one(one: Run, out: Path, n_steps: int | None, device: str | None, at_a_time: int) -> dict:
    """One run, in a process of its own."""
    if at_a_time > 1:
        torch.set_num_threads(1)
    experiment, began = experiments()[one.experiment], time.perf_counter()
    changes = dict(experiment.variants[one.variant])
    if changes.pop("keep", False) and one.seed == experiment.seeds[0]:
        folder = results_file(out, "checkpoints", n_steps).with_suffix("")
        changes["keep"] = folder / f"{changes['system']}.safetensors"
        typed = ["--variants", one.variant, "--seeds", str(one.seed)]
        changes["command"] = f"{command_for(one.experiment, n_steps)} {shlex.join(typed)}"
    if experiment.kind in LARGE:
        found = LARGE[experiment.kind](changes, seed=one.seed, n_steps=n_steps, device=device)
    else:
        device, found = "cpu", SMALL[experiment.kind](changes, seed=one.seed, n_steps=n_steps)
    return {
        "variant": one.variant,
        "seed": one.seed,
        "at_a_time": at_a_time,
        "seconds": round(time.perf_counter() - began, 1),
        "machine": machine(torch.device(device) if device else None),
        "versions": versions(),
    } | found


def command_for(name: str, n_steps: int | None) -> str:
    """What makes an experiment again.

    >>> command_for("positions", None), command_for("positions", 200)
    ('python3 -m course_lib experiment positions', 'python3 -m course_lib experiment positions --steps 200')
    """
    return f"python3 -m course_lib experiment {name}" + (f" --steps {n_steps}" if n_steps else "")


def kept_runs(path: Path) -> dict[tuple[str, int], dict]:
    """The runs that are done, by variant and seed."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    return {(one["variant"], one["seed"]): one for one in runs}


def keep(
    experiment: Experiment, runs: Mapping[tuple[str, int], dict], path: Path, n_steps: int | None
) -> None:
    """Write down all that is done of an experiment, in the order of its table."""
    about = {
        "experiment": experiment.name,
        "lesson": experiment.lesson,
        "asks": experiment.asks,
        "expected": experiment.expected,
        "command": command_for(experiment.name, n_steps),
    }
    order = list(experiment.variants)
    known = sorted((order.index(variant), seed) for variant, seed in runs if variant in order)
    # A line for each run: short enough for a repository, and a change shows which run it is.
    lines = ",\n".join(json.dumps(runs[order[place], seed], ensure_ascii=False) for place, seed in known)
    text = json.dumps(about, ensure_ascii=False, indent=1).removesuffix("\n}")
    write_atomically(path, f'{text},\n "runs": [\n{lines}\n]}}\n')

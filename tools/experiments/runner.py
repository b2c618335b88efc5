"""Run the experiments that lessons quote, by name, with one JSON file of results each.

    python3 -m course_lib experiment --list
    python3 -m course_lib experiment positions --at-a-time 4
    python3 -m course_lib experiment positions --variants none rotary --seeds 0 --steps 200     # a trial

Every variant of an experiment (`catalogue.py`) is run once for each seed. A finished run is stored at once,
so an experiment can be stopped and continued.
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
from tools.experiments.catalogue import Experiment, experiments, kept_name, results_file
from tools.experiments.cpu_runs import run_claim, run_divisor, run_faulty, run_key_and_value
from tools.experiments.recall_run import run_recall
from tools.experiments.snapshot_run import run_snapshots
from tools.experiments.tables import brief
from tools.experiments.trained_run import run_trained

LARGE = {"train": run_trained, "recall": run_recall, "snapshots": run_snapshots}  # on a GPU if there is one
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
    report: Callable[[str], None] = print,
) -> int:
    """Run what is not stored yet, `at_a_time` runs at once; return how many failed."""
    chosen = {name: experiments()[name] for name in names}
    for name, experiment in chosen.items():
        for unknown in set(variants or ()) - set(experiment.variants):
            raise ValueError(
                f"{name} has no variant {unknown!r}. Choose from: {', '.join(experiment.variants)}."
            )
    files = {name: results_file(out, name, n_steps) for name in names}
    results = {name: stored_runs(file) for name, file in files.items()}
    missing = [
        Run(name, variant, seed)
        for name, experiment in chosen.items()
        for seed in seeds or experiment.seeds
        for variant in variants or experiment.variants
        if (variant, seed) not in results[name]
    ]
    if not missing:
        report("All of these runs are already finished; use --table to see the results.")
    n_failed = 0
    # Separate processes, because a small model leaves most of a large GPU and most cores idle.
    pool = ProcessPoolExecutor(at_a_time, mp_context=get_context("spawn"))
    try:
        jobs = {pool.submit(run_one, job, out, n_steps, device, at_a_time): job for job in missing}
        for finished in as_completed(jobs):
            name, variant, seed = jobs[finished]
            label = ", ".join(filter(None, (name, variant, f"seed {seed}")))
            try:
                result = finished.result()
            except Exception as error:
                n_failed += 1
                report(f"{label}: FAILED")
                traceback.print_exception(error, file=sys.stderr)
                continue
            results[name][variant, seed] = result
            store_runs(chosen[name], results[name], files[name], n_steps)
            report(f"{label}: {brief(result, chosen[name].kind)}")
    except BaseException:  # such as Ctrl-C, while runs are in progress
        pool.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            child.kill()
        raise
    pool.shutdown()
    return n_failed


class Run(NamedTuple):
    """One variant of an experiment with one seed."""

    experiment: str
    variant: str
    seed: int


def run_one(job: Run, out: Path, n_steps: int | None, device: str | None, at_a_time: int) -> dict:
    """Execute one run and return its result. Each is called in a process of its own."""
    if at_a_time > 1:
        torch.set_num_threads(1)
    experiment, start = experiments()[job.experiment], time.perf_counter()
    changes = dict(experiment.variants[job.variant])
    kept = kept_name(changes)
    changes.pop("keep", None)
    if kept and job.seed == experiment.seeds[0]:
        folder = results_file(out, "checkpoints", n_steps).with_suffix("")
        changes["keep"] = folder / f"{kept}.safetensors"
        options = ["--variants", job.variant, "--seeds", str(job.seed)]
        changes["command"] = f"{command_for(job.experiment, n_steps)} {shlex.join(options)}"
    if experiment.kind in LARGE:
        result = LARGE[experiment.kind](changes, seed=job.seed, n_steps=n_steps, device=device)
    else:
        device, result = "cpu", SMALL[experiment.kind](changes, seed=job.seed, n_steps=n_steps)
    return {
        "variant": job.variant,
        "seed": job.seed,
        "at_a_time": at_a_time,
        "seconds": round(time.perf_counter() - start, 1),
        "machine": machine(torch.device(device) if device else None),
        "versions": versions(),
    } | result


def command_for(name: str, n_steps: int | None) -> str:
    """The command that repeats an experiment.

    >>> command_for("positions", None), command_for("positions", 200)
    ('python3 -m course_lib experiment positions', 'python3 -m course_lib experiment positions --steps 200')
    """
    return f"python3 -m course_lib experiment {name}" + (f" --steps {n_steps}" if n_steps else "")


def stored_runs(path: Path) -> dict[tuple[str, int], dict]:
    """The finished runs in a results file, by variant and seed."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    return {(run["variant"], run["seed"]): run for run in runs}


def store_runs(
    experiment: Experiment, runs: Mapping[tuple[str, int], dict], path: Path, n_steps: int | None
) -> None:
    """Write all finished runs of an experiment to its file, in the order of its variants."""
    about = {
        "experiment": experiment.name,
        "lesson": experiment.lesson,
        "asks": experiment.asks,
        "expected": experiment.expected,
        "command": command_for(experiment.name, n_steps),
    }
    order = list(experiment.variants)
    rows = sorted((order.index(variant), seed) for variant, seed in runs if variant in order)
    # One line per run keeps the file short, and a diff shows which run changed.
    lines = ",\n".join(json.dumps(runs[order[index], seed], ensure_ascii=False) for index, seed in rows)
    text = json.dumps(about, ensure_ascii=False, indent=1).removesuffix("\n}")
    write_atomically(path, f'{text},\n "runs": [\n{lines}\n]}}\n')

"""Experiments: what the lessons quote, run by name, one JSON of results each.

    python3 -m course_lib experiment --list
    python3 -m course_lib experiment positions --at-a-time 4
    python3 -m course_lib experiment positions --variants none rotary --seeds 0 --steps 200     # a small one

`data/experiments.json` holds them: a question, what was expected, and variants, each of which says how it
differs from the usual system or recipe ("keep": the weights of its first seed are kept too). Every variant
is run once for each seed. A run that is done is kept in a file of its own, so an experiment can be stopped,
and goes on where it was.

    >>> experiments()["positions"].variants["none"]["config"]
    {'positions': 'none'}
"""

from __future__ import annotations

import json
import shutil
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import torch

from course_lib.bench.claims import run as run_claim
from course_lib.bench.look_up import run as run_look_up
from course_lib.bench.recall import run as run_recall
from course_lib.bench.sick import run as run_sick
from course_lib.bench.trained import run as run_trained
from course_lib.models.registry import language_models, translators
from course_lib.runtime import data_path, write_atomically, write_json

KINDS: dict[str, Callable[..., dict]] = {
    "train": run_trained,
    "recall": run_recall,
    "look up": run_look_up,
    "sick": run_sick,
    "claim": run_claim,
}
GROUPS = {"translators": translators, "language models": language_models}


@dataclass(frozen=True)
class Experiment:
    """A question and the runs that answer it. `variants`: what each changes, by name."""

    name: str
    lesson: str
    asks: str
    expected: str
    kind: str
    seeds: tuple[int, ...]
    variants: Mapping[str, Mapping[str, Any]]


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name."""
    table = json.loads(data_path("experiments.json").read_text(encoding="utf-8"))
    return {name: _read(name, dict(kept)) for name, kept in table.items()}


def _read(name: str, kept: dict[str, Any]) -> Experiment:
    """`systems` makes a variant of each system; what stands under `same` belongs to every variant."""
    group, same, variants = kept.pop("systems", []), kept.pop("same", {}), kept.pop("variants", {"": {}})
    systems = [one.name for one in GROUPS[group]()] if isinstance(group, str) else group
    if systems:
        variants = {
            f"{system}, {label}" if label else system: {"system": system, **changes}
            for system in systems
            for label, changes in variants.items()
        }
    variants = {label: _joined(same, changes) for label, changes in variants.items()}
    seeds = tuple(kept.pop("seeds", (0, 1, 2)))
    return Experiment(name=name, kind=kept.pop("kind", "train"), seeds=seeds, variants=variants, **kept)


def _joined(same: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Both, entry by entry: {"config": {...}} of the one and of the other become one."""
    joined = dict(same)
    for key, value in changes.items():
        joined[key] = {**joined[key], **value} if isinstance(joined.get(key), dict) else value
    return joined


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
    """Run what is not done yet, and keep all results in `out/NAME.json`. How many runs failed."""
    chosen = [experiments()[name] for name in names]
    wanted = [
        Run(one.name, variant, seed)
        for one in chosen
        for seed in seeds or one.seeds
        for variant in _variants(one, variants)
    ]
    done = {one.name: {(run["variant"], run["seed"]) for run in kept_runs(one, out)} for one in chosen}
    missing = [one for one in wanted if (one.variant, one.seed) not in done[one.experiment]]
    failed = 0
    # Processes of their own: a small model leaves most of a large GPU idle, and most cores too.
    hands = ProcessPoolExecutor(at_a_time, mp_context=get_context("spawn"))
    try:
        work = {
            hands.submit(_run, one, out=out, n_steps=n_steps, device=device, at_a_time=at_a_time): one
            for one in missing
        }
        for done in as_completed(work):
            one = work[done]
            try:
                found = done.result()
            except Exception as error:
                failed += 1
                tell(f"{one} FAILED")
                traceback.print_exception(error, file=sys.stderr)
                continue
            write_json(one.part(out), found)
            tell(f"{one}  {found['brief']}")
    except BaseException:  # Ctrl-C: some are in the middle of a run
        hands.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            child.kill()
        raise
    hands.shutdown()
    for one in chosen:
        gather(one, out)
    return failed


@dataclass(frozen=True)
class Run:
    """One variant of an experiment with one seed."""

    experiment: str
    variant: str
    seed: int

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.experiment, self.variant, f"seed {self.seed}")))

    def part(self, out: Path) -> Path:
        """Where its results are kept until all are done."""
        plain = "".join(sign if sign.isalnum() else "_" for sign in self.variant)
        return out / "parts" / self.experiment / f"{plain or 'run'}_{self.seed}.json"


def kept_runs(experiment: Experiment, out: Path) -> list[dict]:
    """The runs that are done, in the order of the table: from its file, and from files of single runs."""
    found: dict[tuple[str, int], dict] = {}
    if (whole := out / f"{experiment.name}.json").exists():
        for one in json.loads(whole.read_text(encoding="utf-8"))["runs"]:
            found[one["variant"], one["seed"]] = one
    for path in (out / "parts" / experiment.name).glob("*.json"):
        one = json.loads(path.read_text(encoding="utf-8"))
        found[one["variant"], one["seed"]] = one
    order = list(experiment.variants)
    known = [one for one in found.values() if one["variant"] in order]
    return sorted(known, key=lambda one: (order.index(one["variant"]), one["seed"]))


def gather(experiment: Experiment, out: Path) -> None:
    """All that is there of an experiment in one file; the files of single runs are not needed any more."""
    kept = {
        "experiment": experiment.name,
        "lesson": experiment.lesson,
        "asks": experiment.asks,
        "expected": experiment.expected,
        "command": f"python3 -m course_lib experiment {experiment.name}",
    }
    # A line for each run: short enough for a repository, and a change shows which run it is.
    runs = ",\n".join(json.dumps(one, ensure_ascii=False) for one in kept_runs(experiment, out))
    text = json.dumps(kept, ensure_ascii=False, indent=1).removesuffix("\n}")
    write_atomically(out / f"{experiment.name}.json", f'{text},\n "runs": [\n{runs}\n]}}\n')
    shutil.rmtree(out / "parts" / experiment.name, ignore_errors=True)


def _variants(experiment: Experiment, wanted: Sequence[str] | None) -> list[str]:
    for unknown in set(wanted or []) - set(experiment.variants):
        raise ValueError(
            f"{experiment.name} has no variant {unknown!r}. There are: {', '.join(experiment.variants)}."
        )
    return list(wanted or experiment.variants)


def _run(one: Run, *, out: Path, n_steps: int | None, device: str | None, at_a_time: int) -> dict:
    """One run, in a process of its own."""
    if at_a_time > 1:
        torch.set_num_threads(1)
    experiment = experiments()[one.experiment]
    changes = dict(experiment.variants[one.variant])
    more = {}
    if (kept_as := changes.pop("keep", None)) and one.seed == experiment.seeds[0]:
        file = changes["system"] if kept_as is True else kept_as
        more = {"keep": out / "checkpoints" / f"{file}.safetensors"}
    found = KINDS[experiment.kind](changes, seed=one.seed, n_steps=n_steps, device=device, **more)
    return {"variant": one.variant, "seed": one.seed, "at_a_time": at_a_time, **found}

"""Runs of experiments that take seconds on one CPU: a new rule of grammar, and lesson 15's clinic.

run_claim({"system": "bahdanau", "rule": "mirror"}, seed=0)["right"]["test"]     # a sign for each sentence
run_clinic({"habits": {"rate": 0.3}}, seed=0)["history"][-1]["exact"]           # trained with one mistake
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from statistics import mean
from typing import Any

import torch

from course_lib.training.checkpoint import machine, versions
from course_lib.translation import claim
from course_lib.translation.small_run import N_STEPS, Habits, SmallRun, short_data


def _timed(work: Callable[[dict[str, Any], int, int | None], dict]) -> Callable[..., dict]:
    """As an experiment calls it: on the CPU whatever the device, with seconds and machine told."""

    @wraps(work)
    def run(
        changes: dict[str, Any], *, seed: int, n_steps: int | None = None, device: str | None = None
    ) -> dict:
        began = time.perf_counter()
        found = work(changes, seed, n_steps)
        seconds = round(time.perf_counter() - began, 1)
        return found | {
            "seconds": seconds,
            "machine": machine(torch.device("cpu")),
            "versions": dict(versions()),
        }

    return run


@_timed
def run_claim(changes: dict[str, Any], seed: int, n_steps: int | None) -> dict:
    """Train on the language with a rule ("rule": its name, or none), and keep which sentences came out."""
    rule = claim.RULES.get(changes.get("rule", ""))
    steps = n_steps or changes.get("n_steps", claim.N_STEPS)
    right = claim.run(changes["system"], rule, seed=seed, n_steps=steps)
    shares = {name: mean(map(int, signs)) for name, signs in right.items()}
    brief = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
    return {"right": right, "brief": brief, "n_steps": steps}


@_timed
def run_clinic(changes: dict[str, Any], seed: int, n_steps: int | None) -> dict:
    """Train a small translator, well or with one mistake, and keep its curves."""
    habits = Habits(**changes.get("habits", {}))
    data = short_data(n_train=habits.n_sentences)
    trained = SmallRun(data, habits, n_steps=n_steps or N_STEPS, seed=seed)
    while trained.n_done < trained.n_steps:
        trained.learn()
    history = [{name: round(value, 4) for name, value in record.items()} for record in trained.history]
    end = {name: history[-1][name] for name in ("train_loss", "loss", "exact")}
    told = f"training {end['train_loss']:.2f}, validation {end['loss']:.2f}, right {end['exact']:.1%}"
    more = {"habits": changes.get("habits", {}), "n_steps": trained.n_steps}
    return {"ends": end, "history": history, "brief": told, **more}

"""One run of the experiment behind lesson 15's clinic: a small translator, trained well or with one mistake.

    found = run({"habits": {"rate": 0.3}}, seed=0)
    found["history"][-1]["exact"]

On the CPU, one thread: it takes seconds.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from course_lib.training.checkpoint import machine, versions
from course_lib.translation.small_run import N_STEPS, Habits, SmallRun, short_data


def run(changes: dict[str, Any], *, seed: int, n_steps: int | None = None, device: str | None = None) -> dict:
    """Train the whole run, and keep its curves."""
    habits, began = Habits(**changes.get("habits", {})), time.perf_counter()
    data = short_data(n_train=habits.n_sentences)
    trained = SmallRun(data, habits, n_steps=n_steps or N_STEPS, seed=seed)
    while trained.n_done < trained.n_steps:
        trained.learn()
    history = [{name: round(value, 4) for name, value in look.items()} for look in trained.history]
    end = history[-1]
    told = f"training {end['train_loss']:.2f}, validation {end['loss']:.2f}, right {end['exact']:.1%}"
    return {
        "ends": {name: end[name] for name in ("train_loss", "loss", "exact")},
        "history": history,
        "brief": told,
        "habits": changes.get("habits", {}),
        "n_steps": trained.n_steps,
        "seconds": round(time.perf_counter() - began, 1),
        "machine": machine(torch.device("cpu")),
        "versions": dict(versions()),
    }

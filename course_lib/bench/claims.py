"""One run of an experiment on a new rule of grammar: the small world of `translation/claim.py`.

    found = run({"system": "bahdanau", "rule": "mirror"}, seed=0)
    found["right"]["test"]                                  # a sign for each sentence

Always on a CPU: a run takes some seconds there.
"""

from __future__ import annotations

import time
from statistics import mean
from typing import Any

import torch

from course_lib.training.checkpoint import machine, versions
from course_lib.translation import claim


def run(changes: dict[str, Any], *, seed: int, n_steps: int | None = None, device: str | None = None) -> dict:
    """Train on the language with a rule ("rule": its name, or none), and keep which sentences came out."""
    rule = claim.RULES.get(changes.get("rule", ""))
    steps = n_steps or changes.get("n_steps", claim.N_STEPS)
    began = time.perf_counter()
    right = claim.run(changes["system"], rule, seed=seed, n_steps=steps)
    shares = {name: mean(map(int, signs)) for name, signs in right.items()}
    return {
        "right": right,
        "brief": ", ".join(f"{name} {share:.1%}" for name, share in shares.items()),
        "n_steps": steps,
        "seconds": round(time.perf_counter() - began, 1),
        "machine": machine(torch.device("cpu")),
        "versions": dict(versions()),
    }

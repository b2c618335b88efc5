"""STAND-IN for lesson 16's exercise `paired_bootstrap`, with the same signature.

Once lesson 16 has it, delete this file. The lesson then uses `yours("paired_bootstrap")`, and measurements.py
uses `find_exercise("paired_bootstrap").reference`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def paired_bootstrap(
    one: Tensor, other: Tensor, score: Callable = torch.mean, n_samples: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """The central 95% of the differences score(one) − score(other), over samples of the same sentences."""
    generator = torch.Generator().manual_seed(seed)
    differences = []
    for _ in range(n_samples):
        rows = torch.randint(len(one), (len(one),), generator=generator)
        differences.append(float(score(one[rows]) - score(other[rows])))
    low, high = torch.tensor(differences).quantile(torch.tensor([0.025, 0.975])).tolist()
    return low, high

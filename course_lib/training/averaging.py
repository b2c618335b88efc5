"""The mean of many checkpoints in one model: it often translates better than each of them.

    >>> mean = Average()
    >>> mean.add({"w": torch.tensor([1.0])})
    >>> mean.add({"w": torch.tensor([3.0])})
    >>> mean.weights["w"]
    tensor([2.])

Late in a run the weights wander around a good place, pushed about by one batch and the next. Their mean
lies nearer to it. The mean is kept as it grows, so it costs one copy of the model, however many join.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


class Average:
    """A running mean of weights. Whole numbers (counters) are not averaged: the last one stays."""

    def __init__(self, weights: Mapping[str, Tensor] | None = None, n: int = 0):
        self.weights = {name: tensor.clone() for name, tensor in (weights or {}).items()}
        self.n = n

    @torch.no_grad()
    def add(self, weights: Mapping[str, Tensor]) -> None:
        """Let one more set of weights join."""
        self.n += 1
        if self.n == 1:
            self.weights = {name: tensor.detach().clone() for name, tensor in weights.items()}
            return
        for name, tensor in weights.items():
            mean = self.weights[name].to(tensor.device)  # from a file it comes on the CPU
            counts = not tensor.is_floating_point()
            self.weights[name] = mean.copy_(tensor) if counts else mean.lerp_(tensor, 1 / self.n)

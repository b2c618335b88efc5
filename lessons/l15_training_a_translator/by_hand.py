"""Training in plain functions, as lesson 15 builds it: batches, learning rate, loss, clipping, Adam.

    >>> weights = {"w": Tensor([3.0])}
    >>> loss, weights, state = training_step(weights, lambda w: w["w"].square().sum(), {}, 1, 0.1)
    >>> round(weights["w"].item(), 4)                           # Adam's first step has the size of the rate
    2.9
    >>> round(paper_rate(4000, d_model=512, warm_up=4000), 6)       # the peak of the base model
    0.000699

The library's `objective.py` and `step.py` do the same faster, with a module and its `.grad`.
"""

from __future__ import annotations

from torch import Tensor

from lessons.l15_training_a_translator.clipping import clipped
from lessons.l15_training_a_translator.solutions import by_length, paper_rate, smoothed_loss, training_step

__all__ = ["AdamState", "Weights", "by_length", "clipped", "paper_rate", "smoothed_loss", "training_step"]

Weights = dict[str, Tensor]
AdamState = dict[str, tuple[Tensor, Tensor]]  # Adam's two moving averages for each weight

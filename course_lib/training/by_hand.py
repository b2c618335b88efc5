"""The training step in plain functions, as lesson 15 builds it: a rate, a loss, a step.

    >>> weights = {"w": torch.tensor([3.0])}
    >>> loss, weights, memory = training_step(weights, lambda w: w["w"].square().sum(), {}, 1, 0.1)
    >>> round(weights["w"].item(), 4)                           # Adam's first step is one rate long
    2.9

`objective.py` and `step.py` do the same with a module and its `.grad`, faster; tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from course_lib.text.special import PAD
from course_lib.training.recipe import learning_rate
from course_lib.training.step import BETAS, EPSILON

Weights = dict[str, Tensor]
Memory = dict[str, tuple[Tensor, Tensor]]  # of each weight, Adam's two means
LIMIT = 1.0  # the longest gradient


def paper_rate(step: int, d_model: int, warm_up: int) -> float:
    """The learning rate of the 2017 paper.

    >>> round(paper_rate(4000, d_model=512, warm_up=4000), 6)       # the highest of the base model
    0.000699
    """
    peak = (d_model * warm_up) ** -0.5
    return learning_rate(step, peak=peak, warm_up=warm_up, decay="inverse_square_root")


def smoothed_loss(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """The mean over all words but padding.

    >>> logits = torch.tensor([[2.0, 0.0, 0.0]])
    >>> smoothed_loss(logits, torch.tensor([1]), 0.0), smoothed_loss(logits, torch.tensor([1]), 0.3)
    (tensor(2.2395), tensor(2.0395))
    """
    log_probs = logits.float().log_softmax(dim=-1)
    right = log_probs.gather(-1, targets[..., None])[..., 0]
    losses = -(1 - smoothing) * right - smoothing * log_probs.mean(dim=-1)
    return losses[targets != PAD].mean()


def clipped(gradients: list[Tensor], limit: float) -> list[Tensor]:
    """All of them shortened by one factor, so that together they are no longer than `limit`."""
    length = torch.stack([gradient.norm() for gradient in gradients]).norm()
    return [gradient * (limit / length.clamp(min=limit)) for gradient in gradients]


def training_step(
    weights: Mapping[str, Tensor],
    loss_of: Callable[[Weights], Tensor],
    memory: Memory,
    step: int,
    rate: float,
) -> tuple[float, Weights, Memory]:
    """Loss, gradient, clipping, Adam: the loss, new weights, and Adam's new memory ({} at first)."""
    ready = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
    loss = loss_of(ready)
    gradients = clipped(list(torch.autograd.grad(loss, list(ready.values()))), LIMIT)
    moved, kept = {}, {}
    for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
        mean, square = memory.get(name, (torch.zeros_like(weight), torch.zeros_like(weight)))
        mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
        square = BETAS[1] * square + (1 - BETAS[1]) * gradient.square()
        fair, spread = mean / (1 - BETAS[0] ** step), square / (1 - BETAS[1] ** step)
        moved[name] = weight.detach() - rate * fair / (spread.sqrt() + EPSILON)
        kept[name] = mean, square
    return loss.item(), moved, kept

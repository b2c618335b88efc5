"""Training in plain functions, as lesson 15 builds it: batches, learning rate, loss, clipping, Adam.

    >>> weights = {"w": torch.tensor([3.0])}
    >>> loss, weights, state = training_step(weights, lambda w: w["w"].square().sum(), {}, 1, 0.1)
    >>> round(weights["w"].item(), 4)                           # Adam's first step has the size of the rate
    2.9

The library's `objective.py` and `step.py` do the same faster, with a module and its `.grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from course_lib.text.special import PAD
from course_lib.training.recipe import learning_rate
from course_lib.training.step import BETAS, EPSILON

Weights = dict[str, Tensor]
AdamState = dict[str, tuple[Tensor, Tensor]]  # Adam's two moving averages for each weight
LIMIT = 1.0  # maximum norm of the gradient


def by_length(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Batches of indices of sentences, the shortest first; rows times longest length is at most `room`.

    >>> by_length([3, 9, 2, 8], 18)
    [[2, 0], [3, 1]]
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not batches or (len(batches[-1]) + 1) * lengths[index] > room:
            batches.append([])
        batches[-1].append(index)
    return batches


def paper_rate(step: int, d_model: int, warm_up: int) -> float:
    """The learning rate of the 2017 paper.

    >>> round(paper_rate(4000, d_model=512, warm_up=4000), 6)       # the peak of the base model
    0.000699
    """
    peak = (d_model * warm_up) ** -0.5
    return learning_rate(step, peak=peak, warm_up=warm_up, decay="inverse_square_root")


def smoothed_loss(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Cross-entropy with label smoothing, averaged over all words except PAD.

    >>> logits = torch.tensor([[2.0, 0.0, 0.0]])
    >>> smoothed_loss(logits, torch.tensor([1]), 0.0), smoothed_loss(logits, torch.tensor([1]), 0.3)
    (tensor(2.2395), tensor(2.0395))
    """
    log_probs = logits.float().log_softmax(dim=-1)
    of_target = log_probs.gather(-1, targets[..., None])[..., 0]
    losses = -(1 - smoothing) * of_target - smoothing * log_probs.mean(dim=-1)
    return losses[targets != PAD].mean()


def clipped(gradients: list[Tensor], limit: float) -> list[Tensor]:
    """The gradients, scaled by one factor so that their joint norm is at most `limit`."""
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    return [gradient * (limit / norm.clamp(min=limit)) for gradient in gradients]


def training_step(
    weights: Mapping[str, Tensor],
    loss_of: Callable[[Weights], Tensor],
    state: AdamState,
    step: int,
    rate: float,
) -> tuple[float, Weights, AdamState]:
    """Take one step; returns the loss, the new weights and Adam's new state, which is {} before step 1."""
    inputs = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
    loss = loss_of(inputs)
    gradients = clipped(list(torch.autograd.grad(loss, list(inputs.values()))), LIMIT)
    new_weights, new_state = {}, {}
    for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
        mean, square = state.get(name, (torch.zeros_like(weight), torch.zeros_like(weight)))
        mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
        square = BETAS[1] * square + (1 - BETAS[1]) * gradient.square()
        unbiased_mean, unbiased_square = mean / (1 - BETAS[0] ** step), square / (1 - BETAS[1] ** step)
        new_weights[name] = weight.detach() - rate * unbiased_mean / (unbiased_square.sqrt() + EPSILON)
        new_state[name] = mean, square
    return loss.item(), new_weights, new_state

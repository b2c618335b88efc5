"""Numbers that lesson 02 quotes: how many networks of one number learn to remember a signal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.nn import functional as F

NETWORKS, SEEDS = 20, (0, 1, 2)
RATE, STEPS = 0.05, 100
BEYOND_THE_EDGE = (2.0, 4.0)  # the range of the initial u in the control


def measure(long_seeds: tuple[int, ...] = SEEDS) -> dict:
    """Networks that learned, one count for each seed; `long_seeds` are those of the runs with 1,000 steps."""
    short = {str(length): count_learned(length)[0] for length in (2, 5, 10, 20)}
    usual, faster = count_learned(200, rates=(RATE, 2 * RATE))
    longer, both = count_learned(200, rates=(RATE, 2 * RATE), steps=10 * STEPS, seeds=long_seeds)
    [beyond] = count_learned(200, first_u=BEYOND_THE_EDGE)
    at_200 = {
        "as above": usual,
        "rate × 2": faster,
        "steps × 10": longer,
        "both": both,
        "u from 2 to 4": beyond,
    }
    return {
        "networks": NETWORKS,
        "learned by length": short | {"200": usual},
        "learned at length 200": {"networks": NETWORKS * len(SEEDS)}
        | {name: {"by seed": counts, "total": sum(counts)} for name, counts in at_200.items()},
    }


def count_learned(
    length: int,
    *,
    rates: tuple[float, ...] = (RATE,),
    steps: int = STEPS,
    seeds: tuple[int, ...] = SEEDS,
    first_u: tuple[float, float] = (-1.0, 1.0),
) -> list[list[int]]:
    """For each rate and seed, how many of the networks learned."""
    by_seed = [train_side_by_side(length, rates, steps=steps, seed=seed, first_u=first_u) for seed in seeds]
    return [
        [int((accuracies > 0.95).sum()) for accuracies in of_rate] for of_rate in zip(*by_seed, strict=True)
    ]


class Recurrence(torch.autograd.Function):
    """state = tanh(from_inputs + u · state) over all steps, with its gradient written out: it is faster."""

    @staticmethod
    def forward(ctx, from_inputs, u):
        states, state = torch.empty_like(from_inputs), torch.zeros_like(from_inputs[0])
        for given, out in zip(from_inputs.unbind(), states.unbind(), strict=True):
            state = torch.addcmul(given, u, state, out=out).tanh_()
        ctx.save_for_backward(states, u)
        return state.clone()

    @staticmethod
    def backward(ctx, gradient):
        states, u = ctx.saved_tensors
        slopes, gradients = 1 - states * states, torch.empty_like(states)
        later = torch.mul(gradient, slopes[-1], out=gradients[-1])
        earlier = zip((u * slopes)[:-1].unbind(), gradients[:-1].unbind(), strict=True)
        for factor, out in reversed(list(earlier)):
            later = torch.mul(later, factor, out=out)
        return gradients, (gradients[1:] * states[:-1]).sum(dim=(0, 2))[:, None]


def train_side_by_side(
    length: int,
    rates: tuple[float, ...],
    *,
    steps: int = STEPS,
    seed: int = 0,
    first_u: tuple[float, float] = (-1.0, 1.0),
) -> tuple[torch.Tensor, ...]:
    """The lesson's `train_tiny` at several learning rates at once: the accuracy of each network.

    `first_u` is the range of the initial recurrent weights; the others are between −1 and 1.
    """
    generator = torch.Generator().manual_seed(seed)
    initial = 2 * torch.rand(5, NETWORKS, 1, generator=generator) - 1
    low, high = first_u
    initial[1] = low + (high - low) * (initial[1] + 1) / 2
    weights = [[part.clone().requires_grad_() for part in initial] for _ in rates]
    groups = [{"params": group, "lr": rate} for group, rate in zip(weights, rates, strict=True)]
    optimizer = torch.optim.Adam(groups)

    def margins(n: int) -> torch.Tensor:
        """Above 0 where the answer is right."""
        signal = 2.0 * torch.randint(2, (n,), generator=generator) - 1
        noise = 0.6 * torch.rand(length - 1, n, generator=generator) - 0.3
        w, u, b, v, c = (torch.cat(parts) for parts in zip(*weights, strict=True))
        inputs = torch.cat([signal[None], noise])
        return (v * Recurrence.apply(w * inputs[:, None] + b, u) + c) * signal

    with tiny_numbers_as_zero():
        for _ in range(steps):
            loss = F.softplus(-margins(32)).mean(dim=1).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return (margins(500) > 0).float().mean(dim=1).split(NETWORKS)


@contextmanager
def tiny_numbers_as_zero() -> Iterator[None]:
    """Below 1e-38 a processor computes seven times as slowly, and all gradients that vanish come to that."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)

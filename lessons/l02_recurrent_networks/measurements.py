"""Numbers that lesson 02 quotes: tiny networks that learn to remember or not, and agreements."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.results import with_digits
from course_lib.shapes import Float, Tensor
from lessons.l02_recurrent_networks.agreements import measure_agreements

NETWORKS, SEEDS = 20, (0, 1, 2)
RATE, STEPS = 0.05, 100
BEYOND_THE_EDGE = (2.0, 4.0)  # the range of the initial u in the control

LENGTHS, AT_STEPS = (2, 5, 10, 20, 50, 200), (0, 10, 30, 100)
BATCHES = (32, 1024)  # the lesson's, and one in which the choice of sequences matters little
SYMBOLS = 10  # of the larger network's task
EXPECTED = (
    "Before training the total hardly falls with the length, from 0.25 at length 2 to 0.18 at 200, while the "
    "part through word 1 falls from 0.1 to nothing. Much of what is left at 200 is the chance of a batch of "
    "32, so with 1,024 sequences the total is less than half of that. Training doesn't change the picture. "
    "The larger RNN shows the same."
)


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
        "gradient": with_digits(measure_gradients()),
        "agreements": with_digits(measure_agreements()),
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


def draw_sequences(n: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The signals, and all inputs: each signal and the noise after it."""
    signal = 2.0 * torch.randint(2, (n,), generator=generator) - 1
    noise = 0.6 * torch.rand(length - 1, n, generator=generator) - 0.3
    return signal, torch.cat([signal[None], noise])


def train_side_by_side(
    length: int,
    rates: tuple[float, ...],
    *,
    steps: int = STEPS,
    seed: int = 0,
    first_u: tuple[float, float] = (-1.0, 1.0),
    watch: Callable[[int, list[Tensor]], None] = lambda step, weights: None,
) -> tuple[torch.Tensor, ...]:
    """The lesson's `train_tiny` at several learning rates at once: the accuracy of each network.

    `first_u` is the range of the initial recurrent weights; the others are between −1 and 1. `watch` gets the
    weights for the first of the rates before each step and after the last.
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
        signal, inputs = draw_sequences(n, length, generator)
        w, u, b, v, c = (torch.cat(parts) for parts in zip(*weights, strict=True))
        return (v * Recurrence.apply(w * inputs[:, None] + b, u) + c) * signal

    with tiny_numbers_as_zero():
        for step in range(steps):
            watch(step, weights[0])
            loss = F.softplus(-margins(32)).mean(dim=1).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        watch(steps, weights[0])
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


# ---- how large the gradient is, and how much of it comes through the first word


def measure_gradients() -> dict:
    """Medians over the networks of all seeds, by length and by step of the training."""
    return {"expected": EXPECTED} | {
        name: {str(length): medians([measured(length, seed) for seed in SEEDS]) for length in lengths}
        for name, measured, lengths in (
            ("one number", gradients_of_tiny, LENGTHS),
            ("64 numbers", gradients_of_larger, LENGTHS[:-1]),
        )
    }


def medians(by_seed: list[dict[str, Tensor]]) -> dict[str, dict[str, float]]:
    names = ("total", "recurrent weights", "through word 1")
    together = {when: torch.cat([found[when] for found in by_seed], dim=1) for when in by_seed[0]}
    return {
        when: dict(zip(names, parts.median(dim=1).values.tolist(), strict=True))
        for when, parts in together.items()
    }


def gradients_of_tiny(length: int, seed: int) -> dict[str, Float[Tensor, "3 networks"]]:
    """For two sizes of batches, of which only the first is trained on."""
    found = {}

    def watch(step: int, weights: list[Tensor]) -> None:
        for batch in BATCHES if step in AT_STEPS else ():
            found[f"step {step}, batch {batch}"] = gradient_parts(weights, length, batch)

    train_side_by_side(length, (RATE,), seed=seed, watch=watch)
    return found


def gradient_parts(weights: list[Tensor], length: int, batch: int) -> Float[Tensor, "3 networks"]:
    """Norms of the gradient: of all weights, of w, u and b, and of what comes through the first word.

    The first word is read with copies of w and b, whose gradients are that part. It is computed in double
    precision, in which 1e-100 isn't 0.
    """
    signal, inputs = draw_sequences(batch, length, torch.Generator().manual_seed(1))
    w, u, b, v, c = (weight.detach().double().requires_grad_() for weight in weights)
    w_first, b_first = (weight.detach().clone().requires_grad_() for weight in (w, b))
    inputs = inputs.double()[:, None]
    states = Recurrence.apply(torch.cat([w_first * inputs[:1] + b_first, w * inputs[1:] + b]), u)
    loss = F.softplus(-(v * states + c) * signal).mean(dim=1).sum()
    *rest, in_w, in_b = torch.autograd.grad(loss, (w, u, b, v, c, w_first, b_first))
    rest[0], rest[2] = rest[0] + in_w, rest[2] + in_b
    return torch.stack([torch.cat(part, dim=1).norm(dim=1) for part in (rest, rest[:3], [in_w, in_b])])


def gradients_of_larger(length: int, seed: int) -> dict[str, Float[Tensor, "3 1"]]:
    """The same for an RNN with a state of 64 numbers, which learns to name the first of `length` symbols."""
    torch.manual_seed(seed)
    symbols, rnn = nn.Embedding(SYMBOLS, 32), nn.RNN(32, 64, batch_first=True)
    out = nn.Linear(64, SYMBOLS)
    optimizer = torch.optim.Adam([*symbols.parameters(), *rnn.parameters(), *out.parameters()], lr=2e-3)
    found = {}
    for step in range(max(AT_STEPS) + 1):
        words = torch.randint(SYMBOLS, (32, length))
        symbols_first, rnn_first = copies = nn.ModuleList([copy.deepcopy(symbols), copy.deepcopy(rnn)])
        _, state = rnn_first(symbols_first(words[:, :1]))
        _, state = rnn(symbols(words[:, 1:]), state)
        optimizer.zero_grad()
        F.cross_entropy(out(state[0]), words[:, 0]).backward()
        recurrent = [*symbols.parameters(), *rnn.parameters()]
        for weight, weight_first in zip(recurrent, copies.parameters(), strict=True):
            weight.grad += weight_first.grad
        if step in AT_STEPS:
            groups = ([*recurrent, *out.parameters()], recurrent, list(copies.parameters()))
            norms = [torch.stack([weight.grad.norm() for weight in group]).norm() for group in groups]
            found[f"step {step}"] = torch.stack(norms)[:, None]
        optimizer.step()
    return found

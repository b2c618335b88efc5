"""The exercises of lesson 11: the sinusoidal encoding and its test, and rotary position embeddings."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.layers import positions
from course_lib.teaching.exercises import (
    ByHand,
    PlainExercise,
    TensorExercise,
    TestExercise,
    gaussian,
    known_mistakes,
    wrong_only_at,
)
from lessons.l11_positions import solutions

BASE = positions.BASE


def angles_of(n: int, frequencies: Tensor, first: float = 0.0) -> Tensor:
    return (torch.arange(n) + first)[:, None] * frequencies


def frequencies_of(width: int, *, base: float = BASE) -> Tensor:
    """10000^(-2i/width) for i = 0, 1, …"""
    return base ** (-torch.arange(0, width, 2) / width)


def interleave(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack([first, second], dim=-1).flatten(-2)


def waves(angles: Tensor) -> Tensor:
    return interleave(angles.sin(), angles.cos())


def counts(n: int, d_model: int) -> Tensor:
    return torch.arange(n, dtype=torch.float32)[:, None].expand(-1, d_model)


def sinusoids_with(n: int, d_model: int, *, base: float = BASE, first: float = 0.0) -> Tensor:
    return waves(angles_of(n, frequencies_of(d_model, base=base), first))


def of_angles(change: Callable[[Tensor], Tensor]) -> Callable:
    """A table made from the right angles."""
    return lambda n, d_model: change(positions.angles(n, d_model))


def of_table(change: Callable[[Tensor], Tensor]) -> Callable:
    """The right table, changed."""
    return lambda n, d_model: change(positions.sinusoids(n, d_model))


in_halves = of_angles(lambda angles: torch.cat([angles.sin(), angles.cos()], dim=-1))
cosine_first = of_angles(lambda angles: interleave(angles.cos(), angles.sin()))


SINUSOIDS = PlainExercise(
    name="sinusoids",
    lesson="positions",
    inputs=("n", "d_model"),
    reference=solutions.sinusoids,
    by_hand=ByHand(
        {"n": 2, "d_model": 4},
        [[0.0, 1.0, 0.0, 1.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]],
        "At position 0 every angle is 0, so each pair is sin 0 = 0 and cos 0 = 1. At position 1 the angles "
        "are 1 and 0.01, so the row is sin 1 = 0.84, cos 1 = 0.54, sin 0.01 = 0.01, cos 0.01 = 1.00.",
    ),
    # The long table has only two frequencies: with more, right answers differ by rounding errors.
    others=(lambda: (5, 8), lambda: (1, 6), lambda: (4, 2), lambda: (12, 64), lambda: (150, 4)),
    slips=known_mistakes(solutions.sinusoids),
)


def sinusoids_at(steps: Tensor, d_model: int) -> Tensor:
    return waves(steps[:, None] * frequencies_of(d_model))


def random_rows(n: int, d_model: int) -> Tensor:
    return torch.randn(n, d_model, generator=torch.Generator().manual_seed(0))


def steps_back(n: int, d_model: int) -> Tensor:
    """0, 1, 2, 3, 2, 3, 4, 5, 4, …: neighbours differ by one step, words two apart by two or by none."""
    steps = torch.ones(n)
    steps[0], steps[4::4] = 0, -1
    return sinusoids_at(steps.cumsum(0), d_model)


def quarter_turns(n: int, d_model: int) -> Tensor:
    """Offsets of 1 and 3 both give a product of 0."""
    return waves(angles_of(n, torch.full((d_model // 2,), math.pi / 2)))


def slower_when_longer(n: int, d_model: int) -> Tensor:
    """Correct within one text, but the products change with its length."""
    return sinusoids_at(torch.arange(n) * (0.5 + 10 / n), d_model)


def faster_from_12(n: int, d_model: int) -> Tensor:
    steps = torch.arange(n)
    return sinusoids_at(torch.where(steps < 12, steps, 2 * steps - 12), d_model)


def careful_test(encoding: Callable) -> None:
    short, long = encoding(8, 16), encoding(30, 16)
    products = long @ long.T
    torch.testing.assert_close(products[:8, :8], short @ short.T, rtol=0, atol=3e-3)
    for offset in range(30):
        diagonal = products.diagonal(offset)
        assert torch.allclose(diagonal, diagonal[0].expand_as(diagonal), atol=1e-3)
    assert len({round(float(products[0, offset]), 2) for offset in range(4)}) == 4


TEST_OFFSETS = TestExercise(
    name="test_offsets",
    lesson="positions",
    inputs={"encoding": "a function"},
    of=SINUSOIDS,
    what="encoding",
    seconds=15.0,  # a loop over all pairs of rows, in every implementation, takes several seconds
    accepts={
        "with all sines first": in_halves,
        "with the cosine first": cosine_first,
        "with 500 instead of 10000": lambda n, d_model: sinusoids_with(n, d_model, base=500.0),
        "with rows of twice the norm": of_table(lambda table: 2 * table),
        "with frequencies three times as high": lambda n, d_model: sinusoids_at(3 * torch.arange(n), d_model),
        "with positions counted from 1": lambda n, d_model: sinusoids_with(n, d_model, first=1.0),
        "with another first position for each length": lambda n, d_model: sinusoids_with(n, d_model, first=n),
    },
    rejects={
        "sin-only": "has sines but no cosines",
        "own-frequencies": "gives the sine and the cosine of a pair different frequencies",
        "grows": "writes the position itself into every column",
        "same-rows": "gives every position the same row",
    },
    wrong={
        "fills the table with random numbers": random_rows,
        "goes one position back at every fourth row": steps_back,
        "rotates every pair by a quarter turn from one position to the next": quarter_turns,
        "uses lower frequencies for larger n": slower_when_longer,
        "doubles the frequencies from position 12 on": faster_from_12,
        "has rows that grow by 0.2% with each position": lambda n, d_model: (
            positions.sinusoids(n, d_model) * (1 + 0.002 * torch.arange(n)[:, None])
        ),
        "is wrong only in row 0": wrong_only_at(0, positions.sinusoids, counts),
    },
    reference=careful_test,
)


ROTATE = TensorExercise(
    name="rotate",
    lesson="positions",
    inputs={"features": gaussian("*batch n w"), "angles": gaussian("n pairs")},
    returns={"rotated": "*batch n w"},
    sizes={"batch": (2, 3), "n": 5, "w": 8, "pairs": 4},
    other_sizes=(
        {"batch": (), "n": 3, "w": 6, "pairs": 3},
        {"batch": (2,), "n": 4, "w": 4, "pairs": 2},
        {"batch": (1,), "n": 3, "w": 4, "pairs": 2},
        {"batch": (), "n": 1, "w": 2, "pairs": 1},
    ),
    # features that aren't contiguous, as in the lesson's next cell
    others=(
        lambda: (torch.arange(12.0).reshape(1, 4, 3).mT, torch.arange(6.0).reshape(3, 2)),
        lambda: (torch.arange(48.0).reshape(2, 3, 2, 4).transpose(1, 2), torch.arange(6.0).reshape(3, 2)),
    ),
    large=(4.0,),
    reference=solutions.rotate,
    by_hand=ByHand(
        inputs={
            "features": [[1.0, 0.0, 5.0, 7.0], [0.0, 2.0, 3.0, 0.0]],
            "angles": [[math.pi / 2, 0.0], [math.pi / 2, math.pi]],
        },
        answer={"rotated": [[0.0, 1.0, 5.0, 7.0], [-2.0, 0.0, -3.0, 0.0]]},
        says="A quarter turn takes (1, 0) to (0, 1), and (0, 2) to (−2, 0). An angle of 0 leaves (5, 7) as "
        "it is. Half a turn (π) takes (3, 0) to (−3, 0).",
    ),
    slips=known_mistakes(solutions.rotate),
)

EXERCISES = (SINUSOIDS, TEST_OFFSETS, ROTATE)

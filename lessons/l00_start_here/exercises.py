"""The exercise of lesson 00, which shows how a check works."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, Slip, TensorExercise, gaussian


def doubled_where(condition: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A function that doubles some numbers; `condition` gets the index of each."""

    def double_some(numbers: Tensor) -> Tensor:
        return torch.where(condition(torch.arange(len(numbers))), 2 * numbers, numbers)

    return double_some


DOUBLE_IT = TensorExercise(
    name="double_it",
    lesson="start_here",
    inputs={"numbers": gaussian("n")},
    returns={"doubled": "n"},
    sizes={"n": 5},
    reference=lambda numbers: 2 * numbers,
    trains=False,
    by_hand=ByHand(
        inputs={"numbers": [1.0, 2.0, 3.0]},
        answer={"doubled": [2.0, 4.0, 6.0]},
        says="Twice 1 is 2, twice 2 is 4, twice 3 is 6.",
    ),
    slips=(
        Slip(
            "squares",
            lambda numbers: numbers**2,
            "each number is squared, that is, multiplied by itself. Multiply it by 2 instead.",
        ),
        Slip(
            "power-of-two",
            lambda numbers: 2**numbers,
            "2 is raised to the power of each number. `**` computes a power; `*` multiplies.",
        ),
        Slip("adds-two", lambda numbers: numbers + 2, "2 is added to each number. Multiply by 2 instead."),
        Slip("unchanged", lambda numbers: numbers, "the numbers are returned unchanged."),
        Slip("halves", lambda numbers: numbers / 2, "the numbers are halved. `/` divides; `*` multiplies."),
        Slip("triples", lambda numbers: 3 * numbers, "the numbers are tripled. Multiply by 2 instead."),
        Slip("doubles-twice", lambda numbers: 4 * numbers, "the numbers are doubled twice. Once is enough."),
        Slip(
            "repeats",
            lambda numbers: torch.cat([numbers, numbers]),
            "the numbers are returned twice, one copy after the other, instead of being doubled. `* 2` "
            "repeats a Python list, but it doubles each number in a tensor.",
        ),
        Slip(
            "sum",
            lambda numbers: 2 * numbers.sum(),
            "the numbers are added up. Return each number of the input, doubled.",
        ),
        Slip(
            "mean",
            lambda numbers: 2 * numbers.mean(),
            "the mean of the numbers is doubled. Return each number of the input, doubled.",
        ),
        Slip(
            "first-number",
            lambda numbers: 2 * numbers[0],
            "only the first number is returned. Does a `return` inside a loop end the function too early?",
        ),
        Slip(
            "last-number",
            lambda numbers: 2 * numbers[-1],
            "only the last number is returned. Does each step of a loop overwrite the previous result?",
        ),
        Slip(
            "worked-example",
            lambda numbers: torch.tensor([2.0, 4.0, 6.0]),
            "the answer to the worked example is returned for every input. Compute it from `numbers`.",
        ),
        Slip(
            "adds-index",
            lambda numbers: numbers + torch.arange(len(numbers)),
            "each number's index is added to it. Add the number itself, or multiply by 2.",
        ),
        Slip(
            "doubles-index",
            lambda numbers: 2.0 * torch.arange(len(numbers)),
            "the indices are doubled: `range` and `enumerate` give them first. Double the numbers instead.",
        ),
        Slip(
            "sorted",
            lambda numbers: 2 * numbers.sort().values,
            "the numbers are doubled, but also sorted. Keep their order.",
        ),
        Slip(
            "reversed",
            lambda numbers: 2 * numbers.flip(0),
            "the numbers are doubled, but in reverse order.",
        ),
        Slip(
            "dot-product",
            lambda numbers: numbers @ numbers,
            "the squares of the numbers are added up: `@` is a dot product. `*` multiplies.",
        ),
        Slip(
            "times-length",
            lambda numbers: len(numbers) * numbers,
            "each number is multiplied by the length of the tensor. Multiply by 2 instead.",
        ),
        Slip(
            "negative-missing",
            lambda numbers: torch.where(numbers > 0, 2 * numbers, numbers),
            "negative numbers aren't doubled. Twice −1 is −2.",
        ),
        Slip(
            "running-sum",
            lambda numbers: numbers.cumsum(0),
            "the numbers are added up one after the other. Double each one separately.",
        ),
        Slip("adds-one", lambda numbers: numbers + 1, "1 is added to each number. Multiply by 2 instead."),
        Slip(
            "absolute",
            lambda numbers: 2 * numbers.abs(),
            "negative numbers become positive. Twice −1 is −2.",
        ),
        Slip(
            "positive-only",
            lambda numbers: 2 * numbers.clamp(min=0),
            "negative numbers become 0. Twice −1 is −2.",
        ),
        Slip(
            "rounds",
            lambda numbers: 2 * numbers.round(),
            "the numbers are rounded before they are doubled. Keep their decimals.",
        ),
        Slip(
            "rounds-result",
            lambda numbers: (2 * numbers).round(),
            "the results are rounded to whole numbers. Keep their decimals.",
        ),
        Slip(
            "stacked",
            lambda numbers: torch.stack([numbers, numbers]),
            "the numbers are returned twice, as two rows, instead of being doubled.",
        ),
        Slip(
            "rounds-down",
            lambda numbers: 2 * numbers.trunc(),
            "the decimals are lost before the numbers are doubled: `int(...)` and `//` drop them.",
        ),
        Slip(
            "first-only",
            doubled_where(lambda index: index == 0),
            "only the first number is doubled. Double all of them.",
        ),
        Slip(
            "last-missing",
            doubled_where(lambda index: index < len(index) - 1),
            "the last number isn't doubled. Does a loop end one step too early?",
        ),
        Slip(
            "first-missing",
            doubled_where(lambda index: index > 0),
            "the first number isn't doubled. Python counts from 0.",
        ),
    ),
)

EXERCISES = (DOUBLE_IT,)

"""Answers to the exercise, of every form that a check has to cope with.

WRONG has wrong answers, each with the slip that its verdict must name (None: no slip), or names and numbers
that it must contain. RIGHT has answers written differently from the reference.
"""

import sys
import time

import numpy as np
import torch


def forgot_return(numbers):
    numbers * 2


def only_dots(numbers): ...


def in_place(numbers):
    numbers *= 2
    return numbers


def in_place_and_squared(numbers):
    numbers.mul_(numbers)
    return numbers


def leaves(numbers):
    sys.exit("bye")


def calls_itself(numbers):
    return calls_itself(numbers)


def misspelt(numbers):
    return 2 * nubmers  # noqa: F821


def own_error(numbers):
    raise KeyError("no such thing")


def hides_everything(numbers):
    raise NotImplementedError("something else")


def never_ends(numbers):
    while True:
        numbers = numbers + 0


def never_ends_and_holds_on(numbers):
    until = time.monotonic() + 0.6
    while time.monotonic() < until:
        try:
            while True:
                pass
        except BaseException:
            continue
    return 2 * numbers


def yields(numbers):
    yield 2 * numbers


async def waits(numbers):
    return 2 * numbers


WRONG = {
    "double_it": [
        (forgot_return, "returns-none"),
        (only_dots, "returns-none"),
        (in_place, "in-place", "`numbers`"),
        (in_place_and_squared, "squares", "`numbers`"),
        (lambda numbers: np.array(numbers) * 2, "numpy"),
        (lambda numbers: [2 * number.item() for number in numbers], "python-numbers"),
        (lambda numbers: [2 * number for number in numbers], "python-numbers"),
        (lambda numbers: numbers.double() * 2, "dtype", "torch.float64"),
        (lambda numbers: (numbers * 2).int(), "dtype", "torch.int32"),
        (lambda numbers: numbers.numpy() ** 2, "squares", "NumPy"),
        (lambda numbers: (2 * numbers,), "tuple"),
        (lambda numbers: (numbers, 2 * numbers), "tuple"),
        (lambda numbers: "2 * numbers", "wrong-type", "`doubled`"),
        (lambda numbers: 2 * numbers[:, None], "wrong-shape"),
        (lambda numbers: (2 * numbers).squeeze(), "wrong-shape"),
        (lambda numbers: 2 * numbers / 0 * 0, "not-finite"),
        (lambda numbers: 2 * numbers + 0.001, None),
        (lambda numbers: torch.tensor([2.0, 4.0, 6.0]) if len(numbers) == 3 else 5 * numbers, None),
        (
            lambda numbers, factor: factor * numbers,
            "parameters",
            "`double_it(numbers)`",
            "`(numbers, factor)`",
        ),
        (lambda: 2, "parameters"),
        (2.0, "not-a-function"),
        (torch.ones(3), "not-a-function"),
        (leaves, "exit", '`sys.exit("bye")`'),
        (calls_itself, "raises", "RecursionError"),
        (misspelt, "raises", "return 2 * nubmers", "NameError"),
        (own_error, "raises", "KeyError: 'no such thing'"),
        (hides_everything, "raises", "NotImplementedError: something else"),
        (never_ends, "too-slow"),
        (never_ends_and_holds_on, "too-slow"),
        (yields, "wrong-type"),
        (waits, "wrong-type"),
        (lambda numbers: 2 * numbers + 0j, "dtype"),
        (lambda numbers: numbers + numbers + numbers, "triples", "[2, 4, 6]", "[3, 6, 9]"),
    ]
}


def loop(numbers):
    doubled = torch.zeros(len(numbers))
    for i, number in enumerate(numbers):
        doubled[i] = number + number
    return doubled


class Doubler:
    def __call__(self, *numbers):
        return numbers[0] + numbers[0]


RIGHT = {
    "double_it": [
        lambda numbers: 2 * numbers,
        loop,
        lambda numbers: torch.stack([2 * number for number in numbers]),
        lambda numbers: torch.tensor([2 * number for number in numbers.tolist()]),
        lambda numbers: numbers.clone().requires_grad_() * 2,
        Doubler(),
    ]
}

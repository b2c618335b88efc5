"""Answers to the exercises of lesson 00, as learners write them: wrong, with what must be said, and right."""

import sys
import time

import numpy as np
import torch


def power(numbers):
    return numbers**2


def times_itself(numbers):
    return torch.mul(numbers, numbers)


def plus_two(numbers):
    return numbers + 2


def forgot_to_do_anything(numbers):
    2 * numbers
    return numbers


def divided(numbers):
    return numbers / 2


def forgot_return(numbers):
    numbers * 2


def only_dots(numbers): ...


def in_place(numbers):
    numbers *= 2
    return numbers


def in_place_and_squared(numbers):
    numbers.mul_(numbers)
    return numbers


def with_numpy(numbers):
    return np.array(numbers) * 2


def as_list(numbers):
    return [2 * number.item() for number in numbers]


def as_list_of_tensors(numbers):
    return [2 * number for number in numbers]


def as_double(numbers):
    return numbers.double() * 2


def as_whole_numbers(numbers):
    return (numbers * 2).int()


def squared_with_numpy(numbers):
    return numbers.numpy() ** 2


def trailing_comma(numbers):
    return (2 * numbers,)


def two_results(numbers):
    return numbers, 2 * numbers


def text(numbers):
    return "2 * numbers"


def a_column(numbers):
    return 2 * numbers[:, None]


def one_number(numbers):
    return 2 * numbers.sum()


def squeezed(numbers):
    return (2 * numbers).squeeze()


def not_a_number(numbers):
    return 2 * numbers / 0 * 0


def a_bit_off(numbers):
    return 2 * numbers + 0.001


def only_the_worked_case(numbers):
    return torch.tensor([2.0, 4.0, 6.0]) if len(numbers) == 3 else 3 * numbers


def two_parameters(numbers, factor):
    return factor * numbers


def no_parameters():
    return 2


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


def complex_numbers(numbers):
    return 2 * numbers + 0j


def thrice(numbers):
    return 3 * numbers


WRONG = {
    "double_it": [
        (power, "squares"),
        (times_itself, "squares"),
        (plus_two, "adds-two"),
        (forgot_to_do_anything, "unchanged"),
        (divided, "halves"),
        (forgot_return, "returns-none"),
        (forgot_return, "did you forget `return`?"),
        (only_dots, "returns-none"),
        (in_place, "in-place"),
        (in_place, "It changed its input `numbers` in place"),
        (in_place_and_squared, "squares"),
        (in_place_and_squared, "Besides: It changed its input `numbers` in place"),
        (with_numpy, "numpy"),
        (with_numpy, "The numbers are right"),
        (as_list, "python-numbers"),
        (as_list, "a Python list"),
        (as_list_of_tensors, "python-numbers"),
        (as_double, "dtype"),
        (as_double, "`doubled` is torch.float64"),
        (as_whole_numbers, "dtype"),
        (as_whole_numbers, "torch.int32"),
        (squared_with_numpy, "squares"),
        (squared_with_numpy, "Besides: `doubled` is a NumPy array"),
        (trailing_comma, "tuple"),
        (trailing_comma, "A comma at the end"),
        (two_results, "tuple"),
        (text, "wrong-type"),
        (text, "`doubled` is a str"),
        (a_column, "wrong-shape"),
        (a_column, "an axis of size 1 too many"),
        (one_number, "wrong-shape"),
        (squeezed, "An axis of size 1 was lost"),
        (not_a_number, "not-finite"),
        (a_bit_off, "not what comes out by hand"),
        (only_the_worked_case, "not as in the reference"),
        (two_parameters, "parameters"),
        (two_parameters, "Wanted: `double_it(numbers)`. Yours takes `(numbers, factor)`."),
        (no_parameters, "parameters"),
        (2.0, "not-a-function"),
        (torch.ones(3), "without brackets"),
        (leaves, "exit"),
        (leaves, '`sys.exit("bye")`'),
        (calls_itself, "raises"),
        (calls_itself, "calls itself without end"),
        (misspelt, "raises"),
        (misspelt, "return 2 * nubmers"),
        (misspelt, "Is the name spelled right"),
        (own_error, "KeyError: 'no such thing'"),
        (hides_everything, "NotImplementedError: something else"),
        (never_ends, "too-slow"),
        (never_ends_and_holds_on, "too-slow"),
        (yields, "wrong-type"),
        (waits, "without `async`"),
        (complex_numbers, "complex numbers"),
        (thrice, "expected\n  doubled = [2, 4, 6]\nyours\n  doubled = [3, 6, 9]"),
    ]
}


def star(numbers):
    return 2 * numbers


def loop(numbers):
    doubled = torch.zeros(len(numbers))
    for i, number in enumerate(numbers):
        doubled[i] = number + number
    return doubled


def stacked(numbers):
    return torch.stack([2 * number for number in numbers])


def with_gradient(numbers):
    return numbers.clone().requires_grad_() * 2


class Doubler:
    def __call__(self, *numbers):
        return numbers[0] + numbers[0]


RIGHT = {"double_it": [star, loop, stacked, with_gradient, Doubler()]}

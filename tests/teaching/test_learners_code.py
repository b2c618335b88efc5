"""What is known of a learner's function from its code alone."""

from __future__ import annotations

import math

from course_lib.teaching.learners_code import notebook_numbers, same_code
from course_lib.text.special import BOS, EOS

LOOP = """
def smallest(numbers):
    for number in numbers:
        if math.sqrt(number) > {limit}:
            break
        number = math.sqrt(number)
    return number
"""


def made(source: str, space: dict):
    exec(source, space)
    return space["smallest"]


def test_a_function_with_a_loop_is_known_again_in_another_module():
    """`math.sqrt` is called by other instructions where `math` is a name of the same file: jumps differ."""

    def smallest(numbers):
        for number in numbers:
            if math.sqrt(number) > 2:
                break
            number = math.sqrt(number)
        return number

    assert same_code(made(LOOP.format(limit=2), {"math": math}), smallest)
    assert not same_code(made(LOOP.format(limit=3), {"math": math}), smallest)


def test_tokens_are_no_numbers_left_over():
    def ends(words):
        return [BOS, *words, EOS, width]  # noqa: F821

    ends.__globals__["width"] = 3
    assert notebook_numbers(ends) == ["width"]

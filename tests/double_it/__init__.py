"""The simplest exercise there could be: what a check does with any exercise, the tests show with this one.

It is the tests' own, and belongs to lesson 00 as far as the catalogue knows: `find_exercise` finds it.
"""

import torch  # noqa: F401  (the mistakes use it)

from course_lib.teaching.exercises import ByHand, TensorExercise, gaussian, known_mistakes
from course_lib.teaching.exercises.catalogue import exercise_topics, load_exercises


def double_it(numbers):
    """Return a new tensor with every number of the tensor `numbers` doubled."""
    # solution
    return 2 * numbers
    # end solution


DOUBLE_IT = TensorExercise(
    name="double_it",
    lesson="start_here",
    inputs={"numbers": gaussian("n")},
    returns={"doubled": "n"},
    sizes={"n": 5},
    reference=double_it,
    trains=False,
    by_hand=ByHand(
        inputs={"numbers": [1.0, 2.0, 3.0]},
        answer={"doubled": [2.0, 4.0, 6.0]},
        says="Twice 1 is 2, twice 2 is 4, twice 3 is 6.",
    ),
    slips=known_mistakes(double_it),
)

exercise_topics()[DOUBLE_IT.name] = DOUBLE_IT.lesson
load_exercises(DOUBLE_IT.lesson)[DOUBLE_IT.name] = DOUBLE_IT

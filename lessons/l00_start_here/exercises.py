"""The exercise of lesson 00, which shows how a check works."""

from __future__ import annotations

from course_lib.teaching.exercises import ByHand, TensorExercise, gaussian, known_mistakes
from lessons.l00_start_here import solutions

DOUBLE_IT = TensorExercise(
    name="double_it",
    lesson="start_here",
    inputs={"numbers": gaussian("n")},
    returns={"doubled": "n"},
    sizes={"n": 5},
    reference=solutions.double_it,
    trains=False,
    by_hand=ByHand(
        inputs={"numbers": [1.0, 2.0, 3.0]},
        answer={"doubled": [2.0, 4.0, 6.0]},
        says="Twice 1 is 2, twice 2 is 4, twice 3 is 6.",
    ),
    slips=known_mistakes(solutions.double_it),
)

EXERCISES = (DOUBLE_IT,)

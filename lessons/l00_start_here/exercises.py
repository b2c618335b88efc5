"""The exercise of lesson 00, which shows how a check works."""

from __future__ import annotations

from course_lib.teaching.exercises import ByHand, Slip, TensorExercise, gaussian

DOUBLE_IT = TensorExercise(
    name="double_it",
    lesson="start_here",
    inputs={"numbers": gaussian("n")},
    returns={"doubled": "n"},
    sizes={"n": 5},
    reference=lambda numbers: 2 * numbers,
    by_hand=ByHand(
        inputs={"numbers": [1.0, 2.0, 3.0]},
        answer={"doubled": [2.0, 4.0, 6.0]},
        says="Twice 1 is 2, twice 2 is 4, twice 3 is 6.",
    ),
    slips=(
        Slip("squares", lambda numbers: numbers**2, "the numbers are squared. `**` is power, `*` is times."),
        Slip("adds-two", lambda numbers: numbers + 2, "2 is added. To double is to multiply by 2."),
        Slip("unchanged", lambda numbers: numbers, "the numbers come back as they went in."),
        Slip("halves", lambda numbers: numbers / 2, "the numbers are halved. `/` divides, `*` multiplies."),
    ),
)

EXERCISES = (DOUBLE_IT,)

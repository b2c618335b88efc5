"""The exercise of lesson 05: a convolution over words."""

from __future__ import annotations

from course_lib.teaching.exercises import ByHand, TensorExercise, gaussian, known_mistakes
from lessons.l05_distance_between_words import solutions

LESSON = "distance_between_words"


CONVOLVE_WORDS = TensorExercise(
    name="convolve",
    lesson=LESSON,
    inputs={"words": gaussian("n c"), "kernel": gaussian("o c k")},
    returns={"outputs": "n-k+1 o"},
    sizes={"n": 8, "k": 3, "c": 4, "o": 5},
    other_sizes=(
        {"n": 7, "k": 5, "c": 3, "o": 2},
        {"n": 4, "k": 4, "c": 4, "o": 4},
        {"n": 6, "k": 2, "c": 2, "o": 3},
        {"n": 1, "k": 1, "c": 1, "o": 1},
    ),
    large=(),
    reference=solutions.convolve,
    answered_by=("torch.nn.Conv1d", "torch.nn.functional.conv1d", "torch.nn.functional.conv2d"),
    by_hand=ByHand(
        inputs={
            "words": [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]],
            "kernel": [[[1.0, 2.0], [0.0, 10.0]]],
        },
        answer={"outputs": [[11.0], [4.0], [32.0]]},
        says="The width is 2. The matrix of the first position, `kernel[:, :, 0]`, is [[1, 0]], and that of "
        "the second, `kernel[:, :, 1]`, is [[2, 10]]. The three windows give 1 · 1 + 1 · 10 = 11, "
        "2 · 2 = 4 and 2 · 1 + 3 · 10 = 32.",
    ),
    slips=known_mistakes(solutions.convolve),
)

EXERCISES = (CONVOLVE_WORDS,)

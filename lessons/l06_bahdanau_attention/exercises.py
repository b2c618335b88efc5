"""The exercises of lesson 06: additive attention, and forced attention."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    TensorExercise,
    gaussian,
    known_mistakes,
)
from course_lib.teaching.exercises.answer import to_plain
from course_lib.teaching.softmax_slips import softmax_slips
from lessons.l06_bahdanau_attention import solutions
from lessons.l06_bahdanau_attention.own_attention import decode_steps, up_to_end

TANH_1 = 0.761594  # tanh(1)
WEIGHTS = {"w_state": gaussian("d s"), "w_annotation": gaussian("d a"), "v": gaussian("d")}


def blend(weights: Tensor, annotations: Tensor) -> tuple[Tensor, Tensor]:
    return (weights[:, None] @ annotations)[:, 0], weights


def batch_scores(s: Tensor, h: Tensor, w: Tensor, u: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((s @ w.T)[:, None] + h @ u.T) @ v


ADDITIVE_ATTENTION = TensorExercise(
    name="additive_attention",
    lesson="bahdanau_attention",
    inputs={"states": gaussian("b s"), "annotations": gaussian("b n a"), **WEIGHTS},
    returns={"context": "b a", "weights": "b n"},
    sizes={"b": 2, "s": 3, "n": 5, "a": 4, "d": 7},
    reference=solutions.additive_attention,
    variations=("large", "equal", "zero"),  # tiny: the attention is uniform, up to rounding
    large=(4.0, 14.0, 200.0),  # tanh keeps the scores small: only the last makes some larger than 88
    by_hand=ByHand(
        inputs={
            "states": [[1.0], [0.0]],
            "annotations": [[[0.0], [1.0]], [[4.0], [4.0]]],
            "w_state": [[1.0]],
            "w_annotation": [[-1.0]],
            "v": [2.0],
        },
        answer={
            "context": [[1 / (1 + 2.718281828 ** (2 * TANH_1))], [4.0]],
            "weights": [
                [1 - 1 / (1 + 2.718281828 ** (2 * TANH_1)), 1 / (1 + 2.718281828 ** (2 * TANH_1))],
                [0.5, 0.5],
            ],
        },
        says="In the first sentence the scores are 1.523 and 0, so the attention weights are 0.821 and "
        "0.179, and the context is 0.821 · 0 + 0.179 · 1 = 0.179. In the second, both words have the same "
        "annotation, 4, so the attention weights are 0.5 and 0.5, and the context is 4.",
    ),
    invariants=(
        Invariant("the attention weights of each sentence sum to 1", lambda it: it.weights.sum(-1), equals=1),
        Invariant("no attention weight is negative", lambda it: it.weights.clamp(max=0), equals=0),
    ),
    slips=(
        *known_mistakes(solutions.additive_attention),
        *softmax_slips(lambda *given: (batch_scores(*given), given[1]), blend, "`annotations`"),
    ),
)


THIRSTY, COLD = (f"the cat drank the water because it was {adjective}" for adjective in ("thirsty", "cold"))
SOURCE_TOKENS = (*THIRSTY.split(), "</s>")
TRANSLATION = "le chat a bu l' eau parce qu' il avait soif"
TURNED = {THIRSTY: TRANSLATION.replace("il", "elle"), COLD: TRANSLATION.replace("avait soif", "était froid")}
TARGET_TOKENS = (*TRANSLATION.split(), "</s>")


def translate_forced(step: int, position: int, sentence: str = THIRSTY) -> str:
    """The translation of the shipped system if all the weight of one step is on one position."""
    return " ".join(up_to_end(decode_steps(sentence, at=(step, position))["words"]))


def read_pair(answer: object) -> list[int] | None:
    """Two integers, in whatever container; None if the answer is something else."""
    pair = to_plain(answer)
    numbers = [to_plain(number) for number in pair] if isinstance(pair, list) else []
    return numbers if [type(number) for number in numbers] == [int, int] else None


def is_a_step_and_a_position(given: tuple, answer: object) -> str:
    if (pair := read_pair(answer)) is None:
        return "Return two integers: (step, position)."
    if pair[0] not in range(len(TARGET_TOKENS)) or pair[1] not in range(len(SOURCE_TOKENS)):
        return (
            f"There are steps 0 to {len(TARGET_TOKENS) - 1} and positions 0 to {len(SOURCE_TOKENS) - 1}; the "
            "last position is the end-of-sentence token."
        )
    return ""


def turns_both_around(given: tuple, answer: object) -> str:
    def is_right(step: int, position: int) -> bool:
        there = position < len(SOURCE_TOKENS)
        return there and all(translate_forced(step, position, text) == TURNED[text] for text in TURNED)

    step, position = read_pair(answer)
    if is_right(step, position):
        return ""
    advice = "The step is right; try other positions. Each sentence should get the other's pronoun."
    if is_right(position, step):
        advice = "Return the step first, then the position."
    elif TARGET_TOKENS[step] != "il":
        advice = "Choose the step that generates “il”. Steps and positions are counted from 0."
    now = " and ".join(f"“{translate_forced(step, position, text)}”" for text in TURNED)
    return (
        f"Step {step} generates “{TARGET_TOKENS[step]}” in the thirsty sentence. With all its attention on "
        f"position {position}, “{SOURCE_TOKENS[position]}”, the translations are {now}. {advice}"
    )


MAKE_IT_SHE = PlainExercise(
    name="make_it_she",
    lesson="bahdanau_attention",
    inputs=(),
    by_hand=ByHand({}, (8, 5), "Step 8 generates the pronoun; position 5 is “because”."),
    others=(),
    reference=solutions.make_it_she,
    design=True,
    demands=(is_a_step_and_a_position, turns_both_around),
)

EXERCISES = (ADDITIVE_ATTENTION, MAKE_IT_SHE)

"""The exercises of lesson 06: additive scores, additive attention, and forced attention."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.scores import additive
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    Slip,
    TensorExercise,
    gaussian,
    known_mistakes,
)
from course_lib.teaching.exercises.answer import to_plain
from course_lib.teaching.softmax_slips import softmax_slips
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import load_shipped
from lessons.l06_bahdanau_attention import solutions

TANH_1 = 0.761594  # tanh(1)
WEIGHTS = {"w_state": gaussian("d s"), "w_annotation": gaussian("d a"), "v": gaussian("d")}


def additive_scores(
    state: Tensor, annotations: Tensor, w_state: Tensor, w_annotation: Tensor, v: Tensor
) -> Tensor:
    return additive(state[None], annotations, w_query=w_state, w_key=w_annotation, v=v)[0]


WRONG_SCORES = {  # of the projected state, the projected annotations and v
    "tanh-after-v": (
        lambda p, k, v: torch.tanh((p + k) @ v),
        "the tanh is applied after the product with `v`. Apply it to the sum, before you multiply by `v`.",
    ),
    "no-v": (
        lambda p, k, v: torch.tanh(p + k).sum(-1),
        "the components of the hidden layer are summed without `v`. Take the dot product with `v` instead.",
    ),
    "mean-without-v": (
        lambda p, k, v: torch.tanh(p + k).mean(-1),
        "the components of the hidden layer are averaged without `v`. Take the dot product with `v` instead.",
    ),
    "exp-activation": (
        lambda p, k, v: torch.exp(p + k) @ v,
        "the activation function is an exponential. The additive score uses tanh. The exponential belongs to "
        "the softmax.",
    ),
    "v-inside": (
        lambda p, k, v: torch.tanh((p + k) * v).sum(-1),
        "`v` is multiplied in before the tanh. Apply tanh to the sum alone, then take the dot product with "
        "`v`.",
    ),
    "sigmoid": (
        lambda p, k, v: torch.sigmoid(p + k) @ v,
        "the activation function is a sigmoid. The additive score uses tanh, which ranges from −1 to 1.",
    ),
    "relu": (
        lambda p, k, v: torch.relu(p + k) @ v,
        "the activation function is a ReLU. The additive score uses tanh, which ranges from −1 to 1.",
    ),
    "multiplied": (
        lambda p, k, v: torch.tanh(p * k) @ v,
        "the two projections are multiplied element by element. Add them: that is why this score is called "
        "additive.",
    ),
    "dot-product": (
        lambda p, k, v: (p * k).sum(-1),
        "this is the dot product of the two projections. Add them instead, apply tanh, and multiply by `v`.",
    ),
    "scaled-already": (
        lambda p, k, v: torch.tanh(p + k) @ v / len(v) ** 0.5,
        "the scores are divided by √d. The additive score isn't scaled.",
    ),
    "mean-for-sum": (
        lambda p, k, v: (torch.tanh(p + k) * v).mean(-1),
        "the scores are divided by d: is there a mean where there should be a sum? A dot product is a sum.",
    ),
}
BOTH_TRANSPOSED = (
    "both matrices are used the wrong way round. They have the shape (out, in): multiply by their transpose "
    "from the right, as in `annotations @ w_annotation.T`."
)
ONE_TANH = "Add the two projections first, then apply tanh to the sum."


def score_slips(use: Callable[[Callable], Callable]) -> tuple[Slip, ...]:
    return tuple(Slip(name, use(score), message) for name, (score, message) in WRONG_SCORES.items())


def wrong_scores(score: Callable) -> Callable:
    return lambda s, h, w, u, v: score(w @ s, h @ u.T, v)


ADDITIVE_SCORES = TensorExercise(
    name="additive_scores",
    lesson="bahdanau_attention",
    inputs={"state": gaussian("s"), "annotations": gaussian("n a"), **WEIGHTS},
    returns={"scores": "n"},
    sizes={"s": 3, "n": 5, "a": 4, "d": 6},
    reference=additive_scores,
    variations=("large", "equal", "zero"),  # tanh(x) = 2 · sigmoid(2x) − 1 is inaccurate for tiny x
    by_hand=ByHand(
        inputs={
            "state": [1.0],
            "annotations": [[0.0], [1.0]],
            "w_state": [[1.0]],
            "w_annotation": [[-1.0]],
            "v": [2.0],
        },
        answer={"scores": [2 * TANH_1, 0.0]},
        says="The first word scores 2 · tanh(1 − 0) = 2 · 0.7616 = 1.523, the second 2 · tanh(1 − 1) = 0.",
    ),
    slips=(
        Slip(
            "no-tanh",
            wrong_scores(lambda p, k, v: (p + k) @ v),
            "there is no tanh. Without this nonlinearity the state adds the same number to every score, and "
            "the softmax that follows would cancel it.",
        ),
        Slip(
            "two-tanhs",
            wrong_scores(lambda p, k, v: (p.tanh() + k.tanh()) @ v),
            f"tanh is applied to each projection separately. {ONE_TANH}",
        ),
        Slip(
            "tanh-of-state",
            wrong_scores(lambda p, k, v: (p.tanh() + k) @ v),
            f"tanh is applied to the projected state only. {ONE_TANH}",
        ),
        Slip(
            "tanh-of-annotations",
            wrong_scores(lambda p, k, v: (p + k.tanh()) @ v),
            f"tanh is applied to the projected annotations only. {ONE_TANH}",
        ),
        Slip(
            "state-left-out",
            wrong_scores(lambda p, k, v: k.tanh() @ v),
            "the state has no effect on the scores, so every decoding step would attend to the same "
            "words. Add the projected state inside the tanh.",
        ),
        Slip(
            "softmax-already",
            lambda s, h, w, u, v: additive_scores(s, h, w, u, v).softmax(-1),
            "these are attention weights. Return the scores; the softmax comes in the next exercise.",
        ),
        Slip(
            "log-softmax",
            lambda s, h, w, u, v: additive_scores(s, h, w, u, v).log_softmax(-1),
            "a `log_softmax` is applied to the scores. Return the scores themselves.",
        ),
        Slip(
            "hidden-layer",
            wrong_scores(lambda p, k, v: torch.tanh(p + k)),
            "this is the hidden layer, of width d. Take its dot product with `v` to get one score per word.",
        ),
        Slip(
            "state-unprojected",
            lambda s, h, w, u, v: torch.tanh(s + h @ u.T) @ v,
            "the state is added without `w_state`. Project it to width d first.",
        ),
        Slip(
            "annotations-unprojected",
            lambda s, h, w, u, v: torch.tanh(w @ s + h) @ v,
            "the annotations are added without `w_annotation`. Project them to width d first.",
        ),
        *score_slips(wrong_scores),
        Slip(
            "exp-for-tanh",
            wrong_scores(
                lambda p, k, v: ((p + k).exp() - (-p - k).exp()) / ((p + k).exp() + (-p - k).exp()) @ v
            ),
            "tanh is computed from exponentials, which overflow if the sum is large. Use `torch.tanh`.",
        ),
        Slip(
            "tanh-twice",
            wrong_scores(lambda p, k, v: torch.tanh(torch.tanh(p + k) @ v)),
            "tanh is applied to the scores as well. Apply it once, before you multiply by `v`.",
        ),
        Slip(
            "shifted",
            lambda s, h, w, u, v: additive_scores(s, h, w, u, v) - additive_scores(s, h, w, u, v).max(),
            "the largest score is subtracted from all of them. That belongs to the softmax; return the "
            "scores as they are.",
        ),
        Slip(
            "both-transposed",
            lambda s, h, w, u, v: torch.tanh(s @ w + h @ u) @ v,
            BOTH_TRANSPOSED,
        ),
        Slip(
            "only-one-score",
            lambda s, h, w, u, v: additive_scores(s, h[-1:], w, u, v)[0],
            "only the score of the last word is returned. Collect the scores of all words.",
        ),
        Slip(
            "only-the-first",
            lambda s, h, w, u, v: additive_scores(s, h[:1], w, u, v),
            "only the score of the first word is returned. Is the `return` inside the loop?",
        ),
        Slip(
            "first-as-a-number",
            lambda s, h, w, u, v: additive_scores(s, h[:1], w, u, v)[0],
            "only the score of the first word is returned. Is the `return` inside the loop?",
        ),
        Slip(
            "last-missing",
            lambda s, h, w, u, v: additive_scores(s, h, w, u, v)[:-1],
            "the score of the last word is missing. Does a loop end one word too early?",
        ),
        Slip(
            "words-summed",
            lambda s, h, w, u, v: additive_scores(s, h.sum(0, keepdim=True), w, u, v)[0],
            "the annotations of all words are summed first, which gives a single score. Each word needs a "
            "score of its own.",
        ),
        Slip(
            "words-averaged",
            lambda s, h, w, u, v: additive_scores(s, h.mean(0, keepdim=True), w, u, v)[0],
            "the annotations of all words are averaged first, which gives a single score. Each word needs a "
            "score of its own.",
        ),
        Slip(
            "running-sum",
            lambda s, h, w, u, v: additive_scores(s, h.cumsum(0), w, u, v),
            "each word's score includes the annotations of the words before it. Does a loop keep adding to "
            "the same variable? Use only the word's own annotation.",
        ),
        Slip(
            "running-tanh",
            wrong_scores(lambda p, k, v: run_through(p, k) @ v),
            "each word's score includes the annotations of the words before it. Does a loop overwrite the "
            "projected state? Every word is added to the same one.",
        ),
        Slip(
            "times-v",
            wrong_scores(lambda p, k, v: torch.tanh(p + k) * v),
            "the hidden layer is multiplied by `v` but not summed. A dot product is a sum: use `@ v`.",
        ),
        Slip(
            "last-word",
            lambda s, h, w, u, v: F.pad(additive_scores(s, h, w, u, v)[:-1], (0, 1)),
            "the last word gets a score of 0. Does a loop end one word too early?",
        ),
        Slip(
            "annotations-reshaped",
            lambda s, h, w, u, v: additive_scores(s, reshape_for_transpose(h), w, u, v),
            "`annotations` is reshaped, which mixes the numbers of different words. To transpose a matrix, "
            "use `.T`.",
        ),
        Slip(
            "projections-reshaped",
            wrong_scores(lambda p, k, v: torch.tanh(p + reshape_for_transpose(k)) @ v),
            "the projected annotations are reshaped, which mixes the numbers of different words. To "
            "transpose a matrix, use `.T`.",
        ),
    ),
)


def run_through(state: Tensor, projected: Tensor) -> Tensor:
    """The hidden layer if each word's becomes the next word's state, as in a recurrent network."""
    hidden = [state]
    for word in projected:
        hidden.append(torch.tanh(hidden[-1] + word))
    return torch.stack(hidden[1:])


def reshape_for_transpose(matrix: Tensor) -> Tensor:
    """The matrix whose transpose is the given one reshaped."""
    return matrix.reshape(matrix.shape[1], matrix.shape[0]).T


def blend(weights: Tensor, annotations: Tensor) -> tuple[Tensor, Tensor]:
    return (weights[:, None] @ annotations)[:, 0], weights


def attend_with(score: Callable) -> Callable:
    """Attention with other scores of the projected states, the projected annotations and v."""
    return lambda s, h, w, u, v: blend(score((s @ w.T)[:, None], h @ u.T, v).softmax(-1), h)


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
        *score_slips(attend_with),
        *softmax_slips(lambda *given: (batch_scores(*given), given[1]), blend, "`annotations`"),
    ),
)


THIRSTY = "the cat drank the water because it was thirsty"
SOURCE_TOKENS = (*THIRSTY.split(), "</s>")
TRANSLATION = "le chat a bu l' eau parce qu' il avait soif"
TARGET_TOKENS = (*TRANSLATION.split(), "</s>")


@cache
@torch.no_grad()
def translate_forced(step: int, position: int) -> str:
    """The translation of the shipped system if all the weight of one step is on one position."""
    shipped = load_shipped("bahdanau")
    model, tokenizer = shipped.model, shipped.tokenizer
    batch = make_batch([tokenizer.encode(THIRSTY)], [[]])
    memory = model.encode(batch.src, batch.src_lengths)
    state, annotations, token, words = model.start(memory)["hidden"], memory["annotations"], BOS, []
    for i in range(30):
        weights = model.score(state[:, None], annotations)[:, 0].softmax(-1)
        context = annotations[:, position] if i == step else blend(weights, annotations)[0]
        last = model.embed(torch.tensor([[token]]))[:, 0]
        state = model.decoder(torch.cat([last, context], -1), state)
        token = int(model.logits(torch.cat([state, last, context], -1)).argmax())
        if token == EOS:
            break
        words.append(token)
    return tokenizer.decode(words)


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


def makes_elle(given: tuple, answer: object) -> str:
    def is_right(step: int, position: int) -> bool:
        return translate_forced(step, position) == TRANSLATION.replace("il", "elle")

    step, position = read_pair(answer)
    if is_right(step, position):
        return ""
    advice = "The step is right; try other positions. Only “il” should change, to “elle”."
    if is_right(position, step):
        advice = "Return the step first, then the position."
    elif TARGET_TOKENS[step] != "il":
        advice = "Choose the step that generates “il”. Steps and positions are counted from 0."
    return (
        f"Step {step} generates “{TARGET_TOKENS[step]}”. With all its attention on position {position}, "
        f"“{SOURCE_TOKENS[position]}”, the translation is “{translate_forced(step, position)}”. {advice}"
    )


MAKE_IT_SHE = PlainExercise(
    name="make_it_she",
    lesson="bahdanau_attention",
    inputs=(),
    by_hand=ByHand({}, (8, 4), "Step 8 generates “il”; with all its attention on position 4, “elle”."),
    others=(),
    reference=solutions.make_it_she,
    design=True,
    demands=(is_a_step_and_a_position, makes_elle),
)

EXERCISES = (ADDITIVE_SCORES, ADDITIVE_ATTENTION, MAKE_IT_SHE)

"""The exercises of lesson 06: additive scores and attention, its test, links, and forced attention."""

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
    RandomInput,
    Slip,
    TensorExercise,
    TestExercise,
    gaussian,
)
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import load_shipped

TANH_1 = 0.761594  # tanh(1)
WEIGHTS = {"w_state": gaussian("d s"), "w_annotation": gaussian("d a"), "v": gaussian("d")}


def additive_scores(
    state: Tensor, annotations: Tensor, w_state: Tensor, w_annotation: Tensor, v: Tensor
) -> Tensor:
    return additive(state[None], annotations, w_query=w_state, w_key=w_annotation, v=v)[0]


ADDITIVE_SCORES = TensorExercise(
    name="additive_scores",
    lesson="bahdanau_attention",
    inputs={"state": gaussian("s"), "annotations": gaussian("n a"), **WEIGHTS},
    returns={"scores": "n"},
    sizes={"s": 3, "n": 5, "a": 4, "d": 6},
    reference=additive_scores,
    by_hand=ByHand(
        inputs={
            "state": [1.0],
            "annotations": [[0.0], [1.0]],
            "w_state": [[1.0]],
            "w_annotation": [[-1.0]],
            "v": [2.0],
        },
        answer={"scores": [2 * TANH_1, 0.0]},
        says="First word: 2 · tanh(1 − 0) = 2 · 0.7616 = 1.523. Second: 2 · tanh(1 − 1) = 0.",
    ),
    slips=(
        Slip(
            "no-tanh",
            lambda s, h, w, u, v: (w @ s + h @ u.T) @ v,
            "there is no tanh. Without a bend the state adds the same number to every score, and the "
            "softmax would not see the state at all.",
        ),
        Slip(
            "tanh-after-v",
            lambda s, h, w, u, v: torch.tanh((w @ s + h @ u.T) @ v),
            "the tanh comes after `v`. First bend the sum, then let `v` judge it.",
        ),
        Slip(
            "two-tanhs",
            lambda s, h, w, u, v: (torch.tanh(w @ s) + torch.tanh(h @ u.T)) @ v,
            "each part is bent by itself. Add first, then one tanh of the sum: only there do state and "
            "annotation meet.",
        ),
        Slip(
            "state-left-out",
            lambda s, h, w, u, v: torch.tanh(h @ u.T) @ v,
            "the state is left out. Then every step would look at the same words.",
        ),
        Slip(
            "softmax-already",
            lambda s, h, w, u, v: additive_scores(s, h, w, u, v).softmax(-1),
            "these are weights already. Only the scores are asked for here; the softmax comes next.",
        ),
        Slip(
            "no-v",
            lambda s, h, w, u, v: torch.tanh(w @ s + h @ u.T).sum(-1),
            "the hidden layer is added up without `v`. `v` says how much each of its numbers counts.",
        ),
        Slip(
            "sigmoid",
            lambda s, h, w, u, v: torch.sigmoid(w @ s + h @ u.T) @ v,
            "the bend is a sigmoid. Bahdanau's score takes tanh, from −1 to 1.",
        ),
    ),
)


def attend(states: Tensor, annotations: Tensor, w: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    scores = additive(states[:, None], annotations, w_query=w, w_key=u, v=v)[:, 0]
    return blend(scores.softmax(-1), annotations)


def blend(weights: Tensor, annotations: Tensor) -> tuple[Tensor, Tensor]:
    return (weights[:, None] @ annotations)[:, 0], weights


def hidden_layer(states: Tensor, annotations: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return torch.tanh((states @ w.T)[:, None] + annotations @ u.T)


ADDITIVE_ATTENTION = TensorExercise(
    name="additive_attention",
    lesson="bahdanau_attention",
    inputs={"states": gaussian("b s"), "annotations": gaussian("b n a"), **WEIGHTS},
    returns={"context": "b a", "weights": "b n"},
    sizes={"b": 2, "s": 3, "n": 5, "a": 4, "d": 6},
    reference=attend,
    large=(4.0,),  # tanh is flat beyond: larger inputs would test the same
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
        says="First sentence: scores 1.523 and 0, so weights 0.821 and 0.179, and the blend of 0 and 1 is "
        "0.179. Second: both words are alike, so half and half, and the blend is 4.",
    ),
    invariants=(
        Invariant("the weights of each sentence sum to 1", lambda it: it.weights.sum(-1), equals=1),
        Invariant("no weight is below 0", lambda it: it.weights.clamp(max=0), equals=0),
    ),
    slips=(
        Slip(
            "softmax-over-batch",
            lambda s, h, w, u, v: blend((hidden_layer(s, h, w, u) @ v).softmax(0), h),
            "the softmax runs over the sentences. Each sentence shares out over its own words: `dim=-1`.",
        ),
        Slip(
            "no-softmax",
            lambda s, h, w, u, v: blend(hidden_layer(s, h, w, u) @ v, h),
            "the scores themselves are used as weights. A softmax turns them into shares first.",
        ),
        Slip(
            "blends-projections",
            lambda s, h, w, u, v: blend((hidden_layer(s, h, w, u) @ v).softmax(-1), h @ u.T),
            "the projected annotations are blended. They decide the weights; what is blended are the "
            "annotations themselves.",
        ),
        Slip(
            "hard-choice",
            lambda s, h, w, u, v: blend(
                F.one_hot((hidden_layer(s, h, w, u) @ v).argmax(-1), h.shape[1]).float(), h
            ),
            "only the best word is taken. The look is soft: every word gives its share.",
            misconception="M12",
        ),
        Slip(
            "no-tanh",
            lambda s, h, w, u, v: blend((((s @ w.T)[:, None] + h @ u.T) @ v).softmax(-1), h),
            "there is no tanh. Then the state adds the same to every score, the softmax takes that away "
            "again, and every step looks at the same words.",
        ),
        Slip(
            "first-state-for-all",
            lambda s, h, w, u, v: blend((torch.tanh(s[0] @ w.T + h @ u.T) @ v).softmax(-1), h),
            "all sentences are scored with the first one's state. Each state belongs to its own sentence.",
        ),
        Slip(
            "plain-mean",
            lambda s, h, w, u, v: blend(h.new_full(h.shape[:2], 1 / h.shape[1]), h),
            "every word gets the same weight, whatever the state. The weights come from the scores.",
        ),
        Slip(
            "scores-for-weights",
            lambda s, h, w, u, v: (attend(s, h, w, u, v)[0], hidden_layer(s, h, w, u) @ v),
            "the context is right, but scores are handed back in place of the weights.",
        ),
    ),
)


def attend_by_einsum(
    states: Tensor, annotations: Tensor, w: Tensor, u: Tensor, v: Tensor
) -> tuple[Tensor, Tensor]:
    hidden = torch.einsum("bs,ds->bd", states, w).unsqueeze(1) + torch.einsum("bna,da->bnd", annotations, u)
    weights = torch.einsum("bnd,d->bn", hidden.tanh(), v).softmax(dim=1)
    return torch.einsum("bn,bna->ba", weights, annotations), weights


def attend_one_by_one(
    states: Tensor, annotations: Tensor, w: Tensor, u: Tensor, v: Tensor
) -> tuple[Tensor, Tensor]:
    weights = torch.stack(
        [additive_scores(s, h, w, u, v).softmax(-1) for s, h in zip(states, annotations, strict=True)]
    )
    return (weights[..., None] * annotations).sum(1), weights


def careful_test(implementation: Callable) -> None:
    generator = torch.Generator().manual_seed(0)
    sizes = [(2, 3), (2, 5, 4), (6, 3), (6, 4), (6,)]
    given = [torch.randn(size, generator=generator) for size in sizes]
    for got, expected in zip(implementation(*given), attend(*given), strict=True):
        torch.testing.assert_close(got, expected)


TEST_ADDITIVE_ATTENTION = TestExercise(
    name="test_additive_attention",
    lesson="bahdanau_attention",
    inputs={"attend": "a function"},
    of=ADDITIVE_ATTENTION,
    what="look",
    accepts={"with einsum": attend_by_einsum, "sentence by sentence": attend_one_by_one},
    rejects={
        "softmax-over-batch": "shares out over the sentences of the batch",
        "no-softmax": "takes the scores themselves as weights",
        "hard-choice": "takes the best word alone",
        "no-tanh": "leaves the tanh out",
        "first-state-for-all": "scores every sentence with the first one's state",
        "plain-mean": "gives every word the same weight",
        "scores-for-weights": "hands back scores in place of the weights",
    },
    reference=careful_test,
)


def random_weights(axes: str) -> RandomInput:
    """Attention weights: rows that sum to 1."""
    return RandomInput(axes, lambda size, g: torch.randn(size, generator=g, device="cpu").mul(2).softmax(-1))


def links_one_late(weights: Tensor) -> Tensor:
    return weights[1:, :-1].argmax(dim=-1)


ALIGNED_WORDS = TensorExercise(
    name="aligned_words",
    lesson="bahdanau_attention",
    inputs={"weights": random_weights("t s")},
    returns={"positions": "french"},
    sizes={"t": 6, "s": 5},
    other_sizes=({"t": 3, "s": 7}, {"t": 4, "s": 4}, {"t": 2, "s": 2}),
    large=(),
    trains=False,
    reference=lambda weights: weights[:-1, :-1].argmax(-1),
    by_hand=ByHand(
        inputs={"weights": [[0.7, 0.1, 0.2], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.0, 0.1, 0.9]]},
        answer={"positions": [0.0, 0.0, 1.0]},
        says="Three French words and the end; two English words and the end. The first two French words look "
        "most at place 0. The third has 0.5 on the end, which is never linked; of the words, place 1 has the "
        "most. The last row is the end's own.",
    ),
    unrepaired=links_one_late,
    slips=(
        Slip(
            "end-column",
            lambda weights: weights[:-1].argmax(-1),
            "the column of `</s>` takes part in the choice. The end is never linked: leave it out.",
        ),
        Slip(
            "end-row",
            lambda weights: weights[:, :-1].argmax(-1),
            "there is a place for the end too. One for each French *word*: leave the last row out.",
        ),
        Slip(
            "first-word-out",
            lambda weights: weights[:-1, 1:].argmax(-1),
            "the column of the first English word is left out. The end is the last column: `:-1`.",
        ),
        Slip(
            "down-the-columns",
            lambda weights: weights[:-1, :-1].argmax(0),
            "this runs down the columns and finds a French word for each English one. Each *row* looks for "
            "its largest weight: `dim=-1`.",
        ),
    ),
)


THIRSTY = "the cat drank the water because it was thirsty"
SOURCE_TOKENS = (*THIRSTY.split(), "</s>")


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


def is_a_step_and_a_position(given: tuple, answer: object) -> str:
    step, position = answer
    if type(step) is not int or type(position) is not int:
        return "Two whole numbers are wanted: (step, position)."
    if not (0 <= step < 12 and 0 <= position < 10):
        return "There are steps 0 to 11, and places 0 to 9 (9 is the end of the source)."
    return ""


def makes_elle(given: tuple, answer: tuple[int, int]) -> str:
    translation = translate_forced(*answer)
    if translation == "le chat a bu l' eau parce qu' elle avait soif":
        return ""
    step, position = answer
    return (
        f"With the look of step {step} forced onto place {position}, “{SOURCE_TOKENS[position]}”, it says: "
        f"“{translation}”."
    )


MAKE_IT_SHE = PlainExercise(
    name="make_it_she",
    lesson="bahdanau_attention",
    inputs=(),
    by_hand=ByHand({}, (8, 4), "Step 8 says il. Forced onto place 4, water, it says elle."),
    others=(),
    reference=lambda: (8, 4),
    design=True,
    demands=(is_a_step_and_a_position, makes_elle),
)

EXERCISES = (ADDITIVE_SCORES, ADDITIVE_ATTENTION, TEST_ADDITIVE_ATTENTION, ALIGNED_WORDS, MAKE_IT_SHE)

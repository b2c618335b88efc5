"""The exercises of lesson 10: attention with a mask, a causal mask, and the three masks of a translator."""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from course_lib.layers.attention import attend
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    RandomInput,
    Slip,
    TensorExercise,
    gaussian,
)
from lessons.l08_query_key_value.exercises import blend, scaled


def random_mask(axes: str) -> RandomInput:
    """A random mask; the last query may look at nothing."""

    def draw(shape: tuple[int, ...], generator: Generator) -> Tensor:
        mask = torch.rand(shape, generator=generator, device="cpu") < 0.6
        open_keys = torch.randint(shape[-1], (*shape[:-1], 1), generator=generator, device="cpu")
        mask = mask.scatter(-1, open_keys, True)
        mask.flatten(0, -2)[-1] = False
        return mask

    return RandomInput(axes, draw)


def attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return attend(queries, keys, values, mask=mask)


def zero_blind_rows(weights: Tensor, mask: Tensor) -> Tensor:
    """Set the rows that may look nowhere to 0."""
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def filled_softmax(queries: Tensor, keys: Tensor, mask: Tensor, value: float) -> Tensor:
    return scaled(queries, keys).masked_fill(~mask, value).softmax(-1)


UPSIDE_DOWN = (
    "the mask is upside down: −∞ went where a query *may* look, hence the NaN in rows that may look "
    "everywhere. It goes where it may not: `~mask`."
)

MASKED_ATTENTION = TensorExercise(
    name="masked_attention",
    lesson="masks",
    inputs={
        "queries": gaussian("*batch m d"),
        "keys": gaussian("*batch n d"),
        "values": gaussian("*batch n v"),
        "mask": random_mask("*batch m n"),
    },
    returns={"context": "*batch m v", "weights": "*batch m n"},
    sizes={"batch": (2,), "m": 4, "n": 6, "d": 3, "v": 5},
    other_sizes=(
        {"batch": (), "m": 5, "n": 3, "d": 7, "v": 9},
        {"batch": (2, 3), "m": 4, "n": 4, "d": 4, "v": 4},
        {"batch": (2,), "m": 1, "n": 1, "d": 1, "v": 1},
    ),
    reference=attention,
    by_hand=ByHand(
        inputs={
            "queries": [[1.0], [1.0]],
            "keys": [[0.0], [0.0], [9.0]],
            "values": [[4.0], [8.0], [100.0]],
            "mask": [[True, True, False], [False, False, False]],
        },
        answer={"context": [[6.0], [0.0]], "weights": [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]},
        says="The first query may look at two keys, both with a score of 0: half each, and the blend of 4 "
        "and 8 is 6. The third key has a score of 9, but is hidden. The second query may look nowhere: 0.",
    ),
    invariants=(
        Invariant(
            "a hidden key gets a weight of exactly 0",
            lambda it: it.weights.masked_fill(it.mask, 0.0),
            equals=0,
            exactly=True,
        ),
        Invariant(
            "the weights of a query that may look somewhere sum to 1",
            lambda it: it.weights.sum(-1) + (~it.mask.any(-1)).float(),
            equals=1,
        ),
    ),
    slips=(
        Slip(
            "no-mask",
            lambda q, k, v, look: blend(zero_blind_rows(scaled(q, k).softmax(-1), look), v),
            "the mask hides nothing: hidden keys get weight as before. Put −∞ into their scores.",
        ),
        Slip(
            "times-zero",
            lambda q, k, v, look: blend(zero_blind_rows((scaled(q, k) * look).softmax(-1), look), v),
            "hidden scores are multiplied by 0. A score of 0 still earns weight, for e⁰ = 1: it must be −∞.",
            misconception="M19",
        ),
        Slip(
            "zero-after",
            lambda q, k, v, look: blend(scaled(q, k).softmax(-1) * look, v),
            "hidden weights are set to 0 after the softmax. What is left no longer sums to 1: hide before.",
            misconception="M20",
        ),
        Slip(
            "turned-round",
            lambda q, k, v, look: attention(q, k, v, ~look),
            "the mask is turned round: True means *may* look, so −∞ goes where it is False.",
            misconception="M22",
        ),
        Slip(
            "no-tilde",
            lambda q, k, v, look: blend(scaled(q, k).masked_fill(look, -math.inf).softmax(-1), v),
            UPSIDE_DOWN,
        ),
        Slip(
            "no-tilde-emptied",
            lambda q, k, v, look: blend(
                zero_blind_rows(scaled(q, k).masked_fill(look, -math.inf).softmax(-1), look), v
            ),
            UPSIDE_DOWN,
        ),
        Slip(
            "closed-row-shares",
            lambda q, k, v, look: blend(filled_softmax(q, k, look, -1e9), v),
            "a query that may look nowhere shares out over all that is hidden from it. It shall get 0.",
        ),
        Slip(
            "not-scaled",
            lambda q, k, v, look: attend(q * math.sqrt(q.shape[-1]), k, v, mask=look),
            "the scores are not divided by √d. The mask comes on top of lesson 08, not in its place.",
        ),
        Slip(
            "one-too-small",
            lambda q, k, v, look: blend(zero_blind_rows(filled_softmax(q, k, look, -10.0), look), v),
            "hidden scores are set to −10. That is small, not 0: where all others are small too, it counts. "
            "Take `-math.inf`.",
        ),
    ),
)


def one_step_ahead(n: int) -> Tensor:
    return torch.ones(n, n).tril(diagonal=1) == 1


TRAINING_MASK = PlainExercise(
    name="training_mask",
    lesson="masks",
    inputs=("n",),
    by_hand=ByHand(
        {"n": 3},
        [[True, False, False], [True, True, False], [True, True, True]],
        "Position 0 has read <s> and guesses the first word: it may see <s> alone. Position 1 may see two, "
        "position 2 all three.",
    ),
    others=(lambda: (1,), lambda: (2,), lambda: (7,)),
    reference=causal_mask,
    unrepaired=one_step_ahead,
    slips=(
        Slip(
            "looks-ahead",
            lambda n: torch.ones(n, n).triu() == 1,
            "this sees what is ahead and hides what came before. Rows ask, columns are looked at: `tril`.",
        ),
        Slip(
            "not-itself",
            lambda n: torch.ones(n, n).tril(diagonal=-1) == 1,
            "a position does not see itself. Its own word has been read already; only the next is secret.",
        ),
        Slip(
            "all-open",
            lambda n: torch.ones(n, n) == 1,
            "nothing is hidden: every position sees the word it shall guess.",
        ),
        Slip(
            "numbers",
            lambda n: torch.ones(n, n).tril(),
            "the right cells are open, but by numbers. A mask holds True and False: compare with `== 1`.",
        ),
    ),
)


def three_masks(
    src_lengths: Tensor, tgt_lengths: Tensor, n_src: int, n_tgt: int
) -> tuple[Tensor, Tensor, Tensor]:
    source = padding_mask(src_lengths, n_src)
    return source, padding_mask(tgt_lengths, n_tgt) & causal_mask(n_tgt), source


def mask_inputs(src: list[int], tgt: list[int], n_src: int, n_tgt: int) -> tuple:
    return torch.tensor(src), torch.tensor(tgt), n_src, n_tgt


TRANSLATOR_MASKS = PlainExercise(
    name="translator_masks",
    lesson="masks",
    inputs=("src_lengths", "tgt_lengths", "n_src", "n_tgt"),
    by_hand=ByHand(
        dict(zip(("src_lengths", "tgt_lengths", "n_src", "n_tgt"), mask_inputs([1], [2], 2, 3), strict=True)),
        [
            [[[True, False]]],
            [[[True, False, False], [True, True, False], [True, True, False]]],
            [[[True, False]]],
        ],
        "Below stand three masks: encoder, decoder, cross. The one sentence has a source of one word in two "
        "places, a target of two in three. Encoder and cross: the first place alone. Decoder: no row looks "
        "ahead, and no row looks at the third place.",
    ),
    others=(
        lambda: mask_inputs([3, 1], [2, 4], 3, 4),
        lambda: mask_inputs([2, 5, 4], [1, 1, 3], 5, 3),
        lambda: mask_inputs([4], [4], 4, 4),
    ),
    reference=three_masks,
    slips=(
        Slip(
            "no-padding-in-decoder",
            lambda s, t, n, m: (padding_mask(s, n), causal_mask(m).expand(len(t), m, m), padding_mask(s, n)),
            "the decoder's mask hides what is ahead, but not the target's padding. Join both with `&`.",
        ),
        Slip(
            "no-causal",
            lambda s, t, n, m: (
                padding_mask(s, n),
                padding_mask(t, m).expand(len(t), m, m),
                padding_mask(s, n),
            ),
            "the decoder's mask hides padding, but not what is ahead: it leaks.",
        ),
        Slip(
            "either",
            lambda s, t, n, m: (padding_mask(s, n), padding_mask(t, m) | causal_mask(m), padding_mask(s, n)),
            "`|` opens what *either* mask allows. A query may look where both allow it: `&`.",
        ),
        Slip(
            "ahead",
            lambda s, t, n, m: (
                padding_mask(s, n),
                padding_mask(t, m) & causal_mask(m).mT,
                padding_mask(s, n),
            ),
            "the decoder looks ahead and not back. Rows ask, columns are looked at: column ≤ row.",
        ),
        Slip(
            "one-too-many",
            lambda s, t, n, m: three_masks(s + 1, t + 1, n, m),
            "one padding place of each sentence stays open. Places count from 0: `<`, not `<=`.",
        ),
        Slip(
            "cross-hides-target",
            lambda s, t, n, m: (*three_masks(s, t, n, m)[:2], padding_mask(t, m)),
            "`cross` hides the target's padding. There the target asks; what it looks at is the source.",
        ),
        Slip(
            "cross-causal",
            lambda s, t, n, m: (
                *three_masks(s, t, n, m)[:2],
                padding_mask(s, n) & (torch.ones(m, n).tril() == 1),
            ),
            "`cross` hides what is ahead. But the source is known whole: only its padding is hidden.",
            misconception="M25",
        ),
        Slip(
            "padding-rows",
            lambda s, t, n, m: (
                padding_mask(s, n),
                three_masks(s, t, n, m)[1] & padding_mask(t, m).mT,
                padding_mask(s, n),
            ),
            "`decoder` hides everything from the padding's rows too. Hide columns: nobody reads those rows.",
            misconception="M21",
        ),
    ),
)

EXERCISES = (MASKED_ATTENTION, TRAINING_MASK, TRANSLATOR_MASKS)

"""The exercises of lesson 10: attention with a mask, a causal mask, and the masks of a translator."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

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
    """A random mask; every key is masked for the last query."""

    def draw(shape: tuple[int, ...], generator: Generator) -> Tensor:
        mask = torch.rand(shape, generator=generator, device="cpu") < 0.6
        always_true = torch.randint(shape[-1], (*shape[:-1], 1), generator=generator, device="cpu")
        mask = mask.scatter(-1, always_true, True)
        mask.flatten(0, -2)[-1] = False
        return mask

    return RandomInput(axes, draw)


def attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return attend(queries, keys, values, mask=mask)


def with_mask(shape: tuple[int, ...], mask: Tensor, seed: int) -> Callable[[], tuple[Tensor, ...]]:
    """Random inputs with a mask that must be broadcast to the shape of the scores."""

    def make() -> tuple[Tensor, ...]:
        generator = Generator("cpu").manual_seed(seed)
        *batch, m, n = shape
        sizes = ((*batch, m, 3), (*batch, n, 3), (*batch, n, 2))
        return *(torch.randn(size, generator=generator) for size in sizes), mask

    return make


def far_apart() -> tuple[Tensor, ...]:
    """The only key that may be attended to has a score of −131,072, the masked ones of +131,072, so they keep
    all the weight if their scores are set to −10,000 or lowered by as much."""
    keys = torch.tensor([-512.0, 512.0, -512.0])[:, None] * torch.eye(4)[0]
    return -keys[1:2], keys, torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[False, True, False]])


def empty_rows(weights: Tensor, mask: Tensor) -> Tensor:
    """Set the rows without any True in the mask to 0."""
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def open_empty_rows(mask: Tensor) -> Tensor:
    return mask | ~mask.any(-1, keepdim=True)


def fill(scores: Tensor, mask: Tensor, score: float = -math.inf) -> Tensor:
    return scores.masked_fill(~mask, score)


def renormalise(weights: Tensor, least: float = 0.0) -> Tensor:
    return weights / weights.sum(-1, keepdim=True).clamp(min=least)


def renormalise_plus(scores: Tensor, mask: Tensor, *, epsilon: float) -> Tensor:
    weights = scores.softmax(-1) * mask
    return weights / (weights.sum(-1, keepdim=True) + epsilon)


def attend_with(weights_of: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """Attention with other weights, computed from the scaled scores and the mask."""
    return lambda q, k, v, mask: blend(weights_of(scaled(q, k), mask), v)


def plain_and_emptied(
    name: str, weights_of: Callable[[Tensor, Tensor], Tensor], message: str, misconception: str | None = None
) -> tuple[Slip, Slip]:
    """The same slip twice: with the rows without any True left as they are, and set to 0."""

    def emptied(scores: Tensor, mask: Tensor) -> Tensor:
        return empty_rows(weights_of(scores, mask), mask)

    return (
        Slip(name, attend_with(weights_of), message, misconception),
        Slip(f"{name}-emptied", attend_with(emptied), message, misconception),
    )


def without_scale(
    name: str, weights_of: Callable[[Tensor, Tensor], Tensor], message: str, misconception: str | None = None
) -> Slip:
    """A slip in the mask of an attention that also lacks the division by √d_k."""

    def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return blend(weights_of(q @ k.mT, mask), v)

    return Slip(f"{name}-not-scaled", attention, f"{message} {DIVIDE_TOO}", misconception)


DIVIDE_TOO = "The scores aren't divided by √d_k either."
INVERTED = (
    "the mask is inverted: −∞ is written where a query *may* attend. It belongs where the mask is False: "
    "`~mask`."
)
SET_BEFORE = "Set the scores of masked keys to −∞, before the softmax."
RENORMALISED = (
    "masked keys still take part in the softmax, and the other weights are divided by their sum afterwards. "
    f"If a masked key has a much higher score than the others, their weights round to 0. {SET_BEFORE}"
)
FINITE_SCORE = (
    "the scores of masked keys are set to a finite number, such as −100, or lowered by a number like that. "
    "If the other scores are low enough, masked keys still get weight. Use `-math.inf`."
)
OVER_THE_QUERIES = (
    "the softmax is taken over the queries. Each query's weights should sum to 1: use `dim=-1`."
)
NOT_SCALED_EITHER = (
    "the scores should be divided by √d_k, as in lesson 08. And a query that may attend to no key should "
    "get weights of 0."
)
ZERO_TIMES_INFINITY = (
    "a mask times −∞ gives NaN: where the mask contains a 0, 0 · ∞ isn't a number. Use "
    "`masked_fill(~mask, -math.inf)`."
)
EMPTY_ROW_IN_WEIGHTS = (
    "the context is right, but a query that may attend to no key still has weights above 0. Set those to 0 "
    "too."
)
ALL_INSTEAD_OF_ANY = (
    "a query gets weights of 0 as soon as *one* key is masked. It should get them only if *all* of its keys "
    "are: check with `mask.any(...)`, and set masked scores to −∞, not to +∞."
)

NO_MASK = (
    "the mask has no effect on the attention weights: masked keys take part in the softmax like all others. "
    f"{SET_BEFORE} Then their weights are exactly 0."
)
TIMES_ZERO = (
    "the scores of masked keys become 0, for example because they are multiplied by the mask. But 0 isn't "
    "−∞: since e⁰ = 1, a masked key still gets weight, even more than an unmasked key with a negative score. "
    "Set the scores to −∞, for example with `masked_fill(~mask, -math.inf)`."
)
ZERO_AFTER = (
    "the weights of masked keys are set to 0 after the softmax, so the others sum to less than 1. Mask the "
    "scores, before the softmax."
)


def no_mask(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.softmax(-1)


def times_zero(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores * mask).softmax(-1)


def zero_after(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.softmax(-1) * mask


def minus_infinity_times(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores * torch.where(mask, 1.0, -math.inf)).softmax(-1)


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
    others=(
        with_mask((3, 4, 5), torch.arange(5) < torch.tensor([2, 5, 0])[:, None, None], seed=20),
        with_mask((2, 4, 4), causal_mask(4), seed=21),
        far_apart,
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
        says="The first query may attend to two keys, both with a score of 0. Each gets a weight of 1/2, and "
        "the context is 1/2 · 4 + 1/2 · 8 = 6. The third key has a score of 9 but is masked. The second "
        "query may attend to no key, so its weights and its context are 0.",
    ),
    invariants=(
        Invariant(
            "a masked key gets a weight of exactly 0",
            lambda it: it.weights.masked_fill(it.mask, 0.0),
            equals=0,
            exactly=True,
        ),
        Invariant(
            "the weights of a query sum to 1 if it may attend to at least one key",
            lambda it: it.weights.sum(-1) + (~it.mask.any(-1)).float(),
            equals=1,
        ),
    ),
    slips=(
        *plain_and_emptied("no-mask", no_mask, NO_MASK),
        without_scale("no-mask", no_mask, NO_MASK),
        *plain_and_emptied("times-zero", times_zero, TIMES_ZERO, misconception="M19"),
        without_scale("times-zero", times_zero, TIMES_ZERO, misconception="M19"),
        *plain_and_emptied(
            "mask-added",
            lambda scores, mask: (scores + mask.float()).softmax(-1),
            "the mask is added to the scores as 0 and 1, which only raises the scores of the other keys by "
            "1. Set the scores of masked keys to −∞.",
        ),
        Slip("zero-after", attend_with(zero_after), ZERO_AFTER, misconception="M20"),
        without_scale("zero-after", zero_after, ZERO_AFTER, misconception="M20"),
        Slip(
            "zero-after-in-context",
            lambda q, k, v, mask: ((scaled(q, k).softmax(-1) * mask) @ v, scaled(q, k).softmax(-1)),
            "masked keys are left out of the context only. They still take part in the softmax and in the "
            f"weights. {SET_BEFORE}",
        ),
        Slip(
            "times-zero-and-after",
            attend_with(lambda scores, mask: (scores * mask).softmax(-1) * mask),
            "the scores of masked keys are set to 0 before the softmax, and their weights to 0 after it. A "
            "score of 0 takes weight away from the other keys, so their weights sum to less than 1. Set the "
            "scores to −∞.",
        ),
        Slip(
            "context-not-masked",
            lambda q, k, v, mask: (scaled(q, k).softmax(-1) @ v, scaled(q, k).softmax(-1) * mask),
            "the context is computed from weights without a mask, and the returned weights are set to 0 "
            f"afterwards. {SET_BEFORE}",
        ),
        Slip(
            "infinity-after",
            attend_with(lambda scores, mask: fill(scores.softmax(-1), mask)),
            "−∞ is written into the weights, after the softmax. It belongs in the scores, before it.",
        ),
        Slip(
            "renormalised",
            attend_with(lambda scores, mask: renormalise(scores.softmax(-1) * mask)),
            RENORMALISED,
        ),
        Slip(
            "renormalised-without-nan",
            attend_with(lambda scores, mask: renormalise(scores.softmax(-1) * mask, least=1e-9)),
            RENORMALISED,
        ),
        *(
            Slip(
                f"renormalised-plus-{epsilon}",
                attend_with(partial(renormalise_plus, epsilon=epsilon)),
                RENORMALISED,
            )
            for epsilon in (1e-9, 1e-8, 1e-6)
        ),
        Slip(
            "inverted",
            lambda q, k, v, mask: attention(q, k, v, ~mask),
            "the mask is inverted. True means that the query *may* attend, so −∞ belongs where it is False.",
            misconception="M22",
        ),
        *plain_and_emptied("no-tilde", lambda scores, mask: fill(scores, ~mask).softmax(-1), INVERTED),
        Slip(
            "empty-row-nan",
            attend_with(lambda scores, mask: fill(scores, mask).softmax(-1)),
            "a query that may attend to no key has only scores of −∞, and their softmax is NaN. Give such "
            "rows finite scores before the softmax, and set their weights to 0 after it.",
        ),
        Slip(
            "empty-row-nan-in-context",
            lambda q, k, v, mask: (
                fill(scaled(q, k), mask).softmax(-1) @ v,
                attention(q, k, v, mask)[1],
            ),
            "the weights are right, but the context of a query that may attend to no key is NaN: it was "
            "computed before the NaN in the weights was replaced. Avoid the NaN instead: give such rows "
            "finite scores before the softmax.",
        ),
        Slip(
            "zero-times-infinity",
            attend_with(lambda scores, mask: (scores + ~mask * -math.inf).softmax(-1)),
            ZERO_TIMES_INFINITY,
        ),
        Slip(
            "zero-times-infinity-without-nan",
            attend_with(lambda scores, mask: torch.zeros_like(scores)),
            "all weights are 0, for every query. If your code replaces NaN with 0, that may hide a mistake: "
            "print the masked scores. A mask times −∞, for example, gives NaN, because 0 · ∞ isn't a number.",
        ),
        *(
            Slip(
                f"scores-times-infinity{ending}",
                attend_with(lambda scores, mask, repair=repair: repair(minus_infinity_times(scores, mask))),
                "the scores of masked keys are multiplied by −∞. For a negative score that gives +∞, and for "
                "a score of 0 it gives NaN. Replace the scores: `masked_fill(~mask, -math.inf)`.",
            )
            for ending, repair in (("", Tensor.clone), ("-without-nan", Tensor.nan_to_num))
        ),
        *plain_and_emptied(
            "second-softmax",
            lambda scores, mask: fill(scores.softmax(-1), mask).softmax(-1),
            "the softmax is applied twice: the weights are masked, and a second softmax is applied to them. "
            "Mask the scores, and apply a single softmax.",
        ),
        Slip(
            "other-rows-emptied",
            attend_with(
                lambda scores, mask: (
                    fill(scores, open_empty_rows(mask))
                    .softmax(-1)
                    .masked_fill(mask.any(-1, keepdim=True), 0.0)
                )
            ),
            "the wrong rows are set to 0: those of queries that may attend to at least one key. "
            "`mask.any(dim=-1, keepdim=True)` is True for these; invert it with `~`.",
        ),
        Slip(
            "scaled-after",
            lambda q, k, v, mask: blend(
                attention(q * math.sqrt(q.shape[-1]), k, v, mask)[1] / math.sqrt(q.shape[-1]), v
            ),
            "the weights are divided by √d_k, after the softmax. Divide the scores, before it.",
        ),
        Slip(
            "empty-row-uniform",
            attend_with(lambda scores, mask: fill(scores, mask, -1e9).softmax(-1)),
            "a query that may attend to no key gives every masked key the same weight. Its weights and "
            "its context should be 0.",
        ),
        Slip(
            "empty-row-attends",
            attend_with(lambda scores, mask: fill(scores, open_empty_rows(mask)).softmax(-1)),
            "a query that may attend to no key attends to all of them. That avoids NaN; now set its weights "
            "to 0 after the softmax.",
        ),
        Slip(
            "empty-row-in-weights",
            lambda q, k, v, mask: (
                attention(q, k, v, mask)[0],
                fill(scaled(q, k), mask, -1e9).softmax(-1),
            ),
            EMPTY_ROW_IN_WEIGHTS,
        ),
        Slip(
            "empty-row-attends-in-weights",
            lambda q, k, v, mask: (
                attention(q, k, v, mask)[0],
                fill(scaled(q, k), open_empty_rows(mask)).softmax(-1),
            ),
            EMPTY_ROW_IN_WEIGHTS,
        ),
        Slip(
            "any-over-queries",
            attend_with(
                lambda scores, mask: (
                    fill(scores, mask | ~mask.any(-2, keepdim=True))
                    .softmax(-1)
                    .masked_fill(~mask.any(-2, keepdim=True), 0.0)
                )
            ),
            "`mask.any` is taken over the queries. To find queries without any key, take it over the keys: "
            "`dim=-1`.",
        ),
        Slip(
            "all-instead-of-any",
            attend_with(
                lambda scores, mask: fill(scores, mask, -1e9).softmax(-1) * mask.all(-1, keepdim=True)
            ),
            ALL_INSTEAD_OF_ANY,
        ),
        *plain_and_emptied(
            "score-of-minus-10",
            lambda scores, mask: fill(scores, mask, -10.0).softmax(-1),
            "masked keys get a score of −10. Where the other scores are low, masked keys still get "
            "weight. Use `-math.inf`.",
        ),
        *plain_and_emptied(
            "low-score", lambda scores, mask: fill(scores, mask, -100.0).softmax(-1), FINITE_SCORE
        ),
        *plain_and_emptied(
            "lowered-score", lambda scores, mask: (scores - 100.0 * ~mask).softmax(-1), FINITE_SCORE
        ),
        Slip(
            "over-the-queries",
            attend_with(lambda scores, mask: fill(scores, mask, -1e9).softmax(-2) * mask),
            OVER_THE_QUERIES,
        ),
        Slip(
            "over-the-queries-emptied",
            attend_with(
                lambda scores, mask: empty_rows(fill(scores, open_empty_rows(mask)).softmax(-2), mask)
            ),
            OVER_THE_QUERIES,
        ),
        Slip(
            "over-the-queries-nan",
            attend_with(lambda scores, mask: fill(scores, mask).softmax(-2)),
            OVER_THE_QUERIES,
        ),
        Slip(
            "not-scaled",
            lambda q, k, v, mask: attention(q * math.sqrt(q.shape[-1]), k, v, mask),
            "the scores should be divided by √d_k, as in lesson 08.",
        ),
        Slip(
            "not-scaled-nan",
            lambda q, k, v, mask: blend(fill(q @ k.mT, mask).softmax(-1), v),
            NOT_SCALED_EITHER,
        ),
        Slip(
            "not-scaled-uniform",
            lambda q, k, v, mask: blend(fill(q @ k.mT, mask, -1e9).softmax(-1), v),
            NOT_SCALED_EITHER,
        ),
        Slip(
            "root-of-n",
            lambda q, k, v, mask: attention(q * math.sqrt(q.shape[-1] / k.shape[-2]), k, v, mask),
            "the scores are divided by √n. Divide by √d_k, where d_k is the width of a key.",
        ),
        Slip(
            "root-of-d_v",
            lambda q, k, v, mask: attention(q * math.sqrt(q.shape[-1] / v.shape[-1]), k, v, mask),
            "the scores are divided by √d_v. Divide by √d_k, where d_k is the width of a key.",
        ),
        Slip(
            "no-softmax",
            attend_with(lambda scores, mask: scores * mask),
            "the scores themselves are used as weights. Apply a softmax to the masked scores.",
        ),
        Slip(
            "scaled-by-d_k",
            lambda q, k, v, mask: attention(q / math.sqrt(q.shape[-1]), k, v, mask),
            "the scores are divided by d_k instead of √d_k.",
        ),
        Slip(
            "sum-of-keys",
            lambda q, k, v, mask: attention(q, k, k, mask),
            "the context is a weighted sum of the keys. It should be a weighted sum of the values.",
        ),
    ),
)


def one_step_ahead(n: int) -> Tensor:
    return torch.ones(n, n).tril(diagonal=1) == 1


def without_row(row: int) -> Callable[[int], Tensor]:
    """A causal mask, with one row all False."""

    def mask(n: int) -> Tensor:
        return causal_mask(n) & (torch.arange(n) != row % n)[:, None]

    return mask


def last_few(n_visible: int) -> Callable[[int], Tensor]:
    """Each position sees itself and the positions just before it, `n_visible` in all."""
    return lambda n: causal_mask(n) & ~causal_mask(n).tril(diagonal=-n_visible)


def band_only(n: int) -> Tensor:
    """Only the next position is masked."""
    return ~torch.ones(n, n).bool().triu(1) | torch.ones(n, n).bool().triu(2)


LOOP_TOO_SHORT = "Does a loop miss it?"

TRAINING_MASK = PlainExercise(
    name="training_mask",
    lesson="masks",
    inputs=("n",),
    by_hand=ByHand(
        {"n": 3},
        [[True, False, False], [True, True, False], [True, True, True]],
        "The input at position 0 is BOS, and the first word is predicted there, so position 0 may attend "
        "only to BOS. Position 1 may attend to two positions, position 2 to all three.",
    ),
    others=(lambda: (1,), lambda: (2,), lambda: (7,), lambda: (20,), lambda: (100,)),
    reference=causal_mask,
    unrepaired=one_step_ahead,
    slips=(
        Slip(
            "looks-ahead",
            lambda n: torch.ones(n, n).triu() == 1,
            "each position may attend to what comes later, and not to what came before. Rows are queries, "
            "columns are keys.",
        ),
        Slip(
            "not-itself",
            lambda n: torch.ones(n, n).tril(diagonal=-1) == 1,
            "a position may not attend to itself. It should: its own word is known already, and only the "
            "words after it must be masked.",
        ),
        Slip(
            "not-itself-but-first",
            lambda n: causal_mask(n) & (~torch.eye(n).bool() | (torch.arange(n) == 0)),
            "only position 0 may attend to itself. Every position should.",
        ),
        Slip(
            "inverted",
            lambda n: ~causal_mask(n),
            "True and False are swapped. True means that the position may attend.",
        ),
        Slip(
            "all-open",
            lambda n: torch.ones(n, n) == 1,
            "nothing is masked, so every position sees the word that it should predict.",
        ),
        Slip(
            "all-masked",
            lambda n: torch.zeros(n, n) == 1,
            "everything is masked, so no position may attend to anything. Each should attend to itself and "
            "to all earlier positions.",
        ),
        Slip(
            "only-far-ahead",
            lambda n: torch.ones(n, n).triu(diagonal=2) == 1,
            "True and False are swapped, and the next position is still treated like the earlier ones. The "
            "mask should be True for the position itself and for all earlier ones.",
        ),
        Slip(
            "neighbours",
            lambda n: ~causal_mask(n).tril(-2) & one_step_ahead(n),
            "each position may attend to its neighbours on both sides. It must not attend to the next one, "
            "and it may attend to all earlier ones.",
        ),
        Slip(
            "only-next-masked",
            band_only,
            "only the next position is masked. All later positions must be masked: when the model generates "
            "text, none of them exists yet.",
        ),
        Slip(
            "only-itself",
            lambda n: torch.eye(n) == 1,
            "each position may attend only to itself. It may also attend to all earlier positions.",
        ),
        Slip(
            "only-last-two",
            last_few(2),
            "each position may attend only to itself and to the one before. It may attend to all earlier "
            "positions.",
        ),
        Slip(
            "additive",
            lambda n: torch.zeros(n, n).masked_fill(~causal_mask(n), -math.inf),
            "this is an additive mask of 0 and −∞. Here a mask contains True and False: `masked_fill` in "
            "your attention needs a Boolean mask.",
        ),
        Slip(
            "additive-1e9",
            lambda n: torch.zeros(n, n).masked_fill(~causal_mask(n), -1e9),
            "this is an additive mask of 0 and −1e9. Here a mask contains True and False: `masked_fill` in "
            "your attention needs a Boolean mask.",
        ),
        Slip(
            "two-ahead",
            lambda n: torch.ones(n, n).tril(diagonal=2) == 1,
            "each position may attend to the next two. It must not attend to any later position.",
        ),
        Slip(
            "only-next",
            lambda n: torch.ones(n, n).tril(diagonal=1).triu(diagonal=1) == 1,
            "each position may attend only to the next one, which it should predict. It should attend to "
            "itself and to earlier positions.",
        ),
        Slip(
            "from-previous-on",
            lambda n: torch.ones(n, n).triu(diagonal=-1) == 1,
            "each position may attend to the one before it and to all later ones. It must not attend to any "
            "later position: use `tril`.",
        ),
        Slip(
            "fixed-size",
            lambda n: causal_mask(16),
            "the mask always has 16 rows. It should be (n, n).",
        ),
        *(
            Slip(
                f"fixed-size-{size}",
                lambda n, size=size: causal_mask(size),
                f"the mask always has {size} rows. It should be (n, n).",
            )
            for size in (3, 4)
        ),
        Slip(
            "one-position-short",
            lambda n: causal_mask(n - 1),
            "the mask is one position too small. It should be (n, n): each of the n inputs predicts a word.",
        ),
        Slip(
            "one-position-long",
            lambda n: causal_mask(n + 1),
            "the mask is one position too large. It should be (n, n).",
        ),
        Slip("last-row-missing", without_row(-1), f"the last row is all False. {LOOP_TOO_SHORT}"),
        Slip("first-row-missing", without_row(0), f"the first row is all False. {LOOP_TOO_SHORT}"),
        Slip(
            "squeezed",
            lambda n: causal_mask(n).squeeze(),
            "for n = 1 the mask has lost its axes. Remove `squeeze()`: the mask should always be (n, n).",
        ),
        Slip(
            "extra-axis",
            lambda n: causal_mask(n)[None],
            "the mask has an extra axis for the batch. It should be (n, n); broadcasting does the rest.",
        ),
    ),
)


def three_masks(
    src_lengths: Tensor, tgt_lengths: Tensor, n_src: int, n_tgt: int
) -> tuple[Tensor, Tensor, Tensor]:
    source = padding_mask(src_lengths, n_src)
    return source, padding_mask(tgt_lengths, n_tgt) & causal_mask(n_tgt), source


def source_with(change: Callable[[Tensor, int], Tensor]) -> Callable:
    """The three masks, with another mask for the source."""
    return lambda s, t, n, m: (change(s, n), three_masks(s, t, n, m)[1], change(s, n))


def decoder_with(change: Callable[[Tensor, int], Tensor]) -> Callable:
    """The three masks, with another one for the decoder."""
    return lambda s, t, n, m: (padding_mask(s, n), change(t, m), padding_mask(s, n))


def decoder_of(change: Callable[[Tensor], Tensor]) -> Callable:
    """The three masks, with the decoder's changed."""

    def masks(*inputs: Tensor | int) -> tuple[Tensor, Tensor, Tensor]:
        encoder, decoder, cross = three_masks(*inputs)
        return encoder, change(decoder), cross

    return masks


def cross_with(change: Callable[[Tensor, Tensor, int, int], Tensor]) -> Callable:
    """The three masks, with another one for cross-attention."""
    return lambda s, t, n, m: (*three_masks(s, t, n, m)[:2], change(s, t, n, m))


def of_masks(change: Callable[[Tensor], Tensor]) -> Callable:
    """All three masks changed in the same way."""
    return lambda *inputs: tuple(map(change, three_masks(*inputs)))


def padding_without_full(lengths: Tensor, n: int) -> Tensor:
    """With `mask[-(n - length):] = False`, a sentence without padding loses everything."""
    return padding_mask(lengths, n) & (lengths < n)[:, None, None]


def decoder_with_source(
    src_lengths: Tensor, tgt_lengths: Tensor, n_src: int, n_tgt: int
) -> tuple[Tensor, Tensor, Tensor]:
    """It fails unless both sides are equally wide."""
    source = padding_mask(src_lengths, n_src)
    return source, source & causal_mask(n_tgt), source


def mask_inputs(src: list[int], tgt: list[int], n_src: int, n_tgt: int) -> tuple:
    return torch.tensor(src), torch.tensor(tgt), n_src, n_tgt


NO_PADDING = (
    "the decoder's mask hides later positions, but not the padding of the target. Combine both with `&`."
)
NOT_CAUSAL = (
    "the decoder's mask hides the padding, but not the later positions, so the decoder sees the words "
    "that it should predict."
)
NO_AXIS = (
    "a padding mask should have an axis of size 1 in the middle, (b, 1, n_src), so that it broadcasts over "
    "the queries."
)
ONE_ROW = "a padding mask is repeated for each query. One row is enough, (b, 1, n_src): it broadcasts."
SQUEEZED = "with a single sentence, the batch axis is lost. Remove `squeeze()`."

TRANSLATOR_MASKS = PlainExercise(
    name="translator_masks",
    lesson="masks",
    inputs=("src_lengths", "tgt_lengths", "n_src", "n_tgt"),
    returns=("encoder", "decoder", "cross"),
    by_hand=ByHand(
        dict(zip(("src_lengths", "tgt_lengths", "n_src", "n_tgt"), mask_inputs([1], [2], 2, 3), strict=True)),
        [
            [[[True, False]]],
            [[[True, False, False], [True, True, False], [True, True, False]]],
            [[[True, False]]],
        ],
        "The answer is three masks: encoder, decoder, cross. There is one sentence pair, with a source of "
        "one word in two positions and a target of two words in three. The encoder mask and the cross mask "
        "allow only the first source position. In the decoder mask, no row allows a later position or the "
        "third position, which is padding.",
    ),
    others=(
        lambda: mask_inputs([3, 1], [2, 4], 3, 4),
        lambda: mask_inputs([2, 5, 4], [1, 1, 3], 5, 3),
        lambda: mask_inputs([4], [4], 4, 4),
        lambda: mask_inputs([11, 12], [14, 9], 13, 15),
    ),
    reference=three_masks,
    slips=(
        Slip(
            "no-padding-in-decoder",
            decoder_with(lambda t, m: causal_mask(m).expand(len(t), m, m)),
            NO_PADDING,
        ),
        Slip("no-padding-or-batch-in-decoder", decoder_with(lambda t, m: causal_mask(m)), NO_PADDING),
        Slip("no-causal", decoder_with(lambda t, m: padding_mask(t, m).expand(len(t), m, m)), NOT_CAUSAL),
        Slip("no-causal-or-rows", decoder_with(padding_mask), NOT_CAUSAL),
        Slip(
            "either",
            decoder_with(lambda t, m: padding_mask(t, m) | causal_mask(m)),
            "`|` allows what *either* mask allows. A query may attend where both masks allow it: `&`.",
        ),
        Slip(
            "ahead",
            decoder_with(lambda t, m: padding_mask(t, m) & causal_mask(m).mT),
            "in the decoder's mask, each position may attend to later positions and not to earlier ones. "
            "Rows are queries, columns are keys: column ≤ row.",
        ),
        Slip(
            "one-ahead",
            decoder_with(lambda t, m: padding_mask(t, m) & one_step_ahead(m)),
            "in the decoder's mask, each position may attend to the next one, so it sees the word that it "
            "should predict. Allow only column ≤ row.",
        ),
        Slip(
            "not-itself",
            decoder_with(lambda t, m: padding_mask(t, m) & causal_mask(m).tril(-1)),
            "in the decoder's mask, a position may not attend to itself. It should: column ≤ row.",
        ),
        Slip(
            "only-later",
            decoder_with(lambda t, m: padding_mask(t, m) & ~causal_mask(m)),
            "in the decoder's mask, each position may attend only to later positions. `triu(1)` is True for "
            "what should be *masked*: invert it with `~`, or allow column ≤ row.",
        ),
        Slip(
            "no-axis-in-decoder",
            decoder_with(lambda t, m: padding_mask(t, m)[:, 0] & causal_mask(m)),
            "the padding mask of the target has the shape (b, n_tgt). Combined with the causal mask (n_tgt, "
            "n_tgt), its sentences are compared with queries. It needs an axis of size 1 in the middle, "
            "(b, 1, n_tgt), like the mask of the source: `[:, None]`.",
        ),
        Slip(
            "source-in-decoder",
            decoder_with_source,
            "the decoder's mask is computed from the mask of the source. It needs the padding of the target: "
            "`tgt_lengths` and `n_tgt`.",
        ),
        Slip(
            "decoder-alone",
            lambda *inputs: three_masks(*inputs)[1],
            "only the decoder's mask is returned. Return all three: `return encoder, decoder, cross`.",
        ),
        Slip(
            "padding-rows",
            decoder_with(lambda t, m: padding_mask(t, m) & causal_mask(m) & padding_mask(t, m).mT),
            "in the decoder's mask, the rows of the padding are all False. Mask the padding as keys "
            "(columns), not as queries (rows).",
            misconception="M21",
        ),
        Slip(
            "source-width-in-decoder",
            lambda s, t, n, m: (padding_mask(s, n), padding_mask(t, n) & causal_mask(n), padding_mask(s, n)),
            "the decoder's mask has the width of the source. It should be (b, n_tgt, n_tgt).",
        ),
        Slip(
            "source-lengths-in-decoder",
            lambda s, t, n, m: (padding_mask(s, n), padding_mask(s, m) & causal_mask(m), padding_mask(s, n)),
            "the decoder's mask is computed from `src_lengths`. Use `tgt_lengths`.",
        ),
        Slip(
            "encoder-open",
            lambda s, t, n, m: (torch.ones_like(padding_mask(s, n)), *three_masks(s, t, n, m)[1:]),
            "the encoder's mask hides nothing. It should hide the padding of the source.",
        ),
        Slip(
            "cross-open",
            cross_with(lambda s, t, n, m: torch.ones_like(padding_mask(s, n))),
            "the cross mask hides nothing. It should hide the padding of the source.",
        ),
        Slip(
            "one-too-many-in-source",
            source_with(lambda s, n: padding_mask(s + 1, n)),
            "one padding position of each source stays visible. Positions are counted from 0: use `<`, not "
            "`<=`.",
        ),
        Slip(
            "one-too-many-in-target",
            decoder_with(lambda t, m: padding_mask(t + 1, m) & causal_mask(m)),
            "one padding position of each target stays visible. Positions are counted from 0: use `<`, not "
            "`<=`.",
        ),
        Slip(
            "padding-inverted",
            lambda s, t, n, m: (
                ~padding_mask(s, n),
                ~padding_mask(t, m) & causal_mask(m),
                ~padding_mask(s, n),
            ),
            "the padding is visible and the words are hidden. Words are the positions below the length.",
        ),
        Slip(
            "target-padding-inverted",
            decoder_with(lambda t, m: ~padding_mask(t, m) & causal_mask(m)),
            "in the decoder's mask, the padding is visible and the words are masked. Words are the positions "
            "below the length: `<`.",
        ),
        Slip(
            "target-padding-above",
            decoder_with(lambda t, m: ~padding_mask(t + 1, m) & causal_mask(m)),
            "in the decoder's mask, the words are masked. Words are the positions below the length: `<`.",
        ),
        Slip(
            "padding-in-front",
            lambda s, t, n, m: (
                padding_mask(s, n).flip(-1),
                padding_mask(t, m).flip(-1) & causal_mask(m),
                padding_mask(s, n).flip(-1),
            ),
            "the first positions are hidden. The padding comes after the words.",
        ),
        Slip(
            "one-too-many",
            lambda s, t, n, m: three_masks(s + 1, t + 1, n, m),
            "one padding position of each sentence stays visible. Positions are counted from 0: use `<`, not "
            "`<=`.",
        ),
        Slip(
            "one-too-few",
            lambda s, t, n, m: three_masks(s - 1, t - 1, n, m),
            "the last word of each sentence is masked. Positions are counted from 0, so a sentence of 3 "
            "words has the positions 0, 1 and 2.",
        ),
        Slip(
            "one-too-few-in-source",
            source_with(lambda s, n: padding_mask(s - 1, n)),
            "the last word of each source is masked. Positions are counted from 0, so a sentence of 3 words "
            "has the positions 0, 1 and 2.",
        ),
        Slip(
            "one-too-few-in-target",
            decoder_with(lambda t, m: padding_mask(t - 1, m) & causal_mask(m)),
            "the last word of each target is masked. Positions are counted from 0, so a sentence of 3 words "
            "has the positions 0, 1 and 2.",
        ),
        Slip(
            "inverted",
            of_masks(torch.logical_not),
            "True and False are swapped. True means that a query may attend.",
        ),
        Slip(
            "decoder-inverted",
            decoder_of(torch.logical_not),
            "in the decoder's mask, True and False are swapped. True means that a query may attend.",
        ),
        Slip(
            "decoder-additive",
            decoder_of(lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -math.inf)),
            "the decoder's mask is an additive mask of 0 and −∞. Here a mask contains True and False.",
        ),
        Slip(
            "decoder-heads-axis",
            decoder_of(lambda mask: mask[:, None]),
            "the decoder's mask has an extra axis of size 1. It should be (b, n_tgt, n_tgt).",
        ),
        Slip(
            "decoder-first-length",
            decoder_with(lambda t, m: padding_mask(t[:1].expand_as(t), m) & causal_mask(m)),
            "in the decoder's mask, every sentence is masked with the length of the first one.",
        ),
        Slip(
            "decoder-first-length-alone",
            decoder_with(lambda t, m: padding_mask(t[:1], m)[0] & causal_mask(m)),
            "the decoder's mask is computed from a single length. It needs a mask for each sentence, "
            "(b, n_tgt, n_tgt).",
        ),
        Slip(
            "decoder-longest-sentence",
            decoder_with(lambda t, m: padding_mask(t, int(t.max())) & causal_mask(int(t.max()))),
            "the decoder's mask is as wide as the longest target sentence. It should be as wide as the "
            "batch: `n_tgt`.",
        ),
        Slip(
            "exclusive-or",
            decoder_with(lambda t, m: padding_mask(t, m) ^ causal_mask(m)),
            "the decoder's mask allows what exactly one of the two masks allows. A query may attend where "
            "both allow it: `&`.",
        ),
        Slip(
            "longest-sentence",
            lambda s, t, n, m: three_masks(s, t, int(s.max()), int(t.max())),
            "the masks are as wide as the longest sentence. They should be as wide as the batch: `n_src` and "
            "`n_tgt`.",
        ),
        Slip(
            "first-lengths",
            lambda s, t, n, m: three_masks(s[:1].expand_as(s), t[:1].expand_as(t), n, m),
            "every sentence is masked with the length of the first one.",
        ),
        Slip(
            "full-sentence-hidden",
            lambda s, t, n, m: (
                padding_without_full(s, n),
                padding_without_full(t, m) & causal_mask(m),
                padding_without_full(s, n),
            ),
            "a sentence without any padding is masked completely. With `[-k:]` and k = 0, Python takes "
            "everything.",
        ),
        Slip("no-middle-axis", source_with(lambda s, n: padding_mask(s, n)[:, 0]), NO_AXIS),
        Slip("axis-at-the-end", source_with(lambda s, n: padding_mask(s, n).mT), NO_AXIS),
        Slip("cross-expanded", cross_with(lambda s, t, n, m: padding_mask(s, n).expand(-1, m, -1)), ONE_ROW),
        Slip(
            "heads-axis",
            of_masks(lambda mask: mask[:, None]),
            "there is an axis for the heads, which isn't needed until lesson 12. Leave it out.",
        ),
        Slip(
            "encoder-rows",
            lambda s, t, n, m: (padding_mask(s, n) & padding_mask(s, n).mT, *three_masks(s, t, n, m)[1:]),
            "the encoder's mask also masks the rows of the padding. Mask keys only: (b, 1, n_src).",
        ),
        Slip(
            "additive",
            of_masks(lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -math.inf)),
            "these are additive masks of 0 and −∞. Here a mask contains True and False.",
        ),
        Slip(
            "source-expanded",
            lambda s, t, n, m: (
                padding_mask(s, n).expand(-1, n, -1),
                three_masks(s, t, n, m)[1],
                padding_mask(s, n).expand(-1, m, -1),
            ),
            ONE_ROW,
        ),
        Slip(
            "encoder-causal",
            lambda s, t, n, m: (padding_mask(s, n) & causal_mask(n), *three_masks(s, t, n, m)[1:]),
            "the encoder's mask hides later positions. The whole source is known, so only its padding is "
            "masked.",
        ),
        Slip(
            "cross-hides-target",
            cross_with(lambda s, t, n, m: padding_mask(t, m)),
            "the cross mask hides the padding of the target. There the queries come from the target, but the "
            "keys from the source.",
        ),
        Slip(
            "cross-by-target-lengths",
            cross_with(lambda s, t, n, m: padding_mask(t, n)),
            "the cross mask is computed from `tgt_lengths`. The keys are those of the source: use "
            "`src_lengths`.",
        ),
        Slip(
            "cross-like-decoder",
            lambda *inputs: (*three_masks(*inputs)[:2], three_masks(*inputs)[1]),
            "the decoder's mask is used for cross-attention too. There the keys come from the source, and "
            "only its padding is masked: leave the given `cross` as it is.",
        ),
        Slip(
            "without-cross",
            lambda *inputs: three_masks(*inputs)[:2],
            "the mask for cross-attention is missing. Return all three: `return encoder, decoder, cross`.",
        ),
        Slip(
            "cross-both",
            cross_with(lambda s, t, n, m: padding_mask(s, n) & padding_mask(t, m).mT),
            "the cross mask also masks the rows of the target's padding. Mask keys only: (b, 1, n_src).",
        ),
        Slip(
            "cross-causal",
            cross_with(lambda s, t, n, m: padding_mask(s, n) & (torch.ones(m, n).tril() == 1)),
            "the cross mask hides later source positions. The whole source is known, so only its padding is "
            "masked.",
            misconception="M25",
        ),
        Slip(
            "other-order",
            lambda *inputs: tuple(three_masks(*inputs)[index] for index in (0, 2, 1)),
            "the masks are in the wrong order. Return encoder, decoder, cross.",
        ),
        Slip(
            "decoder-first",
            lambda *inputs: tuple(three_masks(*inputs)[index] for index in (1, 0, 2)),
            "the masks are in the wrong order. Return encoder, decoder, cross.",
        ),
        Slip(
            "dictionary",
            lambda *inputs: dict(zip(("encoder", "decoder", "cross"), three_masks(*inputs), strict=True)),
            "this is a dictionary. Return the three masks: `return encoder, decoder, cross`.",
        ),
        Slip(
            "languages-swapped",
            lambda s, t, n, m: three_masks(t, s, m, n),
            "source and target are swapped.",
        ),
        Slip("squeezed", of_masks(lambda mask: mask.squeeze(0)), SQUEEZED),
        Slip(
            "decoder-squeezed",
            lambda s, t, n, m: (
                padding_mask(s, n),
                three_masks(s, t, n, m)[1].squeeze(0),
                padding_mask(s, n),
            ),
            SQUEEZED,
        ),
    ),
)

EXERCISES = (MASKED_ATTENTION, TRAINING_MASK, TRANSLATOR_MASKS)

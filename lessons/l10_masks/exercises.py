"""The exercises of lesson 10: attention with a mask, a causal mask, and the masks of a translator."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from course_lib.layers.masks import causal_mask
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    RandomInput,
    Slip,
    TensorExercise,
    gaussian,
    known_mistakes,
)
from lessons.l10_masks import solutions


def random_mask(axes: str) -> RandomInput:
    """A random mask; every key is masked for the last query."""

    def draw(shape: tuple[int, ...], generator: Generator) -> Tensor:
        mask = torch.rand(shape, generator=generator, device="cpu") < 0.6
        always_true = torch.randint(shape[-1], (*shape[:-1], 1), generator=generator, device="cpu")
        mask = mask.scatter(-1, always_true, True)
        mask.flatten(0, -2)[-1] = False
        return mask

    return RandomInput(axes, draw)


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
    reference=solutions.masked_attention,
    answered_by=("torch.nn.functional.scaled_dot_product_attention",),
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
    slips=known_mistakes(solutions.masked_attention),
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


def mask_inputs(src: list[int], tgt: list[int], n_src: int, n_tgt: int) -> tuple:
    return torch.tensor(src), torch.tensor(tgt), n_src, n_tgt


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
    reference=solutions.translator_masks,
    slips=known_mistakes(solutions.translator_masks),
)

EXERCISES = (MASKED_ATTENTION, TRAINING_MASK, TRANSLATOR_MASKS)

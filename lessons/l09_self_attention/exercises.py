"""The exercises of lesson 09: the self-attention layer, and the loop that masks one word at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from course_lib.layers.attention import attend
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    Slip,
    TensorExercise,
    attention_mask,
    gaussian,
    known_mistakes,
)
from lessons.l09_self_attention import solutions

LN3 = math.log(3)

# ---- the layer


def blend(weights: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return weights @ values, weights


def masked_attention(queries: Tensor, keys: Tensor, values: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
    return attend(queries, keys, values, mask=is_open.expand(len(queries), len(keys)))


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, is_open: Tensor
) -> tuple[Tensor, Tensor]:
    return masked_attention(x @ w_q.T, x @ w_k.T, x @ w_v.T, is_open)


def masked_softmax(scores: Tensor, is_open: Tensor, dim: int = -1) -> Tensor:
    return scores.masked_fill(~is_open, -math.inf).softmax(dim)


def layer_with(
    weights_of: Callable[[Tensor, Tensor], Tensor] = masked_softmax,
    divisor: Callable[[Tensor, Tensor], float] = lambda x, w_k: math.sqrt(len(w_k)),
) -> Callable:
    """The layer, with other weights, computed from the scores and `is_open`, or with another divisor."""

    def layer(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
        scores = (x @ w_q.T) @ (x @ w_k.T).mT / divisor(x, w_k)
        return blend(weights_of(scores, is_open), x @ w_v.T)

    return layer


attend_to_all = layer_with(lambda scores, is_open: scores.softmax(-1))


def fill_with(score: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda scores, is_open: scores.masked_fill(~is_open, score).softmax(-1)


def lowered_by(score: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda scores, is_open: (scores - score * ~is_open).softmax(-1)


def change_weights(change: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """The right outputs, but the weights changed."""

    def layer(*inputs: Tensor) -> tuple[Tensor, Tensor]:
        outputs, weights = self_attention(*inputs)
        return outputs, change(weights, inputs[-1])

    return layer


def open_first(weights: Tensor, is_open: Tensor) -> Tensor:
    return torch.cat([weights[:, is_open], weights[:, ~is_open]], dim=-1)


def exponentials(scores: Tensor, is_open: Tensor) -> Tensor:
    return renormalise(torch.where(is_open, scores.exp(), 0.0))


def renormalise(weights: Tensor, least: float = 0.0) -> Tensor:
    return weights / weights.sum(-1, keepdim=True).clamp(min=least)


def by_number(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
    """True and False used as the row numbers 1 and 0."""
    rows = x[is_open.long()]
    outputs, weights = attend(x @ w_q.T, rows @ w_k.T, rows @ w_v.T)
    return outputs, weights * is_open


def zero_queries(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
    return masked_attention(x @ w_q.T * is_open[:, None], x @ w_k.T, x @ w_v.T, is_open)


def far_apart() -> tuple[Tensor, ...]:
    """The open word has a score of −131,072 in its own row, the masked ones of +131,072, so a masked word
    keeps all the weight if its score is set to −10,000 or lowered by as much. With more than one open word,
    the gradients would be dominated by rounding errors."""
    x = torch.tensor(
        [[-32.0, 0.0, 0.0, 0.0], [-32.0, 1.0, 0.0, 0.0], [32.0, 2.0, 0.0, 0.0], [-32.0] + [0.0] * 3]
    )
    w_q, w_k = torch.zeros(4, 4), torch.zeros(4, 4)
    w_q[0, 0], w_k[0, 0], w_k[0, 1] = -16.0, 16.0, 1 / 256
    w_v = torch.tensor([[1.0, 4.0, 0.0, 1.0], [2.0, -8.0, 1.0, 0.0]])
    return x, w_q, w_k, w_v, torch.tensor([False, False, True, False])


LEFT_OUT = "Leave the keys and values of masked words out instead."
FINITE_SCORE = (
    "the scores of masked words are set to a finite number, such as −100, or lowered by a number like that. "
    f"If the other scores are low enough, masked words still get weight. {LEFT_OUT}"
)
RENORMALISED = (
    "masked words still take part in the softmax, and the other weights are divided by their sum afterwards. "
    "If a masked word has a much higher score than the others, those round to 0. Mask the words *before* "
    "the softmax."
)
OPEN_WORDS_ATTEND = (
    "the rows of masked words are emptied. A masked word can't be attended *to*, but it still has a query, "
    "attention weights and an output."
)
COLUMNS = (
    "`is_open` is applied to the rows of the attention weights. A row belongs to the word that attends, "
    "a column to the word that is attended to, so masked words should lose their columns."
)
INVERTED = "`is_open` is inverted: the open words are masked and the masked ones open."
OPEN_QUERIES = (
    "the queries of masked words are left out, so these words have no output. A masked word still has a "
    "query: take rows out of the keys and values only."
)
OVER_THE_QUERIES = "the softmax is computed over each column. Each row should sum to 1: use `dim=-1`."

SELF_ATTENTION = TensorExercise(
    name="self_attention",
    lesson="self_attention",
    inputs={
        "x": gaussian("n d_model"),
        "w_q": gaussian("d_k d_model"),
        "w_k": gaussian("d_k d_model"),
        "w_v": gaussian("d_v d_model"),
        "is_open": attention_mask("n"),
    },
    returns={"outputs": "n d_v", "weights": "n n"},
    sizes={"n": 5, "d_model": 8, "d_k": 3, "d_v": 6},
    others=(far_apart,),
    reference=self_attention,
    answered_by=("torch.nn.MultiheadAttention", "torch.nn.functional.multi_head_attention_forward"),
    by_hand=ByHand(
        inputs={
            "x": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            "w_q": [[2.0, 0.0, 0.0], *[[0.0] * 3] * 3],
            "w_k": [[0.0, LN3, 7.0], *[[0.0] * 3] * 3],
            "w_v": [[4.0, 8.0, 100.0]],
            "is_open": [True, True, False],
        },
        answer={
            "outputs": [[7.0], [6.0], [6.0]],
            "weights": [[0.25, 0.75, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]],
        },
        says="With this `x`, the queries are the columns of `w_q`, the keys those of `w_k`, and the values "
        "are 4, 8 and 100. The third word is masked, so every word attends to the first two only. For the "
        "first word the scores are 0 and 2 · ln 3 / √4 = ln 3, so its attention weights are 1/4 and 3/4, and "
        "its output is 1/4 · 4 + 3/4 · 8 = 7. The other two words have scores of 0 and 0, so both attention "
        "weights are 1/2, and the output is 6. The masked word has a query too, and therefore a row.",
    ),
    invariants=(
        Invariant("the weights of each word sum to 1", lambda it: it.weights.sum(-1), 1.0),
        Invariant(
            "the weights on masked words add up to 0",
            lambda it: it.weights.masked_fill(it.is_open, 0.0).abs().sum(),
            0.0,
        ),
    ),
    slips=(
        Slip(
            "in-out",
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x @ w_q, x @ w_k, x @ w_v, is_open),
            "the matrices are used as (in, out), but they are (out, in): `w_q` has shape (d_k, d_model), so "
            "the queries are `x @ w_q.T`. The same holds for `w_k` and `w_v`.",
        ),
        Slip(
            "nothing-masked",
            attend_to_all,
            "`is_open` has no effect: masked words are attended to like the others. Leave out their keys and "
            "values before the softmax.",
        ),
        Slip(
            "zero-after-softmax",
            layer_with(lambda scores, is_open: scores.softmax(-1) * is_open),
            "the weights of masked words are set to 0 after the softmax, so the rows sum to less than 1. "
            "Mask the words *before* the softmax.",
            misconception="M20",
        ),
        Slip(
            "renormalised",
            layer_with(lambda scores, is_open: renormalise(scores.softmax(-1) * is_open)),
            RENORMALISED,
        ),
        Slip(
            "renormalised-without-nan",
            layer_with(lambda scores, is_open: renormalise(scores.softmax(-1) * is_open, least=1e-9)),
            RENORMALISED,
        ),
        Slip(
            "score-of-0",
            layer_with(lambda scores, is_open: (scores * is_open).softmax(-1)),
            f"masked words get a score of 0, and a score of 0 still gets weight: e⁰ = 1. {LEFT_OUT}",
            misconception="M19",
        ),
        Slip(
            "keys-and-values-of-0",
            lambda x, w_q, w_k, w_v, is_open: attend(
                x @ w_q.T, x @ w_k.T * is_open[:, None], x @ w_v.T * is_open[:, None]
            ),
            "the keys and values of masked words are set to 0. A key of 0 has a score of 0, and that still "
            "gets weight: e⁰ = 1. Leave those rows out instead.",
            misconception="M19",
        ),
        Slip(
            "x-of-0",
            lambda x, w_q, w_k, w_v, is_open: attend_to_all(x * is_open[:, None], w_q, w_k, w_v, is_open),
            "masked words are set to 0 in `x`. Their keys then have a score of 0, which still gets weight, "
            "and their queries are lost. Leave `x` unchanged, and take rows out of the keys and values.",
            misconception="M19",
        ),
        Slip(
            "queries-of-0",
            zero_queries,
            "the queries of masked words are set to 0. A masked word can't be attended *to*, but its own "
            "query should stay unchanged.",
        ),
        Slip(
            "score-of-minus-10",
            layer_with(fill_with(-10.0)),
            "masked words get a score of −10. Where the other scores are low, they still get weight. "
            f"{LEFT_OUT}",
        ),
        *(
            Slip(f"{name}-{score}", layer_with(weights_of(score)), FINITE_SCORE)
            for name, weights_of in (
                ("low-score", lambda score: fill_with(-score)),
                ("lowered-score", lowered_by),
            )
            for score in (100, 1000)
        ),
        Slip(
            "adds-the-mask",
            layer_with(lambda scores, is_open: (scores + is_open.float()).softmax(-1)),
            "`is_open` is added to the scores as 0 or 1. Open words then get a little more weight, but "
            f"masked words still get some. {LEFT_OUT}",
        ),
        Slip(
            "narrow-weights",
            lambda *inputs: (
                self_attention(*inputs)[0],
                self_attention(*inputs)[1][:, inputs[-1]],
            ),
            "the weights have a column for each open word only. Write them into the open columns of an "
            "(n, n) tensor of zeros.",
        ),
        Slip(
            "only-open-words",
            lambda x, w_q, w_k, w_v, is_open: attend(*(x[is_open] @ matrix.T for matrix in (w_q, w_k, w_v))),
            "masked words are removed from `x`, so they have no row. A masked word still has a query: take "
            "rows out of the keys and values only.",
        ),
        Slip(
            "open-queries",
            lambda *inputs: tuple(output[inputs[-1]] for output in self_attention(*inputs)),
            OPEN_QUERIES,
        ),
        Slip(
            "open-queries-square",
            lambda *inputs: (
                self_attention(*inputs)[0][inputs[-1]],
                self_attention(*inputs)[1] * inputs[-1][:, None],
            ),
            OPEN_QUERIES,
        ),
        Slip(
            "open-queries-zeros",
            lambda *inputs: (self_attention(*inputs)[0][inputs[-1]], 0 * self_attention(*inputs)[1]),
            f"{OPEN_QUERIES} And the weights are all 0: with `table[a][:, b] = …`, the values are written "
            "into a copy.",
        ),
        Slip(
            "zeros-in-weights",
            change_weights(lambda weights, is_open: torch.zeros_like(weights)),
            "the outputs are right, but the weights are all 0. With `table[a][:, b] = …`, the values are "
            "written into a copy. Use a single index: `table[:, is_open] = …`.",
        ),
        Slip(
            "columns-at-the-right",
            change_weights(open_first),
            "the outputs are right, but the columns of the weights are in the wrong order: the zeros belong "
            "in the columns of the masked words, not all at the end. Write the weights into the open "
            "columns of an (n, n) tensor of zeros.",
        ),
        Slip(
            "columns-at-the-left",
            change_weights(lambda weights, is_open: open_first(weights, ~is_open)),
            "the outputs are right, but the columns of the weights are in the wrong order: the zeros belong "
            "in the columns of the masked words, not all at the start. Write the weights into the open "
            "columns of an (n, n) tensor of zeros.",
        ),
        Slip(
            "inverted",
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x @ w_q.T, x @ w_k.T, x @ w_v.T, ~is_open),
            INVERTED,
        ),
        Slip(
            "inverted-nan",
            layer_with(lambda scores, is_open: masked_softmax(scores, ~is_open)),
            INVERTED,
        ),
        Slip(
            "inverted-finite",
            layer_with(lambda scores, is_open: fill_with(-1e9)(scores, ~is_open)),
            INVERTED,
        ),
        Slip(
            "masked-rows-empty",
            lambda *inputs: tuple(output * inputs[-1][:, None] for output in self_attention(*inputs)),
            OPEN_WORDS_ATTEND,
        ),
        Slip(
            "masked-rows-nan",
            layer_with(lambda scores, is_open: masked_softmax(scores, is_open & is_open[:, None])),
            OPEN_WORDS_ATTEND,
        ),
        Slip(
            "rows-masked", layer_with(lambda scores, is_open: scores.softmax(-1) * is_open[:, None]), COLUMNS
        ),
        Slip(
            "rows-masked-nan",
            layer_with(lambda scores, is_open: masked_softmax(scores, is_open[:, None])),
            COLUMNS,
        ),
        Slip(
            "attends-to-itself",
            layer_with(
                lambda scores, is_open: masked_softmax(scores, is_open | torch.eye(len(scores)).bool())
            ),
            "a masked word still attends to itself. No word may attend to it, not even itself.",
        ),
        *(
            Slip(
                name,
                layer_with(
                    lambda scores, is_open, score=score: fill_with(score)(
                        scores, is_open & ~torch.eye(len(scores)).bool()
                    )
                ),
                "no word attends to itself. In self-attention, an open word attends to all open words, "
                "including itself.",
            )
            for name, score in (("not-to-itself", -1e9), ("not-to-itself-nan", -math.inf))
        ),
        Slip(
            "only-first-masked",
            layer_with(
                lambda scores, is_open: masked_softmax(scores, is_open | ((~is_open).cumsum(0) > 1)),
            ),
            "only the first masked word is masked. Mask every word for which `is_open` is False.",
        ),
        Slip(
            "by-number",
            by_number,
            "True and False are used as the row numbers 1 and 0. Index with the booleans themselves: "
            "`keys[is_open]`.",
        ),
        Slip(
            "over-the-queries",
            layer_with(lambda scores, is_open: scores.softmax(0) * is_open),
            OVER_THE_QUERIES,
        ),
        Slip(
            "over-the-queries-nan",
            layer_with(lambda scores, is_open: masked_softmax(scores, is_open, dim=0)),
            OVER_THE_QUERIES,
        ),
        Slip(
            "exponentials",
            layer_with(exponentials),
            "the exponentials are computed directly, but e¹⁰⁰ is too large for a float32 and becomes "
            "infinity. Use `torch.softmax`, which subtracts the largest score first.",
        ),
        Slip(
            "no-scale",
            layer_with(divisor=lambda x, w_k: 1.0),
            "the scores aren't divided by √d_k.",
        ),
        Slip(
            "times-root",
            layer_with(divisor=lambda x, w_k: len(w_k) ** -0.5),
            "the scores are multiplied by √d_k. Divide them by it.",
        ),
        Slip(
            "no-softmax",
            layer_with(lambda scores, is_open: scores * is_open),
            "the scores themselves are used as weights. A softmax over the open words should turn them into "
            "weights.",
        ),
        Slip(
            "scaled-by-d_k",
            layer_with(divisor=lambda x, w_k: len(w_k)),
            "the scores are divided by d_k instead of √d_k. Is the square root missing, or do you divide "
            "scores that were scaled already?",
        ),
        Slip(
            "root-of-d_model",
            layer_with(divisor=lambda x, w_k: math.sqrt(x.shape[-1])),
            "the scores are divided by √d_model. Divide by √d_k, where d_k is the width of a key.",
            misconception="M08",
        ),
        Slip(
            "root-of-n",
            layer_with(divisor=lambda x, w_k: math.sqrt(len(x))),
            "the scores are divided by √n. Divide by √d_k, where d_k is the width of a key.",
            misconception="M08",
        ),
        Slip(
            "root-of-open",
            lambda x, w_q, w_k, w_v, is_open: self_attention(
                x, w_q * math.sqrt(len(w_k) / is_open.sum()), w_k, w_v, is_open
            ),
            "the scores are divided by the square root of the number of open words. Divide by √d_k, where "
            "d_k is the width of a key.",
        ),
        Slip(
            "root-of-d_v",
            lambda x, w_q, w_k, w_v, is_open: self_attention(
                x, w_q * math.sqrt(len(w_k) / len(w_v)), w_k, w_v, is_open
            ),
            "the scores are divided by √d_v. Divide by √d_k, where d_k is the width of a key.",
        ),
        Slip(
            "no-w_q-and-w_k",
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x, x, x @ w_v.T, is_open),
            "the words themselves are used as queries and keys. Multiply them by `w_q` and `w_k` first.",
        ),
        Slip(
            "sums-keys",
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x @ w_q.T, x @ w_k.T, x @ w_k.T, is_open),
            "the outputs are weighted sums of the keys. They should be weighted sums of the values, "
            "`x @ w_v.T`.",
        ),
        Slip(
            "outputs-not-masked",
            lambda *inputs: (attend_to_all(*inputs)[0], self_attention(*inputs)[1]),
            "the weights are right, but the outputs still contain the masked words. Compute them from the "
            "weights that you return.",
        ),
        Slip(
            "zeroed-on-return",
            lambda *inputs: (attend_to_all(*inputs)[0], attend_to_all(*inputs)[1] * inputs[-1]),
            "the outputs are computed without `is_open`, and the weights of masked words are set to 0 "
            "afterwards. Mask the words *before* the softmax, and compute the outputs from those weights.",
        ),
        Slip(
            "weights-not-masked",
            lambda *inputs: (self_attention(*inputs)[0], attend_to_all(*inputs)[1]),
            "the outputs are right, but the returned weights were computed without `is_open`.",
        ),
        Slip(
            "softmax-twice",
            change_weights(lambda weights, is_open: weights.softmax(-1)),
            "the outputs are right, but a second softmax is applied to the returned weights. It gives "
            "weight to masked words again: e⁰ = 1.",
        ),
        Slip(
            "first-values",
            lambda x, w_q, w_k, w_v, is_open: (
                self_attention(x, w_q, w_k, w_v, is_open)[1][:, is_open] @ (x @ w_v.T)[: is_open.sum()],
                self_attention(x, w_q, w_k, w_v, is_open)[1],
            ),
            "the weights are right, but they are multiplied by the values of the first words instead of the "
            "open ones. Take the same rows as for the keys: `values[is_open]`.",
        ),
        Slip(
            "values-of-0",
            lambda x, w_q, w_k, w_v, is_open: attend(x @ w_q.T, x @ w_k.T, x @ w_v.T * is_open[:, None]),
            "only the values of masked words are set to 0. Their keys still get weight: leave both out.",
        ),
        Slip(
            "shared-w_q",
            lambda x, w_q, w_k, w_v, is_open: self_attention(x, w_q, w_q, w_v, is_open),
            "the keys are computed with `w_q`. Use `w_k`.",
        ),
        Slip(
            "shared-w_k",
            lambda x, w_q, w_k, w_v, is_open: self_attention(x, w_k, w_k, w_v, is_open),
            "the queries are computed with `w_k`. Use `w_q`.",
        ),
        Slip(
            "exchanged",
            lambda x, w_q, w_k, w_v, is_open: self_attention(x, w_k, w_q, w_v, is_open),
            "`w_q` and `w_k` are swapped: `w_q` makes the queries, `w_k` the keys. Or the scores are "
            "transposed: a row should belong to a query.",
        ),
        Slip(
            "no-w_v",
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x @ w_q.T, x @ w_k.T, x, is_open),
            "the outputs are weighted sums of the words `x`. They should be weighted sums of the values, "
            "`x @ w_v.T`.",
        ),
        Slip(
            "weights-transposed",
            change_weights(lambda weights, is_open: weights.mT),
            "the outputs are right, but the attention weights are transposed: a row should belong to the "
            "word that attends.",
        ),
    ),
)


# ---- the loop that masks words


def fake_translator(usual: str, flips: Mapping[int, str], together: Sequence[int] = ()) -> Callable:
    """A function like `pronoun`. Masking a position in `flips` makes it return that word (the last one
    counts); masking all of `together` makes it return "on". Every string is a new object, as in a model."""

    def pronoun(masked: Sequence[int]) -> str:
        if isinstance(masked, str | int):
            raise TypeError(f"pronoun expects a list of positions, such as pronoun([0]), but got {masked!r}")
        masked = list(masked)
        if any(isinstance(position, str) for position in masked):
            raise TypeError(f"pronoun expects positions, counted from 0, but got {masked}")
        word = "on" if together and set(together) <= set(masked) else usual
        for position in sorted(flips):
            word = flips[position] if position in masked else word
        return "".join(list(word))

    return pronoun


LONG = "the dog and the cat see the mouse and the cheese because it is good"
FLIPPING_WORDS = PlainExercise(
    name="flipping_words",
    lesson="self_attention",
    inputs=("words", "pronoun"),
    reference=solutions.flipping_words,
    by_hand=ByHand(
        {
            "words": ["the", "cat", "the", "water", "it"],
            "pronoun": fake_translator("elle", {3: "il"}, [1, 2]),
        },
        [3],
        "This translator predicts “elle” when no word is masked. When the words are masked one at a time, "
        "only position 3, “water”, changes that to “il”.",
    ),
    others=(
        lambda: (["it", "is", "cold"], fake_translator("il", {0: "elle", 2: "on"})),
        lambda: (["the", "dog", "sleeps", "the", "end"], fake_translator("il", {})),
        lambda: (
            ["they", "eat", "and", "they", "sleep"],
            fake_translator("elles", {0: "ils", 1: "ils", 4: "ils"}),
        ),
        lambda: (
            LONG.split(),
            fake_translator("il", {3: "elle", 9: "elle", 10: "ils", 12: "elle", 14: "on"}, [1, 2]),
        ),
        lambda: (["it"], fake_translator("elle", {0: "il"})),
        lambda: ([], fake_translator("il", {0: "elle"})),
    ),
    slips=known_mistakes(solutions.flipping_words),
)

EXERCISES = (SELF_ATTENTION, FLIPPING_WORDS)

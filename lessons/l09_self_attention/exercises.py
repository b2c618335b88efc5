"""The exercises of lesson 09: two memory reads, the layer, the loop that closes words, order and its test."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from course_lib.layers.attention import attend
from course_lib.teaching.exercises import (
    ByHand,
    Invariant,
    PlainExercise,
    Slip,
    TensorExercise,
    TestExercise,
    attention_mask,
    gaussian,
    wrong_only_at,
)
from lessons.l08_query_key_value.exercises import LN3, blend, look_up

# ---- a memory read twice


def read_with(next_query: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """Two reads; `next_query` makes the second query from the first one and its context."""

    def read(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        context, first = look_up(query, keys, values)
        answer, second = look_up(next_query(query, context), keys, values)
        return answer, first, second

    return read


read_twice = read_with(lambda query, context: query + context)


def answer_with(change: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable:
    """Two reads; the answer is made from the query and the contexts of both reads."""

    def read(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        answer, first, second = read_twice(query, keys, values)
        return change(query, look_up(query, keys, values)[0], answer), first, second

    return read


def third_read(next_query: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable:
    """Three reads; `next_query` makes the third query from the first one and both contexts."""

    def read(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        context, first = look_up(query, keys, values)
        second_context, _ = look_up(query + context, keys, values)
        answer, third = look_up(next_query(query, context, second_context), keys, values)
        return answer, first, third

    return read


def answer_with_third(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    _, first, second = read_twice(query, keys, values)
    third_context = third_read(lambda query, context, second: query + context + second)
    return third_context(query, keys, values)[0], first, second


def adds_keys(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first = look_up(query, keys, values)[1]
    answer, second = look_up(query + first @ keys, keys, values)
    return answer, first, second


def adds_best_value(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first = look_up(query, keys, values)[1]
    answer, second = look_up(query + values[first.argmax()], keys, values)
    return answer, first, second


def swaps_in_second(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    context, first = look_up(query, keys, values)
    answer, second = look_up(query + context, values, keys)
    return answer, first, second


def averages_keys(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    _, first, second = read_twice(query, keys, values)
    return second @ keys, first, second


def scaled_reads(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return read_twice(query, keys / math.sqrt(len(query)), values)


def scores_as_weights(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first = keys @ query
    second = keys @ (query + first @ values)
    return second @ values, first, second


THREE_READS = "there seem to be three reads. Call `soft_lookup` only twice."

READ_TWICE = TensorExercise(
    name="read_twice",
    lesson="self_attention",
    inputs={"query": gaussian("d"), "keys": gaussian("n d"), "values": gaussian("n d")},
    returns={"answer": "d", "first": "n", "second": "n"},
    sizes={"n": 5, "d": 4},
    reference=read_twice,
    by_hand=ByHand(
        inputs={
            "query": [LN3, 0.0],
            "keys": [[1.0, 0.0], [0.0, 1.0]],
            "values": [[0.0, (2 + 2 * LN3) / 0.75], [8.0, 0.0]],
        },
        answer={
            "answer": [6.0, (2 + 2 * LN3) / 3],
            "first": [0.75, 0.25],
            "second": [0.25, 0.75],
        },
        says="In the first read the scores are ln 3 and 0, so the weights are 3/4 and 1/4, and the context "
        "is (2, 4.197). Query plus context is (3.099, 4.197). These are also the scores of the second read, "
        "because the keys are (1, 0) and (0, 1). The second score is larger by ln 3, so the weights are 1/4 "
        "and 3/4, and the answer is (6, 1.399).",
    ),
    slips=(
        Slip(
            "same-query",
            read_with(lambda query, context: query),
            "both reads use the same query, so the second one returns the same as the first. Add the first "
            "context to the query in between.",
        ),
        Slip(
            "context-alone",
            read_with(lambda query, context: context),
            "the second query is the context alone. It should be the sum of the query and the context.",
        ),
        Slip(
            "averaged",
            read_with(lambda query, context: (query + context) / 2),
            "the second query is the mean of the query and the context. It should be their sum.",
        ),
        Slip(
            "multiplied",
            read_with(lambda query, context: query * context),
            "the query is multiplied by the context. The two should be added.",
        ),
        Slip(
            "minus",
            read_with(lambda query, context: query - context),
            "the context is subtracted from the query. The two should be added.",
        ),
        Slip(
            "adds-keys",
            adds_keys,
            "the weighted sum of the *keys* is added to the query. The context is a weighted sum of values.",
        ),
        Slip(
            "adds-best-value",
            adds_best_value,
            "only the value with the largest weight is added to the query. Add the context, the weighted sum "
            "of all values.",
        ),
        Slip(
            "swapped-in-second",
            swaps_in_second,
            "`keys` and `values` are swapped in the second read.",
        ),
        Slip(
            "first-context",
            answer_with(lambda query, context, answer: context),
            "the answer is the context of the first read. Return that of the second.",
        ),
        Slip(
            "both-added",
            answer_with(lambda query, context, answer: context + answer),
            "the answer is the sum of both contexts. Return only the second one.",
        ),
        Slip(
            "answer-plus-query",
            answer_with(lambda query, context, answer: query + context + answer),
            "the second query is added to the answer, as in the paper. Here the answer is the second context "
            "alone.",
        ),
        Slip(
            "answer-plus-first-query",
            answer_with(lambda query, context, answer: query + answer),
            "the query is added to the answer. Here the answer is the second context alone.",
        ),
        Slip(
            "index-of-answer",
            answer_with(lambda query, context, answer: answer.argmax()),
            "the answer is an index. Return the second context itself, a vector of width d.",
        ),
        Slip(
            "averages-keys",
            averages_keys,
            "the answer is a weighted sum of the *keys*. It should be a weighted sum of the values.",
        ),
        Slip(
            "first-weights-twice",
            lambda *inputs: (read_twice(*inputs)[0], *[read_twice(*inputs)[1]] * 2),
            "the weights of the first read are returned twice. The third output should be the weights of "
            "the second read.",
        ),
        Slip(
            "contexts-averaged",
            answer_with(lambda query, context, answer: (context + answer) / 2),
            "the answer is the mean of both contexts. Return only the second one.",
        ),
        Slip(
            "no-softmax",
            scores_as_weights,
            "the scores are used as weights without a softmax. `soft_lookup` includes the softmax.",
        ),
        Slip("three-reads", third_read(lambda query, context, second: query + context + second), THREE_READS),
        Slip(
            "third-context",
            answer_with_third,
            "the answer seems to come from a third read. Return the context of the second one.",
        ),
        Slip("three-reads-reset", third_read(lambda query, context, second: query + second), THREE_READS),
        Slip(
            "scaled",
            scaled_reads,
            "the scores are divided by √d. `soft_lookup` from lesson 08 doesn't scale them.",
        ),
    ),
)


# ---- the layer


def masked_attention(queries: Tensor, keys: Tensor, values: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
    return attend(queries, keys, values, mask=is_open.expand(len(queries), len(keys)))


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, is_open: Tensor
) -> tuple[Tensor, Tensor]:
    return masked_attention(x @ w_q, x @ w_k, x @ w_v, is_open)


def masked_softmax(scores: Tensor, is_open: Tensor, dim: int = -1) -> Tensor:
    return scores.masked_fill(~is_open, -math.inf).softmax(dim)


def layer_with(
    weights_of: Callable[[Tensor, Tensor], Tensor] = masked_softmax,
    divisor: Callable[[Tensor, Tensor], float] = lambda x, w_k: math.sqrt(w_k.shape[-1]),
) -> Callable:
    """The layer, with other weights, computed from the scores and `is_open`, or with another divisor."""

    def layer(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
        scores = (x @ w_q) @ (x @ w_k).mT / divisor(x, w_k)
        return blend(weights_of(scores, is_open), x @ w_v)

    return layer


attend_to_all = layer_with(lambda scores, is_open: scores.softmax(-1))


def fill_with(score: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda scores, is_open: scores.masked_fill(~is_open, score).softmax(-1)


def change_weights(change: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """The right outputs, but the weights changed."""

    def layer(*inputs: Tensor) -> tuple[Tensor, Tensor]:
        outputs, weights = self_attention(*inputs)
        return outputs, change(weights, inputs[-1])

    return layer


def open_first(weights: Tensor, is_open: Tensor) -> Tensor:
    return torch.cat([weights[:, is_open], weights[:, ~is_open]], dim=-1)


def renormalise(weights: Tensor, least: float = 0.0) -> Tensor:
    return weights / weights.sum(-1, keepdim=True).clamp(min=least)


def by_number(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
    """True and False used as the row numbers 1 and 0."""
    rows = x[is_open.long()]
    outputs, weights = attend(x @ w_q, rows @ w_k, rows @ w_v)
    return outputs, weights * is_open


def zero_queries(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
    return masked_attention(x @ w_q * is_open[:, None], x @ w_k, x @ w_v, is_open)


def far_apart() -> tuple[Tensor, ...]:
    """The open word has a score of −131,072 in its own row, the closed ones of +131,072, so a closed word
    keeps all the weight if its score is set to −10,000 or lowered by as much. With more than one open word,
    the gradients would be dominated by rounding errors."""
    x = torch.tensor(
        [[-32.0, 0.0, 0.0, 0.0], [-32.0, 1.0, 0.0, 0.0], [32.0, 2.0, 0.0, 0.0], [-32.0] + [0.0] * 3]
    )
    w_q, w_k = torch.zeros(4, 4), torch.zeros(4, 4)
    w_q[0, 0], w_k[0, 0], w_k[1, 0] = -16.0, 16.0, 1 / 256
    w_v = torch.tensor([[1.0, 2.0], [4.0, -8.0], [0.0, 1.0], [1.0, 0.0]])
    return x, w_q, w_k, w_v, torch.tensor([False, False, True, False])


LEFT_OUT = "Leave the keys and values of closed words out instead."
FINITE_SCORE = (
    "the scores of closed words are set to a finite number, such as −100, or lowered by a number like that. "
    f"If the other scores are low enough, closed words still get weight. {LEFT_OUT}"
)
RENORMALISED = (
    "closed words still take part in the softmax, and the other weights are divided by their sum afterwards. "
    "If a closed word has a much higher score than the others, those round to 0. Close the words *before* "
    "the softmax."
)
OPEN_WORDS_ATTEND = (
    "the rows of closed words are emptied. A closed word can't be attended *to*, but it still has a query, "
    "attention weights and an output."
)
COLUMNS = (
    "`is_open` is applied to the rows of the weights. A row belongs to the word that attends, a column to "
    "the word that is attended to, so closed words should lose their columns."
)
OVER_THE_QUERIES = "the softmax is taken down the columns. Each row should sum to 1: use `dim=-1`."

SELF_ATTENTION = TensorExercise(
    name="self_attention",
    lesson="self_attention",
    inputs={
        "x": gaussian("n d_model"),
        "w_q": gaussian("d_model d_k"),
        "w_k": gaussian("d_model d_k"),
        "w_v": gaussian("d_model d_v"),
        "is_open": attention_mask("n"),
    },
    returns={"outputs": "n d_v", "weights": "n n"},
    sizes={"n": 5, "d_model": 8, "d_k": 3, "d_v": 6},
    others=(far_apart,),
    reference=self_attention,
    by_hand=ByHand(
        inputs={
            "x": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            "w_q": [[2.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4],
            "w_k": [[0.0] * 4, [LN3, 0.0, 0.0, 0.0], [7.0, 0.0, 0.0, 0.0]],
            "w_v": [[4.0], [8.0], [100.0]],
            "is_open": [True, True, False],
        },
        answer={
            "outputs": [[7.0], [6.0], [6.0]],
            "weights": [[0.25, 0.75, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]],
        },
        says="With this `x`, the queries equal `w_q`, the keys `w_k` and the values `w_v`. The third word is "
        "closed, so every word attends to the first two only. For the first word the scores are 0 and "
        "2 · ln 3 / √4 = ln 3, so its weights are 1/4 and 3/4, and its output is 1/4 · 4 + 3/4 · 8 = 7. The "
        "other two words have scores of 0 and 0, so both weights are 1/2, and the output is 6. The closed "
        "word has a query too, and therefore a row.",
    ),
    invariants=(
        Invariant("the weights of each word sum to 1", lambda it: it.weights.sum(-1), 1.0),
        Invariant(
            "the weights on closed words add up to 0",
            lambda it: it.weights.masked_fill(it.is_open, 0.0).abs().sum(),
            0.0,
        ),
    ),
    slips=(
        Slip(
            "nothing-closed",
            attend_to_all,
            "`is_open` has no effect: closed words are attended to like the others. Leave out their keys and "
            "values before the softmax.",
        ),
        Slip(
            "zero-after-softmax",
            layer_with(lambda scores, is_open: scores.softmax(-1) * is_open),
            "the weights of closed words are set to 0 after the softmax, so the rows sum to less than 1. "
            "Close the words *before* the softmax.",
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
            f"closed words get a score of 0, and a score of 0 still gets weight: e⁰ = 1. {LEFT_OUT}",
            misconception="M19",
        ),
        Slip(
            "keys-and-values-of-0",
            lambda x, w_q, w_k, w_v, is_open: attend(
                x @ w_q, x @ w_k * is_open[:, None], x @ w_v * is_open[:, None]
            ),
            "the keys and values of closed words are set to 0. A key of 0 has a score of 0, and that still "
            "gets weight: e⁰ = 1. Leave those rows out instead.",
            misconception="M19",
        ),
        Slip(
            "x-of-0",
            lambda x, w_q, w_k, w_v, is_open: attend_to_all(x * is_open[:, None], w_q, w_k, w_v, is_open),
            "closed words are set to 0 in `x`. Their keys then have a score of 0, which still gets weight, "
            "and their queries are lost. Leave `x` as it is, and take rows out of the keys and values.",
            misconception="M19",
        ),
        Slip(
            "queries-of-0",
            zero_queries,
            "the queries of closed words are set to 0. A closed word can't be attended *to*, but its own "
            "query should stay as it is.",
        ),
        Slip(
            "score-of-minus-10",
            layer_with(fill_with(-10.0)),
            "closed words get a score of −10. Where the other scores are low, they still get weight. "
            f"{LEFT_OUT}",
        ),
        Slip("low-score", layer_with(fill_with(-100.0)), FINITE_SCORE),
        Slip(
            "lowered-score",
            layer_with(lambda scores, is_open: (scores - 100.0 * ~is_open).softmax(-1)),
            FINITE_SCORE,
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
            lambda x, w_q, w_k, w_v, is_open: attend(*(x[is_open] @ matrix for matrix in (w_q, w_k, w_v))),
            "closed words are removed from `x`, so they have no row. A closed word still has a query: take "
            "rows out of the keys and values only.",
        ),
        Slip(
            "columns-at-the-right",
            change_weights(open_first),
            "the outputs are right, but the columns of the weights are in the wrong order: the zeros belong "
            "in the columns of the closed words, not all at the end. Write the weights into the open "
            "columns of an (n, n) tensor of zeros.",
        ),
        Slip(
            "columns-at-the-left",
            change_weights(lambda weights, is_open: open_first(weights, ~is_open)),
            "the outputs are right, but the columns of the weights are in the wrong order: the zeros belong "
            "in the columns of the closed words, not all at the start. Write the weights into the open "
            "columns of an (n, n) tensor of zeros.",
        ),
        Slip(
            "inverted",
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x @ w_q, x @ w_k, x @ w_v, ~is_open),
            "`is_open` is inverted: the open words are closed and the closed ones open.",
        ),
        Slip(
            "closed-rows-empty",
            lambda *inputs: tuple(output * inputs[-1][:, None] for output in self_attention(*inputs)),
            OPEN_WORDS_ATTEND,
        ),
        Slip(
            "closed-rows-nan",
            layer_with(lambda scores, is_open: masked_softmax(scores, is_open & is_open[:, None])),
            OPEN_WORDS_ATTEND,
        ),
        Slip(
            "rows-closed", layer_with(lambda scores, is_open: scores.softmax(-1) * is_open[:, None]), COLUMNS
        ),
        Slip(
            "rows-closed-nan",
            layer_with(lambda scores, is_open: masked_softmax(scores, is_open[:, None])),
            COLUMNS,
        ),
        Slip(
            "attends-to-itself",
            layer_with(
                lambda scores, is_open: masked_softmax(scores, is_open | torch.eye(len(scores)).bool())
            ),
            "a closed word still attends to itself. No word may attend to it, including itself.",
        ),
        Slip(
            "only-first-closed",
            layer_with(
                lambda scores, is_open: masked_softmax(scores, is_open | ((~is_open).cumsum(0) > 1)),
            ),
            "only the first closed word is closed. Close every word for which `is_open` is False.",
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
            "no-scale",
            layer_with(divisor=lambda x, w_k: 1.0),
            "the scores aren't divided by √d_k.",
        ),
        Slip(
            "times-root",
            layer_with(divisor=lambda x, w_k: w_k.shape[-1] ** -0.5),
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
            layer_with(divisor=lambda x, w_k: w_k.shape[-1]),
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
            "root-of-d_v",
            lambda x, w_q, w_k, w_v, is_open: self_attention(
                x, w_q * math.sqrt(w_k.shape[-1] / w_v.shape[-1]), w_k, w_v, is_open
            ),
            "the scores are divided by √d_v. Divide by √d_k, where d_k is the width of a key.",
        ),
        Slip(
            "no-w_q-and-w_k",
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x, x, x @ w_v, is_open),
            "the words themselves are used as queries and keys. Multiply them by `w_q` and `w_k` first.",
        ),
        Slip(
            "sums-keys",
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x @ w_q, x @ w_k, x @ w_k, is_open),
            "the outputs are weighted sums of the keys. They should be weighted sums of the values, "
            "`x @ w_v`.",
        ),
        Slip(
            "outputs-not-closed",
            lambda *inputs: (attend_to_all(*inputs)[0], self_attention(*inputs)[1]),
            "the weights are right, but the outputs still contain the closed words. Compute them from the "
            "weights that you return.",
        ),
        Slip(
            "weights-not-closed",
            lambda *inputs: (self_attention(*inputs)[0], attend_to_all(*inputs)[1]),
            "the outputs are right, but the returned weights were computed without `is_open`.",
        ),
        Slip(
            "values-of-0",
            lambda x, w_q, w_k, w_v, is_open: attend(x @ w_q, x @ w_k, x @ w_v * is_open[:, None]),
            "only the values of closed words are set to 0. Their keys still get weight: leave both out.",
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
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x @ w_q, x @ w_k, x, is_open),
            "the outputs are weighted sums of the words `x`. They should be weighted sums of the values, "
            "`x @ w_v`.",
        ),
        Slip(
            "weights-transposed",
            change_weights(lambda weights, is_open: weights.mT),
            "the outputs are right, but the weights are transposed: a row should belong to the word that "
            "attends.",
        ),
    ),
)


# ---- the loop that closes words


def flipping_words(words: Sequence[str], pronoun: Callable[[list[int]], str]) -> list[int]:
    before = pronoun([])
    return [position for position in range(len(words)) if pronoun([position]) != before]


def keeps_closing(words: Sequence[str], pronoun: Callable) -> list[int]:
    before, closed, flips = pronoun([]), [], []
    for position in range(len(words)):
        closed.append(position)
        if pronoun(list(closed)) != before:
            flips.append(position)
    return flips


def keeps_flips_closed(
    words: Sequence[str], pronoun: Callable, *, compare_with_last: bool = False
) -> list[int]:
    before, flips = pronoun([]), []
    for position in range(len(words)):
        if pronoun([*flips, position]) != before:
            flips.append(position)
            before = pronoun(flips) if compare_with_last else before
    return flips


def compares_with_previous(words: Sequence[str], pronoun: Callable) -> list[int]:
    results = [pronoun([]), *(pronoun([position]) for position in range(len(words)))]
    return [position for position in range(len(words)) if results[position + 1] != results[position]]


def flips_if(changed: Callable[[str, str], bool]) -> Callable:
    """The positions where `changed` is true of the pronoun before and after closing the word."""
    return lambda words, pronoun: [i for i in range(len(words)) if changed(pronoun([]), pronoun([i]))]


def closes_others(words: Sequence[str], pronoun: Callable) -> list[int]:
    positions = range(len(words))
    return [i for i in positions if pronoun([j for j in positions if j != i]) != pronoun([])]


def of_flips(change: Callable[[Sequence[str], list[int]], object]) -> Callable:
    """Something made of the words and the right positions."""
    return lambda words, pronoun: change(words, flipping_words(words, pronoun))


def fake_translator(usual: str, flips: Mapping[int, str], together: Sequence[int] = ()) -> Callable:
    """A function like `pronoun`. Closing a position in `flips` makes it return that word (the last one
    counts); closing all of `together` makes it return "on". Every string is a new object, as in a model."""

    def pronoun(closed: Sequence[int]) -> str:
        if isinstance(closed, str | int):
            raise TypeError(f"pronoun expects a list of positions, such as pronoun([0]), but got {closed!r}")
        closed = list(closed)
        if any(isinstance(position, str) for position in closed):
            raise TypeError(f"pronoun expects positions, counted from 0, but got {closed}")
        word = "on" if together and set(together) <= set(closed) else usual
        for position in sorted(flips):
            word = flips[position] if position in closed else word
        return "".join(list(word))

    return pronoun


LONG = "the dog and the cat see the mouse and the cheese because it is good"
ONE_AT_A_TIME = (
    "words stay closed while later ones are tried, so several are closed at once. Close one word at a time."
)
ANY_CHANGE = "Any change counts: compare with the pronoun when no word is closed, `pronoun([])`."

FLIPPING_WORDS = PlainExercise(
    name="flipping_words",
    lesson="self_attention",
    inputs=("words", "pronoun"),
    reference=flipping_words,
    by_hand=ByHand(
        {
            "words": ["the", "cat", "the", "water", "it"],
            "pronoun": fake_translator("elle", {3: "il"}, [1, 2]),
        },
        [3],
        "This translator predicts “elle” when no word is closed. When the words are closed one at a time, "
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
    slips=(
        Slip("keeps-closing", keeps_closing, ONE_AT_A_TIME),
        Slip("keeps-flips-closed", keeps_flips_closed, ONE_AT_A_TIME),
        Slip("flips-back-and-forth", partial(keeps_flips_closed, compare_with_last=True), ONE_AT_A_TIME),
        Slip(
            "closes-earlier-words",
            lambda words, pronoun: [i for i in range(len(words)) if pronoun(list(range(i))) != pronoun([])],
            "all words before a position are closed. Close only that one: `pronoun([position])`.",
        ),
        Slip(
            "closes-the-next",
            lambda words, pronoun: [i for i in range(len(words)) if pronoun([i + 1]) != pronoun([])],
            "the word after each position is closed. Close the word at that position.",
        ),
        Slip(
            "compares-with-first",
            lambda words, pronoun: [i for i in range(len(words)) if pronoun([i]) != pronoun([0])],
            f"each result is compared with that for position 0. {ANY_CHANGE}",
        ),
        Slip(
            "compares-with-all-closed",
            lambda words, pronoun: [
                i for i in range(len(words)) if pronoun([i]) != pronoun(list(range(len(words))))
            ],
            f"each result is compared with the pronoun when *all* words are closed. {ANY_CHANGE}",
        ),
        Slip(
            "first-nine",
            lambda words, pronoun: [i for i in range(9) if pronoun([i]) != pronoun([])],
            "only the first nine positions are tried. Sentences can be longer or shorter: loop over all "
            "positions of `words`.",
        ),
        Slip(
            "closes-the-others",
            closes_others,
            "all words *except* one are closed. Close only that one: `pronoun([position])`.",
        ),
        Slip(
            "compares-with-previous",
            compares_with_previous,
            f"each result is compared with the one before it. {ANY_CHANGE}",
        ),
        Slip(
            "words-for-positions",
            of_flips(lambda words, flips: [words[position] for position in flips]),
            "these are the words. Return their positions, because a word such as “the” can occur twice.",
        ),
        Slip(
            "pronouns",
            lambda words, pronoun: [pronoun([i]) for i in flipping_words(words, pronoun)],
            "these are the new pronouns. Return the positions that were closed.",
        ),
        Slip(
            "pairs",
            of_flips(lambda words, flips: [(position, words[position]) for position in flips]),
            "these are pairs of a position and a word. Return the positions only.",
        ),
        Slip(
            "first-occurrence",
            lambda words, pronoun: [
                words.index(word) for word in words if pronoun([words.index(word)]) != pronoun([])
            ],
            "a repeated word is always closed at its first position. `words.index` finds only the first one, "
            "so loop over the positions.",
        ),
        Slip(
            "first-occurrence-returned",
            of_flips(lambda words, flips: [words.index(words[position]) for position in flips]),
            "a repeated word is reported at its first position. `words.index` finds only the first one, so "
            "return the position that you closed.",
        ),
        Slip(
            "skips-repeated",
            of_flips(lambda words, flips: [i for i in flips if words[i] not in words[:i]]),
            "a word that occurred before is skipped. Every position counts.",
        ),
        Slip(
            "counted-from-1",
            of_flips(lambda words, flips: [position + 1 for position in flips]),
            "the positions are counted from 1. Count from 0.",
        ),
        Slip(
            "those-that-stay",
            of_flips(lambda words, flips: [i for i in range(len(words)) if i not in flips]),
            "these are the positions of the words that *don't* change the pronoun.",
        ),
        Slip(
            "first-only",
            of_flips(lambda words, flips: flips[:1]),
            "only the first such word is returned. Does the function return inside the loop?",
        ),
        Slip(
            "last-only",
            of_flips(lambda words, flips: flips[-1:]),
            "only the last such word is returned. Does the loop overwrite the list?",
        ),
        Slip(
            "last-forgotten",
            of_flips(lambda words, flips: [i for i in flips if i < len(words) - 1]),
            "the last word is never closed. Does the loop end one position too early?",
        ),
        Slip(
            "first-forgotten",
            of_flips(lambda words, flips: [i for i in flips if i > 0]),
            "the first word is never closed. Positions start at 0.",
        ),
        Slip(
            "reversed",
            of_flips(lambda words, flips: flips[::-1]),
            "the positions are in reverse order.",
        ),
        Slip(
            "all-but-il",
            flips_if(lambda before, after: after != "il"),
            f"each result is compared with “il”. {ANY_CHANGE}",
        ),
        Slip(
            "all-but-elle",
            flips_if(lambda before, after: after != "elle"),
            f"each result is compared with “elle”. {ANY_CHANGE}",
        ),
        Slip(
            "waits-for-elle",
            flips_if(lambda before, after: after == "elle"),
            f"only “elle” counts as a change. {ANY_CHANGE}",
        ),
        Slip(
            "il-to-elle",
            flips_if(lambda before, after: (before, after) == ("il", "elle")),
            f"only a change from “il” to “elle” is counted. {ANY_CHANGE}",
        ),
        Slip(
            "only-il-and-elle",
            flips_if(lambda before, after: {before, after} == {"il", "elle"}),
            f"only a change between “il” and “elle” is counted. {ANY_CHANGE}",
        ),
        Slip(
            "all-positions",
            flips_if(lambda before, after: True),
            "every position is returned, so the comparison is always true. Compare `pronoun([position])` "
            "with `pronoun([])`, and use `!=`: `is not` compares objects, and two equal strings can be "
            "different objects.",
        ),
        Slip("set", of_flips(lambda words, flips: set(flips)), "this is a set. Return a list, in order."),
        Slip(
            "booleans",
            of_flips(lambda words, flips: [i in flips for i in range(len(words))]),
            "there is a True or False for every word. Return only the positions where the pronoun changes.",
        ),
        Slip("count", of_flips(lambda words, flips: len(flips)), "this is only their number. Return a list."),
    ),
)


# ---- order


def unshuffle(outputs: Tensor, order: Tensor) -> Tensor:
    return outputs[torch.argsort(order)]


def first_version(outputs, order):
    return outputs[order]


def shuffled(n: int, d: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator), torch.randperm(n, generator=generator)


UNSHUFFLE = PlainExercise(
    name="unshuffle",
    variations=(),  # an order can't have equal entries
    trains=False,
    lesson="self_attention",
    inputs=("outputs", "order"),
    reference=unshuffle,
    unrepaired=first_version,
    by_hand=ByHand(
        {"outputs": torch.tensor([[10.0], [20.0], [30.0]]), "order": torch.tensor([1, 2, 0])},
        torch.tensor([[30.0], [10.0], [20.0]]),
        "`order` is 1, 2, 0: the layer was given word 1 first, then word 2, then word 0. So 10 belongs to "
        "word 1, 20 to word 2 and 30 to word 0. By word: 30, 10, 20.",
    ),
    others=(
        lambda: shuffled(5, 3, 1),
        lambda: shuffled(8, 2, 2),
        lambda: (torch.tensor([[1.0, 2.0]]), torch.tensor([0])),
        lambda: (torch.tensor([[1.0], [2.0]]), torch.tensor([1, 0])),
    ),
    slips=(
        Slip(
            "left-shuffled",
            lambda outputs, order: outputs,
            "the rows are still in the shuffled order.",
        ),
        Slip(
            "turned-round",
            lambda outputs, order: outputs.flip(0),
            "the rows are turned round, last one first. That undoes one order alone.",
        ),
        Slip(
            "by-size",
            lambda outputs, order: outputs[outputs[:, 0].argsort()],
            "the rows are sorted by what is in them. Sort by the word each belongs to, which is in `order`.",
        ),
    ),
)


def plain_self_attention(x: Tensor) -> Tensor:
    return attend(x, x, x)[0]


def random_matrices(d: int, dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(d)
    return [torch.randn(d, d, generator=generator).to(dtype) for _ in range(3)]


def with_matrices(x: Tensor) -> Tensor:
    w_q, w_k, w_v = random_matrices(x.shape[-1], x.dtype)
    return attend(x @ w_q, x @ w_k, x @ w_v)[0]


def positions(x: Tensor) -> Tensor:
    return torch.arange(len(x), dtype=x.dtype)[:, None]


def distance_from_the_middle(x: Tensor) -> Tensor:
    return (positions(x) - (len(x) - 1) / 2).abs()


def recurrent(x: Tensor) -> Tensor:
    states = [x[0]]
    for word in x[1:]:
        states.append(torch.tanh(states[-1] + word))
    return torch.stack(states)


def mark(position: int) -> Callable:
    """A layer that treats one position differently."""
    return wrong_only_at(position, plain_self_attention, lambda x: plain_self_attention(x) + 1)


ORDER_BLIND = TensorExercise(
    name="order_blind",
    lesson="self_attention",
    inputs={"x": gaussian("n d")},
    returns={"outputs": "n d"},
    sizes={"n": 5, "d": 4},
    reference=plain_self_attention,
    by_hand=ByHand({"x": [[1.0]]}, {"outputs": [[1.0]]}, "One word can only attend to itself."),
)


def careful_test(layer: Callable) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 4, generator=generator)
    order = torch.tensor([3, 0, 5, 2, 1, 4])
    torch.testing.assert_close(layer(x[order]), layer(x)[order])


TEST_ORDER_BLIND = TestExercise(
    name="test_order_blind",
    lesson="self_attention",
    inputs={"layer": "a function"},
    of=ORDER_BLIND,
    what="layer",
    accepts={
        "with three matrices": with_matrices,
        "so that it transforms each word separately": lambda x: torch.tanh(2 * x),
        "with the mean of all words": lambda x: x + x.mean(dim=0),
    },
    rejects={},
    wrong={
        "adds the position to each word": lambda x: plain_self_attention(x + positions(x)),
        "adds a small number to each output, 0.05 times its position": lambda x: (
            plain_self_attention(x) + 0.05 * positions(x)
        ),
        "outputs the sum of all words up to each position": lambda x: x.cumsum(0),
        "is a recurrent network": recurrent,
        "outputs the sum of each word's neighbours, with the first and last word as neighbours": lambda x: (
            x.roll(1, 0) + x.roll(-1, 0)
        ),
        "treats the middle differently from the ends": lambda x: (
            plain_self_attention(x) * distance_from_the_middle(x)
        ),
        "treats even and odd positions differently": lambda x: plain_self_attention(x) + positions(x) % 2,
        "treats only the first position differently": mark(0),
        "treats only the last position differently": mark(-1),
        "is wrong only in the last column of its outputs": wrong_only_at(
            (..., -1), plain_self_attention, lambda x: plain_self_attention(x + positions(x))
        ),
        "sorts its outputs": lambda x: x.sort(dim=0).values,
        "returns the outputs of the words in reverse order": lambda x: plain_self_attention(x).flip(0),
    },
    reference=careful_test,
)

EXERCISES = (READ_TWICE, SELF_ATTENTION, FLIPPING_WORDS, UNSHUFFLE, TEST_ORDER_BLIND)

"""The exercises of lesson 09: two memory reads, the layer, the loop that closes words, order and its test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

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


def answer_plus_query(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    answer, first, second = read_twice(query, keys, values)
    context, _ = look_up(query, keys, values)
    return answer + query + context, first, second


def both_added(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    answer, first, second = read_twice(query, keys, values)
    return answer + look_up(query, keys, values)[0], first, second


def adds_keys(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first = look_up(query, keys, values)[1]
    answer, second = look_up(query + first @ keys, keys, values)
    return answer, first, second


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
        says="First read: scores ln 3 and 0, weights 3/4 and 1/4; what comes back is (2, 4.197). Added to "
        "the query that makes (3.099, 4.197): the scores of the second read. The second is ahead by ln 3, so "
        "the weights are 1/4 and 3/4, and the answer is (6, 1.399).",
    ),
    slips=(
        Slip(
            "same-query",
            read_with(lambda query, context: query),
            "both reads ask with the same query, so the second finds what the first did. Add what came back "
            "to the query in between.",
        ),
        Slip(
            "context-alone",
            read_with(lambda query, context: context),
            "the second read asks with what came back alone. The old query is kept: add the two.",
        ),
        Slip(
            "adds-keys",
            adds_keys,
            "the blend of the *keys* is added to the query. What comes back from a read is made of values.",
        ),
        Slip(
            "first-context",
            lambda query, keys, values: (
                look_up(query, keys, values)[0],
                *read_twice(query, keys, values)[1:],
            ),
            "the answer is what the first read brings back. Return the second context.",
        ),
        Slip(
            "both-added",
            both_added,
            "what came back from both reads is added up. The answer is what the second read brings back.",
        ),
        Slip(
            "answer-plus-query",
            answer_plus_query,
            "the answer still has the query in it. The answer is what the second read brings back, alone.",
        ),
        Slip(
            "minus",
            read_with(lambda query, context: query - context),
            "what came back is subtracted from the query. Add it.",
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


def scores_of(x: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
    return (x @ w_q) @ (x @ w_k).mT / math.sqrt(w_k.shape[-1])


def masked(scores: Tensor, is_open: Tensor) -> Tensor:
    return scores.masked_fill(~is_open, -math.inf)


def open_first(weights: Tensor, is_open: Tensor) -> Tensor:
    return torch.cat([weights[:, is_open], weights[:, ~is_open]], dim=-1)


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
        says="With this `x` the queries are `w_q`, the keys `w_k` and the values `w_v` themselves. The third "
        "word is closed, so each word shares out over the first two. The first one scores 0 and "
        "2 · ln 3 / √4 = ln 3: weights 1/4 and 3/4, output 1/4 · 4 + 3/4 · 8 = 7. The others score 0 twice: "
        "halves, output 6. The closed word still asks, so it has a row too.",
    ),
    invariants=(
        Invariant("the weights of each word sum to 1", lambda it: it.weights.sum(-1), 1.0),
        Invariant(
            "the weights on closed words, all added up, are 0",
            lambda it: it.weights.masked_fill(it.is_open, 0.0).abs().sum(),
            0.0,
        ),
    ),
    slips=(
        Slip(
            "nothing-closed",
            lambda x, w_q, w_k, w_v, is_open: blend(scores_of(x, w_q, w_k).softmax(-1), x @ w_v),
            "closed words are looked at like the others. Leave their keys and values out before you attend.",
        ),
        Slip(
            "not-shared-out-again",
            lambda x, w_q, w_k, w_v, is_open: blend(scores_of(x, w_q, w_k).softmax(-1) * is_open, x @ w_v),
            "the weights of closed words are set to 0 after the softmax, so a row sums to less than 1. Take "
            "the closed words out *before*: then the rest is shared out among the open ones.",
            misconception="M20",
        ),
        Slip(
            "keys-set-to-0",
            lambda x, w_q, w_k, w_v, is_open: blend((scores_of(x, w_q, w_k) * is_open).softmax(-1), x @ w_v),
            "a closed word gets a score of 0, and a score of 0 earns weight: e⁰ = 1. Take its key and its "
            "value out altogether.",
            misconception="M19",
        ),
        Slip(
            "keys-and-values-times-0",
            lambda x, w_q, w_k, w_v, is_open: blend(
                (scores_of(x, w_q, w_k) * is_open).softmax(-1), x @ w_v * is_open[:, None]
            ),
            "the keys and values of closed words are set to 0. A key of 0 scores 0, and that earns weight: "
            "e⁰ = 1. Take the rows out altogether.",
            misconception="M19",
        ),
        Slip(
            "x-times-0",
            lambda x, w_q, w_k, w_v, is_open: blend(
                scores_of(x * is_open[:, None], w_q, w_k).softmax(-1), (x * is_open[:, None]) @ w_v
            ),
            "closed words are set to 0 in `x`. A key of 0 scores 0, and that earns weight: e⁰ = 1. And a "
            "closed word still asks. Leave `x` whole; take rows out of keys and values.",
            misconception="M19",
        ),
        Slip(
            "columns-at-the-right",
            lambda x, w_q, w_k, w_v, is_open: (
                self_attention(x, w_q, w_k, w_v, is_open)[0],
                open_first(self_attention(x, w_q, w_k, w_v, is_open)[1], is_open),
            ),
            "the outputs are right, but the columns of the weights are not in their places: the zeros belong "
            "under the closed words, not all at the right. Write into `table[:, is_open]`.",
        ),
        Slip(
            "turned-round",
            lambda x, w_q, w_k, w_v, is_open: masked_attention(x @ w_q, x @ w_k, x @ w_v, ~is_open),
            "the open words are closed and the closed ones open.",
        ),
        Slip(
            "closed-words-do-not-ask",
            lambda x, w_q, w_k, w_v, is_open: tuple(
                output * is_open[:, None] for output in self_attention(x, w_q, w_k, w_v, is_open)
            ),
            "the rows of closed words are 0. A closed word cannot be looked *at*; it still asks, and gets an "
            "output.",
        ),
        Slip(
            "sees-itself",
            lambda x, w_q, w_k, w_v, is_open: attend(
                x @ w_q, x @ w_k, x @ w_v, mask=is_open | torch.eye(len(x), dtype=torch.bool)
            ),
            "a closed word still looks at itself. Nobody can look at it, itself included.",
        ),
        Slip(
            "no-scale",
            lambda x, w_q, w_k, w_v, is_open: blend(
                masked((x @ w_q) @ (x @ w_k).mT, is_open).softmax(-1), x @ w_v
            ),
            "the scores are not divided by √d_k.",
        ),
        Slip(
            "root-of-d_model",
            lambda x, w_q, w_k, w_v, is_open: blend(
                masked((x @ w_q) @ (x @ w_k).mT / math.sqrt(x.shape[-1]), is_open).softmax(-1), x @ w_v
            ),
            "the scores are divided by √d_model. What counts is the width of a key.",
            misconception="M08",
        ),
        Slip(
            "shared-w_q",
            lambda x, w_q, w_k, w_v, is_open: self_attention(x, w_q, w_q, w_v, is_open),
            "`w_q` makes the keys too. Keys come from `w_k`.",
        ),
        Slip(
            "exchanged",
            lambda x, w_q, w_k, w_v, is_open: self_attention(x, w_k, w_q, w_v, is_open),
            "`w_q` and `w_k` have changed places: queries come from `w_q`, keys from `w_k`.",
        ),
        Slip(
            "weights-transposed",
            lambda x, w_q, w_k, w_v, is_open: (
                self_attention(x, w_q, w_k, w_v, is_open)[0],
                self_attention(x, w_q, w_k, w_v, is_open)[1].mT,
            ),
            "the outputs are right, but the weights lie on their side: a row belongs to the word that asks.",
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


def fake_translator(usual: str, other: str, flips: Sequence[int], together: Sequence[int] = ()) -> Callable:
    """A function like `pronoun`: `other` if one of `flips` is closed, or all of `together`; else `usual`."""

    def pronoun(closed: Sequence[int]) -> str:
        if not isinstance(closed, Sequence | set):
            raise TypeError(f"pronoun wants a list of positions, as in pronoun([{closed}])")
        if any(not isinstance(position, int) for position in closed):
            raise TypeError("positions are whole numbers, counted from 0")
        is_flipped = any(i in flips for i in closed) or (together and set(together) <= set(closed))
        return other if is_flipped else usual

    return pronoun


FLIPPING_WORDS = PlainExercise(
    name="flipping_words",
    lesson="self_attention",
    inputs=("words", "pronoun"),
    reference=flipping_words,
    by_hand=ByHand(
        {
            "words": ["the", "cat", "the", "water", "it"],
            "pronoun": fake_translator("elle", "il", [3], [1, 2]),
        },
        [3],
        "With nothing closed this translator says “elle”. Closing the words one at a time, only place 3, "
        "“water”, makes it say “il”.",
    ),
    others=(
        lambda: (["it", "is", "cold"], fake_translator("il", "elle", [0, 2])),
        lambda: (["the", "dog", "sleeps", "the", "end"], fake_translator("il", "elle", [])),
        lambda: (["they", "eat", "and", "they", "sleep"], fake_translator("elles", "ils", [0, 1, 4])),
        lambda: ([], fake_translator("il", "elle", [0])),
    ),
    slips=(
        Slip(
            "keeps-closing",
            keeps_closing,
            "words that were closed stay closed, so several are closed at once. Close one at a time: "
            "`pronoun([position])`.",
        ),
        Slip(
            "words-for-places",
            lambda words, pronoun: [words[position] for position in flipping_words(words, pronoun)],
            "these are the words. Give their places: “the” may stand in a sentence twice.",
        ),
        Slip(
            "counted-from-1",
            lambda words, pronoun: [position + 1 for position in flipping_words(words, pronoun)],
            "the places are counted from 1. Count from 0, as Python does.",
        ),
        Slip(
            "those-that-stay",
            lambda words, pronoun: [i for i in range(len(words)) if i not in flipping_words(words, pronoun)],
            "these are the words whose closing changes nothing.",
        ),
        Slip(
            "first-only",
            lambda words, pronoun: flipping_words(words, pronoun)[:1],
            "it stops at the first word it finds. There may be more: go through all.",
        ),
        Slip(
            "last-forgotten",
            lambda words, pronoun: [i for i in flipping_words(words, pronoun) if i < len(words) - 1],
            "the last word is never closed: does the loop end too early?",
        ),
        Slip(
            "all-but-il",
            lambda words, pronoun: [i for i in range(len(words)) if pronoun([i]) != "il"],
            "it compares with “il”. A flip is any change from what is said with nothing closed: ask "
            "`pronoun([])` first.",
        ),
        Slip(
            "waits-for-elle",
            lambda words, pronoun: [i for i in range(len(words)) if pronoun([i]) == "elle"],
            "it looks for “elle”. A flip is any change from what is said with nothing closed: ask "
            "`pronoun([])` first.",
        ),
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
    variations=(),  # an order can not have equal entries
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


def ends_are_special(x: Tensor) -> Tensor:
    return plain_self_attention(x) + 2 * (positions(x) == len(x) - 1) + (positions(x) == 0)


ORDER_BLIND = TensorExercise(
    name="order_blind",
    lesson="self_attention",
    inputs={"x": gaussian("n d")},
    returns={"outputs": "n d"},
    sizes={"n": 5, "d": 4},
    reference=plain_self_attention,
    by_hand=ByHand({"x": [[1.0]]}, {"outputs": [[1.0]]}, "One word has only itself to look at."),
    slips=(
        Slip("adds-places", lambda x: plain_self_attention(x + positions(x)), "places are added."),
        Slip("running-sum", lambda x: x.cumsum(0), "each word sees those before it."),
        Slip("recurrent", recurrent, "it reads word by word."),
        Slip("both-neighbours", lambda x: x.roll(1, 0) + x.roll(-1, 0), "it looks at both neighbours."),
        Slip(
            "middle-counts",
            lambda x: plain_self_attention(x) * distance_from_the_middle(x),
            "the middle is special.",
        ),
        Slip("last-is-special", ends_are_special, "the first and the last word are special."),
        Slip("sorted", lambda x: x.sort(dim=0).values, "the outputs are sorted."),
        Slip("kept-in-place", lambda x: x.flip(0), "the last output is made of the first word."),
    ),
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
        "one word at a time, with no look at others": lambda x: torch.tanh(2 * x),
        "with the mean of all words": lambda x: x + x.mean(dim=0),
    },
    rejects={
        "adds-places": "adds a number for each place",
        "running-sum": "sums up what came before",
        "recurrent": "reads word by word, like a recurrent network",
        "both-neighbours": "looks at both neighbours, in a ring",
        "middle-counts": "treats the middle differently from the ends",
        "last-is-special": "treats the first and the last word differently",
        "sorted": "sorts its outputs",
        "kept-in-place": "hands each word the output of another place",
    },
    reference=careful_test,
)

EXERCISES = (READ_TWICE, SELF_ATTENTION, FLIPPING_WORDS, UNSHUFFLE, TEST_ORDER_BLIND)

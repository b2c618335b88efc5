"""The exercises of lesson 17: the FLOPs of a block, linear attention as a reader, the cache, shared heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.layers.linear_attention import causal_linear_attend, feature_map, linear_attend
from course_lib.teaching.exercise import ByHand, Slip
from course_lib.teaching.plain_exercise import PlainExercise

LESSON = "what_it_costs"


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- the FLOPs of a block


def counted(n: int, d: int, d_ff: int) -> dict[str, int]:
    return {"projections": 8 * n * d**2, "attention": 4 * n**2 * d, "feed-forward": 4 * n * d * d_ff}


def with_parts(**changed: Callable[[int, int, int], int]) -> Callable:
    """The right count with some parts counted otherwise; `_` in a name stands for `-`."""

    def wrong(n: int, d: int, d_ff: int) -> dict[str, int]:
        parts = {name.replace("_", "-"): count(n, d, d_ff) for name, count in changed.items()}
        return counted(n, d, d_ff) | parts

    return wrong


BLOCK_FLOPS = PlainExercise(
    name="block_flops",
    lesson=LESSON,
    inputs=("n", "d", "d_ff"),
    reference=counted,
    by_hand=ByHand(
        inputs={"n": 3, "d": 2, "d_ff": 5},
        answer={"projections": 96, "attention": 72, "feed-forward": 120},
        says="A projection is (3, 2) times (2, 2): 2 · 3 · 2 · 2 = 24 FLOPs, and there are four: 96. Scores: "
        "(3, 2) times (2, 3), 2 · 3 · 2 · 3 = 36; the mix, (3, 3) times (3, 2), another 36: 72. "
        "Feed-forward: (3, 2) times (2, 5) is 60, and back again 60: 120.",
    ),
    others=(
        lambda: (64, 64, 256),
        lambda: (384, 64, 256),
        lambda: (7, 5, 11),
        lambda: (1, 512, 2048),
        lambda: (100, 8, 8),
    ),
    slips=(
        Slip(
            "multiplications-only",
            lambda n, d, d_ff: {name: count // 2 for name, count in counted(n, d, d_ff).items()},
            "every count is half of what it should be: each multiplication comes with an addition.",
        ),
        Slip(
            "three-matrices",
            with_parts(projections=lambda n, d, d_ff: 6 * n * d**2),
            "there are three projections. The fourth, W_O, mixes what the heads have found.",
        ),
        Slip(
            "one-projection",
            with_parts(projections=lambda n, d, d_ff: 2 * n * d**2),
            "only one projection is counted. There are four: W_Q, W_K, W_V and W_O.",
        ),
        Slip(
            "scores-without-mix",
            with_parts(attention=lambda n, d, d_ff: 2 * n**2 * d),
            "attention is counted by its scores alone. The weights times the values are a product of the "
            "same size.",
        ),
        Slip(
            "n-once",
            with_parts(attention=lambda n, d, d_ff: 4 * n * d**2),
            "attention is counted like two more projections. In scores every word meets every word: n counts "
            "twice, d once.",
            misconception="M42",
        ),
        Slip(
            "one-way-only",
            with_parts(feed_forward=lambda n, d, d_ff: 2 * n * d * d_ff),
            "the feed-forward network has two layers: d to d_ff, and back to d.",
        ),
        Slip(
            "one-word",
            lambda n, d, d_ff: {
                "projections": 8 * d**2,
                "attention": 4 * n * d,
                "feed-forward": 4 * d * d_ff,
            },
            "this is the count for one word. All n words go through the block.",
        ),
    ),
)


# ---- linear attention as a reader


def sums(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs and the last summary."""
    return causal_linear_attend(query, keys, values), feature_map(keys).mT @ values


def reads(
    query: Tensor, keys: Tensor, values: Tensor, *, phi=feature_map, phi_query=feature_map, first=False
):
    """The loop, with a few things that can be done wrongly."""
    summary, total = torch.zeros(keys.shape[-1], values.shape[-1]), torch.zeros(keys.shape[-1])
    outputs = []
    for q, k, v in zip(phi_query(query), phi(keys), values, strict=True):
        asked = q @ summary / (q @ total).clamp(min=1e-9)
        summary, total = summary + torch.outer(k, v), total + k
        outputs.append(asked if first else q @ summary / (q @ total))
    return torch.stack(outputs), summary


def undivided(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    weights = (feature_map(query) @ feature_map(keys).mT).tril()
    return weights @ values, feature_map(keys).mT @ values


def over_the_count(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    outputs, summary = undivided(query, keys, values)
    return outputs / torch.arange(1, len(query) + 1)[:, None], summary


def forgets(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    last = torch.outer(feature_map(keys)[-1], values[-1])
    return values.clone(), last


def reader_case(n: int, d_k: int, d_v: int, seed: int) -> Callable[[], tuple]:
    shapes = ((n, d_k), (n, d_k), (n, d_v))
    return lambda: tuple(random(*shape, seed=seed + i) for i, shape in enumerate(shapes))


LINEAR_READER = PlainExercise(
    name="linear_reader",
    lesson=LESSON,
    inputs=("query", "keys", "values"),
    reference=sums,
    by_hand=ByHand(
        inputs={
            "query": torch.tensor([[0.0], [1.0]]),
            "keys": torch.tensor([[0.0], [2.0]]),
            "values": torch.tensor([[4.0], [8.0]]),
        },
        answer=(torch.tensor([[4.0], [7.0]]), torch.tensor([[28.0]])),
        says="φ(0) = 1, φ(1) = 2, φ(2) = 3. First word: summary 1 · 4 = 4, total 1; asked with 1: 4 / 1 = 4. "
        "Second word: summary 4 + 3 · 8 = 28, total 1 + 3 = 4; asked with 2: 2 · 28 / (2 · 4) = 7.",
    ),
    others=(
        reader_case(5, 3, 2, 0),
        reader_case(8, 4, 4, 10),
        reader_case(1, 2, 3, 20),
        reader_case(12, 2, 6, 30),
    ),
    slips=(
        Slip(
            "undivided",
            undivided,
            "the outputs are sums, not means: divide by what the weights sum to, φ(q) · total.",
        ),
        Slip(
            "over-the-count",
            over_the_count,
            "the sum is divided by the number of words. Divide by the sum of the weights: φ(q) · total.",
        ),
        Slip(
            "asks-before-writing",
            lambda q, k, v: reads(q, k, v, first=True),
            "each word asks before it has been written down, so it never sees itself. First add it to the "
            "state, then ask.",
        ),
        Slip(
            "sees-everything",
            lambda q, k, v: (linear_attend(q, k, v), feature_map(k).mT @ v),
            "every word sees the whole sentence, later words too. A reader asks the state it has so far.",
        ),
        Slip(
            "no-feature-map",
            lambda q, k, v: reads(q, k, v, phi=lambda x: x, phi_query=lambda x: x),
            "queries and keys are used as they are. Send both through `feature_map`.",
        ),
        Slip(
            "raw-query",
            lambda q, k, v: reads(q, k, v, phi_query=lambda x: x),
            "the query is used as it is; only the keys go through `feature_map`. Both must.",
        ),
        Slip(
            "forgets",
            forgets,
            "the state is overwritten at every word, so each sees itself alone. Add to it.",
        ),
    ),
)


# ---- the cache, and heads that share


def cached(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * n_kv_heads * (d_model // n_heads) * bytes_each


def first_cached(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    d_k = d_model // n_kv_heads
    numbers = 2 * n_layers * n_words * n_kv_heads * d_k
    return numbers * bytes_each


CACHE_BYTES = PlainExercise(
    name="cache_bytes",
    lesson=LESSON,
    inputs=("n_words", "n_layers", "d_model", "n_heads", "n_kv_heads", "bytes_each"),
    reference=cached,
    unrepaired=first_cached,
    by_hand=ByHand(
        inputs={"n_words": 10, "n_layers": 3, "d_model": 64, "n_heads": 4, "n_kv_heads": 2, "bytes_each": 4},
        answer=7680,
        says="A head is 64 / 4 = 16 numbers wide. Two heads of keys: 32 numbers for each word; as many for "
        "the values: 64. In 3 layers 192, for 10 words 1,920 numbers, 4 bytes each: 7,680.",
    ),
    others=(
        lambda: (10, 3, 64, 4, 4, 4),
        lambda: (4096, 16, 1024, 16, 1, 2),
        lambda: (100, 2, 96, 6, 3, 1),
        lambda: (1, 1, 8, 8, 4, 2),
    ),
    slips=(
        Slip(
            "keys-only",
            lambda *given: cached(*given) // 2,
            "this is half of it: keys are kept, and values too.",
        ),
        Slip(
            "with-queries",
            lambda n, layers, d, heads, kv, b: cached(n, layers, d, heads, kv, b) + layers * n * d * b,
            "the queries are kept too. An old query is never asked again: keys and values are enough.",
            misconception="M44",
        ),
        Slip(
            "counts-numbers",
            lambda n, layers, d, heads, kv, b: cached(n, layers, d, heads, kv, 1),
            "these are numbers, not bytes: each takes `bytes_each`.",
        ),
        Slip(
            "one-layer",
            lambda n, layers, d, heads, kv, b: cached(n, 1, d, heads, kv, b),
            "this is one layer. Every layer keeps keys and values of its own.",
        ),
        Slip(
            "shares-the-other-way",
            lambda n, layers, d, heads, kv, b: 2 * layers * n * heads * (d // heads) * (heads // kv) * b,
            "fewer key heads make it larger. Each is as wide as a query head, and there are fewer of them.",
        ),
    ),
)


NARROWEST, WIDEST = 32, 128


def divisors(number: int) -> list[int]:
    return [part for part in range(1, number + 1) if number % part == 0]


def chosen(budget, n_words, n_layers, d_model, bytes_each):
    """The widest heads for which any sharing fits, and as little of it as fits."""
    for n_heads in divisors(d_model):
        if not NARROWEST <= d_model // n_heads <= WIDEST:
            continue
        fits = [
            shared
            for shared in divisors(n_heads)
            if cached(n_words, n_layers, d_model, n_heads, shared, bytes_each) <= budget
        ]
        if fits:
            return n_heads, max(fits)
    raise ValueError("nothing fits")


def are_heads(inputs: tuple, answer: Any) -> str:
    n_heads, n_kv_heads = answer
    d_model = inputs[3]
    if not all(int(number) == number and number >= 1 for number in (n_heads, n_kv_heads)):
        return f"Both must be whole numbers, 1 or more; {n_heads} and {n_kv_heads} came."
    if d_model % n_heads:
        return f"A width of {d_model} cannot be shared out evenly among {n_heads} heads."
    if n_heads % n_kv_heads:
        return (
            f"{n_heads} query heads cannot be shared out evenly among {n_kv_heads} key heads. (First comes "
            "the number of query heads, then that of key heads.)"
        )
    return ""


def wide_enough(inputs: tuple, answer: Any) -> str:
    width = inputs[3] // answer[0]
    if NARROWEST <= width <= WIDEST:
        return ""
    return f"{answer[0]} heads are {width} numbers wide each; from {NARROWEST} to {WIDEST} are wanted."


def fits_the_budget(inputs: tuple, answer: Any) -> str:
    budget, n_words, n_layers, d_model, bytes_each = inputs
    takes = cached(n_words, n_layers, d_model, *answer, bytes_each)
    if takes <= budget:
        return ""
    return (
        f"With {answer[0]} and {answer[1]} heads the cache takes {takes:,} bytes; the budget is {budget:,}."
    )


def wastes_nothing(inputs: tuple, answer: Any) -> str:
    budget, n_words, n_layers, d_model, bytes_each = inputs
    n_heads, n_kv_heads = answer
    for more in divisors(n_heads):
        takes = cached(n_words, n_layers, d_model, n_heads, more, bytes_each)
        if more > n_kv_heads and takes <= budget:
            return (
                f"It fits, and shares more than it must: with {n_heads} query heads, {more} key heads would "
                f"fit too ({takes:,} bytes of {budget:,})."
            )
    return ""


CHOOSE_HEADS = PlainExercise(
    name="choose_heads",
    lesson=LESSON,
    inputs=("budget", "n_words", "n_layers", "d_model", "bytes_each"),
    design=True,
    reference=chosen,
    by_hand=ByHand(
        inputs={
            "budget": 40_000_000,
            "n_words": 4096,
            "n_layers": 16,
            "d_model": 1024,
            "bytes_each": 2,
        },
        answer=(16, 2),
        says="16 heads are 64 wide. Two key heads: 2 · 16 · 4096 · 2 · 64 · 2 = 33,554,432 bytes. Four would "
        "take twice as much, and 40 million are there.",
    ),
    others=(
        lambda: (300_000_000, 4096, 16, 1024, 2),  # everything fits
        lambda: (10_000_000, 4096, 16, 1024, 2),  # only narrow heads do
        lambda: (1_000_000, 1000, 3, 192, 4),
        lambda: (25_000_000, 2048, 24, 768, 2),
        lambda: (70_000_000, 8192, 12, 960, 2),
    ),
    demands=(are_heads, wide_enough, fits_the_budget, wastes_nothing),
)

EXERCISES = (BLOCK_FLOPS, LINEAR_READER, CACHE_BYTES, CHOOSE_HEADS)

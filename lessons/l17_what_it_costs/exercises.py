"""The exercises of lesson 17: FLOPs of a block, a test of neighbours, a linear reader, the cache, heads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.teaching.exercises import (
    Answer,
    ByHand,
    Case,
    PlainExercise,
    Slip,
    TestExercise,
    Verdict,
    wrong_verdict,
)
from lessons.l17_what_it_costs.linear_attention import causal_linear_attend, feature_map, linear_attend
from lessons.l17_what_it_costs.restricted import attend_nearby, window_mask

LESSON = "what_it_costs"


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- the FLOPs of a block


def count(n: int, d: int, d_ff: int) -> dict[str, int]:
    return {"projections": 8 * n * d**2, "attention": 4 * n**2 * d, "feed-forward": 4 * n * d * d_ff}


def with_parts(**changed: Callable[[int, int, int], int]) -> Callable:
    """The right count, with other counts for some parts; `_` in a name means `-`."""

    def wrong(n: int, d: int, d_ff: int) -> dict[str, int]:
        parts = {name.replace("_", "-"): part(n, d, d_ff) for name, part in changed.items()}
        return count(n, d, d_ff) | parts

    return wrong


def exact(n: int, d: int, d_ff: int) -> dict[str, int]:
    """A sum of b products takes only b - 1 additions."""
    return {
        "projections": 4 * n * d * (2 * d - 1),
        "attention": n * n * (2 * d - 1) + n * d * (2 * n - 1),
        "feed-forward": n * d_ff * (2 * d - 1) + n * d * (2 * d_ff - 1),
    }


def has_the_keys(inputs: tuple, answer: Any) -> str:
    wanted = set(count(1, 1, 1))
    if isinstance(answer, dict) and set(answer) != wanted:
        return f"The keys are {sorted(answer)}; {sorted(wanted)} are wanted, spelt like this."
    return ""


BLOCK_FLOPS = PlainExercise(
    name="block_flops",
    lesson=LESSON,
    inputs=("n", "d", "d_ff"),
    reference=count,
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
    demands=(has_the_keys,),
    slips=(
        Slip(
            "one-addition-less",
            exact,
            "b products are summed by b − 1 additions, that is true. One counts 2b all the same, as torch "
            "does: 2 · rows · inner · columns.",
        ),
        Slip(
            "w-o-in-attention",
            with_parts(
                projections=lambda n, d, d_ff: 6 * n * d**2,
                attention=lambda n, d, d_ff: 4 * n**2 * d + 2 * n * d**2,
            ),
            'W_O is counted under "attention". It is the fourth projection; attention is scores and mix.',
        ),
        Slip(
            "multiplications-only",
            lambda n, d, d_ff: {name: part // 2 for name, part in count(n, d, d_ff).items()},
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


# ---- a test of attention that sees neighbours


def under(mask: Tensor, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return attend(query, keys, values, mask=mask)[0]


def near(query: Tensor, keys: Tensor, values: Tensor, radius: int) -> Tensor:
    return attend_nearby(query, keys, values, radius=radius)


def to_the_left(query: Tensor, keys: Tensor, values: Tensor, radius: int) -> Tensor:
    return under(window_mask(len(keys), radius).tril(), query, keys, values)


def in_a_ring(query: Tensor, keys: Tensor, values: Tensor, radius: int) -> Tensor:
    n, positions = len(keys), torch.arange(len(keys))
    distance = (positions[:, None] - positions).abs()
    return under(torch.minimum(distance, n - distance) <= radius, query, keys, values)


def with_zeros(query: Tensor, keys: Tensor, values: Tensor, radius: int) -> Tensor:
    """Words of zeros beyond both ends, which get weights like all other words."""
    padded = [F.pad(x, (0, 0, radius, radius)) for x in (query, keys, values)]
    return under(window_mask(len(padded[0]), radius), *padded)[radius : len(keys) + radius]


def hidden_too_late(query: Tensor, keys: Tensor, values: Tensor, radius: int) -> Tensor:
    weights = (query @ keys.mT / query.shape[-1] ** 0.5).softmax(dim=-1)
    return weights * window_mask(len(keys), radius) @ values


def own_block_only(query: Tensor, keys: Tensor, values: Tensor, radius: int) -> Tensor:
    block = torch.arange(len(keys)) // radius
    return under(block[:, None] == block, query, keys, values)


def rest_forgotten(query: Tensor, keys: Tensor, values: Tensor, radius: int) -> Tensor:
    """Whole blocks only: the words left over at the end get zeros."""
    context = near(query, keys, values, radius)
    whole = len(keys) // radius * radius
    return torch.cat([context[:whole], torch.zeros_like(context[whole:])])


def by_mask(query: Tensor, keys: Tensor, values: Tensor, radius: int) -> Tensor:
    return under(window_mask(len(keys), radius), query, keys, values)


def word_by_word(query: Tensor, keys: Tensor, values: Tensor, radius: int) -> Tensor:
    context = []
    for i, q in enumerate(query):
        window = slice(max(0, i - radius), i + radius + 1)
        weights = (keys[window] @ q / len(q) ** 0.5).softmax(dim=0)
        context.append(weights @ values[window])
    return torch.stack(context)


NEARBY = PlainExercise(
    name="nearby",
    lesson=LESSON,
    inputs=("query", "keys", "values", "radius"),
    reference=near,
    by_hand=ByHand(
        inputs={
            "query": torch.zeros(3, 1),
            "keys": torch.zeros(3, 1),
            "values": torch.tensor([[0.0], [3.0], [6.0]]),
            "radius": 1,
        },
        answer=torch.tensor([[1.5], [3.0], [4.5]]),
        says="Equal scores: each word gets the mean of itself and its neighbours.",
    ),
    others=(
        lambda: (random(7, 4, seed=1), random(7, 4, seed=2), random(7, 4, seed=3), 2),
        lambda: (random(9, 3, seed=1), random(9, 3, seed=2), random(9, 5, seed=3), 4),
    ),
    slips=(
        Slip(
            "one-too-many",
            lambda q, k, v, radius: near(q, k, v, radius + 1),
            "it sees one neighbour too many.",
        ),
        Slip(
            "one-too-few",
            lambda q, k, v, radius: under(window_mask(len(k), radius - 1), q, k, v),
            "it sees one neighbour too few.",
        ),
        Slip("left-only", to_the_left, "it sees the left side only."),
        Slip("ring", in_a_ring, "the ends are joined into a ring."),
        Slip("zeros", with_zeros, "zeros beyond the ends get weights."),
        Slip("hidden-too-late", hidden_too_late, "it hides after the softmax."),
        Slip("own-block", own_block_only, "each block sees itself alone."),
        Slip("rest-forgotten", rest_forgotten, "the words after the last whole block get nothing."),
    ),
)


def careful_test(nearby: Callable) -> None:
    query, keys, values = random(3, 7, 4)
    torch.testing.assert_close(nearby(query, keys, values, 2), by_mask(query, keys, values, 2))


TEST_NEARBY = TestExercise(
    name="test_nearby",
    lesson=LESSON,
    inputs=("nearby",),
    of=NEARBY,
    what="function",
    accepts={"with a mask": by_mask, "word by word": word_by_word},
    rejects={
        "one-too-many": "sees one neighbour too many",
        "one-too-few": "sees one neighbour too few",
        "left-only": "sees the left side only",
        "ring": "joins both ends into a ring",
        "zeros": "gives weight to zeros beyond the ends",
        "hidden-too-late": "hides after the softmax and does not divide again",
        "own-block": "lets each block see itself alone",
        "rest-forgotten": "gives nothing to the words after the last whole block",
    },
    reference=careful_test,
)


# ---- linear attention as a reader


def sums(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs and the last S."""
    return causal_linear_attend(query, keys, values), feature_map(keys).mT @ values


def reads(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    phi=feature_map,
    phi_query=feature_map,
    first=False,
    least=0.0,
    divisor=lambda q, k, z: q @ z,
):
    """The loop; the options are ways to get it wrong."""
    s, z = torch.zeros(keys.shape[-1], values.shape[-1]), torch.zeros(keys.shape[-1])
    outputs = []
    for q, k, v in zip(phi_query(query), phi(keys), values, strict=True):
        before_writing = q @ s / (q @ z).clamp(min=least)
        s, z = s + torch.outer(k, v), z + k
        outputs.append(before_writing if first else q @ s / divisor(q, k, z))
    return torch.stack(outputs), s


def undivided(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    weights = (feature_map(query) @ feature_map(keys).mT).tril()
    return weights @ values, feature_map(keys).mT @ values


def over_the_count(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    outputs, s = undivided(query, keys, values)
    return outputs / torch.arange(1, len(query) + 1)[:, None], s


def forgets(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    last = torch.outer(feature_map(keys)[-1], values[-1])
    return values.clone(), last


def reader_case(n: int, d_k: int, d_v: int, seed: int) -> Callable[[], tuple]:
    shapes = ((n, d_k), (n, d_k), (n, d_v))
    return lambda: tuple(random(*shape, seed=seed + i) for i, shape in enumerate(shapes))


def are_tensors(inputs: tuple, answer: Any) -> str:
    query, keys, values = inputs
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "Two things are wanted: the outputs of all words, and the last S."
    if not isinstance(answer[0], Tensor):
        return "The outputs must be one tensor, (n, d_v): `torch.stack(outputs)`."
    wanted = (len(query), values.shape[1]), (keys.shape[1], values.shape[1])
    shapes = tuple(tuple(getattr(part, "shape", ())) for part in answer)
    if shapes != wanted:
        return f"The shapes are {shapes[0]} and {shapes[1]}; {wanted[0]} and {wanted[1]} are wanted."
    return ""


LINEAR_READER = PlainExercise(
    name="linear_reader",
    trains=False,
    lesson=LESSON,
    inputs=("query", "keys", "values"),
    reference=sums,
    by_hand=ByHand(
        inputs={
            "query": torch.tensor([[1.0, 0.0], [0.0, 0.0]]),
            "keys": torch.tensor([[1.0, 3.0], [0.0, 0.0]]),
            "values": torch.tensor([[4.0, 0.0], [0.0, 8.0]]),
        },
        answer=(torch.tensor([[4.0, 0.0], [3.0, 2.0]]), torch.tensor([[8.0, 8.0], [16.0, 8.0]])),
        says="φ of the keys: (2, 4) and (1, 1). First word: S has the rows (8, 0), (16, 0), z = (2, 4); "
        "asked with (2, 1): (32, 0) / 8 = (4, 0). Second word: S has the rows (8, 8), (16, 8), z = (3, 5); "
        "asked with (1, 1): (24, 16) / 8 = (3, 2).",
    ),
    others=(
        reader_case(5, 3, 2, 0),
        reader_case(8, 4, 4, 10),
        reader_case(1, 2, 3, 20),
        reader_case(12, 2, 6, 30),
    ),
    demands=(are_tensors,),
    slips=(
        Slip(
            "undivided",
            undivided,
            "the outputs are sums, not means: divide by what the weights sum to, φ(q) · z.",
        ),
        Slip(
            "over-the-count",
            over_the_count,
            "the sum is divided by the number of words. Divide by the sum of the weights: φ(q) · z.",
        ),
        Slip(
            "asks-before-writing",
            lambda q, k, v: reads(q, k, v, first=True, least=1e-9),
            "each word asks before it has been written down, so it never sees itself. First add it to the "
            "state, then ask.",
        ),
        Slip(
            "asks-an-empty-state",
            lambda q, k, v: reads(q, k, v, first=True),
            "each word asks before it has been written down: the first finds an empty state, and 0 / 0 is "
            "nan. First add it to the state, then ask.",
        ),
        Slip(
            "over-the-sum-of-z",
            lambda q, k, v: reads(q, k, v, divisor=lambda q, k, z: z.sum()),
            "it divides by the sum of z. The weights of this query sum to φ(q) · z.",
        ),
        Slip(
            "over-this-word",
            lambda q, k, v: reads(q, k, v, divisor=lambda q, k, z: q @ k),
            "it divides by the weight of this word alone. Divide by that of all so far: φ(q) · z.",
        ),
        Slip(
            "raw-keys",
            lambda q, k, v: reads(q, k, v, phi=lambda x: x),
            "the keys are used as they are; only the query goes through `feature_map`. Both must.",
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


def bytes_of_cache(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * n_kv_heads * (d_model // n_heads) * bytes_each


def first_bytes_of_cache(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    d_k = d_model // n_kv_heads
    numbers = 2 * n_layers * n_words * n_kv_heads * d_k
    return numbers * bytes_each


CACHE_BYTES = PlainExercise(
    name="cache_bytes",
    lesson=LESSON,
    inputs=("n_words", "n_layers", "d_model", "n_heads", "n_kv_heads", "bytes_each"),
    reference=bytes_of_cache,
    unrepaired=first_bytes_of_cache,
    by_hand=ByHand(
        inputs={"n_words": 10, "n_layers": 3, "d_model": 64, "n_heads": 8, "n_kv_heads": 2, "bytes_each": 4},
        answer=3840,
        says="A head is 64 / 8 = 8 numbers wide. Two heads of keys: 16 numbers for each word; as many for "
        "the values: 32. In 3 layers 96, for 10 words 960 numbers, 4 bytes each: 3,840.",
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
            lambda *given: bytes_of_cache(*given) // 2,
            "this is half of it: keys are kept, and values too.",
        ),
        Slip(
            "with-queries",
            lambda n, layers, d, heads, kv, b: (
                bytes_of_cache(n, layers, d, heads, kv, b) + layers * n * d * b
            ),
            "the queries are kept too. An old query is never asked again: keys and values are enough.",
            misconception="M44",
        ),
        Slip(
            "counts-numbers",
            lambda n, layers, d, heads, kv, b: bytes_of_cache(n, layers, d, heads, kv, 1),
            "these are numbers, not bytes: each takes `bytes_each`.",
        ),
        Slip(
            "one-layer",
            lambda n, layers, d, heads, kv, b: bytes_of_cache(n, 1, d, heads, kv, b),
            "this is one layer. Every layer keeps keys and values of its own.",
        ),
        Slip(
            "size-of-a-group",
            lambda n, layers, d, heads, kv, b: 2 * layers * n * (heads // kv) * (d // heads) * b,
            "n_heads / n_kv_heads is how many query heads *share* a key head. What is kept are n_kv_heads.",
        ),
    ),
)


NARROWEST, WIDEST = 32, 128


def divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def choose(budget, n_words, n_layers, d_model, bytes_each):
    """The widest heads for which some sharing fits the budget, with as little sharing as possible."""
    for n_heads in divisors(d_model):
        if not NARROWEST <= d_model // n_heads <= WIDEST:
            continue
        fits = [
            n_kv_heads
            for n_kv_heads in divisors(n_heads)
            if bytes_of_cache(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each) <= budget
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
    width = inputs[3] // int(answer[0])
    if NARROWEST <= width <= WIDEST:
        return ""
    return f"{int(answer[0])} heads are {width} numbers wide each; from {NARROWEST} to {WIDEST} are wanted."


def fits_the_budget(inputs: tuple, answer: Any) -> str:
    budget, n_words, n_layers, d_model, bytes_each = inputs
    n_heads, n_kv_heads = map(int, answer)
    size = bytes_of_cache(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each)
    if size <= budget:
        return ""
    return f"With {n_heads} and {n_kv_heads} heads the cache takes {size:,} bytes; the budget is {budget:,}."


def wastes_nothing(inputs: tuple, answer: Any) -> str:
    budget, n_words, n_layers, d_model, bytes_each = inputs
    n_heads, n_kv_heads = map(int, answer)
    for more in divisors(n_heads):
        size = bytes_of_cache(n_words, n_layers, d_model, n_heads, more, bytes_each)
        if more > n_kv_heads and size <= budget:
            return (
                f"It fits, and shares more than it must: with {n_heads} query heads, {more} key heads would "
                f"fit too ({size:,} bytes of {budget:,})."
            )
    return ""


class Search(PlainExercise):
    """A search may find nothing: the message then names the budget."""

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        if value is not None:
            return super().read(value, case)
        advice = "Other widths do fit: try every `n_heads`. (Or is a `return` missing?)"
        nothing = wrong_verdict(
            "For this budget your search found nothing: it returned `None`.", advice, "finds-nothing"
        )
        return replace(nothing, given=self.describe_call(case))


CHOOSE_HEADS = Search(
    name="choose_heads",
    lesson=LESSON,
    inputs=("budget", "n_words", "n_layers", "d_model", "bytes_each"),
    design=True,
    reference=choose,
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
        lambda: (100_000_000, 4096, 16, 1024, 2),  # 11 of 32 would fit, and 11 does not divide 32
        lambda: (33_554_432, 4096, 16, 1024, 2),  # fits to the byte
        lambda: (40_000_000, 4096, 16, 1000, 2),  # 32 does not divide the width
    ),
    demands=(are_heads, wide_enough, fits_the_budget, wastes_nothing),
)

EXERCISES = (BLOCK_FLOPS, TEST_NEARBY, LINEAR_READER, CACHE_BYTES, CHOOSE_HEADS)

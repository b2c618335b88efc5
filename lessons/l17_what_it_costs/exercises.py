"""The exercises of lesson 17: FLOPs of a block, attention in one pass, linear attention, the KV cache."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_lib.teaching.exercises import ByHand, PlainExercise, Verdict, known_mistakes, wrong_verdict
from course_lib.teaching.exercises.answer import describe_type
from course_lib.teaching.exercises.examination import Examination
from course_lib.teaching.exercises.failures import describe_failure
from course_lib.teaching.exercises.gradients import compare_gradients
from course_lib.teaching.exercises.mistakes import unrepaired
from lessons.l17_what_it_costs import solutions
from lessons.l17_what_it_costs.linear_attention import feature_map

LESSON = "what_it_costs"


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- the FLOPs of a block


BLOCK_FLOPS = PlainExercise(
    name="block_flops",
    lesson=LESSON,
    inputs=("n", "d", "d_ff"),
    reference=solutions.block_flops,
    by_hand=ByHand(
        inputs={"n": 3, "d": 2, "d_ff": 5},
        answer={"projections": 96, "attention": 72, "feed-forward": 120},
        says="A projection multiplies (3, 2) by (2, 2), which takes 2 · 3 · 2 · 2 = 24 FLOPs. There are four "
        "of them: 96. The scores, (3, 2) times (2, 3), take 2 · 3 · 2 · 3 = 36 FLOPs, and the weighted sum, "
        "(3, 3) times (3, 2), takes another 36: 72. The feed-forward network multiplies (3, 2) by (2, 5), "
        "60 FLOPs, and (3, 5) by (5, 2), another 60: 120.",
    ),
    others=(
        lambda: (64, 64, 256),
        lambda: (384, 64, 256),
        lambda: (7, 5, 11),
        lambda: (1, 512, 2048),
        lambda: (100, 8, 8),
        lambda: (100_000, 4096, 16_384),  # more than fits into 32 bits
    ),
    slips=known_mistakes(solutions.block_flops),
)


# ---- attention in one pass over blocks of keys


def blocks_case(
    sizes: Sequence[int], d: int, seed: int, *, scale: float = 1.0, shift: float = 0.0, step: float = 0.0
) -> Callable[[], tuple]:
    """Random blocks of these sizes; the scores of block i are scaled, then `shift + i * step` is added."""

    def make() -> tuple:
        blocks = [
            (
                scale * random(size, seed=seed + 2 * i) + shift + i * step,
                random(size, d, seed=seed + 2 * i + 1),
            )
            for i, size in enumerate(sizes)
        ]
        return (blocks,)

    return make


class OnePass:
    """Blocks that can be gone through once; it notes if earlier blocks are kept."""

    def __init__(self, blocks: list):
        self._blocks, self.n_passes, self.most_kept = blocks, 0, 0

    def __iter__(self) -> Iterator:
        self.n_passes += 1
        return self._go_through() if self.n_passes == 1 else iter(())

    def _go_through(self) -> Iterator:
        given: list[weakref.ref] = []
        for scores, values in self._blocks:
            self.most_kept = max(self.most_kept, sum(earlier() is not None for earlier in given))
            block = (scores.clone(), values.clone())
            given += [weakref.ref(tensor) for tensor in block]
            yield block
            del block
        self.most_kept = max(self.most_kept, sum(earlier() is not None for earlier in given))


class _LargestTensor(TorchDispatchMode):
    """The most numbers in any tensor that torch's functions return."""

    size = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **kwargs or {})
        sizes = [leaf.numel() for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        self.size = max([self.size, *sizes])
        return result


N_BLOCKS, BLOCK_SIZES, BLOCK_WIDTH = 20, (5, 2, 6, 3), 3
MOST_KEPT = 4  # scores and values of the current and the previous block, in a loop's own variables
LARGEST = max(BLOCK_SIZES) * BLOCK_WIDTH  # numbers in a block's values
ONE_PASS = (
    "Use `blocks` in a single `for` loop, and carry only three things from one block to the next: the "
    "maximum, the sum of the weights and the weighted sum."
)


class Recurrence(PlainExercise):
    """A loop with a state. Gradients are compared for one case with several words: with a single word, some
    are 0 up to rounding. An update in place is accepted, although autograd may refuse it."""

    def find_further_problem(self, examination: Examination) -> Verdict | None:
        attempt, limit = examination.attempt, examination.limit
        verdict = compare_gradients(attempt, self.reference, self.others[0], self.names, limit)
        return None if verdict and "inplace operation" in verdict.details else verdict


class InOnePass(Recurrence):
    """It must also work on blocks that come one at a time, without collecting them."""

    def find_further_problem(self, examination: Examination) -> Verdict | None:
        sizes = [BLOCK_SIZES[i % len(BLOCK_SIZES)] for i in range(N_BLOCKS)]
        (blocks,) = blocks_case(sizes, BLOCK_WIDTH, seed=70)()
        stream, largest = OnePass(blocks), _LargestTensor()
        with largest:
            torch.zeros(1)  # the first use imports modules, which takes seconds

        def attend_to_stream() -> Any:
            with largest:
                return examination.attempt(stream)

        result = examination.call(attend_to_stream)
        if result.timed_out:
            return examination.explain_failure(result)
        if stream.n_passes > 1:
            headline = f"Your function goes through `blocks` {stream.n_passes} times."
            return wrong_verdict(headline, f"Each block is available only once. {ONE_PASS}", "several-passes")
        if result.failure:
            headline = "Correct for a list of blocks, but not if they come one at a time."
            return wrong_verdict(headline, f"{describe_failure(result.failure)} {ONE_PASS}", "needs-a-list")
        if stream.most_kept > MOST_KEPT or largest.size > 2 * LARGEST:
            headline = "The result is right, but your function collects all the scores or values."
            return wrong_verdict(headline, ONE_PASS, "collects-blocks")
        return super().find_further_problem(examination)


LOGS = [math.log(number) for number in (2, 8, 4, 16)]
RUNNING_ATTENTION = InOnePass(
    name="running_attention",
    lesson=LESSON,
    inputs=("blocks",),
    reference=solutions.running_attention,
    by_hand=ByHand(
        inputs={
            "blocks": [
                (torch.tensor(LOGS[:2]), torch.tensor([[8.0, 15.0], [4.0, 0.0]])),
                (torch.tensor(LOGS[2:]), torch.tensor([[6.0, 0.0], [3.0, 15.0]])),
            ]
        },
        answer=torch.tensor([4.0, 9.0]),
        says="The scores are ln 2, ln 8 and ln 4, ln 16. First block: the maximum is ln 8, the weights are ¼ "
        "and 1, the sum is 1.25 and the weighted sum is ¼ · (8, 15) + (4, 0) = (6, 3.75). Second block: the "
        "maximum rises to ln 16, so both are multiplied by 8/16 = ½. With the weights ¼ and 1, the sum "
        "becomes 0.625 + 1.25 = 1.875, and the weighted sum (3, 1.875) + (1.5, 0) + (3, 15) = (7.5, 16.875). "
        "Divided by 1.875, that is (4, 9).",
    ),
    others=(
        blocks_case((4, 3, 5), 3, 0),
        blocks_case((1, 1, 1, 1), 2, 10),
        blocks_case((6,), 4, 20),
        blocks_case((1,), 1, 30),
        blocks_case((2, 7, 1), 3, 40, shift=-3.0),
        blocks_case((3, 3, 3), 2, 50, step=-2.0),  # the largest score comes first
        blocks_case((3, 3, 3), 2, 50, step=2.0),  # and last
        blocks_case((4, 2, 3), 3, 60, shift=1000.0),
        blocks_case((4, 2, 3), 3, 60, shift=-1000.0),
        blocks_case((3, 2, 4), 2, 90, step=150.0),
        blocks_case((3, 2, 4), 2, 90, step=-150.0),
        blocks_case((5, 5), 2, 95, scale=0.0),
    ),
    slips=known_mistakes(solutions.running_attention),
)


# ---- linear attention as a recurrent network


def reader_case(n: int, d_k: int, d_v: int, seed: int, shift: float = 0.0) -> Callable[[], tuple]:
    """Random inputs; `shift` is added to queries and keys."""
    shapes = ((n, d_k, shift), (n, d_k, shift), (n, d_v, 0.0))
    return lambda: tuple(random(*shape, seed=seed + i) + by for i, (*shape, by) in enumerate(shapes))


def is_pair(inputs: tuple, answer: Any) -> str:
    if isinstance(answer, tuple | list) and len(answer) == 2:
        return ""
    return f"Expected two results, the outputs and `S`, but your function returned {describe_type(answer)}."


LINEAR_READER = Recurrence(
    name="linear_reader",
    lesson=LESSON,
    inputs=("query", "keys", "values"),
    reference=solutions.linear_reader,
    may_call=(feature_map,),
    by_hand=ByHand(
        inputs={
            "query": torch.tensor([[1.0, 0.0], [0.0, 0.0]]),
            "keys": torch.tensor([[1.0, 3.0], [0.0, 0.0]]),
            "values": torch.tensor([[4.0, 0.0], [0.0, 8.0]]),
        },
        answer=(torch.tensor([[4.0, 0.0], [3.0, 2.0]]), torch.tensor([[8.0, 8.0], [16.0, 8.0]])),
        says="φ of the keys is (2, 4) and (1, 1), φ of the queries (2, 1) and (1, 1). After the first word, "
        "S has the rows (8, 0) and (16, 0), and z = (2, 4); its output is (32, 0) / 8 = (4, 0). After the "
        "second, S has the rows (8, 8) and (16, 8), and z = (3, 5); its output is (24, 16) / 8 = (3, 2).",
    ),
    others=(
        reader_case(5, 3, 2, 0),
        reader_case(8, 4, 4, 10),
        reader_case(1, 2, 3, 20),
        reader_case(12, 2, 6, 30),
        reader_case(6, 3, 4, 40, shift=-2.0),  # small features, so a small divisor
    ),
    demands=(is_pair,),
    slips=known_mistakes(solutions.linear_reader),
)


# ---- the KV cache


CACHE_BYTES = PlainExercise(
    name="cache_bytes",
    lesson=LESSON,
    inputs=("n_words", "n_layers", "d_model", "n_heads", "n_kv_heads", "bytes_each"),
    reference=solutions.cache_bytes,
    unrepaired=unrepaired(solutions.cache_bytes),
    by_hand=ByHand(
        inputs={"n_words": 10, "n_layers": 3, "d_model": 64, "n_heads": 8, "n_kv_heads": 2, "bytes_each": 4},
        answer=3840,
        says="A head is 64 / 8 = 8 numbers wide. Two KV heads make 16 numbers for the keys of each word, and "
        "another 16 for its values: 32. That is 96 numbers in 3 layers and 960 for 10 words, of 4 bytes "
        "each: 3,840.",
    ),
    others=(
        lambda: (10, 3, 64, 4, 4, 4),
        lambda: (4096, 16, 1024, 16, 1, 2),
        lambda: (100, 2, 96, 6, 3, 1),
        lambda: (1, 1, 8, 8, 4, 2),
        lambda: (100_000, 32, 4096, 32, 32, 2),  # more than fits into 32 bits
        lambda: (3, 2, 12, 6, 2, 8),
    ),
    slips=known_mistakes(solutions.cache_bytes),
)


EXERCISES = (BLOCK_FLOPS, RUNNING_ATTENTION, LINEAR_READER, CACHE_BYTES)

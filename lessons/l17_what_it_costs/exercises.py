"""The exercises of lesson 17: FLOPs of a block, attention in one pass, linear attention, the KV cache."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_lib.layers.attention import attend
from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, Verdict, wrong_verdict
from course_lib.teaching.exercises.answer import describe_type
from course_lib.teaching.exercises.gradients import compare_gradients
from course_lib.teaching.exercises.guarded_call import call, describe_failure, explain_failure
from course_lib.teaching.exercises.time_limit import TimeLimit
from lessons.l17_what_it_costs.linear_attention import causal_linear_attend, feature_map, linear_attend

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


def wrap(number: int) -> int:
    """The number as 32 bits hold it."""
    return (number + 2**31) % 2**32 - 2**31


OVERFLOW = "large sizes overflow the 32-bit integers that you use. Plain Python integers have no limit."


def exact(n: int, d: int, d_ff: int) -> dict[str, int]:
    """A sum of b products takes only b - 1 additions."""
    return {
        "projections": 4 * n * d * (2 * d - 1),
        "attention": n * n * (2 * d - 1) + n * d * (2 * n - 1),
        "feed-forward": n * d_ff * (2 * d - 1) + n * d * (2 * d_ff - 1),
    }


BLOCK_FLOPS = PlainExercise(
    name="block_flops",
    lesson=LESSON,
    inputs=("n", "d", "d_ff"),
    reference=count,
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
    slips=(
        Slip(
            "one-addition-less",
            exact,
            "each sum of b products is counted with b − 1 additions. That is exact, but by convention (also "
            "in torch) it counts as 2b FLOPs, so a product of matrices takes 2 · rows · inner · columns.",
        ),
        Slip(
            "w-o-in-attention",
            with_parts(
                projections=lambda n, d, d_ff: 6 * n * d**2,
                attention=lambda n, d, d_ff: 4 * n**2 * d + 2 * n * d**2,
            ),
            'W_O is counted under "attention". It is the fourth projection; "attention" is only the scores '
            "and the weighted sum.",
        ),
        Slip(
            "multiplications-only",
            lambda n, d, d_ff: {name: part // 2 for name, part in count(n, d, d_ff).items()},
            "every count is half of what it should be. Each multiplication comes with an addition.",
        ),
        Slip(
            "three-matrices",
            with_parts(projections=lambda n, d, d_ff: 6 * n * d**2),
            "only three projections are counted. The fourth, W_O, combines the outputs of the heads.",
        ),
        Slip(
            "one-projection",
            with_parts(projections=lambda n, d, d_ff: 2 * n * d**2),
            "only one projection is counted. There are four: W_Q, W_K, W_V and W_O.",
        ),
        Slip(
            "half-of-the-projections",
            with_parts(projections=lambda n, d, d_ff: 4 * n * d**2),
            '"projections" is half of what it should be. Are all four counted (W_Q, W_K, W_V and W_O), and '
            "the additions as well as the multiplications?",
        ),
        Slip(
            "half-of-attention",
            with_parts(attention=lambda n, d, d_ff: 2 * n**2 * d),
            '"attention" is half of what it should be. It has two products of the same size: the scores, and '
            "the attention weights times the values. A mask doesn't reduce them.",
        ),
        Slip(
            "half-of-both",
            with_parts(
                attention=lambda n, d, d_ff: 2 * n**2 * d, feed_forward=lambda n, d, d_ff: 2 * n * d * d_ff
            ),
            '"attention" and "feed-forward" are half of what they should be. Each has two matrix products, '
            "and each product takes 2 · rows · inner · columns FLOPs.",
        ),
        Slip(
            "one-product-with-d-d",
            with_parts(attention=lambda n, d, d_ff: 2 * n**2 * d + 2 * n * d**2),
            "one of the two products in attention is counted like a projection. The scores are (n, d) times "
            "(d, n), the weighted sum (n, n) times (n, d).",
        ),
        Slip(
            "n-three-times",
            with_parts(attention=lambda n, d, d_ff: 2 * n**2 * d + 2 * n**3),
            "one of the two products in attention is counted as (n, n) times (n, n). The weighted sum "
            "multiplies the (n, n) attention weights by the (n, d) values.",
        ),
        Slip(
            "n-once",
            with_parts(attention=lambda n, d, d_ff: 4 * n * d**2),
            "attention is counted like two more projections. Every word has a score for every word, so n "
            "counts twice and d once.",
            misconception="M42",
        ),
        Slip(
            "without-the-width",
            with_parts(attention=lambda n, d, d_ff: 4 * n**2),
            "attention is counted without the width d. Each of the n² scores is a dot product of d numbers.",
        ),
        Slip(
            "heads-as-wide-as-d",
            with_parts(attention=lambda n, d, d_ff: 16 * n**2 * d),
            '"attention" is four times what it should be. The heads share the width d, so all of them '
            "together take as many FLOPs as one head of width d.",
        ),
        Slip(
            "with-softmax",
            with_parts(attention=lambda n, d, d_ff: 4 * n**2 * d + n**2),
            '"attention" contains one extra operation for each of the n² scores. Leave out the scaling and '
            "the softmax, and count only the matrix products.",
        ),
        Slip(
            "projections-twice",
            with_parts(attention=lambda n, d, d_ff: 8 * n * d**2 + 4 * n**2 * d),
            'the projections are counted twice: under "projections", and again under "attention".',
        ),
        Slip(
            "half-of-feed-forward",
            with_parts(feed_forward=lambda n, d, d_ff: 2 * n * d * d_ff),
            '"feed-forward" is half of what it should be. The network has two layers, from d to d_ff and '
            "back to d, and each multiplication comes with an addition.",
        ),
        Slip(
            "feed-forward-of-one-word",
            with_parts(feed_forward=lambda n, d, d_ff: 4 * d * d_ff),
            "the feed-forward network is counted for one word. All n words go through it.",
        ),
        Slip(
            "d-ff-twice",
            with_parts(feed_forward=lambda n, d, d_ff: 2 * n * d * d_ff + 2 * n * d_ff**2),
            "the second layer of the feed-forward network is counted from d_ff to d_ff. It leads back to d: "
            "(n, d_ff) times (d_ff, d).",
        ),
        Slip(
            "d-ff-not-used",
            with_parts(feed_forward=lambda n, d, d_ff: 16 * n * d**2),
            "the feed-forward network is counted as if d_ff were always 4 · d. Use `d_ff`.",
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
        Slip(
            "n-forgotten",
            with_parts(projections=lambda n, d, d_ff: 8 * d**2, feed_forward=lambda n, d, d_ff: 4 * d * d_ff),
            "the projections and the feed-forward network are counted for one word. All n words go through "
            "them.",
        ),
        Slip(
            "doubled",
            lambda n, d, d_ff: {name: 2 * part for name, part in count(n, d, d_ff).items()},
            "every count is twice what it should be. `product` contains the factor 2 already.",
        ),
        Slip(
            "causal",
            with_parts(attention=lambda n, d, d_ff: 2 * n * (n + 1) * d),
            "only the scores of earlier words are counted. A mask saves no FLOPs: masked scores are "
            "computed as well.",
        ),
        Slip(
            "with-biases",
            with_parts(
                projections=lambda n, d, d_ff: 8 * n * d**2 + 4 * n * d,
                feed_forward=lambda n, d, d_ff: 4 * n * d * d_ff + n * (d_ff + d),
            ),
            "the additions of the biases are counted. Count only the matrix products.",
        ),
        Slip(
            "counts-parameters",
            lambda n, d, d_ff: {"projections": 4 * d**2, "attention": 0, "feed-forward": 2 * d * d_ff},
            "these are the numbers of parameters. Count the FLOPs of the products with these matrices.",
        ),
        Slip(
            "with-total",
            lambda n, d, d_ff: count(n, d, d_ff) | {"total": sum(count(n, d, d_ff).values())},
            "the counts are right, but there is an entry for their total. Leave it out: the next cell adds "
            "up all the entries.",
        ),
        Slip(
            "total-only",
            lambda n, d, d_ff: sum(count(n, d, d_ff).values()),
            "this is the total of all three parts. Return them separately, in a dictionary.",
        ),
        Slip(
            "without-names",
            lambda n, d, d_ff: tuple(count(n, d, d_ff).values()),
            "the counts are right, but their names are missing. Return the dictionary.",
        ),
        Slip(
            "attention-forgotten",
            lambda n, d, d_ff: {
                name: part for name, part in count(n, d, d_ff).items() if name != "attention"
            },
            'the other counts are right, but "attention" is missing: the scores and the weighted sum.',
        ),
        Slip(
            "underscore",
            lambda n, d, d_ff: {key.replace("-", "_"): part for key, part in count(n, d, d_ff).items()},
            'the counts are right, but one key is spelt differently: it is "feed-forward", with a hyphen.',
        ),
        Slip(
            "overflow",
            lambda n, d, d_ff: {key: wrap(part) for key, part in count(n, d, d_ff).items()},
            OVERFLOW,
        ),
    ),
)


# ---- attention in one pass over blocks of keys


def attend_in_one_pass(blocks: Iterable) -> Tensor:
    return running()(blocks)


def running(
    *,
    start: float = -math.inf,
    maximum_of: Callable = lambda maximum, scores: torch.maximum(maximum, scores.max()),
    keep_maximum: bool = False,
    scale_total: Callable = lambda old, new: torch.exp(old - new),
    scale_output: Callable = lambda old, new: torch.exp(old - new),
    result: Callable = lambda output, total, blocks: output / total,
    divide_always: bool = False,
) -> Callable:
    """The loop; the options are ways to get it wrong."""

    def attend_to_blocks(blocks: list) -> Any:
        maximum, total, output = torch.tensor(start), 0.0, 0.0
        for scores, values in blocks:
            largest = maximum_of(maximum, scores)
            weights = torch.exp(scores - largest)
            total = total * scale_total(maximum, largest) + weights.sum()
            output = output * scale_output(maximum, largest) + weights @ values
            if divide_always:
                output = output / total
            if not keep_maximum:
                maximum = largest
        return output if divide_always else result(output, total, blocks)

    return attend_to_blocks


def running_with(step: Callable) -> Callable:
    """The loop with another body: `step` gets scores, values, maximum, sum and weighted sum, and returns the
    new maximum and sums."""

    def attend_to_blocks(blocks: list) -> Tensor:
        maximum, total, output = torch.tensor(-math.inf), 0.0, 0.0
        for scores, values in blocks:
            maximum, total, output = step(scores, values, maximum, total, output)
        return output / total

    return attend_to_blocks


def by_own_maximum(scores: Tensor, values: Tensor, maximum: Tensor, total: Any, output: Any) -> tuple:
    """The sums refer to the block's maximum, even if an earlier one was larger."""
    of_block = scores.max()
    scale, weights = torch.exp(maximum - of_block), torch.exp(scores - of_block)
    return torch.maximum(maximum, of_block), scale * total + weights.sum(), scale * output + weights @ values


def with_own_weights(scores: Tensor, values: Tensor, maximum: Tensor, total: Any, output: Any) -> tuple:
    """The sums refer to the running maximum, the new weights to the block's own."""
    largest = torch.maximum(maximum, scores.max())
    scale, weights = torch.exp(maximum - largest), torch.exp(scores - scores.max())
    return largest, scale * total + weights.sum(), scale * output + weights @ values


def with_new_terms_scaled(scores: Tensor, values: Tensor, maximum: Tensor, total: Any, output: Any) -> tuple:
    largest = torch.maximum(maximum, scores.max())
    scale, weights = torch.exp(maximum - largest), torch.exp(scores - largest)
    return largest, scale * (total + weights.sum()), scale * (output + weights @ values)


def with_other_weights(weigh: Callable, *, factor: Callable = torch.exp) -> Callable:
    def step(scores: Tensor, values: Tensor, maximum: Tensor, total: Any, output: Any) -> tuple:
        largest = torch.maximum(maximum, scores.max())
        scale, weights = factor(maximum - largest), weigh(scores - largest)
        return largest, scale * total + weights.sum(), scale * output + weights @ values

    return running_with(step)


def with_other_terms(
    *,
    of_total: Callable = lambda total, weights: total + weights.sum(),
    of_output: Callable = lambda output, weights, values: output + weights @ values,
    weigh: Callable = lambda scores, largest: torch.exp(scores - largest),
) -> Callable:
    """The loop; the options are other ways to update the rescaled sums."""

    def step(scores: Tensor, values: Tensor, maximum: Tensor, total: Any, output: Any) -> tuple:
        largest = torch.maximum(maximum, scores.max())
        scale, weights = torch.exp(maximum - largest), weigh(scores, largest)
        return largest, of_total(scale * total, weights), of_output(scale * output, weights, values)

    return running_with(step)


def divided_twice(scores: Tensor, values: Tensor, maximum: Tensor, total: Any, output: Any) -> tuple:
    largest = torch.maximum(maximum, scores.max())
    scale, weights = torch.exp(maximum - largest), torch.exp(scores - largest)
    return largest, scale * total + weights.sum(), scale * output + weights / weights.sum() @ values


def once(old: Tensor, new: Tensor) -> float:
    """No rescaling."""
    return 1.0


def upwards(old: Tensor, new: Tensor) -> Tensor:
    """The factor is upside down, except at the first block."""
    return torch.exp(new - old) if old.isfinite() else torch.tensor(1.0)


def block_outputs(blocks: list) -> Tensor:
    return torch.stack([scores.softmax(dim=0) @ values for scores, values in blocks])


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

    def find_further_problem(self, attempt: Callable, limit: TimeLimit) -> Verdict | None:
        verdict = compare_gradients(attempt, self.reference, self.others[0], list(self.inputs), limit)
        return None if verdict and "inplace operation" in verdict.details else verdict


class InOnePass(Recurrence):
    """It must also work on blocks that come one at a time, without collecting them."""

    def find_further_problem(self, attempt: Callable, limit: TimeLimit) -> Verdict | None:
        sizes = [BLOCK_SIZES[i % len(BLOCK_SIZES)] for i in range(N_BLOCKS)]
        (blocks,) = blocks_case(sizes, BLOCK_WIDTH, seed=70)()
        stream, largest = OnePass(blocks), _LargestTensor()
        with largest:
            torch.zeros(1)  # the first use imports modules, which takes seconds

        def attend_to_stream() -> Any:
            with largest:
                return attempt(stream)

        result = call(attend_to_stream, limit)
        if result.timed_out:
            return explain_failure(result, limit.seconds, "")
        if stream.n_passes > 1:
            headline = f"Your function goes through `blocks` {stream.n_passes} times."
            return wrong_verdict(headline, f"Each block is available only once. {ONE_PASS}", "several-passes")
        if result.failure:
            headline = "Correct for a list of blocks, but not if they come one at a time."
            return wrong_verdict(headline, f"{describe_failure(result.failure)} {ONE_PASS}", "needs-a-list")
        if stream.most_kept > MOST_KEPT or largest.size > 2 * LARGEST:
            headline = "The result is right, but your function collects all the scores or values."
            return wrong_verdict(headline, ONE_PASS, "collects-blocks")
        return super().find_further_problem(attempt, limit)


LOGS = [math.log(number) for number in (2, 8, 4, 16)]
RUNNING_ATTENTION = InOnePass(
    name="running_attention",
    lesson=LESSON,
    inputs=("blocks",),
    reference=attend_in_one_pass,
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
    slips=(
        Slip(
            "never-rescaled",
            running(scale_total=once, scale_output=once),
            "the sums of earlier blocks aren't rescaled when the maximum rises. Multiply both by exp(old "
            "maximum − new maximum), and compute this factor before you overwrite the old maximum.",
        ),
        Slip(
            "total-not-rescaled",
            running(scale_total=once),
            "the weighted sum is rescaled when the maximum rises, but the sum of the weights isn't.",
        ),
        Slip(
            "output-not-rescaled",
            running(scale_output=once),
            "the sum of the weights is rescaled when the maximum rises, but the weighted sum isn't.",
        ),
        Slip(
            "wrong-direction",
            running(
                scale_total=lambda old, new: torch.exp(new - old),
                scale_output=lambda old, new: torch.exp(new - old),
            ),
            "at the first block, the factor for the old sums isn't finite, and ∞ · 0 is NaN. It should be "
            "exp(old maximum − new maximum), which is 0 there. Is the difference the wrong way round, or is "
            "`exp` missing?",
        ),
        Slip(
            "wrong-direction-from-0",
            running(
                start=0.0,
                scale_total=lambda old, new: torch.exp(new - old),
                scale_output=lambda old, new: torch.exp(new - old),
            ),
            "the sums are multiplied by exp(new maximum − old maximum). It should be the other way round: "
            "old weights get smaller when the maximum rises.",
        ),
        Slip(
            "wrong-direction-later",
            running(scale_total=upwards, scale_output=upwards),
            "from the second block on, the sums are multiplied by exp(new maximum − old maximum). It should "
            "be the other way round: old weights get smaller when the maximum rises.",
        ),
        Slip(
            "no-maximum",
            running(start=0.0, maximum_of=lambda maximum, scores: maximum),
            "no maximum is subtracted, so `exp` overflows to infinity for scores near 1,000, and all weights "
            "round to 0 near −1,000.",
        ),
        Slip(
            "first-maximum",
            running(
                maximum_of=lambda maximum, scores: scores.max() if maximum.isinf() else maximum,
            ),
            "the maximum of the first block is subtracted from all blocks. If later scores are much larger, "
            "`exp` overflows.",
        ),
        Slip(
            "starts-at-0",
            running(start=0.0),
            "the maximum seems to start at 0. If all scores are very negative, all weights round to 0. Start "
            "at −∞: `-math.inf`.",
        ),
        Slip(
            "last-block",
            running(keep_maximum=True),
            "only the last block counts. Is the maximum updated for the next block? While it stays at −∞, "
            "exp(old maximum − new maximum) is 0.",
        ),
        Slip(
            "overwritten",
            with_other_terms(
                of_total=lambda total, weights: weights.sum(),
                of_output=lambda output, weights, values: weights @ values,
            ),
            "both sums are overwritten at every block, so earlier blocks are forgotten. Add to the rescaled "
            "sums instead.",
        ),
        Slip(
            "total-overwritten",
            with_other_terms(of_total=lambda total, weights: weights.sum()),
            "the sum of the weights is overwritten at every block. Add to the rescaled sum instead.",
        ),
        Slip(
            "output-overwritten",
            with_other_terms(of_output=lambda output, weights, values: weights @ values),
            "the weighted sum is overwritten at every block. Add to the rescaled sum instead.",
        ),
        Slip(
            "total-without-sum",
            with_other_terms(of_total=lambda total, weights: total + weights),
            "the weights are added to the total as a vector. Add their sum, a single number: "
            "`weights.sum()`.",
        ),
        Slip(
            "not-summed-over-keys",
            with_other_terms(of_output=lambda output, weights, values: output + weights[:, None] * values),
            "the values are multiplied by their weights, but not added up over the keys. `weights @ values` "
            "does both.",
        ),
        Slip(
            "component-by-component",
            with_other_terms(of_output=lambda output, weights, values: output + weights * values),
            "`*` multiplies the weights by the components of each value. Each key's weight belongs to a "
            "whole row of `values`: use `weights @ values`.",
        ),
        Slip(
            "values-first",
            with_other_terms(of_output=lambda output, weights, values: output + values @ weights),
            "the product is the wrong way round. `values` is (b, d), so the weighted sum of its rows is "
            "`weights @ values`.",
        ),
        Slip(
            "maximum-only-in-the-factor",
            with_other_terms(weigh=lambda scores, largest: torch.exp(scores)),
            "the old sums are rescaled, but the new weights are exp(scores). They should be "
            "exp(scores − new maximum).",
        ),
        Slip(
            "block-maximum",
            running(maximum_of=lambda maximum, scores: scores.max(), scale_total=once, scale_output=once),
            "each block's own maximum is subtracted, so the weights of different blocks can't be added. All "
            "of them must refer to the same maximum.",
        ),
        Slip(
            "maximum-falls",
            running(maximum_of=lambda maximum, scores: scores.max()),
            "the maximum is that of the latest block, so it can fall. Then exp(old maximum − new maximum) "
            "overflows. Use the larger of the old maximum and the block's.",
        ),
        Slip(
            "maximum-of-each-score",
            running(maximum_of=torch.maximum),
            "`torch.maximum(maximum, scores)` returns a maximum for each score. You need a single number, so "
            "compare with `scores.max()`.",
        ),
        Slip(
            "refers-to-the-block",
            running_with(by_own_maximum),
            "the sums are rescaled to each block's own maximum. If an earlier score was larger, they must "
            "stay as they are: use the larger of the old maximum and the block's.",
        ),
        Slip(
            "own-weights",
            running_with(with_own_weights),
            "the new weights refer to the block's own maximum, the sums to the running maximum. Subtract the "
            "running maximum from the scores.",
        ),
        Slip(
            "new-terms-scaled",
            running_with(with_new_terms_scaled),
            "the new terms are rescaled as well. Multiply only the old sums by the factor, then add the new "
            "terms.",
        ),
        Slip(
            "softmax-in-the-block",
            with_other_weights(lambda scores: scores.softmax(dim=0)),
            "the weights of a block seem to be its softmax, so every block counts the same. Use "
            "exp(scores − maximum), without dividing.",
        ),
        Slip(
            "no-exp",
            with_other_weights(lambda scores: scores),
            "the weights are scores − maximum. Apply `torch.exp`.",
        ),
        Slip(
            "divided-twice",
            running_with(divided_twice),
            "the weighted sum of each block is divided by the block's own sum, and again at the end. Divide "
            "once.",
        ),
        Slip(
            "first-block",
            lambda blocks: blocks[0][0].softmax(dim=0) @ blocks[0][1],
            "only the first block counts. Is `return` inside the loop?",
        ),
        Slip(
            "scaled-scores",
            lambda blocks: running()(
                [(scores / values.shape[1] ** 0.5, values) for scores, values in blocks]
            ),
            "the scores are divided by √d. `blocks` contains finished scores.",
        ),
        Slip(
            "mean-of-blocks",
            lambda blocks: block_outputs(blocks).mean(dim=0),
            "this is the mean of the blocks' own softmax outputs. A block with larger scores must count "
            "more.",
        ),
        Slip(
            "sum-of-blocks",
            lambda blocks: block_outputs(blocks).sum(dim=0),
            "each block is divided by its own sum, and the results are added. Divide once, at the end, by "
            "the sum of all weights.",
        ),
        Slip(
            "not-divided",
            running(result=lambda output, total, blocks: output),
            "the weighted sum isn't divided by the sum of the weights.",
        ),
        Slip(
            "divided-at-every-block",
            running(divide_always=True),
            "the output is divided at every block, and later blocks are added to the result. Divide once, "
            "after the last block.",
        ),
        Slip(
            "over-the-count",
            running(result=lambda output, total, blocks: output / sum(len(scores) for scores, _ in blocks)),
            "the output is divided by the number of scores. Divide by the sum of the weights.",
        ),
        Slip(
            "returns-the-state",
            running(result=lambda output, total, blocks: (output / total, total)),
            "the sum of the weights is returned as well. Return only the output.",
        ),
        Slip(
            "returns-both-sums",
            running(result=lambda output, total, blocks: (output, total)),
            "both sums are returned. Divide the weighted sum by the sum of the weights, and return the "
            "result.",
        ),
    ),
)


# ---- linear attention as a recurrent network


def right_state(keys: Tensor, values: Tensor) -> Tensor:
    """The last S."""
    return feature_map(keys).mT @ values


def sums(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return causal_linear_attend(query, keys, values), right_state(keys, values)


def same(x: Tensor) -> Tensor:
    return x


def reads(
    *,
    phi: Callable = feature_map,
    phi_query: Callable = feature_map,
    phi_values: Callable = same,
    keep: Callable = lambda q, k, v, s, z: (s + torch.outer(k, v), z + k),
    divisor: Callable = lambda q, k, z: q @ z,
    asked: Callable = lambda s, z: s,
    least: float | None = None,
) -> Callable:
    """The loop; the options are ways to get it wrong. With `least`, it reads the state before it adds to it,
    and clamps the divisor."""

    def read(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        s, z = torch.zeros(keys.shape[-1], values.shape[-1]), torch.zeros(keys.shape[-1])
        outputs = []
        for q, k, v in zip(phi_query(query), phi(keys), phi_values(values), strict=True):
            before = s, z
            s, z = keep(q, k, v, s, z)
            if least is None:
                outputs.append(q @ asked(s, z) / divisor(q, k, z))
            else:
                outputs.append(q @ before[0] / (q @ before[1]).clamp(min=least))
        return torch.stack(outputs), s

    return read


def read_with(output: Callable) -> Callable:
    """The loop with another output: `output` gets φ(q), S and z."""

    def read(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        s, z, outputs = torch.zeros(keys.shape[-1], values.shape[-1]), torch.zeros(keys.shape[-1]), []
        for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
            s, z = s + torch.outer(k, v), z + k
            outputs.append(output(q, s, z))
        return torch.stack(outputs), s

    return read


def divides_state(q: Tensor, k: Tensor, v: Tensor, s: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    return (s + torch.outer(k, v)) / (q @ (z + k)), z + k


def undivided(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    weights = (feature_map(query) @ feature_map(keys).mT).tril()
    return weights @ values, right_state(keys, values)


def over_the_count(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    outputs, s = undivided(query, keys, values)
    return outputs / torch.arange(1, len(query) + 1)[:, None], s


def by_softmax(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    mask = torch.ones(len(query), len(query), dtype=torch.bool).tril()
    return attend(query, keys, values, mask=mask)[0], right_state(keys, values)


def one_behind(*, of_s: bool) -> Callable:
    """The output uses the old S with the new z, or the new S with the old z."""

    def read(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        s, z, outputs = torch.zeros(keys.shape[-1], values.shape[-1]), torch.zeros(keys.shape[-1]), []
        for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
            old_s, old_z = s, z
            s, z = s + torch.outer(k, v), z + k
            outputs.append(q @ old_s / (q @ z) if of_s else q @ s / (q @ old_z))
        return torch.stack(outputs), s

    return read


def raw_divisor(*, of_query: bool) -> Callable:
    def read(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        phi_query, phi_keys = feature_map(query), feature_map(keys)
        z = (phi_keys if of_query else keys).cumsum(dim=0)
        divisor = ((query if of_query else phi_query) * z).sum(dim=-1, keepdim=True)
        return undivided(query, keys, values)[0] / divisor, right_state(keys, values)

    return read


def elementwise(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    s, z, outputs = torch.zeros(keys.shape[-1], values.shape[-1]), torch.zeros(keys.shape[-1]), []
    for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
        s, z = s + k * v, z + k
        outputs.append(q @ s / (q @ z))
    return torch.stack(outputs), s


def square_state(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    if keys.shape[1] != values.shape[1]:
        raise RuntimeError
    return sums(query, keys, values)


def every_state(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    tables = feature_map(keys)[:, :, None] * values[:, None, :]
    return sums(query, keys, values)[0], tables.cumsum(dim=0)


def reader_case(n: int, d_k: int, d_v: int, seed: int, shift: float = 0.0) -> Callable[[], tuple]:
    """Random inputs; `shift` is added to queries and keys."""
    shapes = ((n, d_k, shift), (n, d_k, shift), (n, d_v, 0.0))
    return lambda: tuple(random(*shape, seed=seed + i) + by for i, (*shape, by) in enumerate(shapes))


def is_pair(inputs: tuple, answer: Any) -> str:
    if isinstance(answer, tuple | list) and len(answer) == 2:
        return ""
    return f"Expected two results, the outputs and `S`, but your function returned {describe_type(answer)}."


ADD_FIRST = "First add the word to the state, then compute the output."
OTHER_MAP = "the features seem to be {}. Use `feature_map`, which is elu(x) + 1."
OVERWRITTEN = "the state is overwritten at every word, so earlier words are forgotten. Add to it instead."

LINEAR_READER = Recurrence(
    name="linear_reader",
    lesson=LESSON,
    inputs=("query", "keys", "values"),
    reference=sums,
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
    slips=(
        Slip(
            "undivided",
            undivided,
            "the outputs aren't divided by the sum of their weights, φ(q) · z.",
        ),
        Slip(
            "over-the-count",
            over_the_count,
            "the outputs are divided by the number of words. Divide by the sum of the weights, φ(q) · z.",
        ),
        Slip(
            "asks-before-writing",
            reads(least=1e-9),
            f"each output is computed before its word is added, so no word attends to itself. {ADD_FIRST}",
        ),
        Slip(
            "asks-an-empty-state",
            reads(least=0.0),
            "each output is computed before its own word is added. The state is still empty at the first "
            f"word, and 0 / 0 is NaN. {ADD_FIRST}",
        ),
        Slip(
            "z-one-behind",
            one_behind(of_s=False),
            "z is one word behind: the output is divided before the word is added to z. Update both S and z "
            "first.",
        ),
        Slip(
            "s-one-behind",
            one_behind(of_s=True),
            "S is one word behind: the output is computed before the word is added to S. Update both S and z "
            "first.",
        ),
        Slip(
            "z-of-raw-keys",
            raw_divisor(of_query=False),
            "z is the sum of the keys themselves. It should be the sum of φ(k).",
        ),
        Slip(
            "raw-query-in-divisor",
            raw_divisor(of_query=True),
            "the divisor uses the query itself. It should be φ(q) · z.",
        ),
        Slip(
            "asks-with-the-key",
            lambda q, k, v: (causal_linear_attend(k, k, v), right_state(k, v)),
            "the outputs are computed with the keys. Use the query of each word.",
        ),
        Slip(
            "no-outer-product",
            elementwise,
            "keys and values are multiplied component by component. S needs every component of φ(k) times "
            "every component of v: `torch.outer`.",
        ),
        Slip(
            "returns-a-divided-state",
            lambda q, k, v: (sums(q, k, v)[0], right_state(k, v) / feature_map(k).sum(dim=0)[:, None]),
            "the outputs are right, but S is divided by z. Return S itself.",
        ),
        Slip(
            "over-the-sum-of-z",
            reads(divisor=lambda q, k, z: z.sum()),
            "the outputs are divided by the sum of z. The weights of a query sum to φ(q) · z.",
        ),
        Slip(
            "divides-rows",
            reads(divisor=lambda q, k, z: 1.0, asked=lambda s, z: s / z[:, None]),
            "the rows of S are divided by the numbers in z. Divide the output by one number, φ(q) · z.",
        ),
        Slip(
            "over-this-word",
            reads(divisor=lambda q, k, z: q @ k),
            "the outputs are divided by the weight of the current word alone. z is the sum of φ(k) over all "
            "words so far.",
        ),
        Slip(
            "key-in-divisor",
            reads(divisor=lambda q, k, z: k @ z),
            "the divisor is φ(k) · z. It should be φ(q) · z, with the query.",
        ),
        Slip(
            "over-each-component-of-z",
            reads(divisor=lambda q, k, z: z),
            "the outputs are divided by the vector z. Divide by a single number, φ(q) · z.",
        ),
        Slip(
            "no-parentheses",
            read_with(lambda q, s, z: q @ s / q @ z),
            "`q @ S / q @ z` is computed from left to right, as `((q @ S) / q) @ z`. Put the divisor in "
            "parentheses: `q @ S / (q @ z)`.",
        ),
        Slip(
            "state-times-query",
            read_with(lambda q, s, z: s @ q / (q @ z)),
            "the product is the wrong way round. S is (d_k, d_v), so the output is `q @ S`, not `S @ q`.",
        ),
        Slip(
            "multiplied",
            read_with(lambda q, s, z: (q @ s) * (q @ z)),
            "the outputs are multiplied by φ(q) · z. Divide by it.",
        ),
        Slip(
            "concatenated",
            lambda q, k, v: (sums(q, k, v)[0].flatten(), right_state(k, v)),
            "the outputs are concatenated into one long vector. `torch.stack` makes a row of each.",
        ),
        Slip(
            "divisor-at-least-1",
            reads(divisor=lambda q, k, z: (q @ z).clamp(min=1.0)),
            "the divisor is kept at 1 or above. φ(q) · z may well be smaller than that.",
        ),
        Slip(
            "z-of-queries",
            reads(keep=lambda q, k, v, s, z: (s + torch.outer(k, v), z + q)),
            "z is the sum of the queries' features. It should be the sum of the keys' features, φ(k).",
        ),
        Slip(
            "s-of-queries",
            reads(keep=lambda q, k, v, s, z: (s + torch.outer(q, v), z + k)),
            "S is built from the queries' features. It should be the sum of the outer products φ(k) vᵀ.",
        ),
        Slip(
            "divides-the-state",
            reads(keep=divides_state, divisor=lambda q, k, z: 1.0),
            "S itself is divided at every word, and the result is carried along. Divide only the output.",
        ),
        Slip(
            "raw-keys",
            reads(phi=same),
            "`feature_map` is applied only to the queries. Apply it to the keys as well.",
        ),
        Slip(
            "raw-query",
            reads(phi_query=same),
            "`feature_map` is applied only to the keys. Apply it to the queries as well.",
        ),
        Slip(
            "no-feature-map",
            reads(phi=same, phi_query=same),
            "`feature_map` isn't applied. Apply it to the queries and the keys.",
        ),
        Slip(
            "mapped-values",
            reads(phi_values=feature_map),
            "`feature_map` is applied to the values. Apply it only to queries and keys.",
        ),
        Slip(
            "elu-alone",
            reads(phi=F.elu, phi_query=F.elu),
            "the features are elu(x) without the + 1, so some are negative. Use `feature_map`.",
        ),
        Slip(
            "mapped-twice",
            reads(phi=lambda x: feature_map(feature_map(x)), phi_query=lambda x: feature_map(feature_map(x))),
            "`feature_map` is applied twice.",
        ),
        Slip("exp", reads(phi=torch.exp, phi_query=torch.exp), OTHER_MAP.format("exp(x)")),
        Slip("relu", reads(phi=F.relu, phi_query=F.relu), OTHER_MAP.format("relu(x)")),
        Slip(
            "scaled",
            reads(phi_query=lambda query: feature_map(query / query.shape[-1] ** 0.5)),
            "the queries are divided by √d_k. Linear attention has no such factor.",
        ),
        Slip(
            "softmax",
            by_softmax,
            "the outputs are those of softmax attention. Here a weight is φ(q) · φ(k), without an "
            "exponential.",
        ),
        Slip(
            "sees-everything",
            lambda q, k, v: (linear_attend(q, k, v), right_state(k, v)),
            "every word attends to the whole sentence. Its output should use S and z as they are after this "
            "word.",
        ),
        Slip("forgets", reads(keep=lambda q, k, v, s, z: (torch.outer(k, v), k)), OVERWRITTEN),
        Slip(
            "forgets-s",
            reads(keep=lambda q, k, v, s, z: (torch.outer(k, v), z + k)),
            OVERWRITTEN.replace("the state is", "S is"),
        ),
        Slip(
            "outer-turned",
            reads(keep=lambda q, k, v, s, z: (s + torch.outer(v, k), z + k)),
            "the outer product is the wrong way round. φ(k) comes first, so that its shape is (d_k, d_v): "
            "`torch.outer(k, v)`.",
        ),
        Slip(
            "transposed-state",
            lambda q, k, v: (sums(q, k, v)[0], right_state(k, v).mT),
            "S is transposed. Its shape should be (d_k, d_v).",
        ),
        Slip(
            "square-state",
            square_state,
            "S is created with the shape (d_k, d_k). Values and keys can differ in width, so it should be "
            "(d_k, d_v).",
        ),
        Slip(
            "every-state",
            every_state,
            "this is S after every word. Return only the last one.",
        ),
        Slip(
            "last-output-only",
            lambda q, k, v: (sums(q, k, v)[0][-1], right_state(k, v)),
            "only the output of the last word is returned. Collect the outputs of all words.",
        ),
        Slip(
            "state-first",
            lambda q, k, v: sums(q, k, v)[::-1],
            "the two results are in the wrong order: the outputs come first, then S.",
        ),
        Slip(
            "with-z",
            lambda q, k, v: (*sums(q, k, v), feature_map(k).sum(dim=0)),
            "z is returned as well. Return only the outputs and S.",
        ),
        Slip(
            "outputs-only",
            lambda q, k, v: sums(q, k, v)[0],
            "only the outputs are returned. Return the last S as well, after a comma.",
        ),
    ),
)


# ---- the KV cache


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
    slips=(
        Slip(
            "keys-only",
            lambda *given: bytes_of_cache(*given) // 2,
            "this is half of what it should be. Are both keys and values counted?",
        ),
        Slip(
            "with-queries",
            lambda n, layers, d, heads, kv, b: (
                bytes_of_cache(n, layers, d, heads, kv, b) + layers * n * d * b
            ),
            "the queries are counted too. An old query is never used again; only keys and values are kept.",
            misconception="M44",
        ),
        Slip(
            "three-of-each",
            lambda *given: bytes_of_cache(*given) * 3 // 2,
            "three vectors are counted for each head and word. An old query is never used again; only keys "
            "and values are kept.",
            misconception="M44",
        ),
        Slip(
            "counts-numbers",
            lambda n, layers, d, heads, kv, b: bytes_of_cache(n, layers, d, heads, kv, 1),
            "this is how many numbers are kept. Each of them takes `bytes_each` bytes.",
        ),
        Slip(
            "always-4-bytes",
            lambda n, layers, d, heads, kv, b: bytes_of_cache(n, layers, d, heads, kv, 4),
            "every number is counted with 4 bytes. Use `bytes_each`.",
        ),
        Slip(
            "one-layer",
            lambda n, layers, d, heads, kv, b: bytes_of_cache(n, 1, d, heads, kv, b),
            "this is the cache of one layer. Every layer keeps keys and values of its own.",
        ),
        Slip(
            "one-word",
            lambda n, layers, d, heads, kv, b: bytes_of_cache(1, layers, d, heads, kv, b),
            "this is the cache of one word. Keys and values of all `n_words` words are kept.",
        ),
        Slip(
            "size-of-a-group",
            lambda n, layers, d, heads, kv, b: 2 * layers * n * (heads // kv) * (d // heads) * b,
            "the cache gets larger with fewer KV heads. It holds `n_kv_heads` of them; "
            "n_heads / n_kv_heads is the number of query heads that share one of them.",
        ),
        Slip(
            "only-one-is-shared",
            lambda n, layers, d, heads, kv, b: layers * n * (kv + heads) * (d // heads) * b,
            "only the keys are shared, or only the values. There are `n_kv_heads` heads of both.",
        ),
        Slip(
            "as-wide-as-the-model",
            lambda n, layers, d, heads, kv, b: 2 * layers * n * kv * d * b,
            "every KV head is as wide as the whole model. Its width is d_model / n_heads.",
        ),
        Slip(
            "one-head",
            lambda n, layers, d, heads, kv, b: bytes_of_cache(n, layers, d, heads, 1, b),
            "only one KV head is counted in each layer. There are `n_kv_heads`.",
        ),
        Slip(
            "rounded-to-zero",
            lambda n, layers, d, heads, kv, b: 2 * layers * n * (kv // heads) * d * b,
            "`n_kv_heads // n_heads` is 0 if there are fewer KV heads than query heads. Multiply first, and "
            "divide at the end.",
        ),
        Slip(
            "table-of-scores",
            lambda n, layers, d, heads, kv, b: 2 * layers * n**2 * kv * b,
            "`n_words` is squared. There is a score for each pair of words, but scores aren't kept: the "
            "cache holds keys and values for each word and layer.",
        ),
        Slip(
            "doubled",
            lambda *given: 2 * bytes_of_cache(*given),
            "this is twice what it should be. The 2 for keys and values counts once.",
        ),
        Slip(
            "half-of-the-first-version",
            lambda *given: first_bytes_of_cache(*given) // 2,
            "the number of KV heads has no effect, and only keys or only values are counted. Start again "
            "from the first version.",
        ),
        Slip("overflow", lambda *given: wrap(bytes_of_cache(*given)), OVERFLOW),
    ),
)


EXERCISES = (BLOCK_FLOPS, RUNNING_ATTENTION, LINEAR_READER, CACHE_BYTES)

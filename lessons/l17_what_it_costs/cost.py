"""What attention costs in seconds and bytes, beside its block: `python3 -m course_lib bench cost`.

    >>> bytes_written(lambda: torch.zeros(10, 10) + 1)         # two tensors of 100 numbers, 4 bytes each
    800
    >>> round(crossover([1, 2, 4], [0.25, 0.5, 2.0]), 3)        # a ratio that passes 1 between 2 and 4
    2.828

FLOPs measure neither: they count matrix products only, and many small products take longer than a large one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import exp, log
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_lib.runtime import data_path
from lessons.l17_what_it_costs.linear_attention import causal_linear_attend, linear_attend
from lessons.l17_what_it_costs.restricted import attend_nearby
from lessons.l17_what_it_costs.timing import conditions, in_turn

LENGTHS = (64, 128, 256, 512, 1024, 2048)
WIDTH, N_HEADS = 64, 4
ROUNDS, REPETITIONS = 7, 3
EQUAL_FLOPS = 6 * WIDTH  # words at which attention takes as many FLOPs as the rest of its block
STEPS = 256
LONG, RADIUS = 1024, 8

ABOUT = f"""\
One sentence, float32, on the CPU; width {WIDTH}, {N_HEADS} heads, a feed-forward network four times as wide.
explicit   scores, softmax and weighted sum one after another
fused      the same with torch's scaled_dot_product_attention
rest       all other matrix products of the block
CPU seconds on one core. Everything in a table is timed in turn, {ROUNDS} rounds; the fastest one counts.
A ratio above 1 means that attention takes longer. Pairs of numbers are the smallest and the largest of
{REPETITIONS} repetitions. Other programs were running (see the load), so only ratios are reported."""


def fastest(ways: Mapping[str, Callable[[], Any]], *, rounds: int = ROUNDS) -> dict[str, float]:
    """The CPU seconds that each way takes at its fastest, on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            times = in_turn(ways, rounds=rounds, clock=time.thread_time)
    finally:
        torch.set_num_threads(before)
    return {name: max(min(of_one), 1e-9) for name, of_one in times.items()}


def crossover(lengths: Sequence[float], ratios: Sequence[float]) -> float:
    """The length from which a ratio stays above 1, interpolated on log axes; if never, the first or last."""
    pairs = list(zip(lengths, ratios, strict=True))
    for (left, low), (right, high) in reversed(list(pairwise(pairs))):
        if low < 1 <= high:
            fraction = log(1 / low) / log(high / low)
            return exp(log(left) + fraction * log(right / left))
    return float(lengths[0] if ratios[-1] >= 1 else lengths[-1])


class _WrittenBytes(TorchDispatchMode):
    """Adds up the bytes of all storage that torch's functions allocate."""

    total = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **kwargs or {})
        inputs, outputs = (
            {leaf.untyped_storage()._cdata: leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)}
            for tree in ((args, kwargs), result)
        )
        new = outputs.keys() - inputs.keys()
        self.total += sum(outputs[key].untyped_storage().nbytes() for key in new)
        return result


def bytes_written(work: Callable[[], Any]) -> int:
    """The bytes of all tensors that `work` computes, intermediate ones too; a view has none of its own."""
    with torch.no_grad(), _WrittenBytes() as meter:
        work()
    return meter.total


def explicit(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attention step by step, as in the formula."""
    transposed = keys.mT.contiguous()  # with a view, torch takes many times as long for short narrow heads
    scores = query @ transposed / query.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ values


def block_ways(n: int, d: int) -> dict[str, Callable[[], Any]]:
    """The work of one block for n words, in parts to time: attention in two ways, and the rest."""
    torch.manual_seed(0)
    x, heads = torch.randn(1, n, d), torch.randn(3, 1, N_HEADS, n, d // N_HEADS)
    w_in, w_out = torch.randn(d, 3 * d), torch.randn(d, d)
    up, down = torch.randn(d, 4 * d), torch.randn(4 * d, d)
    return {
        "rest": lambda: (x @ w_in, x @ w_out, (x @ up).relu() @ down),
        "explicit": lambda: explicit(*heads),
        "fused": lambda: F.scaled_dot_product_attention(*heads),
    }


def recurrent_ways(n: int, d: int) -> dict[str, Callable[[], Any]]:
    """One layer over n words: a recurrent network, and attention with one head."""
    torch.manual_seed(0)
    words, heads = torch.randn(1, n, d), torch.randn(3, 1, n, d)
    rnn = torch.nn.RNN(d, d, batch_first=True)
    return {"recurrent": lambda: rnn(words), "attention": lambda: explicit(*heads)}


def step_ways(n: int, d: int) -> dict[str, Callable[[], Any]]:
    """n steps of a recurrent network: each depends on the last; none does; and all of them in one product."""
    torch.manual_seed(0)
    words, w, u = torch.randn(n, d), torch.randn(d, d) / d**0.5, torch.randn(d, d) / d**0.5

    def one_by_one(*, depends: bool) -> None:
        state = torch.zeros(1, d)
        for word in words.split(1):
            new = torch.tanh(word @ w + state @ u)
            state = new if depends else state

    return {
        "dependent": lambda: one_by_one(depends=True),
        "independent": lambda: one_by_one(depends=False),
        "together": lambda: torch.tanh(words @ w + words @ u),
    }


def block_ratios(d: int, lengths: Sequence[int] = LENGTHS, *, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Seconds of attention over seconds of the rest of the block, explicit and fused, for each length."""
    times = [fastest(block_ways(n, d), rounds=rounds) for n in lengths]
    return {way: [of_n[way] / of_n["rest"] for of_n in times] for way in ("explicit", "fused")}


def recurrent_ratios(d: int, lengths: Sequence[int] = LENGTHS, *, rounds: int = ROUNDS) -> list[float]:
    """Seconds of attention over seconds of a recurrent network, for each length."""
    times = [fastest(recurrent_ways(n, d), rounds=rounds) for n in lengths]
    return [of_n["attention"] / of_n["recurrent"] for of_n in times]


def part_ways(n: int, d: int) -> dict[str, Callable[[], Any]]:
    """`block_ways`, and the steps of explicit attention one by one.

    `exp` and `copy` separate arithmetic from memory traffic: both read a matrix of the size of the scores and
    write into an existing one.
    """
    ways = block_ways(n, d)
    query, keys, values = torch.randn(3, 1, N_HEADS, n, d // N_HEADS)
    weights = torch.rand(1, N_HEADS, n, n)
    target = torch.empty_like(weights)
    return ways | {
        "products": lambda: (query @ keys.mT.contiguous(), weights @ values),
        "softmax": lambda: (weights / 4).softmax(dim=-1),
        "exp": lambda: torch.exp(weights, out=target),
        "copy": lambda: target.copy_(weights),
    }


def cheaper_ways(n: int) -> dict[str, Callable[[], Any]]:
    """Attention with 4 heads of width 16, and its alternatives."""
    torch.manual_seed(0)
    heads = torch.randn(3, 1, N_HEADS, n, 16)
    return {
        "explicit": lambda: explicit(*heads),
        "fused": lambda: F.scaled_dot_product_attention(*heads),
        "nearby": lambda: attend_nearby(*heads, radius=RADIUS),
        "linear": lambda: linear_attend(*heads),
        "causal linear": lambda: causal_linear_attend(*heads),
    }


def recorded(against: str) -> list[float]:
    """The ratios of one row of the record, for each of `LENGTHS`.

    >>> len(recorded("the rest, fused")) == len(LENGTHS)
    True
    """
    record = data_path("results", "bench_cost_cpu.txt").read_text(encoding="utf-8")
    [row] = re.findall(rf"^{re.escape(against)}  +(.*)$", record, flags=re.MULTILINE)
    return [float(ratio) for ratio in row.split()[:-2]]


def run() -> None:
    """Measure and print the tables."""
    print(conditions("torch"), "", ABOUT, "", sep="\n", flush=True)
    print("attention against     " + "".join(f"{n:>8}" for n in LENGTHS) + "  equal at  by FLOPs")
    rows = {f"the rest, {way}": (ratios, EQUAL_FLOPS) for way, ratios in block_ratios(WIDTH).items()}
    rows["a recurrent network"] = (recurrent_ratios(WIDTH), WIDTH)
    for name, (ratios, by_flops) in rows.items():
        cells = "".join(f"{ratio:>8.2f}" for ratio in ratios)
        print(f"{name:<22}{cells}{crossover(LENGTHS, ratios):>10.0f}{by_flops:>10}")
    print(f"\n{EQUAL_FLOPS} words: each over the rest of the block")
    print_ratios("parts", "rest", part_ways(EQUAL_FLOPS, WIDTH))
    print(f"\n{STEPS} steps of a recurrent network: one by one over all of them in one product")
    print_ratios("steps", "together", step_ways(STEPS, WIDTH))
    print(f"\n{LONG} words, {RADIUS} neighbours on each side: each over explicit")
    print_ratios("alternatives", "explicit", cheaper_ways(LONG))


def print_ratios(name: str, over: str, ways: Mapping[str, Callable[[], Any]]) -> None:
    """Print the seconds of each way over those of one of them, the least and the most of all repetitions."""
    repetitions = [fastest(ways, rounds=ROUNDS) for _ in range(REPETITIONS)]
    texts = []
    for way in ways:
        ratios = [times[way] / times[over] for times in repetitions]
        texts += [f"{way} {min(ratios):.2f} {max(ratios):.2f}"] * (way != over)
    print(f"{name}: {', '.join(texts)}", flush=True)

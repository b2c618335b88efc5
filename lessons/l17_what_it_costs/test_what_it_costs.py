"""Figures and claims of lesson 17 are what is counted, recorded or measured live."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_lib.layers import multi_head as library
from course_lib.layers.block import Block
from course_lib.runtime import data_path
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.translation.shipped import shared
from lessons.l17_what_it_costs import cost
from lessons.l17_what_it_costs.cost_explorer import CostExplorer
from lessons.l17_what_it_costs.linear_attention import causal_linear_attend, feature_map, linear_attend
from lessons.l17_what_it_costs.restricted import attend_nearby
from tests.lessons.told import Told, drawn

L = Told("what_it_costs")
RECORD = data_path("results", "bench_cost_cpu.txt").read_text(encoding="utf-8")


def meets(d: int, against: str) -> float:
    """Where one row of the record passes 1."""
    ratios = cost.recorded(d, against)
    return cost.meeting(cost.LENGTHS[: len(ratios)], ratios)


def line_of(opening: str) -> dict[str, float]:
    """`opening: this 0.5, that 2.0` of the record."""
    [told] = re.findall(rf"^{opening}: (.*)$", RECORD, flags=re.MULTILINE)
    return {
        name: float(number) for name, number in re.findall(r"([a-z ]+) ([\d.]+)", told.replace(", ", ","))
    }


def flops_of(work) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        work()
    return counter.get_total_flops()


def test_the_record_is_as_told():
    assert "aarch64, 2 cores" in RECORD and min(cost.LENGTHS) == 64
    for d, against, low, high, told in (
        (64, "a recurrent network", 850, 950, "near **900** words"),
        (128, "a recurrent network", 750, 850, "near **800** instead"),
        (64, "a recurrent network, 8", 200, 250, "8 sentences side by side met near 230"),
        (64, "a recurrent network, 32", 650, 750, "32 near 700"),
        (128, "the rest, explicit", 290, 330, "near 310 instead of 768"),
    ):
        assert low < meets(d, against) < high
        L.says(told)
    assert 1 <= cost.recorded(64, "the rest, explicit")[0] < 1.1
    L.says("one of two ARM cores", "level with the rest at 64 words, the fewest we tried")
    steps, short, long = line_of("one by one"), line_of("64 words"), line_of("1024 words")
    for found, low, high, told in (
        (steps["waiting"], 17.5, 18.5, "18 times as long as all of them in one product"),
        (steps["not waiting"], 17.5, 18.5, "18 times as well"),  # steps that need not wait are as slow
        (long["nearby"], 0.18, 0.22, "a fifth of the time"),
        (long["fused"], 0.45, 0.57, "(fused: a half)"),
        (long["linear"], 0.055, 0.065, "it took 6% of the time of explicit attention"),
        (long["causal linear"], 0.435, 0.445, "took 44%, and one $S$"),
        (short["nearby"], 2.8, 3.3, "at 64 words three times as long"),
    ):
        assert low < found < high, told
        L.says(told)
    for d in (64, 128):  # the ratio doubles, more or less, where the words do
        for way in ("explicit", "fused"):
            ratios = cost.recorded(d, f"the rest, {way}")[2:]
            factor = (ratios[-1] / ratios[0]) ** (1 / (len(ratios) - 1))
            assert 1.7 < factor < 2.3, (d, way)
    L.says("From 256 words on")


@pytest.mark.parametrize(("heads", "row"), [("1 head", "one head of width 64"), ("4 heads", "four heads of")])
def test_the_steps_of_attention_are_as_told(heads, row):
    parts = line_of(heads)
    cells = " | ".join(f"{parts[step]:.2f}" for step in ("products", "softmax", "exp", "copy"))
    assert re.search(rf"\| {row}[^|]*\| {re.escape(cells)} \|", L.source)
    assert parts["copy"] < 0.12 * parts["exp"]
    L.says("takes a tenth of that")


def test_the_clock_gives_a_ratio_for_each_length():
    """Which, a busy or another machine decides: no figure is asked for."""
    assert [ratio > 0 for ratio in cost.recurrent_ratios(64, [8, 16], rounds=1)] == [True, True]
    ways = cost.block_ratios(64, [8, 16], rounds=1)
    assert all(ratio > 0 for ratios in ways.values() for ratio in ratios) and "explicit" in ways
    for timed in (cost.step_ways(8, 4), cost.part_ways(8, 16, 4), cost.cheaper_ways(16)):
        assert all(seconds > 0 for seconds in cost.fastest(timed, rounds=1).values())


def test_the_prediction_is_what_the_explorable_shows():
    asked = L.asked("cost-half")
    explorer = CostExplorer()
    explorer.preset(asked.preset)
    assert explorer.facts["share"] == 0.5 and explorer.facts["n"] == asked.answer and explorer.d == 512


def test_tables_outgrow_the_words_beyond_64_words():
    found = {n: CostExplorer.compute(n=n, d=512, heads=8) for n in (64, 65)}
    assert found[64]["table_bytes"] == found[64]["words_bytes"]
    assert found[65]["table_bytes"] > found[65]["words_bytes"]


def test_torch_does_not_count_fused_attention_on_a_cpu():
    n, d = 64, 64
    counts = [
        flops_of(lambda w=w: Block(d_model=d, n_heads=4, d_ff=4 * d)(torch.randn(1, n, d), with_weights=w))
        for w in (True, False)
    ]
    assert counts[0] - counts[1] == 4 * n**2 * d


def test_explicit_writes_three_tables_and_fused_none():
    for n in (256, 1024):
        heads = torch.randn(3, 1, 4, n, 16)
        explicit = cost.bytes_written(lambda heads=heads: cost.explicit(*heads))
        fused = cost.bytes_written(lambda heads=heads: F.scaled_dot_product_attention(*heads))
        assert explicit == 4 * (3 * 4 * n**2 + 2 * 64 * n)  # the keys are laid out anew
        assert fused == 4 * (64 * n + 4 * n)  # the result, and a sum for each row and head


def test_where_two_curves_meet():
    assert cost.meeting([1, 2, 4], [0.25, 0.5, 2.0]) == pytest.approx(8**0.5)
    assert cost.meeting([1, 2, 4], [3.0, 3.0, 5.0]) == 1
    assert cost.meeting([1, 2, 4], [0.1, 0.2, 0.3]) == 4
    assert cost.meeting([1, 2, 4], [1.5, 0.5, 2.0]) == pytest.approx(8**0.5)
    before = torch.get_num_threads()
    taken = cost.fastest({"a": lambda: torch.ones(10).sum()}, rounds=2)
    assert taken["a"] > 0 and torch.get_num_threads() == before


@torch.no_grad()
def right_share(in_decoder) -> float:
    model, encode = shared("transformer").model, shared("transformer").tokenizer.encode
    batch = make_batch([encode(p.src_text) for p in drawn(200)], [encode(p.tgt_text) for p in drawn(200)])
    memory = model.encode(batch.src, batch.src_lengths)
    with patch.multiple("course_lib.layers.multi_head", multi_head=in_decoder):
        logits, _ = model.decode(memory, batch.tgt_in)
    right = (logits.argmax(-1) == batch.tgt_out) | (batch.tgt_out == PAD)
    return 100 * right.all(1).float().mean().item()


def pooled_keys(q, k, v, whole=library.multi_head, **options):
    """The library's attention with keys averaged in pairs of heads, and scaled up again."""
    shared = k.unflatten(1, (2, -1)).mean(2).repeat_interleave(2, 1)
    return whole(q, 2**0.5 * shared, v, **options)


def test_heads_cannot_be_averaged_untrained():
    assert f"{right_share(pooled_keys):.1f}" == "67.5"
    L.says("scaled up again by √2, 67.5% are right")


def test_why_linear_attention_finds_so_little():
    """Neither the size of its state nor mere adding alone: a positive map makes all keys alike."""
    torch.manual_seed(16)
    keys = torch.randn(2, 50, 16, 16)[0]
    phi = feature_map(keys)
    L.says("a cosine of 0.70")
    others = ~torch.eye(16, dtype=torch.bool)
    alike, before = (F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT for x in (phi, keys))
    assert abs(alike[:, others].mean() - 0.70) < 0.01 and abs(before[:, others].mean()) < 0.02
    made = {
        n: cost.bytes_written(lambda n=n: causal_linear_attend(*torch.randn(3, n, 16))) for n in (100, 200)
    }
    assert made[200] - made[100] > 4 * 100 * 16 * 16
    L.says("one $S$ for *each* word")


def test_counts_of_the_text():
    assert f"{2 * 32 * 4096 * 2 * 100_000 / 1e9:.0f} GB" == "52 GB"
    heads = torch.randn(3, 1, 4, 1024, 16)
    everything, few, linear = (
        flops_of(work)
        for work in (
            lambda: cost.explicit(*heads),
            lambda: attend_nearby(*heads, radius=8),
            lambda: linear_attend(*heads),
        )
    )
    assert everything == 4 * 1024**2 * 64 and few == 4 * 3 * 8 * 1024 * 64
    assert 0 <= linear - 4 * 1024 * 64 * 16 <= 2 * 1024 * 64  # and the products with z
    n, d = 32, 16
    with_matrices = 8 * n * d**2 + 4 * n**2 * d
    recurrent = flops_of(lambda: torch.nn.RNN(d, d, batch_first=True)(torch.randn(1, n, d)))
    assert with_matrices == 4 * recurrent  # an LSTM has four such pairs of matrices
    L.says("takes 52 GB", "fewer up to $n = 2d$")

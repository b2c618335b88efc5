"""Figures and claims of lesson 17 are what is counted, recorded or measured live."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_lib.bench import cost
from course_lib.explore.cost_explorer import CostExplorer
from course_lib.layers import multi_head as library
from course_lib.layers.block import Block
from course_lib.layers.linear_attention import feature_map
from course_lib.layers.restricted import attend_nearby
from course_lib.runtime import data_path
from course_lib.teaching.lessons import lesson
from course_lib.teaching.questions import questions
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import load_shipped

SOURCE = (lesson("what_it_costs").folder / "lesson.py").read_text(encoding="utf-8")
RECORD = data_path("results", "bench_cost_cpu.txt").read_text(encoding="utf-8")


def recorded_row(d: int, name: str) -> tuple[list[float], int]:
    """The ratios of one row, and where they meet."""
    [row] = re.findall(rf"^{d} +{re.escape(name)} +(.*)$", RECORD, flags=re.MULTILINE)
    *ratios, meets, _ = row.split()
    return [float(ratio) for ratio in ratios], int(meets)


def flops_of(work) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        work()
    return counter.get_total_flops()


def test_the_record_is_as_told():
    assert "aarch64, 2 cores" in RECORD and "two ARM cores, one used" in SOURCE
    assert 1050 < recorded_row(64, "a recurrent network")[1] < 1150 and "near **1,100** words" in SOURCE
    assert 950 < recorded_row(128, "a recurrent network")[1] < 1050 and "near **1,000** instead" in SOURCE
    assert min(recorded_row(64, "the rest, explicit")[0]) > 1
    assert "longer than the rest at *every* length we tried for $d$ = 64" in SOURCE
    assert 160 < recorded_row(64, "the rest, fused")[1] < 180 and "about 170 words instead of 384" in SOURCE
    assert 475 < recorded_row(128, "the rest, fused")[1] < 550 and "about 500 instead of 768" in SOURCE


def test_the_growth_is_as_counted():
    """From 512 words on the ratio doubles, more or less, where the words do."""
    for d in (64, 128):
        for way in ("explicit", "fused"):
            ratios = recorded_row(d, f"the rest, {way}")[0][3:]
            factor = (ratios[-1] / ratios[0]) ** (1 / (len(ratios) - 1))
            assert 1.7 < factor < 2.3, (d, way)


@pytest.mark.parametrize(("heads", "row"), [("1 head", "one head of width 64"), ("4 heads", "four heads of")])
def test_the_steps_of_attention_are_as_told(heads, row):
    products, softmax = re.search(rf"^{heads}: products (\S+), softmax (\S+)$", RECORD, re.MULTILINE).groups()
    assert re.search(rf"\| {row}[^|]*\| {products} \| {softmax} \|", SOURCE)


def test_the_clock_gives_a_ratio_for_each_length():
    """Which, a busy or another machine decides: no figure is asked for."""
    assert [ratio > 0 for ratio in cost.recurrent_ratios(64, [8, 16], rounds=1)] == [True, True]
    ways = cost.block_ratios(64, [8, 16], rounds=1)
    assert all(ratio > 0 for ratios in ways.values() for ratio in ratios) and "explicit" in ways


def test_the_prediction_is_what_the_explorable_shows():
    asked = questions("17")["cost-half"]
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
        assert explicit == 4 * (3 * 4 * n**2 + 64 * n)
        assert fused <= 2 * 4 * 64 * n  # the result, and a sum for each row


def test_where_two_curves_meet():
    assert cost.meeting([1, 2, 4], [0.25, 0.5, 2.0]) == pytest.approx(8**0.5)
    assert cost.meeting([1, 2, 4], [3.0, 3.0, 5.0]) == 1
    assert cost.meeting([1, 2, 4], [0.1, 0.2, 0.3]) == 4
    assert cost.meeting([1, 2, 4], [1.5, 0.5, 2.0]) == pytest.approx(8**0.5)
    before = torch.get_num_threads()
    taken = cost.fastest({"a": lambda: torch.ones(10).sum()}, rounds=2)
    assert taken["a"] > 0 and torch.get_num_threads() == before


def translator():
    shipped = load_shipped("transformer")
    encode, model = shipped.tokenizer.encode, shipped.model.eval()
    pairs = splits(seed=0, sizes={"test": 200}).test
    batch = make_batch([encode(p.src_text) for p in pairs], [encode(p.tgt_text) for p in pairs])
    return model, batch


@torch.no_grad()
def right_share(in_encoder=library.multi_head, in_decoder=library.multi_head) -> float:
    model, batch = translator()
    with patch.multiple("course_lib.layers.multi_head", multi_head=in_encoder):
        memory = model.encode(batch.src, batch.src_lengths)
    with patch.multiple("course_lib.layers.multi_head", multi_head=in_decoder):
        logits, _ = model.decode(memory, batch.tgt_in)
    right = (logits.argmax(-1) == batch.tgt_out) | (batch.tgt_out == PAD)
    return 100 * right.all(1).float().mean().item()


def test_an_encoder_that_sees_neighbours_only():
    def window(radius):
        return lambda q, k, v, may_look=None, **_: (
            attend_nearby(q, k, v, radius=radius, may_look=may_look),
            None,
        )

    whole = right_share()
    assert round(whole, 1) == 98.5 and "98.5% of the sentences are right with four" in SOURCE
    assert 75 < right_share(window(1)) < 83 and "Four out of five sentences survive" in SOURCE
    assert right_share(window(8)) == whole and "with eight nothing is lost" in SOURCE


def test_heads_cannot_be_averaged_untrained():
    whole = library.multi_head

    def pooled(n):
        def shared(q, k, v, **options):
            k, v = (x.unflatten(1, (n, -1)).mean(2) for x in (k, v))
            return whole(q, k, v, **options)

        return shared

    assert right_share(in_decoder=pooled(2)) < 35
    assert right_share(in_decoder=pooled(1)) < 5


def found_again(n: int) -> tuple[float, float]:
    """Percent of n pairs found by linear attention, and by the best table of 16 × 16."""
    torch.manual_seed(n)
    keys, values = torch.randn(50, n, 16), torch.randn(50, n, 16)
    phi = feature_map(keys)
    linear = phi @ (phi.mT @ values) / (phi @ phi.sum(1, keepdim=True).mT)
    best = keys @ (torch.linalg.pinv(keys) @ values)
    right = [torch.cdist(found, values).argmin(-1) == torch.arange(n) for found in (linear, best)]
    return tuple(100 * one.float().mean().item() for one in right)


def test_what_fits_into_a_small_state():
    assert 45 < found_again(4)[0] < 58 and "loses half of four pairs" in SOURCE
    assert found_again(8)[0] < 1.5 * 100 / 8 and found_again(16)[0] < 1.5 * 100 / 16
    assert found_again(16)[1] == 100 and "finds all of 16 pairs" in SOURCE
    assert 62 < found_again(32)[1] < 71 and 14 < found_again(64)[1] < 19
    assert "two thirds of 32, a sixth of 64" in SOURCE

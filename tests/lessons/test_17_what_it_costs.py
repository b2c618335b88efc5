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
from course_lib.layers.linear_attention import causal_linear_attend, feature_map, linear_attend
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
    assert "aarch64, 2 cores" in RECORD and "one of two ARM cores" in SOURCE
    assert 850 < meets(64, "a recurrent network") < 950 and "near **900** words" in SOURCE
    assert 750 < meets(128, "a recurrent network") < 850 and "near **800** instead" in SOURCE
    assert (
        200 < meets(64, "a recurrent network, 8") < 250 and "8 sentences side by side met near 230" in SOURCE
    )
    assert 650 < meets(64, "a recurrent network, 32") < 750 and "32 near 700" in SOURCE
    assert 1 <= cost.recorded(64, "the rest, explicit")[0] < 1.1
    assert "level with the rest at 64 words, the fewest we tried" in SOURCE and min(cost.LENGTHS) == 64
    assert 290 < meets(128, "the rest, explicit") < 330 and "near 310 instead of 768" in SOURCE


def test_steps_that_need_not_wait_are_as_slow():
    steps = line_of("one by one")
    assert [round(steps[way]) for way in ("waiting", "not waiting")] == [18, 18]
    assert "18 times as long as all of them in one product" in SOURCE and "18 times as well" in SOURCE


def test_neighbours_and_linear_attention_by_the_clock():
    short, long = line_of("64 words"), line_of("1024 words")
    assert 0.18 < long["nearby"] < 0.22 and "a fifth of the time" in SOURCE
    assert 0.45 < long["fused"] < 0.57 and "(fused: a half)" in SOURCE
    assert long["linear"] == 0.06 and "it took 6% of the time of explicit attention" in SOURCE
    assert long["causal linear"] == 0.44 and "took 44%, and one $S$" in SOURCE
    assert 2.8 < short["nearby"] < 3.3 and "at 64 words three times as long" in SOURCE


def test_the_growth_is_as_counted():
    """From 256 words on the ratio doubles, more or less, where the words do."""
    for d in (64, 128):
        for way in ("explicit", "fused"):
            ratios = cost.recorded(d, f"the rest, {way}")[2:]
            factor = (ratios[-1] / ratios[0]) ** (1 / (len(ratios) - 1))
            assert 1.7 < factor < 2.3, (d, way)
    assert "From 256 words on" in SOURCE


@pytest.mark.parametrize(("heads", "row"), [("1 head", "one head of width 64"), ("4 heads", "four heads of")])
def test_the_steps_of_attention_are_as_told(heads, row):
    parts = line_of(heads)
    cells = " | ".join(f"{parts[step]:.2f}" for step in ("products", "softmax", "exp", "copy"))
    assert re.search(rf"\| {row}[^|]*\| {re.escape(cells)} \|", SOURCE)
    assert parts["copy"] < 0.12 * parts["exp"] and "takes a tenth of that" in SOURCE


def test_the_clock_gives_a_ratio_for_each_length():
    """Which, a busy or another machine decides: no figure is asked for."""
    assert [ratio > 0 for ratio in cost.recurrent_ratios(64, [8, 16], rounds=1)] == [True, True]
    ways = cost.block_ratios(64, [8, 16], rounds=1)
    assert all(ratio > 0 for ratios in ways.values() for ratio in ratios) and "explicit" in ways
    for timed in (cost.step_ways(8, 4), cost.part_ways(8, 16, 4), cost.cheaper_ways(16)):
        assert all(seconds > 0 for seconds in cost.fastest(timed, rounds=1).values())


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


def pooled(*, keys: bool = True, values: bool = True, scale: float = 1.0):
    """The library's attention with heads averaged in pairs."""
    whole = library.multi_head

    def shared(q, k, v, **options):
        pk, pv = (x.unflatten(1, (2, -1)).mean(2).repeat_interleave(2, 1) for x in (k, v))
        return whole(q, scale * pk if keys else k, pv if values else v, **options)

    return shared


def test_heads_cannot_be_averaged_untrained():
    assert round(right_share(), 1) == 98.5 and "98.5% are right with four" in SOURCE
    both = right_share(in_decoder=pooled())
    assert 17 < both < 22 and "both four in five" in SOURCE
    assert 62 < right_share(in_decoder=pooled(values=False)) < 66 and "keys cost a third" in SOURCE
    assert 73 < right_share(in_decoder=pooled(keys=False)) < 76 and "values a quarter" in SOURCE
    assert round(right_share(in_decoder=pooled(values=False, scale=2**0.5)), 1) == 67.5
    assert "scaled up again by √2, 67.5% are right" in SOURCE


def test_why_linear_attention_finds_so_little():
    """Neither the size of its state nor mere adding alone: a positive map makes all keys alike."""
    torch.manual_seed(16)
    keys, values = torch.randn(2, 50, 16, 16)
    phi = feature_map(keys)
    apart = F.normalize(phi - phi.mean(1, keepdim=True), dim=-1)

    def found(answers):
        return 100 * (torch.cdist(answers, values).argmin(-1) == torch.arange(16)).float().mean().item()

    assert found(linear_attend(keys, keys, values)) < 1.5 * 100 / 16 and "close to guessing, 6%" in SOURCE
    assert found(phi @ (torch.linalg.pinv(phi) @ values)) == 100 and "finds everything" in SOURCE
    assert found(apart @ (apart.mT @ values)) > 80 and "sums find most" in SOURCE
    others = ~torch.eye(16, dtype=torch.bool)
    alike, before = (F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT for x in (phi, keys))
    assert abs(alike[:, others].mean() - 0.70) < 0.01 and "a cosine of 0.70" in SOURCE
    assert abs(before[:, others].mean()) < 0.02


def test_all_words_at_once_cost_a_state_for_each():
    made = {
        n: cost.bytes_written(lambda n=n: causal_linear_attend(*torch.randn(3, n, 16))) for n in (100, 200)
    }
    assert made[200] - made[100] > 4 * 100 * 16 * 16 and "one $S$ for *each* word" in SOURCE


def test_counts_of_the_text():
    assert f"{2 * 32 * 4096 * 2 * 100_000 / 1e9:.0f} GB" == "52 GB" and "takes 52 GB" in SOURCE
    heads = torch.randn(3, 1, 4, 1024, 16)
    everything, few, linear = (
        flops_of(work)
        for work in (
            lambda: cost.explicit(*heads),
            lambda: attend_nearby(*heads, radius=8),
            lambda: linear_attend(*heads),
        )
    )
    assert everything == 4 * 1024**2 * 64 and few == 4 * 3 * 8 * 1024 * 64 and round(everything / few) == 43
    assert 0 <= linear - 4 * 1024 * 64 * 16 <= 2 * 1024 * 64  # and the products with z
    n, d = 32, 16
    with_matrices = 8 * n * d**2 + 4 * n**2 * d
    recurrent = flops_of(lambda: torch.nn.RNN(d, d, batch_first=True)(torch.randn(1, n, d)))
    assert with_matrices == 4 * recurrent  # an LSTM has four such pairs of matrices
    assert "fewer up to $n = 2d$" in SOURCE

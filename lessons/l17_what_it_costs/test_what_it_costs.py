"""Claims of lesson 17, checked against the recorded times and live counts."""

from __future__ import annotations

import json

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_lib.layers.attention import attend
from course_lib.layers.block import Block
from course_lib.runtime import data_path
from lessons.l17_what_it_costs import cost, measurements
from lessons.l17_what_it_costs.cost_explorer import CostExplorer
from lessons.l17_what_it_costs.linear_attention import causal_linear_attend, linear_attend
from lessons.l17_what_it_costs.restricted import attend_nearby
from tests.lesson_claims import LessonText, assert_measured_again, indices_of_true

L = LessonText("what_it_costs")
STORED = json.loads(data_path("results", "lesson_17.json").read_text(encoding="utf-8"))


def flops_of(work) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        work()
    return counter.get_total_flops()


def test_new_measurements_agree_with_the_stored_ones():
    of_the_record = {part: {"abs": 1e-9} for part in ("steps of attention", "over explicit")}
    assert_measured_again(measurements.measure(), STORED, parts=of_the_record, abs=0.006)


# ---- 1 and 2, counting


def test_torch_does_not_count_fused_attention_on_a_cpu():
    n, d = 64, 64
    counts = [
        flops_of(lambda w=w: Block(d_model=d, n_heads=4, d_ff=4 * d)(torch.randn(1, n, d), with_weights=w))
        for w in (True, False)
    ]
    assert counts[0] - counts[1] == 4 * n**2 * d


def test_an_lstm_does_as_much_work_as_attention_with_its_matrices_at_2d_words():
    n, d = 32, 16
    recurrent = flops_of(lambda: torch.nn.RNN(d, d, batch_first=True)(torch.randn(1, n, d)))
    assert recurrent == 4 * n * d**2
    assert 8 * n * d**2 + 4 * n**2 * d == 4 * recurrent, "an LSTM has four such pairs of matrices"


def test_tables_outgrow_the_words_beyond_64_words():
    facts = {n: CostExplorer.compute(n=n, d=512, heads=8) for n in (64, 65)}
    assert facts[64]["table_bytes"] == facts[64]["words_bytes"]
    assert facts[65]["table_bytes"] > facts[65]["words_bytes"]


def test_the_prediction_is_what_the_explorable_shows():
    asked, explorer = L.asked("cost-half"), CostExplorer()
    explorer.preset(asked.preset)
    assert explorer.facts["fraction"] == 0.5 and explorer.facts["n"] == asked.answer and explorer.d == 512


def test_the_numbers_that_questions_ask_for():
    assert L.asked("cost-linear-state").answer == 64 * 64
    assert L.asked("cost-later-crossover").answer == 6 * 256
    assert L.asked("cost-cache-number").answer == 2 * 32 * 8 * 128 * 2 / 1000
    assert pytest.approx(52, abs=0.5) == 2 * 32 * 4096 * 2 * 100_000 / 1e9
    assert L.asked("cost-cache-number").answer * 100_000 / 1e6 == pytest.approx(13, abs=0.5)
    [right] = L.asked("cost-short-sentences").right
    assert right == 0 and pytest.approx(0.08, abs=0.005) == 128 / (128 + 6 * 256)


# ---- 3, by the clock


def test_the_recurrent_layer_is_overtaken_far_later_than_its_flops_say():
    for d in (64, 128):
        assert measurements.crossover(d, "a recurrent network") > 5 * d
    assert 64 < measurements.crossover(64, "a recurrent network, 8") < 300
    assert measurements.crossover(64, "a recurrent network, 32") > 500


def test_steps_that_need_not_wait_are_as_slow_as_steps_that_wait():
    steps = STORED["steps of a reader"]
    assert steps["waiting"] > 10 and steps["not waiting"] == pytest.approx(steps["waiting"], rel=0.05)


def test_explicit_attention_overtakes_the_rest_earlier_than_its_flops_say():
    assert 1 <= cost.recorded(64, "the rest, explicit")[0] < 1.1, "level at the shortest length"
    assert measurements.crossover(64, "the rest, explicit") == min(cost.LENGTHS) == 64
    assert measurements.crossover(128, "the rest, explicit") < 768 / 2
    for d in (64, 128):
        explicit, fused = (cost.recorded(d, f"the rest, {way}") for way in ("explicit", "fused"))
        by_flops = [n / (6 * d) for n in cost.LENGTHS]
        assert all(low < middle < high for low, middle, high in zip(by_flops, fused, explicit, strict=True))


def test_from_256_words_on_times_grow_as_the_flops_do():
    assert cost.LENGTHS[2] == 256
    for d in (64, 128):
        for way in ("explicit", "fused"):
            ratios = cost.recorded(d, f"the rest, {way}")[2:]
            factor = (ratios[-1] / ratios[0]) ** (1 / (len(ratios) - 1))
            assert 1.7 < factor < 2.3, "twice the words, about twice the ratio"


def test_most_of_the_time_is_what_flops_leave_out():
    single, four = STORED["steps of attention"]["1 head"], STORED["steps of attention"]["4 heads"]
    assert single["products"] == pytest.approx(1, abs=0.05), "as counted"
    assert 1 < four["products"] < 1.5 < four["softmax"]
    for steps in (single, four):
        assert steps["exp"] > steps["softmax"] / 2
        assert 0.08 < steps["copy"] / steps["exp"] < 0.12, "a tenth"


def test_every_length_has_a_ratio():
    """Its value depends on the machine and its load, so only its sign is checked."""
    assert [ratio > 0 for ratio in cost.recurrent_ratios(64, [8, 16], rounds=1)] == [True, True]
    ways = cost.block_ratios(64, [8, 16], rounds=1)
    assert all(ratio > 0 for ratios in ways.values() for ratio in ratios) and "explicit" in ways
    for timed in (cost.step_ways(8, 4), cost.part_ways(8, 16, 4), cost.cheaper_ways(16)):
        assert all(seconds > 0 for seconds in cost.fastest(timed, rounds=1).values())


def test_the_crossover_is_the_last_one():
    assert cost.crossover([1, 2, 4], [0.25, 0.5, 2.0]) == pytest.approx(8**0.5)
    assert cost.crossover([1, 2, 4], [3.0, 3.0, 5.0]) == 1
    assert cost.crossover([1, 2, 4], [0.1, 0.2, 0.3]) == 4
    assert cost.crossover([1, 2, 4], [1.5, 0.5, 2.0]) == pytest.approx(8**0.5)


def test_timing_leaves_the_number_of_threads_as_it_was():
    before = torch.get_num_threads()
    times = cost.fastest({"a": lambda: torch.ones(10).sum()}, rounds=2)
    assert times["a"] > 0 and torch.get_num_threads() == before


# ---- 4 to 6, fused, restricted and linear attention


def test_explicit_writes_three_tables_and_fused_none():
    for n in (256, 1024):
        heads = torch.randn(3, 1, 4, n, 16)
        explicit = cost.bytes_written(lambda heads=heads: cost.explicit(*heads))
        fused = cost.bytes_written(lambda heads=heads: F.scaled_dot_product_attention(*heads))
        assert explicit == 4 * (3 * 4 * n**2 + 2 * 64 * n), "and a contiguous copy of the keys"
        assert fused == 4 * (64 * n + 4 * n), "the result, and a sum for each row and head"


def test_the_work_of_restricted_and_linear_attention():
    heads = torch.randn(3, 1, 4, 1024, 16)
    assert flops_of(lambda: cost.explicit(*heads)) == 4 * 1024**2 * 64
    assert flops_of(lambda: attend_nearby(*heads, radius=8)) == 4 * 3 * 8 * 1024 * 64
    linear = flops_of(lambda: linear_attend(*heads))
    assert 0 <= linear - 4 * 1024 * 64 * 16 <= 2 * 1024 * 64, "and the products with z"


def test_by_the_clock_they_gain_less_than_by_flops():
    short, long = STORED["over explicit"]["64 words"], STORED["over explicit"]["1024 words"]
    assert long["nearby"] == pytest.approx(1 / 5, abs=0.02) and short["nearby"] == pytest.approx(3, abs=0.3)
    assert long["fused"] == pytest.approx(1 / 2, abs=0.06)
    assert long["linear"] < 0.1 < long["causal linear"] < 0.5


def test_causal_linear_attention_at_once_keeps_one_state_for_each_word():
    written = {
        n: cost.bytes_written(lambda n=n: causal_linear_attend(*torch.randn(3, n, 16))) for n in (100, 200)
    }
    assert written[200] - written[100] > 4 * 100 * 16 * 16


def test_why_linear_attention_finds_so_little():
    """Neither the size of its state nor the sum alone: a positive map makes all keys similar."""
    fraction, guessing = STORED["look-up"], 1 / measurements.N_PAIRS
    assert guessing == pytest.approx(0.06, abs=0.005) and fraction["linear"] < guessing + 0.05
    assert fraction["least squares"] == 1 and fraction["centred"] > 0.75
    assert abs(STORED["cosine of keys"]["as they are"]) < 0.02 < 0.6 < STORED["cosine of keys"]["after φ"]


# ---- break it


def test_heads_cannot_be_averaged_without_training():
    right = STORED["averaged heads"]
    lost = {name: right["nothing"] - fraction for name, fraction in right.items()}
    assert lost["keys"] == pytest.approx(1 / 3, abs=0.04)
    assert lost["values"] == pytest.approx(1 / 4, abs=0.03)
    assert lost["both"] == pytest.approx(4 / 5, abs=0.03)
    assert 0 < right["keys, scaled up"] - right["keys"] < 0.1, "their size is not the cause"


def test_a_mask_saves_no_work():
    x, near = torch.randn(64, 16), (torch.arange(64)[:, None] - torch.arange(64)).abs() <= 4
    plain, masked = (flops_of(lambda mask=mask: attend(x, x, x, mask=mask)) for mask in (None, near))
    expected = indices_of_true(masked < plain / 3, masked == plain, masked == plain / 2)
    assert L.asked("cost-mask-saves").right == expected

"""Claims of lesson 17, checked against the recorded times and live counts."""

from __future__ import annotations

import json

import pytest
import torch
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.runtime import data_path
from lessons.l17_what_it_costs import cost, exercises, key_picture, measurements, solutions
from lessons.l17_what_it_costs.cost_explorer import CostExplorer
from lessons.l17_what_it_costs.linear_attention import linear_attend, linear_start
from lessons.l17_what_it_costs.measurements import flops_of
from lessons.l17_what_it_costs.restricted import attend_nearby
from tests.lesson_claims import LessonText, assert_measured_again

L = LessonText("what_it_costs")
STORED = json.loads(data_path("results", "lesson_17.json").read_text(encoding="utf-8"))


@pytest.mark.nightly
def test_new_measurements_agree_with_the_stored_ones():
    from_the_record = {part: {"abs": 1e-9} for part in ("parts", "steps", "alternatives")}
    assert_measured_again(measurements.measure(), STORED, parts=from_the_record, abs=0.006)


# ---- the key picture


def test_the_key_picture_follows_from_sizes_and_times_and_no_dot_is_above_the_roof():
    bandwidth, arithmetic, reading, writing = key_picture.numbers()
    for (operation, batch), (intensity, speed, ms) in writing.items():
        weights, flops, read = 8 * 4096**2, 16 * batch * 4096**2, 2 * batch * 4096
        if operation != "feed-forward":  # keys and values, 2,048 of them for each sentence
            weights, flops, read = 0, 4 * batch * 2048 * 4096, 2 * batch * (2048 + 1) * 4096
        moved = 2 * (weights + read)
        assert intensity == pytest.approx(flops / moved, rel=1e-3)
        assert speed == pytest.approx(flops / ms / 1e9, rel=1e-3)
        assert intensity < 0.4 * arithmetic / bandwidth, "memory is the limit"
    for intensity, speed, _ in [*reading.values(), *writing.values()]:
        assert speed < 1.04 * min(arithmetic, intensity * bandwidth)
    one, many, attention = (speed for _, speed, _ in writing.values())
    assert 0.004 < one / arithmetic < 0.006 and many > 50 * one and attention < 1.3 * one


# ---- 1 and 2, counting


def test_attention_with_its_projections_takes_more_flops_than_a_recurrent_layer_at_every_length():
    for n, d in ((1, 16), (16, 16), (64, 16)):
        recurrent = flops_of(lambda n=n, d=d: torch.nn.RNN(d, d, batch_first=True)(torch.randn(1, n, d)))
        assert recurrent == 4 * n * d**2 < 8 * n * d**2 + 4 * n**2 * d


def test_the_attention_weights_outgrow_the_hidden_states_beyond_64_words():
    facts = {n: CostExplorer.compute(n=n, d=512, heads=8) for n in (64, 65)}
    assert facts[64]["table_bytes"] == facts[64]["words_bytes"]
    assert facts[65]["table_bytes"] > facts[65]["words_bytes"]


def test_the_prediction_is_what_the_explorable_shows():
    asked, explorer = L.asked("cost-half"), CostExplorer()
    explorer.preset(asked.preset)
    assert explorer.facts["fraction"] == 0.5 and explorer.facts["n"] == asked.answer and explorer.d == 512


def test_the_numbers_that_questions_ask_for():
    assert L.asked("cost-linear-state").answer == 32 * 32
    assert L.asked("cost-later-crossover").answer == 6 * 256
    assert L.asked("cost-cache-number").answer == 2 * 32 * 8 * 128 * 2 / 1000
    assert pytest.approx(52, abs=0.5) == 2 * 32 * 4096 * 2 * 100_000 / 1e9
    assert L.asked("cost-cache-number").answer * 100_000 / 1e6 == pytest.approx(13, abs=0.5)
    assert L.asked("cost-rescale").answer == 10 * 4 / 8 + 7
    [right] = L.asked("cost-short-sentences").right
    assert right == 0 and pytest.approx(0.08, abs=0.005) == 128 / (128 + 6 * 256)


# ---- 3, measured times


def spread(ratio: dict) -> float:
    return ratio["most"] - ratio["least"]


def test_explicit_attention_takes_more_than_three_times_as_long_as_its_flops_predict():
    assert cost.EQUAL_FLOPS == 384 and STORED["parts"]["explicit"]["least"] > 3


def test_most_of_the_time_is_in_what_flops_leave_out():
    parts = STORED["parts"]
    assert parts["softmax"]["least"] > parts["products"]["most"] >= parts["products"]["least"] > 1
    assert parts["softmax"]["least"] > parts["explicit"]["most"] / 2
    assert parts["exp"]["least"] > parts["softmax"]["most"] / 2
    for end in ("least", "most"):
        assert 0.07 < parts["copy"][end] / parts["exp"][end] < 0.13, "about a tenth"


def test_the_steps_add_up_so_that_nothing_else_takes_the_time():
    parts = STORED["parts"]
    steps = parts["products"]["most"] + parts["softmax"]["most"]
    assert steps == pytest.approx(parts["explicit"]["most"], rel=0.1)


def test_beyond_256_words_times_grow_as_the_flops_do():
    assert cost.LENGTHS[2] == 256
    for way in ("explicit", "fused"):
        ratios = cost.recorded(f"the rest, {way}")[2:]
        factor = (ratios[-1] / ratios[0]) ** (1 / (len(ratios) - 1))
        assert 1.7 < factor < 2.3, "twice the words, about twice the ratio"


def test_a_recurrent_layer_is_overtaken_far_later_than_its_flops_say():
    assert cost.crossover(cost.LENGTHS, cost.recorded("a recurrent network")) > 5 * cost.WIDTH


def test_steps_that_do_not_depend_on_each_other_are_as_slow_as_steps_that_do():
    """The control: if waiting were the cause, independent steps would be faster."""
    dependent, independent = STORED["steps"]["dependent"], STORED["steps"]["independent"]
    assert min(dependent["least"], independent["least"]) > 10
    assert independent["least"] < dependent["most"] and dependent["least"] < independent["most"], (
        "they overlap"
    )


def test_repetitions_agree():
    """Ratios from one run: the machine and its load affect both sides."""
    for part in ("parts", "steps", "alternatives"):
        assert all(spread(ratio) < 0.1 * ratio["most"] + 0.02 for ratio in STORED[part].values())


def test_every_length_has_a_ratio():
    """Its value depends on the machine and its load, so only its sign is checked."""
    assert [ratio > 0 for ratio in cost.recurrent_ratios(64, [8, 16], rounds=1)] == [True, True]
    ways = cost.block_ratios(64, [8, 16], rounds=1)
    assert all(ratio > 0 for ratios in ways.values() for ratio in ratios) and "explicit" in ways
    for timed in (cost.step_ways(8, 4), cost.part_ways(8, 16), cost.cheaper_ways(16)):
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


# ---- 4, one pass


def test_the_table_of_the_online_softmax():
    """Maximum, sum and weighted sum after each of the four scores, as the lesson's table shows them."""
    total, weighted, maximum = 0.0, 0.0, 0.0
    rows = []
    for size, value in ((2, 8), (8, 4), (4, 6), (16, 3)):  # e^score
        new = max(maximum, size)
        total, weighted = total * maximum / new + size / new, weighted * maximum / new + size / new * value
        maximum = new
        rows.append((maximum, total, weighted))
    assert rows == [(2, 1, 8), (8, 1.25, 6), (8, 1.75, 9), (16, 1.875, 7.5)]
    scores, values = torch.tensor([2.0, 8.0, 4.0, 16.0]).log(), torch.tensor([8.0, 4.0, 6.0, 3.0])
    assert (scores.softmax(dim=0) @ values).item() == pytest.approx(7.5 / 1.875) == 4


def test_the_reference_of_one_pass_is_ordinary_attention_with_its_gradients():
    (blocks,) = exercises.blocks_case((3, 1, 4), 2, seed=5, scale=100.0, shift=1000.0)()
    both = []
    for attention in (solutions.running_attention, in_full):
        leaves = [tuple(x.double().requires_grad_() for x in block) for block in blocks]
        output = attention(leaves)
        both.append(
            [output, *torch.autograd.grad(output.square().sum(), [x for pair in leaves for x in pair])]
        )
    torch.testing.assert_close(*both)


def in_full(blocks: list) -> torch.Tensor:
    scores, values = (torch.cat(parts) for parts in zip(*blocks, strict=True))
    return scores.softmax(dim=0) @ values


def test_exp_overflows_above_about_88_7():
    assert torch.tensor(88.7).exp().isfinite() and torch.tensor(88.8).exp().isinf()


def test_blocks_that_come_once_are_watched():
    """What the check of running_attention rests on: passes are counted, and kept blocks are noticed."""
    (blocks,) = exercises.blocks_case((3, 3, 3, 3, 3, 3), 2, seed=0)()
    loop = exercises.OnePass(blocks)
    for _scores, _values in loop:
        pass
    assert loop.n_passes == 1 and loop.most_kept <= exercises.MOST_KEPT
    kept = exercises.OnePass(blocks)
    everything = list(kept)
    assert len(everything) == 6 and kept.most_kept == 12
    assert list(kept) == [] and kept.n_passes == 2


def test_explicit_writes_three_tables_and_fused_none():
    for n in (256, 1024):
        heads = torch.randn(3, 1, 4, n, 16)
        explicit = cost.bytes_written(lambda heads=heads: cost.explicit(*heads))
        fused = cost.bytes_written(lambda heads=heads: F.scaled_dot_product_attention(*heads))
        assert explicit == 4 * (3 * 4 * n**2 + 2 * 64 * n), "and a contiguous copy of the keys"
        assert fused == 4 * (64 * n + 4 * n), "the result, and a sum for each row and head"


# ---- 5, restricted and linear attention


def test_the_flops_of_restricted_and_linear_attention_grow_with_n():
    heads = torch.randn(3, 1, 4, 1024, 16)
    assert flops_of(lambda: cost.explicit(*heads)) == 4 * 1024**2 * 64
    assert flops_of(lambda: attend_nearby(*heads, radius=8)) == 4 * 3 * 8 * 1024 * 64
    linear = flops_of(lambda: linear_attend(*heads))
    assert 0 <= linear - 4 * 1024 * 64 * 16 <= 2 * 1024 * 64, "and the products with z"


def test_restricted_attention_saves_less_time_than_flops():
    nearby = STORED["alternatives"]["nearby"]
    assert 1 / STORED["nearby"]["times fewer FLOPs"] < 0.03 < 0.15 < nearby["least"] <= nearby["most"] < 0.3


def test_a_mask_saves_no_work():
    x, near = torch.randn(64, 16), (torch.arange(64)[:, None] - torch.arange(64)).abs() <= 4
    plain, masked = (flops_of(lambda mask=mask: attend(x, x, x, mask=mask)) for mask in (None, near))
    assert plain == masked


def test_the_state_of_linear_attention_and_its_prediction():
    keys = torch.randn(100, 64)
    state = linear_start(keys, keys)
    n_kept = sum(tensor.numel() for tensor in state.values())
    [right] = L.asked("cost-state").right
    assert n_kept == 4160 and L.asked("cost-state").options[right].text.startswith(f"{n_kept:,}:")


def test_why_linear_attention_finds_so_little():
    """Neither the size of its state nor the sum alone: a positive map makes all keys similar, so the outputs
    are, too."""
    fraction, guessing = STORED["look-up"], 1 / measurements.N_PAIRS
    assert guessing == pytest.approx(0.06, abs=0.005) and fraction["linear"] < guessing + 0.05
    assert fraction["least squares"] == 1 and fraction["centred"] > 0.75
    assert abs(STORED["cosine of keys"]["as they are"]) < 0.02 < 0.6 < STORED["cosine of keys"]["after φ"]
    weight = STORED["weight of the right key"]
    assert weight["uniform"] == guessing < weight["linear"] < 2 * guessing < 5 * guessing < weight["softmax"]


def test_the_outputs_of_linear_attention_are_close_to_the_mean_value_and_still_differ():
    keys, values = measurements.drawn_pairs()
    mean = values.mean(dim=1, keepdim=True)
    from_mean, from_value = (
        (linear_attend(keys, keys, values) - other).norm(dim=-1).mean() for other in (mean, values)
    )
    assert from_mean < from_value / 5
    assert STORED["look-up, means subtracted"]["linear"] > 0.75, "most of it is still there"
    assert STORED["weight of the right key"]["linear, largest"] > 0.5


# ---- break it


def test_heads_cannot_be_averaged_without_training():
    """The differences are far larger than those of other 200 sentences would be (two standard errors: 7%)."""
    correct = STORED["averaged heads"]
    assert correct["nothing"] > 0.95
    assert correct["keys"] < 0.75 and correct["values"] < 0.8 and correct["both"] < 0.25
    assert 0 < correct["keys, scaled up"] - correct["keys"] < 0.1, (
        "that averages are shorter isn't the reason"
    )

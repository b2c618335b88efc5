"""What the explorables of lesson 08 compute, and what their questions claim about them."""

from __future__ import annotations

import math
import operator
import re

import numpy as np
import pytest
import torch

from course_lib.formatting import fixed
from course_lib.translation.comparison import BETTER, compare
from lessons.l00_start_here.softmax_dial import softmax
from lessons.l08_query_key_value import saturation_lab, soft_dictionary, who_attends
from lessons.l08_query_key_value.saturation_lab import SaturationLab
from lessons.l08_query_key_value.soft_dictionary import FAT, SoftDictionary
from lessons.l08_query_key_value.who_attends import N_WORDS, WhoAttends, diagonal_fraction
from tests.explore.limits import Limit
from tests.explore.settings import open_question, values_reaching


def unscaled_gradient(now: dict, start: dict) -> float:
    return saturation_lab.statistics_of(now["d_k"], "1")["gradient"]


LIMITS = {
    "SaturationLab": [
        Limit("lose-90", "10% or less", "gradient", operator.le, lambda now, start: 0.1 * start["gradient"]),
        Limit("too-flat", "below 0.14", "mean_max"),
        Limit("overtakes", "larger than with ÷ 1", "gradient", operator.gt, unscaled_gradient),
    ],
    "SoftDictionary": [
        Limit("share", "0.45 or more", lambda facts, v: facts | {"weights": [0.0, 0.0, 0.0, 0.5, v]}),
        Limit("fat", "temperature 0.5", "temperature"),
        Limit("fat", "more than 15", ("context", FAT)),
        Limit("exact", "temperature 0.3", "temperature"),
        Limit("exact", "0.9 or more", lambda facts, v: facts | {"weights": [v, 0.0, 0.0, 0.0, 0.0]}),
    ],
    "WhoAttends": [
        Limit("others-win", "most words", "on_diagonal", operator.lt, N_WORDS / 2),
        Limit("by-luck", "half", "on_diagonal", operator.ge, N_WORDS / 2),
    ],
}


DERIVED = {
    "SaturationLab": lambda facts: {"queries and keys": list(range(1, 9)), "bell, all queries": [1, 2048]},
    "WhoAttends": lambda facts: {"draws, sentences, layers": [who_attends.N_DRAWS, who_attends.N_TEST, 6, 9]},
}


def lab(d_k: int, divisor: str) -> dict:
    return saturation_lab.compute(d_k=d_k, divisor=divisor)


def menu(**changes) -> dict:
    return soft_dictionary.compute(**{**SoftDictionary.start, **changes})


# ---- SaturationLab


def test_scores_are_dot_products():
    generator = np.random.default_rng(saturation_lab.SEED)
    queries = generator.standard_normal((2048, 512), dtype=np.float32)
    keys = generator.standard_normal((2048, 8, 512), dtype=np.float32)
    for d_k in (1, 64, 512):
        expected = keys[5, :, :d_k].astype(float) @ queries[5, :d_k].astype(float)
        assert saturation_lab.raw_scores()[d_k][5] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("divisor", saturation_lab.DIVISORS)
def test_the_gradient_is_that_of_autograd_with_respect_to_the_dot_products(divisor):
    scale, scores = saturation_lab.scale_of(divisor, 16), saturation_lab.raw_scores()[16]
    norms = saturation_lab.jacobian_norm(softmax(scores / scale)) / scale
    for products, norm in zip(torch.from_numpy(scores[:5]), norms, strict=False):
        jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s / scale, dim=0), products)
        assert float(jacobian.norm()) == pytest.approx(float(norm), rel=1e-6)
    assert lab(16, divisor)["gradient"] == pytest.approx(float(np.median(norms)))


def test_the_root_keeps_the_largest_weight_alike_at_every_width():
    widths = saturation_lab.WIDTHS
    unscaled, scaled, flat = ([lab(d, by)["mean_max"] for d in widths] for by in ("1", "√d_k", "d_k"))
    assert all(np.diff(unscaled) > 0) and all(np.diff(flat) < 0)
    assert unscaled[0] == scaled[0] and max(scaled) - min(scaled) < 0.07
    assert unscaled[-1] > 0.95 and flat[-1] == pytest.approx(1 / 8, abs=0.01)
    gradients = {divisor: lab(512, divisor)["gradient"] for divisor in saturation_lab.DIVISORS}
    assert gradients["√d_k"] > 20 * gradients["d_k"] > 100 * gradients["1"]


@pytest.mark.parametrize("d_k", saturation_lab.WIDTHS)
def test_the_standard_deviation_of_a_score_is_the_root_of_d_k(d_k):
    assert lab(d_k, "1")["std"] == pytest.approx(math.sqrt(d_k), rel=0.05)
    assert lab(d_k, "√d_k")["std"] == pytest.approx(1, abs=0.05)


def test_the_histogram_fits_its_panel_and_its_ends_hold_the_rest():
    for d_k, divisor in ((512, "1"), (64, "√d_k"), (512, "d_k")):
        fractions = lab(d_k, divisor)["fractions"]
        assert fractions.sum() == pytest.approx(1.0) and fractions.max() < 0.55
    assert lab(512, "1")["fractions"][[0, -1]].sum() > 0.6
    assert lab(512, "1")["weights"].shape == (8, 8)


def test_the_largest_weight_unscaled_is_the_answer_and_not_shown_at_the_start():
    question, _, _, after = open_question("08", "unscaled-max", SaturationLab)
    assert (after["d_k"], after["divisor"]) == (512, "1")
    assert after["mean_max"] == pytest.approx(question.answer, abs=0.005)
    explorable = SaturationLab()
    assert fixed(after["mean_max"], 2) not in explorable.description
    explorable.preset(question.preset)
    shown = (fixed(after["std"], 2), fixed(after["mean_max"], 2), "512")
    assert all(number in explorable.description for number in shown)


# ---- SoftDictionary


def test_values_do_not_move_weights_and_keys_do():
    """By autograd: the context depends on the values, the weights do not."""
    query, keys = torch.tensor(soft_dictionary.QUERY).double(), torch.tensor(soft_dictionary.KEYS)
    values = torch.tensor(soft_dictionary.VALUES, requires_grad=True)
    context = torch.softmax(keys @ query / 0.5, dim=0) @ values
    gradient = torch.autograd.grad(context[2], values)[0]
    assert gradient[:, 2].tolist() == pytest.approx(menu()["weights"].tolist())
    assert gradient[:, :2].abs().sum() == 0
    longer = soft_dictionary.KEYS * [[2.0], [1.0], [1.0], [1.0], [1.0]]  # the waffle's
    _, weights = soft_dictionary.look_up(np.array(soft_dictionary.QUERY), longer, soft_dictionary.VALUES, 0.5)
    assert weights[0] > menu()["weights"][0] + 0.1
    assert menu(cream=30)["values"][0, 2] == 30 and soft_dictionary.VALUES[0, 2] == 10, "not modified"


def test_three_times_the_cream_leaves_the_weights_as_they_are():
    question, _, before, after = open_question("08", "more-cream", SoftDictionary)
    assert question.right == [2] and after["cream"] == 3 * before["cream"]
    np.testing.assert_array_equal(before["weights"], after["weights"])
    assert after["context"][2] > before["context"][2]


@pytest.mark.parametrize("temperature", soft_dictionary.TEMPERATURES)
def test_a_soft_look_up_lies_between_the_exact_one_and_the_mean(temperature):
    facts = menu(temperature=temperature)
    assert facts["weights"].sum() == pytest.approx(1.0)
    assert np.all(facts["values"].min(axis=0) - 1e-9 <= facts["context"])
    assert np.all(facts["context"] <= facts["values"].max(axis=0) + 1e-9)
    inputs = np.array(soft_dictionary.QUERY), facts["keys"], facts["values"]
    best = int(facts["scores"].argmax())
    context, weights = soft_dictionary.look_up(*inputs, 1e-6)
    assert context == pytest.approx(facts["values"][best]) and weights[best] == pytest.approx(1.0)
    assert soft_dictionary.look_up(*inputs, 1e9)[0] == pytest.approx(facts["values"].mean(axis=0))
    assert menu(query=(0.0, 0.0), temperature=temperature)["weights"] == pytest.approx(np.full(5, 0.2))


def test_the_coldest_temperature_picks_one_dish_and_the_hottest_takes_the_mean():
    assert menu(temperature=0.02)["weights"].max() > 0.99
    hottest = menu(temperature=20.0)["context"]
    assert hottest == pytest.approx(soft_dictionary.VALUES.mean(axis=0), rel=0.05)


def test_the_description_holds_the_context_vector():
    assert all(f"{grams:.1f}" in SoftDictionary().description for grams in menu()["context"])


# ---- WhoAttends


@pytest.mark.parametrize("d_k", who_attends.WIDTHS)
def test_shared_projections_make_scores_symmetric_and_the_rank_is_at_most_d_k(d_k):
    for seed in range(who_attends.N_SEEDS):
        shared, separate = (
            who_attends.compute(projections=name, d_k=d_k, seed=seed) for name in ("shared", "separate")
        )
        assert shared["scores"] == pytest.approx(shared["scores"].T) and shared["symmetry_error"] < 1e-9
        assert shared["rank"] == separate["rank"] == min(d_k, 8)
        assert d_k < 2 or separate["symmetry_error"] > 0.3


def test_projections_of_equal_length_always_have_the_largest_score_with_themselves():
    """The condition behind "100%": by Cauchy-Schwarz, if all projected words have the same length."""
    projected = np.random.default_rng(1).standard_normal((200, 8, 4))
    projected /= np.linalg.norm(projected, axis=-1, keepdims=True)
    assert who_attends.on_diagonal(projected @ projected.transpose(0, 2, 1)).all()


def test_with_one_matrix_the_diagonal_wins_more_often_the_wider_the_keys():
    fractions = [diagonal_fraction("shared", d_k) for d_k in who_attends.WIDTHS]
    expected = [0.25, 0.44, 0.70, 0.92, 0.99, 1.0, 1.0]  # the docstring quotes some of them
    assert fractions == pytest.approx(expected, abs=0.02)  # about four standard errors
    for d_k in who_attends.WIDTHS:
        assert diagonal_fraction("separate", d_k) == pytest.approx(1 / 8, abs=0.02)


def test_with_one_matrix_every_word_has_its_largest_score_with_itself():
    question, _, before, after = open_question("08", "one-matrix", WhoAttends)
    assert before["projections"] == "separate", "the question is about one shared matrix"
    assert question.right == [2] and after["d_k"] == 32
    assert after["on_diagonal"] >= 7 and after["diagonal_fraction"] > 0.99
    shown = {str(before["on_diagonal"]), fixed(100 * before["diagonal_fraction"], 0), "32"}
    assert shown <= set(re.findall(r"[\d.]*\d", WhoAttends().description))
    assert ">one matrix<" not in WhoAttends().static_image().svg, "its curve would answer the question"


def test_every_trained_run_with_two_matrices_is_better_than_every_one_with_one():
    """The lesson says so."""
    two, *one = who_attends.trained().values()
    assert [len(runs) for runs in (two, *one)] == [3, 3, 3]
    assert all(compare(two, runs).verdict == BETTER for runs in one)
    shown = who_attends.WhoAttends().static_image().svg
    assert all(f": {run:.1f}" in shown for run in two)


# ---- goals


def test_the_settings_that_reach_each_goal():
    assert values_reaching(SaturationLab, "lose-90", divisor="1", d_k=saturation_lab.WIDTHS) == [256]
    assert values_reaching(SaturationLab, "too-flat", divisor="d_k", d_k=saturation_lab.WIDTHS) == [256]
    assert values_reaching(SaturationLab, "overtakes", d_k=saturation_lab.WIDTHS) == [128]
    places = SoftDictionary.query.values
    shared = values_reaching(SoftDictionary, "share", query=places)
    assert {y for _, y in shared} == {0.05, 0.1} and all(-1.3 <= x < -0.9 for x, _ in shared)
    exact = values_reaching(SoftDictionary, "exact", temperature=0.3, query=places)
    assert len(exact) > 500 and all(np.hypot(*place) > 0.75 for place in exact), "the query is long"
    fat = values_reaching(SoftDictionary, "fat", query=places)
    assert len(fat) > 400 and all(x < 0 < y for x, y in fat), "towards the nachos, whose value is fat"
    assert not values_reaching(SoftDictionary, "share", temperature=soft_dictionary.TEMPERATURES)
    assert values_reaching(WhoAttends, "others-win", projections="shared", d_k=who_attends.WIDTHS) == [1, 2]
    assert values_reaching(WhoAttends, "by-luck", seed=range(20)) == [19]


@pytest.mark.parametrize("kind", [SaturationLab, SoftDictionary, WhoAttends])
def test_no_goal_is_met_at_the_start_or_by_a_preset_alone(kind):
    start = kind.facts_at(kind.start)
    for preset in ({}, *kind.presets.values()):
        assert not any(kind.goals_met(kind.facts_at({**kind.start, **preset}), start).values()), preset

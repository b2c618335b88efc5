"""What the explorables of lesson 08 compute, and what their questions claim about them."""

from __future__ import annotations

import math
import operator
import re
from itertools import combinations

import numpy as np
import pytest
import torch

from course_lib.formatting import fixed
from lessons.l00_start_here.softmax_dial import softmax
from lessons.l08_query_key_value import saturation_lab, soft_dictionary
from lessons.l08_query_key_value.saturation_lab import SaturationLab
from lessons.l08_query_key_value.soft_dictionary import DISHES, FAT, KEYS, SoftDictionary
from tests.explore.limits import Limit
from tests.explore.settings import open_question, values_reaching


def unscaled_gradient(now: dict, start: dict) -> float:
    return saturation_lab.statistics_of(now["d_k"], "1")["gradient"]


def second(facts: dict, value: float) -> dict:
    return facts | {"weights": np.array([0.7, value])}


LIMITS = {
    "SaturationLab": [
        Limit("edge", "a second key gets 0.25", second, operator.ge),
        Limit("lose-90", "10% or less", "gradient", operator.le, lambda now, start: 0.1 * start["gradient"]),
        Limit("overtakes", "larger than with ÷ 1", "gradient", operator.gt, unscaled_gradient),
    ],
    "SoftDictionary": [
        Limit("share", "0.45 or more", lambda facts, v: facts | {"weights": [0.0, 0.0, 0.0, 0.5, v]}),
        Limit("fat", "more than 15", ("context", FAT)),
        Limit("apple", "0.25 or more", ("weights", DISHES.index("apple"))),
    ],
}


DERIVED = {
    "SaturationLab": lambda facts: {"queries and keys": list(range(1, 9)), "queries": [2048]},
    "SoftDictionary": lambda facts: {"sum": [1.0]},
}


def lab(d_k: int, divisor: str, query: tuple[float, float] = (0.8, 0.6)) -> dict:
    return saturation_lab.compute(d_k=d_k, divisor=divisor, query=query)


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


def test_the_slice_shows_attention_for_real_queries_and_keys():
    """The map, the sectors and the bars, against vectors of full width."""
    generator = np.random.default_rng(saturation_lab.SLICE_SEED)
    directions, keys = generator.standard_normal((2, 512)), generator.standard_normal((8, 512))
    for d_k, divisor, (row, column) in ((512, "1", (3, 40)), (64, "√d_k", (30, 5)), (8, "d_k", (0, 0))):
        step = 2 * saturation_lab.REACH / saturation_lab.N_CELLS
        u, v = (step * (column + 0.5) - saturation_lab.REACH, saturation_lab.REACH - step * (row + 0.5))
        scores = keys[:, :d_k] @ (u * directions[0] + v * directions[1])[:d_k]
        weights = softmax(scores / saturation_lab.scale_of(divisor, d_k))
        assert lab(d_k, divisor, (u, v))["weights"] == pytest.approx(weights, abs=1e-9)
        assert saturation_lab.largest_weights(d_k, divisor)[row, column] == pytest.approx(weights.max())
        angle = math.atan2(v, u) % math.tau
        [winner] = [
            key
            for key, start, end in saturation_lab.sectors(d_k)
            if start <= angle < end or start <= angle + math.tau < end
        ]
        assert winner == scores.argmax()


def test_without_a_division_the_smooth_map_freezes_and_the_root_keeps_it_smooth():
    """How much of the map is neither nearly decided nor nearly uniform."""

    def between(d_k: int, divisor: str) -> float:
        largest = saturation_lab.largest_weights(d_k, divisor)
        return float(((largest > 0.2) & (largest < 0.9)).mean())

    assert between(512, "1") < 0.2 and (saturation_lab.largest_weights(512, "1") > 0.99).mean() > 0.7
    assert all(between(d_k, "√d_k") > 0.7 for d_k in (8, 64, 512))
    assert between(512, "d_k") == 0
    assert len({key for key, *_ in saturation_lab.sectors(512)}) == 5, "the docstring says so"


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


def test_values_do_not_move_weights():
    """By autograd: the context depends on the values, the weights do not."""
    query, keys = torch.tensor(soft_dictionary.QUERY).double(), torch.tensor(soft_dictionary.KEYS)
    values = torch.tensor(soft_dictionary.VALUES, requires_grad=True)
    context = torch.softmax(keys @ query, dim=0) @ values
    gradient = torch.autograd.grad(context[2], values)[0]
    assert gradient[:, 2].tolist() == pytest.approx(menu()["weights"].tolist())
    assert gradient[:, :2].abs().sum() == 0
    assert menu(cream=30)["values"][0, 2] == 30 and soft_dictionary.VALUES[0, 2] == 10, "not modified"
    np.testing.assert_array_equal(menu()["weights"], menu(cream=30)["weights"])
    assert menu(cream=30)["context"][2] > menu()["context"][2]


def test_every_dish_but_the_apple_can_be_singled_out_and_aiming_at_the_apple_gets_the_waffle():
    question, right, _, after = open_question("08", "any-dish", SoftDictionary)
    weights = np.array([menu(query=place)["weights"] for place in SoftDictionary.query.values])
    reached = [dish for dish, largest in zip(DISHES, weights.max(axis=0), strict=True) if largest >= 0.9]
    assert reached == ["waffle", "ice cream", "nachos", "soup"] and right == "For four of them"
    apple = DISHES.index("apple")
    assert weights[:, apple].max() < 0.27 and "below 0.27" in question.because
    assert after["query"] == tuple(3 * KEYS[apple]) and DISHES[after["weights"].argmax()] == "waffle"
    others = [tuple(key) for i, key in enumerate(KEYS) if i != apple]
    assert sorted(soft_dictionary.hull([*others, tuple(KEYS[apple])])) == sorted(others), "it is inside"


def test_the_context_stays_among_the_values_and_a_longer_query_makes_the_lookup_more_exact():
    for place in SoftDictionary.query.values[::50]:
        facts = menu(query=place)
        assert facts["weights"].sum() == pytest.approx(1.0)
        assert np.all(facts["values"].min(axis=0) - 1e-9 <= facts["context"])
        assert np.all(facts["context"] <= facts["values"].max(axis=0) + 1e-9)
    sharper = [menu(query=(x, 0.0))["weights"].max() for x in (0.0, 1.0, 2.0, 4.0)]
    assert sharper[0] == pytest.approx(0.2) and sharper == sorted(sharper) and sharper[-1] > 0.95


@pytest.mark.parametrize("cream", soft_dictionary.CREAM)
def test_labels_keep_off_one_another_and_off_the_ring(cream):
    for place in SoftDictionary.query.values[::53]:
        facts = SoftDictionary.facts_at({"query": place, "cream": cream})
        ring = (*soft_dictionary.GRAM_PLANE.at(*facts["context"][[0, FAT]]), 8, 8)
        labels = re.findall(r'x="([\d.]+)" y="([\d.]+)" font-size="13"[^>]*middle"[^>]*>(\w[\w ]+)<',
                            SoftDictionary.picture_of(facts).svg)  # fmt: skip
        boxes = [ring, *(soft_dictionary.around(text, float(x), float(y)) for x, y, text in labels)]
        assert len(boxes) == 13 and all(soft_dictionary.gap(*pair) >= 0 for pair in combinations(boxes, 2))


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (lambda q, k, v: (torch.softmax(k @ q, 0) @ v, torch.softmax(k @ q, 0)), "sum 1.00"),
        (lambda q, k, v: ((k @ q) @ v, k @ q), "sum 2.00"),  # no softmax, as the picture shows
        (lambda q, k, v: v[0], "returns a tensor of shape ()"),
        (lambda q, k, v: 1 / 0, "raises ZeroDivisionError"),
        (lambda q, k, v: (v[0] * torch.nan, k @ q), "finite numbers"),
    ],
)
def test_the_menu_is_drawn_with_the_function_of_a_learner(function, shown):
    assert shown in soft_dictionary.drawn_with(function).svg


# ---- goals


def test_the_settings_that_reach_each_goal():
    assert values_reaching(SaturationLab, "lose-90", divisor="1", d_k=saturation_lab.WIDTHS) == [256]
    edge = {"d_k": 512, "divisor": "1", "query": SaturationLab.query.values}
    assert 20 < len(values_reaching(SaturationLab, "edge", **edge)) < 150, "near the rays"
    assert values_reaching(SaturationLab, "overtakes", d_k=saturation_lab.WIDTHS) == [128]
    places = SoftDictionary.query.values
    shared = values_reaching(SoftDictionary, "share", cream=10, query=places)
    assert len(shared) > 20 and all(x < -0.5 and abs(y) < 0.2 for x, y in shared)
    fat = values_reaching(SoftDictionary, "fat", cream=10, query=places)
    assert len(fat) > 400 and all(y > 0 for _, y in fat), "towards the nachos, whose value is fat"
    apple = values_reaching(SoftDictionary, "apple", cream=10, query=places)
    assert 3 < len(apple) < 30 and all(x > 0 and y > 0 for x, y in apple)


@pytest.mark.parametrize("kind", [SaturationLab, SoftDictionary])
def test_no_goal_is_met_at_the_start_or_by_a_preset_alone(kind):
    start = kind.facts_at(kind.start)
    for preset in ({}, *kind.presets.values()):
        assert not any(kind.goals_met(kind.facts_at({**kind.start, **preset}), start).values()), preset

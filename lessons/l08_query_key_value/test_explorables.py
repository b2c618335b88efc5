"""The facts that the explorables of lesson 08 show."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lessons.l00_start_here.softmax_dial import softmax
from lessons.l08_query_key_value import saturation_lab, soft_dictionary, who_attends
from tests.explore.stops import meeting


def lab(d_k: int, divisor: str, query: int = 1) -> dict:
    return saturation_lab.compute(d_k=d_k, divisor=divisor, query=query)


def cafe(**changes) -> dict:
    return soft_dictionary.compute(**{"temperature": 0.5, "crunch": 0.2, "cream": 10.0, **changes})


def test_scores_are_dot_products_and_the_gradient_is_that_of_autograd():
    generator = np.random.default_rng(saturation_lab.SEED)
    queries = generator.standard_normal((2048, 512), dtype=np.float32)
    keys = generator.standard_normal((2048, 8, 512), dtype=np.float32)
    for d_k in (1, 64, 512):
        by_hand = keys[5, :, :d_k].astype(float) @ queries[5, :d_k].astype(float)
        assert saturation_lab.raw_scores()[d_k][5] == pytest.approx(by_hand, abs=1e-4)
    for row in torch.from_numpy(saturation_lab.raw_scores()[16][:5]):
        jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=0), row)
        ours = saturation_lab.jacobian_norm(softmax(row.numpy()))
        assert float(jacobian.norm()) == pytest.approx(float(ours), rel=1e-6)


def test_what_grows_with_d_k_and_what_does_not():
    unscaled, scaled = ([lab(d, by)["mean_max"] for d in saturation_lab.WIDTHS] for by in ("1", "√d_k"))
    assert all(np.diff(unscaled) > 0) and unscaled[0] == scaled[0] and max(scaled) - min(scaled) < 0.07
    assert all(np.diff([lab(d, "d_k")["mean_max"] for d in saturation_lab.WIDTHS]) < 0)
    for d_k, divisor in ((512, "1"), (64, "√d_k"), (512, "d_k")):
        shares = lab(d_k, divisor)["shares"]
        assert shares.sum() == pytest.approx(1.0) and shares.max() < 0.55, "fits the panel"
    assert lab(512, "1")["shares"][[0, -1]].sum() > 0.6
    assert lab(512, "1")["weights"].max() > 0.95, "the first query is a typical one"
    assert len({lab(64, "√d_k", query)["weights"].max() for query in range(1, 9)}) == 8


def test_values_do_not_move_weights_and_keys_do():
    """By autograd: the plate depends on the values, the weights do not."""
    query, keys = (torch.tensor(array) for array in (soft_dictionary.QUERY, soft_dictionary.LABELS))
    values = torch.tensor(soft_dictionary.VALUES, requires_grad=True)
    plate = torch.softmax(keys @ query / 0.5, dim=0) @ values
    gradient = torch.autograd.grad(plate[2], values)[0]
    assert gradient[:, 2].tolist() == pytest.approx(cafe()["weights"].tolist())
    assert gradient[:, :2].abs().sum() == 0
    for cream in (0.0, 40.0):
        assert np.array_equal(cafe(cream=cream)["weights"], cafe()["weights"])
    assert cafe(cream=40.0)["plate"][2] > cafe(cream=0.0)["plate"][2]
    assert np.all(np.diff([cafe(crunch=crunch)["weights"][0] for crunch in np.linspace(-1, 1, 9)]) > 0)
    assert soft_dictionary.VALUES[0, 2] == 10 and soft_dictionary.LABELS[0, 1] == 0.2, "left alone"


@pytest.mark.parametrize("temperature", soft_dictionary.TEMPERATURES)
def test_a_soft_look_up_lies_between_the_exact_one_and_the_mean(temperature):
    facts = cafe(temperature=temperature)
    assert facts["weights"].sum() == pytest.approx(1.0)
    assert np.all(facts["values"].min(axis=0) - 1e-9 <= facts["plate"])
    assert np.all(facts["plate"] <= facts["values"].max(axis=0) + 1e-9)
    asked = facts["query"], facts["keys"], facts["values"]
    best = int(facts["scores"].argmax())
    plate, weights = soft_dictionary.look_up(*asked, 1e-6)
    assert plate == pytest.approx(facts["values"][best]) and weights[best] == pytest.approx(1.0)
    assert soft_dictionary.look_up(*asked, 1e9)[0] == pytest.approx(facts["values"].mean(axis=0))
    twins = cafe(crunch=-0.8, temperature=temperature)  # waffle and ice cream: equal keys, other values
    assert twins["weights"][0] == twins["weights"][2] and (twins["values"][0] != twins["values"][2]).any()


def test_the_coldest_and_the_hottest_stop_are_nearly_there():
    assert cafe(temperature=0.02)["weights"].max() > 0.99
    assert cafe(temperature=20.0)["plate"] == pytest.approx(soft_dictionary.VALUES.mean(axis=0), rel=0.05)


@pytest.mark.parametrize("d_k", who_attends.WIDTHS)
def test_shared_projections_make_scores_symmetric_and_the_rank_is_at_most_d_k(d_k):
    for seed in range(who_attends.N_SEEDS):
        shared, separate = (
            who_attends.compute(projections=name, d_k=d_k, seed=seed) for name in ("shared", "separate")
        )
        assert shared["scores"] == pytest.approx(shared["scores"].T) and shared["symmetry_error"] < 1e-9
        assert shared["rank"] == separate["rank"] == min(d_k, 8)
        assert d_k < 2 or separate["symmetry_error"] > 0.3


def test_vectors_of_one_length_always_look_at_themselves():
    """The condition behind "100%": by Cauchy-Schwarz, if all projected words have the same length."""
    projected = np.random.default_rng(1).standard_normal((200, 8, 4))
    projected /= np.linalg.norm(projected, axis=-1, keepdims=True)
    assert who_attends.on_diagonal(projected @ projected.transpose(0, 2, 1)).all()


def test_descriptions_hold_the_numbers_and_the_start_gives_nothing_away():
    saturated = saturation_lab.SaturationLab()
    assert "0.96" not in saturated.description, "asked before the explorable is seen"
    saturated.preset("unscaled-512")
    assert all(number in saturated.description for number in ("512", "22", "0.96", "1.00"))
    who = who_attends.WhoAttends()
    assert who.state["projections"] == "separate", "the question asked before is about one shared matrix"
    assert all(number in who.description for number in ("32", "3 of 8", "12%", "0.45"))
    plate = [f"{each:.1f} g" for each in cafe()["plate"]]
    assert all(grams in soft_dictionary.SoftDictionary().description for grams in plate)


# Where a number is estimated from random draws, the tolerance is about four standard errors.
NUMBERS = [
    *((lambda d=d, by=by: lab(d, by)["mean_max"], most, 0.012) for d, by, most in
      [(64, "1", 0.87), (512, "1", 0.96), (64, "√d_k", 0.36), (512, "√d_k", 0.36),
       (64, "d_k", 0.148), (512, "d_k", 0.133)]),
    *((lambda d=d: lab(d, "1")["std"], math.sqrt(d), 0.05 * math.sqrt(d)) for d in saturation_lab.WIDTHS),
    *((lambda d=d: lab(d, "√d_k")["std"], 1, 0.05) for d in saturation_lab.WIDTHS),
    (lambda: lab(512, "√d_k")["gradient"], 0.367, 0.003),
    (lambda: lab(512, "1")["gradient"], 1.2e-4, 0.8e-4),  # heavy tails: four seeds gave 0.7 to 1.1e-4
    *((lambda d=d: who_attends.diagonal_share("shared", d), share, 0.02) for d, share in
      [(1, 0.25), (2, 0.44), (4, 0.70), (8, 0.92), (16, 0.99), (32, 1.0), (64, 1.0)]),
    *((lambda d=d: who_attends.diagonal_share("separate", d), 1 / 8, 0.02) for d in who_attends.WIDTHS),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "tolerance"), NUMBERS)
def test_numbers_quoted_in_the_lesson(number, expected, tolerance):
    assert number() == pytest.approx(expected, abs=tolerance, rel=0)


def test_the_settings_that_reach_each_goal():
    lab, cafe = saturation_lab.SaturationLab, soft_dictionary.SoftDictionary
    who = who_attends.WhoAttends
    assert meeting(lab, "lose-90", divisor="1", d_k=saturation_lab.WIDTHS) == [128]
    assert meeting(lab, "too-flat", divisor="d_k", d_k=saturation_lab.WIDTHS) == [256]
    assert meeting(lab, "spared", divisor="1", d_k=512, query=range(1, 9)) == [2]
    back = -1 + 12 * 0.1  # where a slider comes back to: not quite 0.2
    for crunch in (0.2, back):
        assert meeting(cafe, "fat-by-values", crunch=crunch, cream=range(41)) == [27]
    assert meeting(cafe, "fat-by-weights", temperature=soft_dictionary.TEMPERATURES) == [0.02, 2.0, 3.0]
    assert meeting(cafe, "tie", crunch=[i / 10 for i in range(-10, 11)]) == [0.0]
    assert meeting(who, "others-win", projections="shared", d_k=who_attends.WIDTHS) == [1, 2]
    assert meeting(who, "by-luck", seed=range(20)) == [19]

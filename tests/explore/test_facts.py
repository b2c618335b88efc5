"""The facts that lessons lean on. Each says how it is estimated, and how far it may be off."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.explore import saturation_lab, soft_dictionary, softmax_dial, who_attends
from course_lib.explore.softmax_dial import softmax

# -- W7: 2,048 random queries with 8 keys each, one seed; tolerances are about four standard errors


def lab(d_k: int, divisor: str, query: int = 1) -> dict:
    return saturation_lab.compute(d_k=d_k, divisor=divisor, query=query)


@pytest.mark.parametrize("d_k", saturation_lab.WIDTHS)
def test_scores_spread_as_the_root_of_d_k(d_k):
    near = 0.05 if d_k < 4 else 0.03  # a product of two normals has heavier tails than a sum of many
    assert lab(d_k, "1")["std"] == pytest.approx(np.sqrt(d_k), rel=near)
    assert lab(d_k, "√d_k")["std"] == pytest.approx(1.0, rel=near)
    assert lab(d_k, "d_k")["std"] == pytest.approx(1 / np.sqrt(d_k), rel=near)


def test_the_scores_are_dot_products():
    generator = np.random.default_rng(saturation_lab.SEED)
    queries = generator.standard_normal((2048, 512), dtype=np.float32)
    keys = generator.standard_normal((2048, 8, 512), dtype=np.float32)
    for d_k in (1, 64, 512):
        by_hand = keys[5, :, :d_k].astype(float) @ queries[5, :d_k].astype(float)
        assert saturation_lab.raw_scores()[d_k][5] == pytest.approx(by_hand, abs=1e-4)


@pytest.mark.parametrize(
    ("d_k", "divisor", "mean_max"),
    [
        (64, "1", 0.87),
        (512, "1", 0.96),
        (64, "√d_k", 0.36),
        (512, "√d_k", 0.36),
        (64, "d_k", 0.148),
        (512, "d_k", 0.133),
    ],
)
def test_mean_of_the_largest_weight(d_k, divisor, mean_max):
    assert lab(d_k, divisor)["mean_max"] == pytest.approx(mean_max, abs=0.012)


def test_gradient_that_the_softmax_lets_through():
    """The median over queries of ‖J‖. Unscaled it has heavy tails: four seeds gave 0.7 to 1.1e-4."""
    unscaled, scaled = lab(512, "1")["gradient"], lab(512, "√d_k")["gradient"]
    assert 5e-5 < unscaled < 2e-4
    assert scaled == pytest.approx(0.367, abs=0.003)
    assert scaled / unscaled > 1000


def test_the_norm_is_that_of_autograd():
    scores = torch.from_numpy(saturation_lab.raw_scores()[16][:5])
    for row in scores:
        jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=0), row)
        weights = softmax(row.numpy())
        assert float(jacobian.norm()) == pytest.approx(float(saturation_lab.jacobian_norm(weights)), rel=1e-6)


def test_dividing_by_d_k_flattens_everything():
    entropies = [lab(d_k, "d_k")["entropy"] for d_k in saturation_lab.WIDTHS]
    assert all(np.diff(entropies) > 0)
    assert entropies[-1] == pytest.approx(np.log(8), abs=0.002)  # 2.079
    assert lab(512, "1")["entropy"] < 0.15


def test_the_largest_weight_grows_with_d_k_only_when_unscaled():
    unscaled = [lab(d_k, "1")["mean_max"] for d_k in saturation_lab.WIDTHS]
    scaled = [lab(d_k, "√d_k")["mean_max"] for d_k in saturation_lab.WIDTHS]
    assert all(np.diff(unscaled) > 0)
    assert unscaled[0] == scaled[0]  # d_k = 1: nothing to divide
    assert max(scaled) - min(scaled) < 0.07


@pytest.mark.parametrize("size", [1e4, 1e300])
def test_huge_scores_do_not_overflow(size):
    weights = softmax(np.array([[size, -size, 0.0, size]]))
    assert weights.tolist() == [[0.5, 0.0, 0.0, 0.5]]


def test_histogram_counts_every_score_once():
    for d_k, divisor in ((512, "1"), (64, "√d_k"), (512, "d_k")):
        assert lab(d_k, divisor)["shares"].sum() == pytest.approx(1.0)
        assert lab(d_k, divisor)["shares"].max() < 0.55, "fits the panel"
    ends = lab(512, "1")["shares"][[0, -1]].sum()
    assert ends >= lab(512, "1")["beyond"] > 0.6


def test_the_first_query_is_a_typical_one_and_all_are_different():
    assert lab(512, "1")["weights"].max() > 0.95
    assert lab(64, "√d_k")["weights"].max() == pytest.approx(0.36, abs=0.06)
    assert len({lab(64, "√d_k", query)["weights"].max() for query in range(1, 9)}) == 8


def test_the_start_does_not_give_the_prediction_away():
    """Asked before the explorable is seen: the largest weight at d_k = 512, unscaled."""
    assert "0.96" not in saturation_lab.SaturationLab().description


# -- W8: exact, no sampling ------------------------------------------------------------------------


def cafe(**changes) -> dict:
    return soft_dictionary.compute(**{"temperature": 0.5, "crunch": 0.2, "cream": 10.0, **changes})


def test_values_do_not_move_weights():
    """By autograd: the plate depends on the values, the weights do not."""
    query, keys = (torch.tensor(array) for array in (soft_dictionary.QUERY, soft_dictionary.LABELS))
    values = torch.tensor(soft_dictionary.VALUES, requires_grad=True)
    weights = torch.softmax(keys @ query / 0.5, dim=0)
    plate = weights @ values
    assert not weights.requires_grad  # no path from the values to the weights: the derivative is 0
    gradient = torch.autograd.grad(plate[2], values)[0]
    assert gradient[:, 2].tolist() == pytest.approx(cafe()["weights"].tolist())
    assert gradient[:, :2].abs().sum() == 0
    for cream in (0.0, 40.0):
        assert np.array_equal(cafe(cream=cream)["weights"], cafe()["weights"])
    assert cafe(cream=40.0)["plate"][2] > cafe(cream=0.0)["plate"][2]


def test_keys_move_weights():
    assert np.all(np.diff([cafe(crunch=crunch)["weights"][0] for crunch in np.linspace(-1, 1, 9)]) > 0)


@pytest.mark.parametrize("crunch", [-1.0, 0.2, 1.0])
def test_cold_is_an_exact_look_up_and_hot_is_the_mean(crunch):
    facts = cafe(crunch=crunch)
    query, keys, values = facts["query"], facts["keys"], facts["values"]
    plate, weights = soft_dictionary.look_up(query, keys, values, 1e-6)
    best = int(facts["scores"].argmax())
    assert plate == pytest.approx(values[best])
    assert weights[best] == pytest.approx(1.0)
    plate, _ = soft_dictionary.look_up(query, keys, values, 1e9)
    assert plate == pytest.approx(values.mean(axis=0))


def test_the_coldest_and_the_hottest_stop_are_nearly_there():
    assert cafe(temperature=0.02)["weights"].max() > 0.99
    assert cafe(temperature=20.0)["plate"] == pytest.approx(soft_dictionary.VALUES.mean(axis=0), rel=0.05)


@pytest.mark.parametrize("temperature", soft_dictionary.TEMPERATURES)
def test_equal_keys_get_equal_weights(temperature):
    twins = cafe(crunch=-0.8, temperature=temperature)
    waffle, ice_cream = soft_dictionary.DISHES.index("waffle"), soft_dictionary.DISHES.index("ice cream")
    assert np.array_equal(twins["keys"][waffle], twins["keys"][ice_cream])
    assert twins["weights"][waffle] == twins["weights"][ice_cream]
    assert not np.array_equal(twins["values"][waffle], twins["values"][ice_cream])


def test_the_plate_lies_between_the_dishes():
    for temperature in soft_dictionary.TEMPERATURES:
        facts = cafe(temperature=temperature)
        assert facts["weights"].sum() == pytest.approx(1.0)
        assert np.all(facts["values"].min(axis=0) - 1e-9 <= facts["plate"])
        assert np.all(facts["plate"] <= facts["values"].max(axis=0) + 1e-9)


def test_computing_leaves_the_menu_alone():
    labels, values = soft_dictionary.LABELS.copy(), soft_dictionary.VALUES.copy()
    cafe(crunch=1.0, cream=40.0)
    assert np.array_equal(labels, soft_dictionary.LABELS) and np.array_equal(values, soft_dictionary.VALUES)


# -- W9: 500 random worlds of 8 words with d_model = 64; a share's standard error is below 0.5% ----


@pytest.mark.parametrize("d_k", who_attends.WIDTHS)
def test_shared_projections_make_scores_symmetric(d_k):
    for seed in range(who_attends.N_SEEDS):
        facts = who_attends.compute(projections="shared", d_k=d_k, seed=seed)
        assert facts["scores"] == pytest.approx(facts["scores"].T)
        assert facts["symmetry_error"] < 1e-9


def test_separate_projections_do_not():
    errors = [
        who_attends.compute(projections="separate", d_k=64, seed=seed)["symmetry_error"] for seed in range(20)
    ]
    assert np.mean(errors) == pytest.approx(0.65, abs=0.05)


@pytest.mark.parametrize(
    ("d_k", "share"), [(1, 0.25), (2, 0.44), (4, 0.70), (8, 0.92), (16, 0.99), (32, 1.0), (64, 1.0)]
)
def test_shared_projections_pull_to_the_diagonal(d_k, share):
    """100% only where d_k is wide; at d_k = 1 only the two words at the ends win: 2 of 8."""
    assert who_attends.diagonal_share("shared", d_k) == pytest.approx(share, abs=0.02)
    assert who_attends.diagonal_share("shared", 64) == 1.0


def test_vectors_of_one_length_always_look_at_themselves():
    """The condition behind "100%": by Cauchy-Schwarz, if all projected words have the same length."""
    generator = np.random.default_rng(1)
    for d_k in (2, 4, 8):
        projected = generator.standard_normal((200, 8, d_k))
        projected /= np.linalg.norm(projected, axis=-1, keepdims=True)
        assert who_attends.on_diagonal(projected @ projected.transpose(0, 2, 1)).all()


@pytest.mark.parametrize("d_k", who_attends.WIDTHS)
def test_separate_projections_hit_the_diagonal_by_chance(d_k):
    assert who_attends.diagonal_share("separate", d_k) == pytest.approx(1 / 8, abs=0.02)


@pytest.mark.parametrize("projections", ["shared", "separate"])
@pytest.mark.parametrize("d_k", who_attends.WIDTHS)
def test_rank_is_at_most_d_k(projections, d_k):
    ranks = [who_attends.compute(projections=projections, d_k=d_k, seed=seed)["rank"] for seed in range(20)]
    assert set(ranks) == {min(d_k, 8)}


def test_the_start_does_not_give_the_answer_away():
    """The question asked before is about one shared matrix; the stored picture shows the start."""
    assert who_attends.WhoAttends().state["projections"] == "separate"


# -- the dial of lesson 00 -------------------------------------------------------------------------


def test_dial_is_torch_softmax():
    for multiplier in (0.0, 0.7, 1.0, 8.0):
        weights = torch.softmax(torch.tensor(softmax_dial.SCORES) * multiplier, dim=0)
        assert softmax_dial.compute(multiplier=multiplier)["weights"] == pytest.approx(weights.numpy())


def test_dial_from_flat_to_sharp():
    assert softmax_dial.compute(multiplier=0.0)["weights"] == pytest.approx([1 / 3] * 3)
    assert softmax_dial.compute(multiplier=1.0)["weights"].round(2).tolist() == [0.51, 0.31, 0.19]
    assert softmax_dial.compute(multiplier=8.0)["weights"][0] > 0.98


# -- words match numbers ---------------------------------------------------------------------------


def test_the_words_say_the_numbers():
    assert softmax_dial.SoftmaxDial().description == (
        "Scores times 1.0: the shares are cat 0.51, water 0.31, drank 0.19. They add up to 1."
    )
    explorable = saturation_lab.SaturationLab()
    explorable.preset("unscaled-512")
    assert "d_k = 512, scores divided by 1: the scores spread by 22." in explorable.description
    assert "the largest of 8 weights is 0.96 on average (1.00 for query 1)" in explorable.description
    who = who_attends.WhoAttends()
    assert who.description.startswith(
        "Separate projections, d_k = 32: 3 of 8 words look most at themselves (12% over 500"
    )
    assert who.description.endswith("The symmetry error of the scores is 0.45, their rank 8.")
    plate = ", ".join(
        f"{name} {grams:.1f} g"
        for name, grams in zip(("sugar", "protein", "fat"), cafe()["plate"], strict=True)
    )
    assert soft_dictionary.SoftDictionary().description.endswith(f"On the plate: {plate}.")


# -- the goals: the one answer of each that has one ------------------------------------------------


def answers(kind, goal_id: str, **sweep) -> list:
    """The values of one control, others as at the start or as given, that meet a goal."""
    [goal] = [goal for goal in kind.goals if goal.id == goal_id]
    (name, values), fixed = sweep.popitem(), {**kind.start, **sweep}
    return [v for v in values if goal.met(kind.facts_at({**fixed, name: v}), kind.facts_at(kind.start))]


def test_goals_have_the_answers_that_lessons_tell():
    lab, cafe, who = saturation_lab.SaturationLab, soft_dictionary.SoftDictionary, who_attends.WhoAttends
    assert answers(lab, "lose-90", divisor="1", d_k=saturation_lab.WIDTHS) == [128]
    assert answers(lab, "too-flat", divisor="d_k", d_k=saturation_lab.WIDTHS) == [256]
    assert answers(lab, "spared", divisor="1", d_k=512, query=range(1, 9)) == [2]
    assert answers(cafe, "fat-by-values", cream=range(41)) == [27]
    back = -1 + 12 * 0.1  # where a slider comes back to: not quite 0.2
    assert back != 0.2 and answers(cafe, "fat-by-values", crunch=back, cream=range(41)) == [27]
    assert answers(cafe, "fat-by-weights", temperature=soft_dictionary.TEMPERATURES) == [0.02, 2.0, 3.0]
    assert answers(cafe, "tie", crunch=[i / 10 for i in range(-10, 11)]) == [0.0]
    assert answers(who, "others-win", projections="shared", d_k=who_attends.WIDTHS) == [1, 2]
    assert answers(who, "by-luck", seed=range(20)) == [19]

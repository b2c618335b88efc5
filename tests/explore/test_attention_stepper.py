"""W5: what must hold of every step of additive attention, on the shipped system."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.explore.attention_stepper import N_ORDERS, N_STEPS, SENTENCES, compute, permutation, walk

every_walk = pytest.mark.parametrize(
    ("sentence", "order"), [(sentence, order) for sentence in SENTENCES for order in (0, 1, N_ORDERS)]
)


@every_walk
def test_weights_sum_to_one_and_are_the_softmax_of_the_scores(sentence, order):
    kept = walk(sentence, order)
    assert kept["weights"].sum(axis=-1) == pytest.approx(np.ones(N_STEPS), abs=1e-5)
    shifted = np.exp(kept["scores"] + 3 - (kept["scores"] + 3).max(axis=-1, keepdims=True))
    assert kept["weights"] == pytest.approx(shifted / shifted.sum(axis=-1, keepdims=True), abs=1e-5)


@every_walk
def test_the_context_lies_between_the_annotations(sentence, order):
    kept = walk(sentence, order)
    assert kept["contexts"] == pytest.approx(kept["weights"] @ kept["annotations"], abs=1e-5)
    assert (kept["contexts"] <= kept["annotations"].max(axis=0) + 1e-5).all()
    assert (kept["contexts"] >= kept["annotations"].min(axis=0) - 1e-5).all()


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("order", range(1, N_ORDERS + 1))
def test_another_order_moves_the_weights_and_nothing_else(sentence, order):
    as_read, moved = walk(sentence, 0), walk(sentence, order)
    assert moved["weights"] == pytest.approx(as_read["weights"][:, permutation(order)], abs=1e-4)
    assert moved["contexts"] == pytest.approx(as_read["contexts"], abs=1e-4)
    assert moved["said"] == as_read["said"]
    assert sorted(moved["source"]) == sorted(as_read["source"]) and moved["source"] != as_read["source"]


def test_it_translates_the_running_pair_and_shows_only_what_has_been():
    assert " ".join(walk("thirsty", 0)["said"]) == "le chat a bu l' eau parce qu' il avait soif </s>"
    assert " ".join(walk("cold", 0)["said"]) == "le chat a bu l' eau parce qu' elle était froide </s>"
    facts = compute(sentence="cold", step=3, order=0)
    assert np.array_equal(facts["map"], walk("cold", 0)["weights"][:4])

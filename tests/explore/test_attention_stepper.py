"""W5: what must hold of every step of additive attention, on the shipped system."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.explore.attention_stepper import N_STEPS, SENTENCES, compute, walk

every_walk = pytest.mark.parametrize("sentence", SENTENCES)


@every_walk
def test_weights_sum_to_one_and_are_the_softmax_of_the_scores(sentence):
    kept = walk(sentence)
    assert kept["weights"].sum(axis=-1) == pytest.approx(np.ones(N_STEPS), abs=1e-5)
    shifted = np.exp(kept["scores"] + 3 - (kept["scores"] + 3).max(axis=-1, keepdims=True))
    assert kept["weights"] == pytest.approx(shifted / shifted.sum(axis=-1, keepdims=True), abs=1e-5)


@every_walk
def test_the_context_lies_between_the_annotations(sentence):
    kept = walk(sentence)
    assert kept["contexts"] == pytest.approx(kept["weights"] @ kept["annotations"], abs=1e-5)
    assert (kept["contexts"] <= kept["annotations"].max(axis=0) + 1e-5).all()
    assert (kept["contexts"] >= kept["annotations"].min(axis=0) - 1e-5).all()


def test_it_translates_the_running_pair_and_shows_only_what_has_been():
    assert " ".join(walk("thirsty")["said"]) == "le chat a bu l' eau parce qu' il avait soif </s>"
    assert " ".join(walk("cold")["said"]) == "le chat a bu l' eau parce qu' elle était froide </s>"
    facts = compute(sentence="cold", step=3)
    assert np.array_equal(facts["map"], walk("cold")["weights"][:4])

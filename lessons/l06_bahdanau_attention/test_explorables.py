"""The attention stepper translates the running pair; the snapshots are those of the recorded runs."""

from __future__ import annotations

import operator
import re
from html import unescape

import numpy as np
import pytest
import torch

from lessons.l06_bahdanau_attention import attention_emerges, attention_stepper
from tests.explore.limits import Limit

LIMITS = {
    "AttentionEmerges": [
        Limit("aligned", "more than half", ("now", "links")),
        Limit("crossed", "more than half", "flower_and_white"),
    ],
    "Steering": [
        Limit("short", "at most three", lambda facts, v: facts | {"words": ["le"] * v}, counts=True),
        Limit("same", "less than 0.1", "weight"),
    ],
    "AttentionStepper": [
        Limit("unsure", "half", lambda facts, v: facts | {"weights": np.array([v, 0.0])}, operator.lt),
    ],
}


@pytest.mark.parametrize(
    ("sentence", "end"), [("thirsty", "il avait soif </s>"), ("cold", "elle était froide </s>")]
)
def test_the_stepper_translates_and_shows_no_later_step(sentence, end):
    steps = attention_stepper.translate_stepwise(sentence)
    assert " ".join(steps["words"]) == f"le chat a bu l' eau parce qu' {end}"
    expected = torch.tensor(steps["scores"] + 3).softmax(-1).numpy()  # a shift of all scores changes nothing
    assert steps["weights"] == pytest.approx(expected, abs=1e-5)
    facts = attention_stepper.compute(sentence=sentence, step=3)
    assert np.array_equal(facts["map"], steps["weights"][:4])


@pytest.mark.parametrize("step", [0, 1, 11])
def test_the_picture_leads_back_to_the_words_written_so_far(step):
    stepper = attention_stepper.AttentionStepper
    facts = stepper.facts_at({**stepper.start, "step": step})
    back = re.findall(r'aria-label="go to the step of (.+?)"', unescape(stepper.picture_of(facts).svg))
    assert back == facts["words"][:step]


def test_the_link_of_il_is_at_it_and_the_end_has_none():
    assert attention_stepper.compute(sentence="thirsty", step=8)["linked"] == [6]
    assert attention_stepper.compute(sentence="cold", step=11)["linked"] == []


def test_every_snapshot_is_recorded_for_every_run_and_sentence():
    for step in attention_emerges.STEPS:
        for sentence in attention_emerges.SENTENCES:
            facts = attention_emerges.compute(step=step, sentence=sentence)
            assert facts["weights"].shape == (len(facts["target"]), len(facts["source"]))
            assert facts["weights"].sum(axis=1) == pytest.approx(1, abs=0.01)
            assert all(curves.shape == (len(facts["steps"]), 3) for curves in facts["curves"].values())
    assert facts["translation"] == facts["target"][:-1] and facts["wrong"] == [], "at the end"


def test_the_start_gives_no_crossing_away():
    kind = attention_emerges.AttentionEmerges
    facts = kind.facts_at(kind.start)
    assert "a diagonal" in attention_emerges.headline(facts) and facts["flower_and_white"] < 0.2


def test_a_long_output_is_cut_after_a_word():
    words = ["mère"] * 30
    assert 10 < len(attention_emerges.shortened(words)) < 30
    assert attention_emerges.shortened(words[:2]) == words[:2] and attention_emerges.shortened([]) == []

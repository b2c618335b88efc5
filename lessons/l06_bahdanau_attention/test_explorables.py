"""The attention stepper translates the running pair; the snapshots are those of the recorded runs."""

from __future__ import annotations

import operator
import re
from html import unescape

import numpy as np
import pytest
import torch

from course_lib.results import runs
from lessons.l06_bahdanau_attention import attention_emerges, attention_stepper
from tests.explore.limits import Limit

LIMITS = {
    "AttentionEmerges": [
        Limit("aligned", "below 0.5", "error_now"),
        Limit("crossed", "more than half", "flower_and_white"),
        Limit("article", "more than half", "la_to_mother"),
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


def test_every_snapshot_is_recorded_for_every_seed_and_sentence():
    for run in runs("attention_emerges"):
        snapshots = {shot["step"]: shot for shot in run["snapshots"]}
        for step in attention_emerges.STEPS:
            for sentence, (name, _, target) in attention_emerges.SENTENCES.items():
                facts = attention_emerges.compute(step=step, sentence=sentence, seed=run["seed"])
                shape = len(facts["target"]), len(facts["source"])
                assert facts["weights"].shape == shape and shape[0] == attention_emerges.N_ROWS
                assert facts["weights"].sum(axis=1) == pytest.approx(1, abs=0.01)
                assert facts["translation"] == snapshots[step]["maps"][name]["translation"]
                assert facts["error_now"] == facts["errors"][facts["steps"].tolist().index(step)]
                if step == max(attention_emerges.STEPS):
                    assert facts["translation"] == target


def test_a_long_output_is_cut_after_a_word():
    cut = attention_emerges.shortened("mère " * 30)
    assert len(cut) < 60 and cut.endswith("mère …")
    assert attention_emerges.shortened("la mère") == "la mère"

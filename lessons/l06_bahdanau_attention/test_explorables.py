"""The attention stepper translates the running pair."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lessons.l06_bahdanau_attention import attention_stepper


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
def test_the_heading_separates_what_is_written_from_what_comes_next(step):
    stepper = attention_stepper.AttentionStepper
    facts = stepper.facts_at({**stepper.start, "step": step})
    written, following = (part.split() for part in stepper.heading(facts))
    assert following[-1] == facts["words"][step] and facts["words"][step] not in written
    assert written[len(written) - step :] == facts["words"][:step]

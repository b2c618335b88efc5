"""The facts that the explorables of lesson 06 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lessons.l06_bahdanau_attention import attention_stepper


def test_the_stepper_translates_the_running_pair_and_shows_only_what_has_been():
    ends = {"thirsty": "il avait soif </s>", "cold": "elle était froide </s>"}
    for sentence, end in ends.items():
        kept = attention_stepper.walk(sentence)
        assert " ".join(kept["said"]) == f"le chat a bu l' eau parce qu' {end}"
        assert kept["weights"] == pytest.approx(
            torch.tensor(kept["scores"] + 3).softmax(-1).numpy(), abs=1e-5
        )
        facts = attention_stepper.compute(sentence=sentence, step=3)
        assert np.array_equal(facts["map"], kept["weights"][:4])

"""What a prediction calls true is what its explorable shows in the preset it opens in."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.explore import Explorable, SaturationLab, SoftDictionary, SoftmaxDial, WhoAttends
from course_lib.teaching.quiz_data import read_lesson


def facts_of(explorable: Explorable, preset: str) -> tuple[dict, dict]:
    """The numbers before and after the preset."""
    before = explorable.facts
    explorable.preset(preset)
    return before, explorable.facts


def test_the_largest_share_comes_close_to_one():
    asked = read_lesson("00").asked("times-eight")
    before, after = facts_of(SoftmaxDial(), asked.preset)
    assert before["multiplier"] == 1 and after["multiplier"] == 8
    assert before["scores"].tolist() == [1.0, 0.5, 0.0], "the question names these scores"
    assert asked.answer == "It comes close to 1" and after["weights"].max() > 0.97


def test_more_cream_moves_no_weight():
    asked = read_lesson("08").asked("more-cream")
    before, after = facts_of(SoftDictionary(), asked.preset)
    assert after["cream"] == 3 * before["cream"], "the question says three times the cream"
    assert asked.answer == "The weights stay as they are"
    np.testing.assert_array_equal(before["weights"], after["weights"])
    assert after["plate"][2] > before["plate"][2]


def test_the_largest_weight_unscaled():
    asked = read_lesson("08").asked("unscaled-max")
    _, after = facts_of(SaturationLab(), asked.preset)
    assert after["d_k"] == 512
    assert after["mean_max"] == pytest.approx(asked.answer, abs=0.005)


def test_one_matrix_puts_every_word_first_in_its_own_row():
    asked = read_lesson("08").asked("one-matrix")
    _, after = facts_of(WhoAttends(), asked.preset)
    assert after["d_k"] == 32, "the question says so"
    assert (
        asked.answer == "All, or nearly all" and after["on_diagonal"] >= 7 and after["diagonal_share"] > 0.99
    )

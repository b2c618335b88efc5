"""What a prediction calls true is what its explorable shows in the preset it opens in."""

from __future__ import annotations

from course_lib.explore.base import Explorable
from course_lib.teaching.questions.question import Question, questions
from lessons.l00_start_here import SoftmaxDial


def told(asked: Question) -> str:
    return asked.options[asked.right[0]].text


def facts_of(explorable: Explorable, preset: str) -> tuple[dict, dict]:
    """The numbers before and after the preset."""
    before = explorable.facts
    explorable.preset(preset)
    return before, explorable.facts


def test_the_largest_share_comes_close_to_one():
    asked = questions("00")["times-eight"]
    before, after = facts_of(SoftmaxDial(), asked.preset)
    assert before["multiplier"] == 1 and after["multiplier"] == 8
    assert before["scores"].tolist() == [1.0, 0.5, 0.0], "the question names these scores"
    assert told(asked) == "It comes close to 1" and after["weights"].max() > 0.97

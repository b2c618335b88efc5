"""What the explorable of lesson 09 computes, and what its question claims about it."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from lessons.l09_self_attention import close_a_word
from tests.explore.limits import Limit
from tests.explore.settings import open_question

LIMITS = {
    "CloseAWord": [
        Limit("idle", "less than 0.05", "change"),
        Limit("quiet", "under 0.05", "weight_before"),
        Limit("quiet", "over 0.3", "change"),
    ],
}


def close(sentence: str, position: int = close_a_word.NONE, to: str = "all") -> dict:
    return close_a_word.compute(sentence=sentence, closed=position, to=to)


@pytest.mark.parametrize("sentence", ["women … hungry", "women … good"])
def test_the_goal_of_the_mouse_is_not_met_by_the_women(sentence):
    """Closing “they” among source words would otherwise meet it."""
    facts = close(sentence, close_a_word.PRONOUN, "source")
    assert facts["weight_before"] == facts["largest_before"] and facts["change"] < 0.05
    now = facts | {"sentence": sentence, "closed": close_a_word.PRONOUN}
    assert not close_a_word.CloseAWord.goals_met(now, now)["idle"]
    assert close_a_word.CloseAWord.goals_met(now | {"sentence": "mouse … cold"}, now)["idle"]


@pytest.mark.parametrize("sentence", close_a_word.SENTENCES)
def test_every_sentence_fits_the_picture(sentence):
    words, facts = close_a_word.SENTENCES[sentence].split(), close(sentence)
    assert len(words) + 1 == close_a_word.N_SOURCE and words[close_a_word.PRONOUN] in ("it", "they")
    assert facts["change"] == 0 and not facts["flipped"]
    assert facts["weights"].sum() == pytest.approx(1, abs=1e-4)
    assert facts["own_weights"].sum(axis=-1) == pytest.approx(np.ones(12), abs=1e-4)


def test_the_last_word_decides_the_pronoun():
    thirsty, cold = close("cat … thirsty"), close("cat … cold")
    assert thirsty["il"] > 0.9 > 0.1 > thirsty["elle"] and cold["elle"] > 0.9 > 0.1 > cold["il"]
    assert close("cat … thirsty", 8)["flipped"]


def test_closing_it_leaves_the_pronoun_though_it_has_the_largest_weight():
    question, _, before, after = open_question("09", "close-it", close_a_word.CloseAWord)
    assert question.right == [0] and after["closed"] == close_a_word.PRONOUN
    assert after["il"] == pytest.approx(before["il"], abs=0.03) and not after["flipped"]
    assert after["weight_before"] == after["largest_before"]


@pytest.mark.parametrize("sentence", ["cat … thirsty", "cat … cold"])
def test_inside_the_source_no_single_closing_flips(sentence):
    assert not any(close(sentence, position, "source")["flipped"] for position in range(10))


@pytest.mark.parametrize("position", [close_a_word.NONE, 0, 6, 9])
def test_the_cross_marks_the_masked_word(position):
    kind = close_a_word.CloseAWord
    facts = kind.facts_at({**kind.start, "closed": position})
    axes = Figure().add_subplot()
    close_a_word.draw_weights(axes)(facts)
    marked = [text.get_text() for text in axes.texts if "✕" in text.get_text()]
    assert len(marked) == (position != close_a_word.NONE)
    assert all(text.split()[1:] == [facts["words"][position], str(position)] for text in marked)

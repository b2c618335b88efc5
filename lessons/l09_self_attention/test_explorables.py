"""The facts that the explorables of lesson 09 show."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.teaching.questions.question import questions
from lessons.l09_self_attention import close_a_word


def closed(sentence: str, word: int = 0, to: str = "all") -> dict:
    return close_a_word.compute(sentence=sentence, closed=word, to=to)


@pytest.mark.parametrize("sentence", ["women … hungry", "women … good"])
def test_what_is_asked_of_the_mouse_is_not_done_by_the_women(sentence):
    """Closing “they” among source words would otherwise do."""
    facts = closed(sentence, 7, "source")
    assert facts["share"] == facts["largest"] and facts["moved"] < 0.05
    now = facts | {"sentence": sentence, "closed": 7}
    assert not close_a_word.CloseAWord.met(now, now)["idle"]
    assert close_a_word.CloseAWord.met(now | {"sentence": "mouse … cold"}, now)["idle"]


@pytest.mark.parametrize("sentence", close_a_word.SENTENCES)
def test_every_sentence_fits_the_picture(sentence):
    words, facts = close_a_word.SENTENCES[sentence].split(), closed(sentence)
    assert len(words) + 1 == close_a_word.N_SOURCE and words[close_a_word.PRONOUN] in ("it", "they")
    assert facts["moved"] == 0 and not facts["flipped"]
    assert facts["shares"].sum() == pytest.approx(1, abs=1e-4)
    assert facts["own"].sum(axis=-1) == pytest.approx(np.ones(12), abs=1e-4)


def test_what_closing_a_word_changes():
    thirsty, cold = closed("cat … thirsty"), closed("cat … cold")
    assert thirsty["il"] > 0.9 > 0.1 > thirsty["elle"] and cold["elle"] > 0.9 > 0.1 > cold["il"]
    assert thirsty["french"].endswith("il avait soif") and cold["french"].endswith("elle était froide")
    asked, it = questions("09")["close-it"], closed("cat … thirsty", close_a_word.PRONOUN + 1)
    assert asked.preset == "“it” closed" and asked.options[asked.right[0]].text == "It stays *il*"
    assert f"{it['il']:.2f}" == "0.92" and it["share"] == it["largest"]
    assert closed("cat … thirsty", 9)["flipped"]
    for sentence in ("cat … thirsty", "cat … cold"):  # inside the source no single closing flips
        assert not any(closed(sentence, place, "source")["flipped"] for place in range(1, 11))

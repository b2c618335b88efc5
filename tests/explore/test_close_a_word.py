"""The intervention view shows what the shipped Transformer does."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.explore.close_a_word import N_SOURCE, PRONOUN, SENTENCES, compute
from course_lib.teaching.questions import questions


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_fits_the_picture(sentence):
    words = SENTENCES[sentence].split()
    assert len(words) + 1 == N_SOURCE and words[PRONOUN] in ("it", "they")
    facts = compute(sentence=sentence, closed=0, to="all")
    assert facts["moved"] == 0 and not facts["flipped"]
    assert facts["shares"].sum() == pytest.approx(1, abs=1e-4)
    assert facts["own"].sum(axis=-1) == pytest.approx(np.ones(12), abs=1e-4)


def test_one_word_changed_flips_the_pronoun():
    thirsty, cold = (compute(sentence=f"cat … {end}", closed=0, to="all") for end in ("thirsty", "cold"))
    assert thirsty["il"] > 0.9 > 0.1 > thirsty["elle"] and cold["elle"] > 0.9 > 0.1 > cold["il"]
    assert thirsty["french"].endswith("il avait soif") and cold["french"].endswith("elle était froide")


def test_closing_it_changes_nothing_and_closing_the_last_word_everything():
    asked = questions("09")["close-it"]
    assert asked.preset == "“it” closed" and asked.options[asked.right[0]].text == "It stays *il*"
    closed_it = compute(sentence="cat … thirsty", closed=PRONOUN + 1, to="all")
    assert f"{closed_it['il']:.2f}" == "0.92" and closed_it["share"] == closed_it["largest"]
    assert compute(sentence="cat … thirsty", closed=9, to="all")["flipped"]


def test_inside_the_source_no_single_closing_flips():
    for sentence in ("cat … thirsty", "cat … cold"):
        assert not any(
            compute(sentence=sentence, closed=place, to="source")["flipped"]
            for place in range(1, N_SOURCE + 1)
        )

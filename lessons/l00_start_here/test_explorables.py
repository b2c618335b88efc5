"""The explorables of lesson 00: attention while a sentence is written, and the softmax."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.translation.shipped import shared
from lessons.l00_start_here import attention_lines
from lessons.l00_start_here.attention_lines import IN_ENGLISH, N_STEPS, AttentionLines, translate_once
from lessons.l00_start_here.long_sentences import LONG_SENTENCE
from lessons.l00_start_here.softmax_dial import SCORES, SoftmaxDial, compute, softmax
from tests.explore.limits import Limit
from tests.explore.settings import open_question, values_reaching

LIMITS = {
    "SoftmaxDial": [Limit("sure", "above 0.9", ("probabilities", 0))],
}


def test_the_lines_are_the_attention_weights_of_the_translation():
    source, target, weights = translate_once()
    assert " ".join(source) == LONG_SENTENCE
    assert " ".join(target) == shared("bahdanau")(LONG_SENTENCE).target
    assert weights.shape == (N_STEPS, len(source))
    assert weights.sum(axis=1) == pytest.approx(1, abs=0.01), "no word attends to the end of the sentence"


def test_no_line_and_no_word_is_shown_before_it_is_written():
    assert [attention_lines.opacity(target, now=3) > 0 for target in range(6)] == [True] * 4 + [False] * 2
    first = AttentionLines.facts_at({"step": 1})
    assert first["newest"] == "la" and not first["previous_weights"].any()


def test_the_words_in_english_have_the_meaning_of_the_sentence():
    def content(words):
        return sorted(set(" ".join(words).split()) - {"do"})

    assert content(IN_ENGLISH) == content(LONG_SENTENCE.split()), "each English word occurs"


def test_the_slider_starts_between_girls_and_sad():
    start, following = (AttentionLines.facts_at({"step": step}) for step in (13, 14))
    attended = [facts["source"][facts["weights"].argmax()] for facts in (start, following)]
    assert AttentionLines.start == {"step": 13} and attended == ["girls", "sad"]
    assert (start["newest"], following["newest"]) == ("filles", "tristes")
    steps = range(1, N_STEPS + 1)
    assert values_reaching(AttentionLines, "back", step=steps) == [10, 14, 17]
    assert values_reaching(AttentionLines, "split", step=steps) == [3, 9]


@pytest.mark.parametrize("multiplier", [0.0, 0.7, 1.0, 8.0])
def test_the_probabilities_are_those_of_torch(multiplier):
    expected = torch.softmax(torch.tensor(SCORES) * multiplier, dim=0)
    assert compute(multiplier=multiplier)["probabilities"] == pytest.approx(expected.numpy())


@pytest.mark.parametrize("size", [1e4, 1e300])
def test_the_softmax_never_overflows(size):
    assert softmax(np.array([[size, -size, 0.0, size]])).tolist() == [[0.5, 0.0, 0.0, 0.5]]


def test_times_eight_brings_the_largest_probability_close_to_one():
    asked, _, before, after = open_question("00", "times-eight", SoftmaxDial)
    assert asked.right == [1], "close to 1: neither the same nor eight times as large"
    assert before["multiplier"] == 1 and before["scores"].tolist() == [1.0, 0.5, 0.0]
    assert after["multiplier"] == 8 and after["probabilities"].max() > 0.97

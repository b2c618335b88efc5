"""The claims of lesson 00, against data/results and the shipped translators."""

from __future__ import annotations

import re
from math import sqrt

import numpy as np
import pytest

from course_lib.results import runs
from course_lib.translation.shipped import shared
from lessons.l00_start_here.long_sentences import LONG_SENTENCE, long_pairs, percent_correct
from lessons.l00_start_here.softmax_dial import SCORES, softmax
from tests.lesson_claims import LessonText, all_splits, means, seeds

LESSON = LessonText("start_here")
WITHOUT = ("rnn_encoder_decoder", "seq2seq")
WITH = ("bahdanau", "transformer")
SYSTEMS = (*WITHOUT, *WITH)
ON_LONG = ("scores", "test", "by_length", "16–20", "exact")
PRONOUNS = ("scores", "coreference", "pronouns")


def translations(sentence: str) -> dict[str, str]:
    return {name: shared(name)(sentence).target for name in SYSTEMS}


def wilson(fraction: float, n: int, z: float = 2.6) -> tuple[float, float]:
    """The 99% confidence interval of a fraction of n sentences."""
    centre = fraction + z * z / (2 * n)
    margin = z * sqrt(fraction * (1 - fraction) / n + z * z / (4 * n * n))
    return (centre - margin) / (1 + z * z / n), (centre + margin) / (1 + z * z / n)


def test_the_long_sentence_is_a_test_sentence_that_only_the_systems_with_attention_translate():
    assert f"> {LONG_SENTENCE}\n" in LESSON.source
    [pair] = [pair for pair in long_pairs() if pair.src_text == LONG_SENTENCE]
    found = translations(LONG_SENTENCE)
    assert {name for name, target in found.items() if target == pair.tgt_text} == set(WITH)
    assert "la reine ne mange pas le pain" in found["rnn_encoder_decoder"]
    assert "les filles tristes boivent le lait" in found["rnn_encoder_decoder"]
    assert "la reine avec les sacs ne le regarde pas et le lait est chaud" in found["seq2seq"]
    start = len("la femme cherche le pain et la reine")
    assert len({target[:start] for target in found.values()}) == 1, "they start well"


def test_all_four_have_about_400_000_parameters_and_are_good_at_short_sentences():
    sizes = [means("toy_ladder", "parameters")[name] for name in SYSTEMS]
    assert sizes == pytest.approx([400_000] * len(SYSTEMS), rel=0.03)
    short = means("toy_ladder", "scores", "test", "by_length", "1–5", "exact")
    assert min(short[name] for name in SYSTEMS) > 0.99


def test_neither_seeds_nor_sentences_explain_the_gap():
    counted = [run for run in runs("toy_ladder") if run["variant"] in SYSTEMS]
    [n] = {run["scores"]["test"]["by_length"]["16–20"]["n"] for run in counted}
    assert len(counted) == 3 * len(SYSTEMS) and n == len(long_pairs())
    without = [fraction for name in WITHOUT for fraction in seeds("toy_ladder", name, *ON_LONG)]
    having = [fraction for name in WITH for fraction in seeds("toy_ladder", name, *ON_LONG)]
    assert wilson(max(without), n)[1] + 0.4 < wilson(min(having), n)[0]


def test_the_estimate_is_measured_on_one_of_the_runs():
    measured = percent_correct(shared("seq2seq"))
    assert any(measured == pytest.approx(100 * exact) for exact in seeds("toy_ladder", "seq2seq", *ON_LONG))


def test_all_four_get_the_running_pair_right():
    thirsty = translations("The cat drank the water because it was thirsty.")
    cold = translations("The cat drank the water because it was cold.")
    assert set(thirsty.values()) == {"le chat a bu l' eau parce qu' il avait soif"}
    assert set(cold.values()) == {"le chat a bu l' eau parce qu' elle était froide"}


def test_pronouns_do_not_separate_systems_with_attention_from_those_without():
    one_vector, attention = (seeds("toy_ladder", name, *PRONOUNS) for name in (WITHOUT[0], WITH[0]))
    assert min(one_vector) > 0.9 and min(attention) < min(one_vector), "the runs overlap"


def test_the_translators_know_about_300_english_words_and_all_that_are_listed():
    known = {word for pair in all_splits().train for word in pair.src}
    assert 270 < len(known) < 330
    [listed] = re.findall(r"^boy .*", LESSON.source, re.MULTILINE)
    assert set(re.findall(r"[a-z]+", listed)) | {"hedgehog", "carrot", "because"} <= known


def test_the_worked_softmax():
    powers = np.exp(SCORES)
    assert [f"{power:.2f}" for power in powers] == ["2.72", "1.65", "1.00"]
    assert f"{powers.sum():.2f}" == "5.37"
    assert [f"{probability:.2f}" for probability in softmax(SCORES)] == ["0.51", "0.31", "0.19"]


def test_equal_scores_get_equal_probabilities():
    answer = LESSON.asked("number-question").answer
    assert softmax(np.full(3, 7.0)) == pytest.approx(answer, abs=1e-3)

"""The claims of lesson 00, against data/results and the shipped translators."""

from __future__ import annotations

import re
from math import sqrt

import numpy as np
import pytest

from course_lib.results import runs
from course_lib.translation.shipped import shared
from lessons.l00_start_here import long_sentences
from lessons.l00_start_here.long_sentences import count_live, long_pairs, picture_of
from lessons.l00_start_here.softmax_dial import SCORES, softmax
from lessons.l00_start_here.solutions import exact_match
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


def test_the_long_sentences_do_not_separate_the_two_without_attention():
    one, other = (seeds("toy_ladder", name, *ON_LONG) for name in WITHOUT)
    assert min(one) < max(other) and min(other) < max(one)


def test_the_dots_are_filled_by_the_learners_own_function(monkeypatch):
    class Shown:
        pictures = []
        update = pictures.append

    monkeypatch.setattr(long_sentences, "display", lambda picture, display_id: Shown)
    calls, before = [], runs("toy_ladder")

    def own(translations, references):
        calls.append(len(translations))
        return exact_match(translations, references)

    measured = count_live(own)()
    assert any(measured == pytest.approx(100 * exact) for exact in seeds("toy_ladder", "seq2seq", *ON_LONG))
    n, *_ = (run["scores"]["test"]["by_length"]["16–20"]["n"] for run in before)
    assert len(long_pairs()) == n == calls[-1] and set(calls[:-1]) == {1}
    assert f"{round(measured * n / 100)} right" in Shown.pictures[-1].alt
    assert len(Shown.pictures) == 2 * -(-n // long_sentences.AT_ONCE) + 1


def test_nothing_is_said_about_the_count_before_it_begins():
    said = f"has translated 0 of {len(long_pairs())} sentences"
    assert picture_of({"a": [], "b": []}).alt == f"a {said}; b {said}."


def test_the_forest_is_tired():
    shady, tired = (f"The cat sleeps in the forest because it is {end}." for end in ("shady", "tired"))
    assert set(translations(shady).values()) == {"le chat dort dans la forêt parce qu' elle est ombragée"}
    found = translations(tired)
    assert found.pop("seq2seq") == "le chat dort dans la forêt parce qu' elle est fatiguée"
    assert set(found.values()) == {"le chat dort dans la forêt parce qu' il est fatigué"}
    assert shady in LESSON.source


def test_pronouns_do_not_separate_systems_with_attention_from_those_without():
    one_vector, once, attention, _ = (seeds("toy_ladder", name, *PRONOUNS) for name in SYSTEMS)
    assert min(one_vector) > 0.9 and min(attention) < min(one_vector), "the runs overlap"
    assert max(attention) > max(one_vector) and min(once) > 0.8, "no clear difference, as the quiz asks"


def test_the_translators_know_about_300_english_words_and_all_that_are_listed():
    known = {word for pair in all_splits().train for word in pair.src}
    assert 270 < len(known) < 330
    [listed] = re.findall(r"^boy .*", LESSON.source, re.MULTILINE)
    assert set(re.findall(r"[a-z]+", listed)) <= known


def test_the_worked_softmax():
    powers = np.exp(SCORES)
    assert [f"{power:.2f}" for power in powers] == ["7.39", "2.72", "1.00"]
    assert f"{powers.sum():.2f}" == "11.11"
    assert [f"{probability:.2f}" for probability in softmax(SCORES)] == ["0.67", "0.24", "0.09"]


def test_equal_scores_get_equal_probabilities():
    answer = LESSON.asked("number-question").answer
    assert softmax(np.full(3, 7.0)) == pytest.approx(answer, abs=1e-3)

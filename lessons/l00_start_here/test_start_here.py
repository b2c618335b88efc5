"""The claims of lesson 00, against data/results and the shipped translators."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from course_lib.results import runs
from course_lib.runtime import data_path
from course_lib.translation.shipped import shared
from lessons.l00_start_here.softmax_dial import softmax
from tests.lesson_claims import LessonText, all_splits, means, numbers_of_right, seeds

LESSON = LessonText("start_here")
SYSTEMS = ("seq2seq", "bahdanau", "transformer")


def translations(sentence: str) -> dict[str, str]:
    return {name: shared(name)(sentence).target for name in SYSTEMS}


def test_attention_gets_more_pronouns_right_and_the_transformer_all():
    pronouns = means("toy_ladder", "scores", "coreference", "pronouns")
    assert pronouns["seq2seq"] < pronouns["bahdanau"] < pronouns["transformer"]
    assert min(seeds("toy_ladder", "transformer", "scores", "coreference", "pronouns")) > 0.995
    tested = [run for run in runs("toy_ladder") if run["variant"] in SYSTEMS]
    assert len(tested) == 3 * len(SYSTEMS), "three seeds each"
    assert len({run["scores"]["coreference"]["n"] for run in tested}) == 1, "all on the same sentences"


def test_the_three_systems_are_of_about_the_same_size():
    sizes = [means("toy_ladder", "parameters")[name] for name in SYSTEMS]
    assert max(sizes) < 1.1 * min(sizes)


def test_all_three_get_the_first_pair_right():
    thirsty = translations("the cat drank the water because it was thirsty")
    cold = translations("the cat drank the water because it was cold")
    assert all("qu' il avait soif" in target for target in thirsty.values())
    assert all("qu' elle était froide" in target for target in cold.values())


def test_only_the_system_of_2014_fails_on_the_cow_and_only_when_it_is_thirsty():
    pairs = json.loads(data_path("toy", "telling_pairs.json").read_text(encoding="utf-8"))
    pair = next(pair for pair in pairs if pair["src"].startswith("a cow"))
    wrong = {name for name, target in translations(pair["src"]).items() if target != pair["tgt"]}
    assert wrong == {"seq2seq"}
    assert "il a soif" in translations(pair["src"])["seq2seq"], "the milk is thirsty"
    assert set(translations(pair["twin"]["src"]).values()) == {pair["twin"]["tgt"]}


def test_the_translators_know_about_300_english_words_and_all_that_are_listed():
    known = {word for pair in all_splits().train for word in pair.src}
    assert 270 < len(known) < 330
    listed = re.search(r"</summary>(.*?)</details>", LESSON.source, re.DOTALL)[1]
    assert set(re.findall(r"[a-z]+", listed)) <= known


def test_equal_scores_get_equal_weights():
    answer = LESSON.asked("number-question").answer
    assert softmax(np.full(3, 7.0)) == pytest.approx(answer, abs=1e-3)


def test_the_third_weight_is_what_the_others_leave():
    assert numbers_of_right(LESSON.asked("first-question")) == pytest.approx([1 - 0.7 - 0.2])

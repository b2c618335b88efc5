"""Sentences in which *it* could be the weather: which ones, and the scores without them."""

from __future__ import annotations

import json
import re

from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.text.toy.generate import generate
from course_lib.text.toy.sense import could_mean_the_weather
from course_lib.text.toy.splits import TEST_SIZES, splits
from tools.experiments.ambiguous import exact, table_without, weather_sentences

WEATHER = re.compile(r"\bbecause it (is|was) (not )?(very )?hot\b")


def test_the_sentences_are_those_that_give_heat_as_a_reason():
    """Found by the annotation of the pronoun, they are the same as by the words."""
    toy = splits(sizes=TEST_SIZES)
    pairs = [*toy.coreference, *toy.test, *toy.long, *toy.validation, *generate(2000, seed=1)]
    found = {pair.src_text for pair in pairs if could_mean_the_weather(pair)}
    assert found == {pair.src_text for pair in pairs if WEATHER.search(pair.src_text)} and len(found) > 9
    assert sum(weather_sentences()) == 9 and not any(weather_sentences()[:2])  # not the running pair


def test_no_telling_pair_and_no_lesson_shows_such_a_sentence():
    stored = json.loads(data_path("toy", "telling_pairs.json").read_text(encoding="utf-8"))
    texts = [text for pair in stored for text in (pair["src"], pair["twin"]["src"])]
    for pattern in ("*.py", "quiz.json"):
        texts += [path.read_text(encoding="utf-8") for path in (PROJECT_ROOT / "lessons").rglob(pattern)]
    assert len(texts) > 100 and not any(WEATHER.search(text.lower()) for text in texts)


def test_the_table_counts_the_sentences_that_are_kept():
    runs = [{"variant": "made up", "scores": {"coreference": {"right": right}}} for right in ("1110", "1010")]
    table = table_without({"runs": runs}, [False, True, False, False])
    assert table.splitlines()[-1] == "| made up | 2 | 62.5 | 66.7 | 50.0 |"
    assert exact("0110", [False, True, True, False]) == 1

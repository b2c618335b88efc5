"""The list of misconceptions is whole, short and plain."""

from __future__ import annotations

import json

from course_lib.runtime import data_path
from course_lib.teaching.lessons import lessons
from course_lib.teaching.misconceptions import misconceptions


def test_there_are_48_in_order_and_none_twice():
    rows = json.loads(data_path("misconceptions.json").read_text(encoding="utf-8"))
    assert [row["id"] for row in rows] == [f"M{number:02d}" for number in range(1, 49)]
    assert len({row["belief"] for row in rows}) == len({row["truth"] for row in rows}) == 48


def test_each_is_a_short_sentence_of_plain_text():
    for entry in misconceptions().values():
        assert 20 <= len(entry.belief) <= 110, entry.id
        assert 40 <= len(entry.truth) <= 220, entry.id
        for text in (entry.belief, entry.truth):
            assert text == text.strip(), entry.id
            assert text.endswith("."), entry.id
            assert not set("$<>`\\") & set(text), entry.id  # it is printed on the command line too


def test_each_belongs_to_a_lesson():
    topics = {lesson.topic for lesson in lessons()}
    assert {entry.lesson for entry in misconceptions().values()} <= topics

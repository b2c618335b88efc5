"""The progress card of lesson 00."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from course_lib.teaching import progress, progress_summary
from course_lib.teaching.lessons import lesson
from course_lib.teaching.misconceptions import misconceptions
from course_lib.teaching.progress import Progress
from course_lib.teaching.summary import summary_html, summary_text


@pytest.fixture
def two_lessons(monkeypatch):
    monkeypatch.setattr(
        "course_lib.teaching.lessons.Lesson.built", property(lambda one: one.number in ("00", "08"))
    )


def text_of(page: str) -> str:
    parser = HTMLParser()
    found: list[str] = []
    parser.handle_data = found.append
    parser.feed(page)
    return " ".join(found)


def test_what_a_new_learner_sees_is_the_same_every_time(two_lessons):
    progress.record({"kind": "lesson", "lesson": "start_here"})
    bundle, again = progress_summary()._repr_mimebundle_(), progress_summary()._repr_mimebundle_()
    assert bundle["text/html"] == again["text/html"]
    coming = f"Next: 00 · Start here ({lesson('start_here').minutes} minutes)"
    assert bundle["text/plain"] == f"Your progress\n… 00 · Start here · exercises 0 of 1\n{coming}"
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert " id=" not in bundle["text/html"] and "0x" not in bundle["text/html"]


def test_what_a_new_learner_sees_does_not_change_when_lessons_are_added(two_lessons, monkeypatch):
    before = summary_html(Progress()), summary_text(Progress())
    monkeypatch.setattr("course_lib.teaching.lessons.Lesson.built", property(lambda one: True))
    monkeypatch.setattr("course_lib.teaching.progress.BY_LESSON", {})
    assert (summary_html(Progress()), summary_text(Progress())) == before


def test_the_card_shows_lessons_counts_what_is_next_and_misconceptions(two_lessons):
    known = Progress(
        (
            {"kind": "exercise", "lesson": "start_here", "name": "double_it", "status": "passed"},
            {"kind": "quiz", "lesson": "query_key_value", "name": "a", "first_try": True, "correct": True},
            {
                "kind": "exercise",
                "lesson": "query_key_value",
                "name": "x",
                "status": "wrong",
                "misconception": "M06",
            },
        ),
        notes=("Your file <was> damaged.",),
    )
    text = text_of(summary_html(known))
    for part in (
        "1 of 20 lessons",
        "18 · The museum",
        "exercises 1 of 1",
        "quiz 1 of 1 at the first try",
        "Next: 08 · Query, key, value (",
        "M06 · met once",
        "In truth: ",
        misconceptions()["M06"].truth[:40],
        "Your file <was> damaged.",
    ):
        assert part in text
    plain = summary_text(known)
    assert "✓ 00 · Start here · exercises 1 of 1" in plain and "M06 " in plain


def test_the_button_brings_it_up_to_date(two_lessons):
    summary = progress_summary()
    page, button = summary.children
    assert "exercises 1 of 1" not in page.value
    progress.record({"kind": "exercise", "lesson": "start_here", "name": "double_it", "status": "passed"})
    button.click()
    assert "exercises 1 of 1" in page.value
    assert "✓ 00 · Start here" in repr(summary)


def test_a_broken_disk_does_not_break_the_card(course_home):
    course_home.parent.mkdir(exist_ok=True)
    course_home.write_text("a file stands where the folder should be")
    assert "Your progress" in repr(progress_summary())

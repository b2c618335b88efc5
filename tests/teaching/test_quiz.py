"""The quiz widget: what it records, how votes go, what recall draws on, and its still form."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.teaching import progress
from course_lib.teaching.questions import Question, read
from course_lib.teaching.quiz import DISCUSS, Quiz, quiz, recalled

MODULE = sys.modules["course_lib.teaching.quiz"]  # the package has a function of that name
SAMPLE = Path(__file__).parent / "samples" / "quiz.json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
NASTY = "<script>alert('x')</script> & \"quotes\" <img src=x onerror=alert(1)>"


def closing(path: Path = SAMPLE) -> list[Question]:
    return [one for one in read(path).values() if one.use == "closing"]


@pytest.fixture
def events(monkeypatch):
    noted: list[dict] = []
    monkeypatch.setattr(progress, "record", noted.append)
    return noted


@pytest.fixture
def sample(events) -> Quiz:
    return Quiz("08", "closing", closing())


def from_page(widget: Quiz, **message) -> dict:
    """What arrives when the page has sent an answer, and what it is told."""
    widget._handle_custom_msg(message, [])
    return widget.states.get(message.get("question"), {})


def test_the_first_try_counts_and_every_try_is_recorded(sample, events):
    assert not sample.answer("sample-single", 0).correct
    assert sample.answer("sample-single", 1).correct
    shared = {"kind": "quiz", "lesson": "query_key_value", "name": "sample-single"}
    assert events == [
        {**shared, "first_try": True, "correct": False, "answer": 0, "misconception": "M06"},
        {**shared, "first_try": False, "correct": True, "answer": 1},
    ]
    assert sample.score == (0, 3)
    sample.answer("sample-number", 0.25)
    assert sample.score == (1, 3)


def test_the_page_is_told_what_it_shows(sample, events):
    wrong = from_page(sample, question="sample-single", answer=0)
    assert (wrong["tries"], wrong["correct"], wrong["first"], wrong["others"]) == (1, False, False, [])
    assert wrong["remarks"][0]["html"] == "Softmax subtracts the <em>largest</em> score."
    right = from_page(sample, question="sample-single", answer=1)
    assert (right["tries"], right["correct"], right["first"], len(right["others"])) == (2, True, False, 2)
    assert right["asked"] > wrong["asked"]
    assert from_page(sample, question="sample-number", answer="1/4")["correct"]
    assert len(events) == 3


def test_what_is_right_is_not_sent_before_it_is_asked(sample):
    sent = json.dumps(sample.payload)
    assert "correct" not in sent and "Softmax subtracts" not in sent and "0.25" not in sent
    single = sample.payload["questions"][0]
    assert [option["letter"] for option in single["options"]] == ["A", "B", "C"]
    assert sorted(option["place"] for option in single["options"]) == [0, 1, 2]
    assert "<msqrt>" in single["text"]


@pytest.mark.parametrize(
    ("message", "note"),
    [
        ({"question": "sample-number", "answer": "8,000"}, "Is that 8000 or 8.000?"),
        ({"question": "sample-number", "answer": "x" * 10**6}, "too long"),
        ({"question": "sample-single", "answer": None}, "Choose an answer first."),
        ({"question": "sample-several", "answer": []}, "Tick at least one answer first."),
    ],
)
def test_what_cannot_be_read_is_asked_for_and_not_counted(sample, events, message, note):
    before = from_page(sample, **message)
    assert note in before["note"] and before["tries"] == 0
    assert from_page(sample, **message)["asked"] > before["asked"]  # said again, so that the page hears it
    assert events == [] and not sample.tries[message["question"]]


def test_messages_that_make_no_sense_are_passed_over(sample, events):
    for content in ({}, {"question": "why"}, "text", None):
        sample._handle_custom_msg(content, [])
    assert events == [] and sample.states == {}
    with pytest.raises(ValueError, match=r"No question 'why' here.*sample-single"):
        sample.answer("why", 0)


def test_it_is_kept_in_the_learners_progress():
    Quiz("08", "closing", closing()).answer("sample-number", 0.25)
    assert "quiz 1 of 1 at the first try" in progress.read().lesson("query_key_value").counts


def test_in_a_classroom_the_first_vote_tells_nothing_and_both_are_recorded(events):
    room = Quiz("08", "closing", closing(), classroom=True)
    first = room.answer("sample-single", 0)
    assert first.correct is None and first.remarks[0].text.endswith(DISCUSS)
    told = room.states["sample-single"]
    assert (told["correct"], told["first"], told["others"]) == (None, None, [])
    assert "Softmax" not in json.dumps(told)
    assert room.answer("sample-single", 1).correct is True
    single = room.questions["sample-single"]
    assert room.states["sample-single"]["votes"] == [single.letter(0), single.letter(1)]
    assert [(e["vote"], e["answer"], e["first_try"], e["correct"]) for e in events] == [
        (1, 0, True, False),
        (2, 1, False, True),
    ]


def test_the_classroom_switch_is_read(monkeypatch):
    assert quiz("08", "closing").payload["classroom"] is False
    monkeypatch.setenv("COURSE_CLASSROOM", "1")
    assert quiz("08", "closing").payload["classroom"] is True
    assert quiz("08", "closing", classroom=False).payload["classroom"] is False


# ---- recall


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """Lessons 05 and 07 leave questions for later; 08 has one of its own; 04 has a quiz."""
    single = read(SAMPLE)["sample-single"]

    def asked(number: str, *uses: str) -> dict[str, Question]:
        made = [replace(single, id=f"{use}-{number}-{i}", use=use) for i, use in enumerate(uses)]
        return {one.id: one for one in made}

    by_lesson = {
        "04": asked("04", "closing"),
        "05": asked("05", "later", "later"),
        "07": asked("07", "closing", "later", "later", "later"),
        "08": asked("08", "recall", "closing"),
    }
    paths = {number: tmp_path / f"{number}_x" / "quiz.json" for number in by_lesson}
    monkeypatch.setattr(MODULE, "files", lambda: [paths[number] for number in by_lesson])
    monkeypatch.setattr(MODULE, "questions", by_lesson.__getitem__)
    return by_lesson


def test_recall_draws_on_the_last_lesson_and_on_three_lessons_back(made_up):
    assert [one.id for one in recalled("08")] == ["later-07-1", "later-07-2", "later-05-1"]


def test_where_those_lessons_are_missing_its_own_questions_stand_in(made_up):
    del made_up["07"], made_up["05"]
    assert [one.id for one in recalled("08")] == ["recall-08-0"]


def test_recall_asks_again_what_went_wrong_and_was_not_put_right(made_up):
    for name, correct in (("closing-04-0", False), ("closing-07-0", False), ("closing-07-0", True)):
        progress.record({"kind": "quiz", "lesson": "x", "name": name, "correct": correct})
    progress.record({"kind": "quiz", "lesson": "x", "name": "closing-08-1", "correct": False})  # of today
    assert [one.id for one in recalled("08")][3:] == ["closing-04-0"]
    Quiz("08", "recall", recalled("08")).answer("closing-04-0", 1)
    assert len(recalled("08")) == 3


def test_an_answer_in_recall_is_practice_and_not_a_first_try(events):
    Quiz("08", "recall", closing()).answer("sample-number", 0.25)
    assert events[0]["first_try"] is False and events[0]["correct"] is True


# ---- standing still


def test_beside_the_live_view_there_is_a_still_form_that_never_changes(sample):
    data, _ = sample._repr_mimebundle_()
    again, _ = Quiz("08", "closing", closing())._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", WIDGET_VIEW}
    assert data["text/plain"] == repr(sample) == "Quiz('08', 'closing', 3 questions)"
    assert data["text/html"] == again["text/html"]
    sample.answer("sample-single", 1)
    assert sample._repr_mimebundle_()[0]["text/html"] == data["text/html"]


def test_the_still_form_holds_every_option_and_folds_the_feedback(sample):
    page = sample._repr_mimebundle_()[0]["text/html"]
    assert page.count("<details>") == 3
    for question in sample.questions.values():
        for option in question.options:
            assert f"<li>{option.text}</li>" in page
    open_part = page[: page.index("<details>")]
    assert "✓" not in open_part and "Yes, a spread near $1$." not in open_part
    assert "Yes, a spread near $1$." in page and "0.25 of $1$ · ✓ right" in page
    assert r"$\sqrt{d_k}$" in page  # LaTeX: JupyterLab strips MathML from a notebook it does not trust
    assert "Read again: Why the root" in page


def nasty(tmp_path: Path) -> Path:
    data = json.loads(SAMPLE.read_text(encoding="utf-8"))
    for raw in data["questions"]:
        for part in (raw, *raw.get("options", []), *raw.get("near", [])):
            for field in ("text", "feedback", "wrong_feedback", "reread"):
                if field in part:
                    part[field] += NASTY
    path = tmp_path / "nasty.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_every_text_is_escaped_in_the_still_form_and_in_what_the_page_sets(tmp_path, events):
    widget = Quiz("08", "closing", closing(nasty(tmp_path)))
    page = widget._repr_mimebundle_()[0]["text/html"]
    parts = [part for q in widget.questions.values() for part in (q, *q.options, *q.near)]
    fields = ("text", "feedback", "wrong_feedback", "reread")
    written = [getattr(part, field, "") for part in parts for field in fields]
    assert page.count("&lt;script&gt;") == sum(text.endswith(NASTY) for text in written)
    for name, answer in (("sample-single", 1), ("sample-several", [1]), ("sample-number", 7)):
        widget.answer(name, answer)
    rereads = [question.pop("reread") for question in widget.payload["questions"]]  # set as text
    assert NASTY in rereads[0]
    for text in (page, json.dumps(widget.payload), json.dumps(widget.states)):
        assert "<script" not in text and "<img" not in text

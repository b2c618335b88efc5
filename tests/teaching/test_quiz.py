"""The quiz widget: what it records, how votes go, and its still form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from course_lib.teaching import progress
from course_lib.teaching.quiz import DISCUSS, Quiz, quiz
from course_lib.teaching.quiz_data import read

SAMPLE = Path(__file__).parent / "samples" / "quiz.json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
NASTY = "<script>alert('x')</script> & \"quotes\" <img src=x onerror=alert(1)>"


@pytest.fixture
def events(monkeypatch):
    noted: list[dict] = []
    monkeypatch.setattr(progress, "record", noted.append)
    return noted


@pytest.fixture
def sample(events) -> Quiz:
    return Quiz("08", "closing", read(SAMPLE))


def from_page(widget: Quiz, answers: dict) -> None:
    """What arrives when the page has changed the trait."""
    widget.set_state({"answers": answers})


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


def test_answers_from_the_page_are_recorded_once_each(sample, events):
    from_page(sample, {"sample-several": [[1]]})
    from_page(sample, {"sample-several": [[1], [0, 2]], "sample-number": [1]})
    from_page(sample, {"sample-several": [[1], [0, 2]], "sample-number": [1]})
    told = [(event["name"], event["answer"], event["first_try"], event["correct"]) for event in events]
    assert told == [
        ("sample-several", [1], True, False),
        ("sample-several", [0, 2], False, True),
        ("sample-number", 1.0, True, False),
    ]
    assert [event.get("misconception") for event in events] == ["M11", None, "M12"]


def test_two_tries_in_one_message_are_both_recorded(sample, events):
    from_page(sample, {"sample-single": [2, 1]})
    assert [(event["answer"], event["first_try"]) for event in events] == [(2, True), (1, False)]


def test_it_is_kept_in_the_learners_progress():
    Quiz("08", "closing", read(SAMPLE)).answer("sample-number", 0.25)
    assert progress.read().lesson("query_key_value").quiz_right == 1


def test_an_unknown_question_and_an_impossible_answer_are_refused(sample, events):
    with pytest.raises(ValueError, match=r"No question 'why' here.*sample-single"):
        sample.answer("why", 0)
    with pytest.raises(ValueError, match="wants one option, 0 to 2, got 7"):
        sample.answer("sample-single", 7)
    assert events == []


def test_in_a_classroom_the_first_vote_tells_nothing_and_both_are_recorded(events):
    room = Quiz("08", "closing", read(SAMPLE), classroom=True)
    first = room.answer("sample-single", 0)
    assert first.correct is None
    assert [remark.text for remark in first.remarks] == [DISCUSS]
    assert str(first) == f"○ Vote noted · sample-single\n{DISCUSS}"
    second = room.answer("sample-single", 1)
    assert second.correct is True
    assert room.votes == {"sample-single": [0, 1]}
    assert [(e["vote"], e["answer"], e["first_try"], e["correct"]) for e in events] == [
        (1, 0, True, False),
        (2, 1, False, True),
    ]


def test_the_classroom_switch_is_read(monkeypatch):
    assert quiz("08", "closing").payload["classroom"] is False
    monkeypatch.setenv("COURSE_CLASSROOM", "1")
    assert quiz("08", "closing").payload["classroom"] is True
    assert quiz("08", "closing", classroom=False).payload["classroom"] is False


def test_it_has_a_name_without_an_address(sample):
    assert repr(sample) == "Quiz('08', 'closing', 3 questions)"
    assert repr(Quiz("08", "recall", read(SAMPLE))) == "Quiz('08', 'recall', 1 question)"


def test_what_is_sent_to_the_page_is_plain_json(sample):
    json.dumps(sample.payload)
    single = sample.payload["questions"][0]
    assert [option["letter"] for option in single["options"]] == ["A", "B", "C"]
    assert sorted(option["place"] for option in single["options"]) == [0, 1, 2]
    assert "<msqrt>" in single["text"]


# -- standing still --------------------------------------------------------------------------------------


def test_beside_the_live_view_there_is_a_still_form_that_never_changes(sample):
    data, _ = sample._repr_mimebundle_()
    again, _ = Quiz("08", "closing", read(SAMPLE))._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", WIDGET_VIEW}
    assert data["text/plain"] == repr(sample)
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
    assert "✓" not in open_part
    assert "Yes, a spread near $1$." not in open_part
    assert "Yes, a spread near $1$." in page
    assert "0.25 of $1$ · ✓ right" in page
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


def every_text(widget: Quiz) -> list[str]:
    parts = [part for q in widget.questions.values() for part in (q, *q.options, *q.near)]
    fields = ("text", "feedback", "wrong_feedback", "reread")
    return [getattr(part, field, "") for part in parts for field in fields]


def test_every_text_is_escaped_in_the_still_form_and_in_what_the_page_sets(tmp_path):
    widget = Quiz("08", "closing", read(nasty(tmp_path)))
    page = widget._repr_mimebundle_()[0]["text/html"]
    assert page.count("&lt;script&gt;") == sum(text.endswith(NASTY) for text in every_text(widget))
    rereads = [question.pop("reread", "") for question in widget.payload["questions"]]  # set as text
    assert NASTY in rereads[0]
    for text in (page, json.dumps(widget.payload)):
        assert "<script" not in text
        assert "<img" not in text

"""An export contains results only, belongs to one learner, and replaces nothing else."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib import __version__
from course_lib.teaching import check, explain, progress, quiz
from course_lib.teaching.contents import lessons, misconceptions
from course_lib.teaching.questions.question import questions
from tools.class_view.export import FIELDS, LARGEST, export_progress, read_export, without_texts
from tools.cli.environment import CommandError

SECRET = "a secret text"


@pytest.fixture
def worked():
    """A learner who did one thing of every kind."""
    progress.record({"kind": "lesson", "lesson": "query_key_value", "track": "short"})
    check("double_it", lambda numbers: numbers**2)
    check("double_it", lambda numbers: 2 * numbers)
    card = quiz("08", "closing")
    for name in list(card.questions)[:1]:
        card.answer(name, 0 if card.questions[name].kind == "single" else [0])
    explain("02", "forgets-or-cannot-learn").compare(SECRET)
    about = {"lesson": "query_key_value", "name": "some"}
    progress.record({"kind": "prediction", **about, "guess": SECRET, "correct": False})
    progress.record({"kind": "goal", **about})
    progress.record({"kind": "claim", "says": SECRET, "prediction": {"x": SECRET}})
    progress.record({"kind": "quiz", **about, "answer": SECRET, "misconception": SECRET, "correct": SECRET})


def test_an_export_is_read_back_as_it_was_made(worked, tmp_path):
    path, content = export_progress(tmp_path, " Ada  L. ")
    export = read_export(path)
    assert path == tmp_path / f"progress-{export.learner}.json" and re.fullmatch(
        "[0-9a-f]{8}", export.learner
    )
    assert (export.name, export.course, export.progress.track) == ("Ada L.", __version__, "short")
    assert export.exported == datetime.fromisoformat(content["exported"])
    own = progress.read()
    for topic in ("start_here", "query_key_value"):
        here, there = own.lesson(topic), export.progress.lesson(topic)
        assert (here.complete, here.counts[0]) == (there.complete, there.counts[0])
    assert export.progress.misconceptions == own.misconceptions
    statuses = [event.get("status") for event in export.progress.events if event["kind"] == "exercise"]
    assert statuses == ["wrong", "passed"]


def test_every_string_of_an_export_is_the_courses_own(worked, tmp_path):
    """So there is no free text, code, time of work, path, or name of a person or machine."""
    path, content = export_progress(tmp_path, "")
    events = content.pop("events")
    assert {event["kind"] for event in events} == set(FIELDS) - {"estimate"}
    strings = {value for event in events for value in event.values() if isinstance(value, str)}
    topics, exercises = {lesson.topic for lesson in lessons()}, {"double_it"}
    ids = {*questions("08"), *misconceptions(), "some", ""}
    assert strings <= {*FIELDS, *topics, *exercises, *ids, "passed", "wrong"}
    assert SECRET not in path.read_text(encoding="utf-8") and content.pop("exported")
    about = {"format": "attention-course progress", "version": 1, "course": __version__, "track": "short"}
    assert content == {**about, "learner": read_export(path).learner, "name": ""}


some_text = st.one_of(st.text("abc <>/", max_size=9), st.sampled_from(["passed", "M07", "1", "true"]))


@settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # of a busy machine
)
@given(
    st.dictionaries(
        st.sampled_from(["at", "text", "guess", "says", "code", "status", *FIELDS["quiz"]]), some_text
    ),
    st.sampled_from([*FIELDS, "explanation", "claim", "track"]),
)
def test_no_text_in_any_field_of_an_event_is_exported(fields, kind):
    event = {**fields, "kind": kind, "lesson": "masks", "name": "x"}
    kept = without_texts(event)
    assert (kept is None) == (kind not in FIELDS)
    if kept:
        texts = [value for key, value in kept.items() if key not in ("kind", "lesson", "name")]
        assert set(texts) <= {"passed", "M07"}


@pytest.mark.parametrize(
    "odd", [{}, {"kind": ["x"]}, {"kind": "goal", "lesson": ["masks"]}, {"kind": "goal", "lesson": "gone"}]
)
def test_an_event_that_this_version_does_not_know_is_left_out(odd):
    assert without_texts(odd) is None
    assert without_texts({"kind": "goal", "lesson": "masks", "name": ["x"], **odd}) is None


def test_a_later_export_has_the_same_id_and_replaces_the_earlier_one(worked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, _ = export_progress(".", "Ada")
    n_events = len(progress.read().events)
    check("double_it", lambda numbers: 2 * numbers)
    second, content = export_progress(".", "")
    assert first == second and len(list(tmp_path.glob("*.json"))) == 1
    assert read_export(tmp_path / first).name == ""
    assert len(progress.read().events) == n_events + 1, "the id is stored once"
    progress.delete()
    progress.record({"kind": "lesson", "lesson": "masks"})
    assert export_progress(".", "")[1]["learner"] != content["learner"]


def test_a_stored_id_that_goes_on_after_its_digits_is_not_used(worked, tmp_path):
    progress.record({"kind": "learner", "id": "01234567/../../elsewhere"})
    path, content = export_progress(tmp_path, "")
    assert path.parent == tmp_path and re.fullmatch("[0-9a-f]{8}", content["learner"])
    assert "elsewhere" not in path.name


@pytest.mark.parametrize("kind", ["text", "other json", "another learner", "damaged", "pipe", "link"])
def test_an_existing_file_that_is_not_an_export_of_this_learner_is_not_replaced(
    worked, tmp_path, write_export, kind
):
    path = tmp_path / "mine.json"
    contents = {"text": "Dear diary", "other json": "[1]", "damaged": '{"format": "attention-course pro'}
    if kind in contents:
        path.write_text(contents[kind])
    elif kind == "another learner":
        path = write_export("00000000")
    elif kind == "link":
        path.symlink_to("nowhere")
    elif hasattr(os, "mkfifo"):
        os.mkfifo(path)
    else:
        pytest.skip("needs pipes with names")
    before = path.read_bytes() if path.is_file() else None
    events = progress.read().events
    with pytest.raises(CommandError, match=re.escape(str(path))):
        export_progress(path, "")
    assert before is None or path.read_bytes() == before
    assert progress.read().events == events, "not even an id was stored"


def test_without_results_there_is_nothing_to_export(tmp_path):
    progress.record({"kind": "track", "track": "short"})
    with pytest.raises(CommandError, match="no progress to export"):
        export_progress(tmp_path, "")
    assert list(tmp_path.glob("*.json")) == []


# ---- files from elsewhere


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "another format"},
        {"version": "1"},
        {"version": 0},
        {"learner": 7},
        {"learner": ""},
        {"name": None},
        {"exported": "yesterday"},
        {"exported": 5},
        {"events": {}},
        {"events": [1]},
        {"track": None},
    ],
)
def test_a_damaged_export_is_recognised(write_export, changes):
    with pytest.raises(ValueError, match="damaged"):
        read_export(write_export("a", **changes))


def test_a_file_of_a_newer_version_says_so(write_export):
    with pytest.raises(ValueError, match="newer version"):
        read_export(write_export("a", version=2, learner=["changed"]))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"])
def test_a_file_that_is_no_json_is_not_an_export(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ValueError, match="isn't a progress export"):
        read_export(tmp_path / "x.json")


def test_an_enormous_file_is_not_read(tmp_path):
    with (tmp_path / "x.json").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(ValueError, match="larger than"):
        read_export(tmp_path / "x.json")


def test_a_byte_order_mark_does_no_harm_and_names_are_one_printable_line(write_export):
    path = write_export("a", name="x\n\x1b[31m \ud800\u202ey" + "z" * 100)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    name = read_export(path).name
    assert name.startswith("x �[31m ��yz") and len(name) == 60
    assert json.dumps(name).isascii() and name.encode()


def test_every_lesson_of_the_course_can_be_exported():
    for lesson in lessons():
        event = {"kind": "lesson", "lesson": lesson.topic, "track": "full", "at": "now"}
        assert without_texts(event) == {"kind": "lesson", "lesson": lesson.topic, "name": ""}

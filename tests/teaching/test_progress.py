"""The learner's progress: a file that nothing spoils, what follows from it, and how a lesson opens."""

from __future__ import annotations

import errno
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import numpy as np
import pytest
import torch
from matplotlib import rcParams

from course_lib import theme
from course_lib.explore import SoftmaxDial
from course_lib.explore.base import Explorable
from course_lib.teaching import event_log, progress, progress_summary, start_lesson
from course_lib.teaching.exercises import BY_LESSON
from course_lib.teaching.lessons import lesson, lessons, misconceptions
from course_lib.teaching.progress import Progress
from course_lib.teaching.summary import summary_html

TOPIC = "query_key_value"
GOOD = b'{"kind": "lesson", "lesson": "start_here"}\n'
EVENT = {"kind": "lesson", "lesson": "start_here"}


@pytest.fixture(autouse=True)
def nothing_said_before(monkeypatch):
    progress.say_once.cache_clear()
    for hook in ("reached", "remembered"):  # a lesson puts its own functions there
        monkeypatch.setattr(Explorable, hook, staticmethod(getattr(Explorable, hook)))


@pytest.fixture
def file(course_home):
    course_home.mkdir()
    return course_home / "progress.jsonl"


# ---- the file: several writers, half lines, rubbish, no disk

WRITER = """
import pathlib, runpy, sys
event_log = runpy.run_path(sys.argv[1])  # the file alone: seconds saved
path, name = pathlib.Path(sys.argv[2]), sys.argv[3]
for number in range(30):
    event_log["append"](path, {"writer": name, "number": number})
    if number % 10 == 9:  # like a power cut: the next writer begins a new line
        with event_log["locked"](path), path.open("ab") as file:
            file.write(b'\\n{"half a line')
"""


@pytest.mark.slow
def test_processes_and_threads_writing_at_once_lose_nothing(file):
    command = [sys.executable, "-c", WRITER, event_log.__file__, str(file)]
    writers = [subprocess.Popen([*command, name]) for name in ("one", "two")]

    def write(name):
        for number in range(30):
            event_log.append(file, {"writer": name, "number": number})

    while not file.exists() and all(writer.poll() is None for writer in writers):
        time.sleep(0.01)
    with ThreadPoolExecutor() as threads:
        list(threads.map(write, ("three", "four")))
    assert [writer.wait() for writer in writers] == [0, 0]
    events = event_log.read(file)[0]
    for name in ("one", "two", "three", "four"):
        assert [event["number"] for event in events if event["writer"] == name] == list(range(30))


@pytest.mark.parametrize(
    ("content", "n_good", "n_bad"),
    [
        (GOOD + b'{"kind": "exer', 1, 1),
        (b"\x00" * 300 + b"\n" + GOOD, 1, 1),
        (GOOD + b"\xff\xfe garbage \xc3\n" + GOOD, 2, 1),
        (b"3\n[]\nnull\n" + GOOD, 1, 3),
        ("not json at all\n".encode("utf-16"), 0, 2),
        (b"[" * 100_000 + b"\n" + GOOD, 1, 1),
        (b"", 0, 0),
        (b"\n\n", 0, 0),
        (GOOD[:-1], 1, 0),  # what an editor does to line ends is no damage
        (GOOD.replace(b"\n", b"\r\n"), 1, 0),
        (b"\xef\xbb\xbf" + GOOD, 1, 0),
    ],
)
def test_spoilt_lines_are_passed_over_told_and_left_as_they_are(file, content, n_good, n_bad):
    file.write_bytes(content)
    assert event_log.read(file) == ((EVENT,) * n_good, n_bad)
    told = f"Lines of your progress file that cannot be read, and are passed over: {n_bad}."
    assert progress.read().notes == ((told,) if n_bad else ())
    event_log.append(file, EVENT)
    assert event_log.read(file) == ((EVENT,) * (n_good + 1), n_bad)
    assert file.read_bytes().startswith(content)


@pytest.mark.parametrize(
    "trouble", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("No home.")]
)
def test_without_a_disk_the_lesson_goes_on_and_it_is_said_once(file, monkeypatch, capsys, trouble):
    def fails(*_):
        raise trouble

    file.write_bytes(GOOD)
    for name in ("append", "read", "locked"):
        monkeypatch.setattr(event_log, name, fails)
    progress.record(EVENT)
    progress.record(EVENT)
    said = capsys.readouterr().out
    assert said.count("Your progress cannot be saved: No") == 1 and "COURSE_HOME" in said
    assert progress.read().notes[0].startswith("Your progress cannot be read: No")
    assert progress.delete().startswith("Your progress could not be deleted: No")


def test_a_lock_that_somebody_holds_and_a_folder_that_cannot_be_made(file, monkeypatch, capsys):
    monkeypatch.setattr(event_log, "LONGEST_WAIT", 0.1)
    with event_log.FileLock(file.with_suffix(".lock")):
        progress.record(EVENT)
        progress.record(EVENT)
    assert capsys.readouterr().out.count("Your progress cannot be saved") == 1 and not file.exists()
    progress.record({**EVENT, "guess": set, "é": "√"})  # it is free again; odd values are written as text
    (event,) = progress.read().events
    assert event.pop("at").endswith("+00:00") and event == {**EVENT, "guess": "<class 'set'>", "é": "√"}
    assert progress.delete() == "Your progress is deleted." and progress.read() == Progress()
    assert progress.delete() == "There was no progress to delete."
    file.write_text("x")
    monkeypatch.setenv("COURSE_HOME", str(file))  # a file stands where the folder should be
    progress.record(EVENT)
    assert "Your progress cannot be saved" in capsys.readouterr().out
    assert progress.read().events == () and progress.delete() and repr(progress_summary())


# ---- what follows from the events


def event(kind, name, lesson=TOPIC, **more):
    return {"kind": kind, "lesson": lesson, "name": name, **more}


def exercise(name, status="passed", **more):
    return event("exercise", name, status=status, **more)


def quiz(name, correct, first_try=True, **more):
    return event("quiz", name, correct=correct, first_try=first_try, **more)


def known(*events) -> Progress:
    return Progress(tuple(events))


WRONG, GUESS = exercise("soft_lookup", "wrong"), event("prediction", "x", guess=1)


TRIED = [quiz("a", False), quiz("a", True, False), quiz("a", True), quiz("b", True), quiz("d", True, False)]


@pytest.mark.parametrize(
    ("events", "counts"),
    [
        ([WRONG], []),
        ([WRONG, exercise("soft_lookup"), WRONG, exercise("gone")], []),  # passed stays passed
        ([event("goal", "Lab/wide"), event("goal", "Lab/wide")], ["goals 1"]),
        ([event("explanation", "x", text="So.")], ["explanations 1"]),
        ([event("estimate", "x", correct=True)], ["estimates within 2 × 1 of 1"]),
        ([{**GUESS, "correct": False}, {**GUESS, "correct": True}], ["predictions 0 of 1"]),
        (TRIED, ["quiz 1 of 2 at the first try"]),
    ],
)
def test_what_is_counted(events, counts):
    found = known(*events).lesson(TOPIC)
    passed = sum(one == exercise("soft_lookup") for one in events)
    assert found.opened and list(found.counts) == [f"exercises {passed} of 5", *counts]


def test_goals_and_misses_are_worked_out():
    tries = [quiz("a", False), quiz("b", False), quiz("a", True), quiz("c", True)]
    told = known(event("goal", "Lab/wide"), *tries)
    assert told.goals("Lab") == {"wide"} and told.goals("Other") == set()
    assert told.missed == ("b",)


def test_a_lesson_is_complete_without_its_stretch_exercises_and_then_the_next_one_comes():
    assert not any(one.opened or one.complete for one in Progress().lessons)
    core = [exercise(one.name) for one in BY_LESSON[TOPIC] if not one.stretch]
    assert 0 < len(core) < len(BY_LESSON[TOPIC])
    assert not known(*core[1:]).lesson(TOPIC).complete
    assert known(*core).lesson(TOPIC).complete
    assert known(*core).next_lesson.topic == "start_here"
    all_of_it = [exercise(one.name, lesson=topic) for topic, group in BY_LESSON.items() for one in group]
    assert known(exercise("double_it", lesson="start_here")).next_lesson.number == "01"
    assert known(*all_of_it).next_lesson is None and "finished every lesson" in known(*all_of_it).text


def test_misconceptions_are_counted_and_put_right_by_a_later_answer_to_the_same_question():
    wrong = [quiz("a", False, misconception="M10"), exercise("soft_lookup", "wrong", misconception="M10")]
    right = [quiz("a", True, first_try=False), exercise("soft_lookup")]
    for events, text in (
        (wrong, "met twice"),
        ([*wrong, right[0]], "met twice"),
        ([*wrong, *right], "met twice, since put right"),
        ([*wrong, *right, wrong[0]], "met 3 times"),
    ):
        (met,) = known(*events).misconceptions
        assert (met.known.id, met.times_text) == ("M10", text)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"kind": "of a later version", "lesson": TOPIC, "name": "x"},
        {"kind": "exercise"},
        {"kind": "exercise", "lesson": TOPIC, "name": ["a", "list"], "status": {"x": 1}},
        {"kind": ["?"], "lesson": {"a": 1}, "name": None, "misconception": ["M01"]},
        {"kind": "quiz", "lesson": "no such lesson", "name": 7, "correct": "yes", "first_try": 1, "new": "x"},
        {"kind": "quiz", "lesson": TOPIC, "name": 7, "correct": False, "misconception": "M99"},
    ],
)
def test_events_that_this_version_does_not_know_are_kept_and_do_no_harm(odd):
    progress.record(odd)
    progress.record(exercise("soft_lookup"))
    found = progress.read()
    assert found.events[0].items() >= odd.items()
    assert found.lesson(TOPIC).counts[0] == "exercises 1 of 5"
    assert found.text and summary_html(found)


# ---- what is told

TOLD = Progress(
    (
        exercise("double_it", lesson="start_here"),
        quiz("a", False, misconception="M10"),
        exercise("soft_lookup"),
    ),
    notes=("Your file <was> damaged.",),
)


def test_the_text_and_the_card_say_it_all(course_home):
    belief, truth, coming = misconceptions()["M10"].belief, misconceptions()["M10"].truth, lessons()[1]
    coming = f"Next: {coming.label} ({coming.minutes} minutes)"
    counts = "exercises 1 of 5 · quiz 0 of 1 at the first try"
    assert TOLD.text.splitlines() == [
        "Your file <was> damaged.",
        "Your progress",
        "✓ 00 · Start here · exercises 1 of 1",
        f"… 08 · Query, key, value · {counts}",
        coming,
        f"M10 (met once): in truth, {truth}",
    ]
    assert TOLD.report() == f"{TOLD.text}\n\nKept in {course_home / 'progress.jsonl'}, on this machine only."
    page, met = summary_html(TOLD), ("M10 · met once", f"“{belief}”", f"In truth: {truth}")
    for part in ("1 of 20 lessons", "18 · The museum", counts, coming, *met, "Your file <was> damaged."):
        assert part in unescape(page)
    assert "<was>" not in page


def test_the_card_is_stored_the_same_every_time_and_its_button_brings_it_up_to_date():
    summary, again = progress_summary(), progress_summary()._repr_mimebundle_()
    bundle = summary._repr_mimebundle_()
    assert bundle["text/html"] == again["text/html"] and bundle["text/plain"] == again["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert not any(text in bundle["text/html"] for text in (" id=", "0x", "exercises 0"))
    page, button = summary.children
    progress.record(exercise("double_it", lesson="start_here"))
    assert "exercises 1 of 1" not in page.value
    button.click()
    assert "exercises 1 of 1" in page.value and "✓ 00 · Start here" in repr(summary)


# ---- the tables, and the first call of each lesson


def test_the_table_holds_the_twenty_lessons_in_order():
    table = lessons()
    assert [one.number for one in table] == [f"{number:02}" for number in range(20)]
    assert len({one.topic for one in table}) == 20
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", one.topic) for one in table)
    assert all(one.question.endswith("?") and 20 <= one.minutes <= 120 for one in table)
    assert lesson("query_key_value").notebook == "08_query_key_value.ipynb"


def test_goals_reached_are_kept_and_remembered():
    start_lesson("start_here")
    dial = SoftmaxDial()
    assert not dial.ticked
    dial.multiplier = 8.0
    assert progress.read().goals("SoftmaxDial") == dial.ticked == {"sure"}
    assert "goals 1" in progress.read().lesson("start_here").counts
    assert SoftmaxDial().ticked == {"sure"}


def test_the_misconceptions_are_short_sentences_of_plain_text_and_none_comes_twice():
    known = misconceptions().values()
    assert list(misconceptions()) == [f"M{number:02d}" for number in range(1, 54)]
    assert len({one.belief for one in known}) == len({one.truth for one in known}) == 53
    assert {one.lesson for one in known} | set(BY_LESSON) <= {one.topic for one in lessons()}
    for one in known:
        assert 20 <= len(one.belief) <= 110 and 40 <= len(one.truth) <= 220, one.id
        for text in (one.belief, one.truth):  # it is printed on the command line too
            assert text.strip().endswith(".") and text == text.strip() and not set("$<>`\\") & set(text), (
                one.id
            )


def test_opening_seeds_styles_and_records_and_prints_nothing(capsys):
    rcParams["lines.linewidth"] = 9
    numbers = []
    for _ in range(2):
        start_lesson("query_key_value", seed=8)
        numbers.append((torch.rand(1).item(), np.random.rand(), random.random()))
    assert numbers[0] == numbers[1]
    assert rcParams["lines.linewidth"] == theme.STYLE["lines.linewidth"]
    assert [event["lesson"] for event in progress.read().events] == ["query_key_value"] * 2
    assert progress.read().lesson("query_key_value").opened
    assert capsys.readouterr() == ("", "")


def test_opening_tells_of_a_damaged_file_once(course_home, capsys):
    course_home.mkdir()
    (course_home / "progress.jsonl").write_text("rubbish\n")
    start_lesson("start_here")
    start_lesson("start_here")
    assert capsys.readouterr().out.count("cannot be read, and are passed over: 1") == 1


def test_an_unknown_topic_is_an_error_that_helps():
    with pytest.raises(ValueError, match=r"No lesson is called 'query'\. There are: start_here, "):
        start_lesson("query")

"""The learner's progress: a file that nothing spoils, what follows from it, and how it is told."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from html import unescape

import pytest
from IPython.core.formatters import DisplayFormatter

from course_lib.teaching import progress, progress_summary
from course_lib.teaching.contents import lesson, lessons, misconceptions
from course_lib.teaching.exercises.catalogue import exercises_of, topics
from course_lib.teaching.progress import Progress, summary_html

TOPIC = "query_key_value"
GOOD = b'{"kind": "lesson", "lesson": "start_here"}\n'
EVENT = {"kind": "lesson", "lesson": "start_here"}


@pytest.fixture(autouse=True)
def nothing_said_before():
    progress.say_once.cache_clear()


@pytest.fixture
def file(course_home):
    course_home.mkdir()
    return course_home / "progress.jsonl"


# ---- the file: several writers, half lines, rubbish, no disk

WRITER = """
import sys
from course_lib.teaching import progress
for number in range(30):
    progress.record({"writer": sys.argv[1], "number": number})
    if number % 10 == 9:  # like a power cut: the next writer begins a new line
        with progress.locked(progress.progress_file()), progress.progress_file().open("ab") as file:
            file.write(b'\\n{"half a line')
"""


@pytest.mark.slow
def test_processes_writing_at_once_lose_nothing(file):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, name]) for name in ("one", "two", "three")]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    events = progress.read().events
    for name in ("one", "two", "three"):
        assert [event["number"] for event in events if event["writer"] == name] == list(range(30))


KILLED = """
import os, signal
from course_lib.teaching import progress
for number in range(3):
    progress.record({"number": number})
with progress.locked(progress.progress_file()), progress.progress_file().open("ab") as file:
    os.write(file.fileno(), b'\\n{"half a line')
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal")
def test_a_kill_in_the_middle_of_a_line_loses_nothing_before_it_and_hinders_nothing_after_it(file):
    killed = subprocess.run([sys.executable, "-c", KILLED])
    assert killed.returncode == -signal.SIGKILL
    progress.record({"number": 3})
    found = progress.read()
    assert [event["number"] for event in found.events] == [0, 1, 2, 3] and len(found.notes) == 1


@pytest.mark.parametrize(
    ("content", "n_good", "n_bad"),
    [
        (GOOD + b'{"kind": "exer', 1, 1),
        (b"\x00" * 300 + b"\n" + GOOD, 1, 1),
        (GOOD + b"\xff\xfe garbage \xc3\n" + GOOD, 2, 1),
        (b"3\n[]\nnull\n" + GOOD, 1, 3),
        ("not json at all\n".encode("utf-16"), 0, 2),
        (b"[" * 100_000 + b"\n" + GOOD, 1, 1),
        (GOOD[:-1], 1, 0),  # what an editor does to line ends is no damage
        (GOOD.replace(b"\n", b"\r\n"), 1, 0),
        (b"\xef\xbb\xbf" + GOOD, 1, 0),
    ],
)
def test_spoilt_lines_are_passed_over_told_and_left_as_they_are(file, content, n_good, n_bad):
    file.write_bytes(content)
    told = f"Lines of your progress file that cannot be read, and are passed over: {n_bad}."
    for n_more in (0, 1):
        found = progress.read()
        assert found.events[:n_good] == (EVENT,) * n_good and len(found.events) == n_good + n_more
        assert found.notes == ((told,) if n_bad else ())
        progress.record(EVENT)
    assert file.read_bytes().startswith(content)


@pytest.mark.parametrize(
    "trouble", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("No home.")]
)
def test_without_a_disk_the_lesson_goes_on_and_it_is_said_once(monkeypatch, capsys, trouble):
    def fails():
        raise trouble

    monkeypatch.setattr(progress, "progress_file", fails)
    progress.record(EVENT)
    progress.record(EVENT)
    said = capsys.readouterr().out
    assert said.count("Your progress cannot be saved: No") == 1 and "COURSE_HOME" in said
    assert progress.read().notes[0].startswith("Your progress cannot be read: No")
    assert progress.delete().startswith("Your progress could not be deleted: No")


def test_a_lock_that_somebody_holds_and_a_folder_that_cannot_be_made(file, monkeypatch, capsys):
    monkeypatch.setattr(progress, "LONGEST_WAIT", 0.1)
    with progress.FileLock(file.with_suffix(".lock")):
        progress.record(EVENT)
    assert "Your progress cannot be saved" in capsys.readouterr().out and not file.exists()
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


def event(kind, name, **more):
    return {"kind": kind, "lesson": TOPIC, "name": name, **more}


def exercise(name, status="passed", **more):
    return event("exercise", name, status=status, **more)


def quiz(name, correct, first_try=True, **more):
    return event("quiz", name, correct=correct, first_try=first_try, **more)


def known(*events) -> Progress:
    return Progress(events)


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
    assert known(quiz("a", True), quiz("b", False), quiz("a", False)).missed == ("b", "a")


def test_a_lesson_is_complete_without_its_stretch_exercises_and_then_the_next_one_comes():
    assert not any(one.opened or one.complete for one in Progress().lessons)
    tracks = lesson(TOPIC).exercises
    core = [exercise(name) for name, track in tracks.items() if track == "core"]
    assert 0 < len(core) < len(tracks) == len(exercises_of(TOPIC))
    assert not known(*core[1:]).lesson(TOPIC).complete
    assert known(*core).lesson(TOPIC).complete
    assert known(*core).next_lesson.topic == "start_here"
    all_of_it = [exercise(name, lesson=topic) for name, topic in topics().items()]
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
        ([*wrong, *right, quiz("a", False)], "met twice, since put right"),
    ):
        (met,) = known(*events).misconceptions
        assert (met.known.id, met.times_text) == ("M10", text)


@pytest.mark.parametrize(
    "odd",
    [
        {},
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


def test_a_notebook_shows_the_card_which_is_the_same_every_time_and_brought_up_to_date_by_running_it():
    data, _ = DisplayFormatter().format(progress_summary())
    assert data == {"text/plain": progress.read().text, "text/html": summary_html(Progress())}
    assert not any(text in data["text/html"] for text in (" id=", "0x", "exercises 0"))
    progress.record(exercise("double_it", lesson="start_here"))
    assert "exercises 1 of 1" in progress_summary()._repr_html_()

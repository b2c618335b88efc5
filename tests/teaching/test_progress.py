"""The learner's progress: a file that survives everything, what follows from its events, and the summary."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from html import unescape
from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter

from course_lib.teaching import progress, progress_summary
from course_lib.teaching.contents import lesson, lessons, misconceptions
from course_lib.teaching.exercises.catalogue import exercise_topics, load_exercises
from course_lib.teaching.progress import Progress

TOPIC = "query_key_value"
GOOD = b'{"kind": "lesson", "lesson": "start_here"}\n'
EVENT = {"kind": "lesson", "lesson": "start_here"}


@pytest.fixture(autouse=True)
def no_note_printed_yet():
    progress.print_once.cache_clear()


@pytest.fixture
def file(course_home):
    course_home.mkdir()
    return course_home / "progress.jsonl"


# ---- the file: several writers, half lines, rubbish, no disk

WRITER = """
import io, pathlib, sys, time
from course_lib.teaching import progress

class InTwoParts(io.FileIO):  # like a network disk: without the lock, others write between the two
    def write(self, data):
        n_first = super().write(data[: len(data) // 2])
        time.sleep(0.001)
        return n_first + super().write(data[len(data) // 2 :])

pathlib.Path.open = lambda path, mode: io.BufferedWriter(InTwoParts(path, mode))
for number in range(200):
    progress.record({"writer": sys.argv[1], "number": number})
    if number % 50 == 49:  # like a power cut: the next writer begins a new line
        with progress.lock(progress.progress_file()), progress.progress_file().open("ab") as file:
            file.write(b'\\n{"half a line')
"""


@pytest.mark.slow
def test_processes_writing_at_once_lose_nothing(file):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, name]) for name in ("one", "two")]
    assert [writer.wait() for writer in writers] == [0, 0]
    learner = progress.read()
    for name in ("one", "two"):
        events = [event for event in learner.events if event["writer"] == name]
        assert [event["number"] for event in events] == list(range(200))
    (note,) = learner.notes
    assert note.endswith(": 8."), "the half lines, and no other"


@pytest.mark.slow
def test_a_writer_that_a_busy_machine_pauses_for_seconds_is_waited_for(file):
    held = progress.FileLock(file.with_suffix(".lock"), thread_local=False)
    held.acquire()
    release = threading.Timer(5, held.release)
    release.start()
    progress.record(EVENT)
    release.join()
    assert len(progress.read().events) == 1


KILLED = """
import os, signal
from course_lib.teaching import progress
for number in range(3):
    progress.record({"number": number})
with progress.lock(progress.progress_file()), progress.progress_file().open("ab") as file:
    os.write(file.fileno(), b'\\n{"half a line')
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal")
def test_a_kill_in_the_middle_of_a_line_loses_no_other_line(file):
    killed = subprocess.run([sys.executable, "-c", KILLED])
    assert killed.returncode == -signal.SIGKILL
    progress.record({"number": 3})
    learner = progress.read()
    assert [event["number"] for event in learner.events] == [0, 1, 2, 3] and len(learner.notes) == 1


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
def test_spoilt_lines_are_ignored_counted_and_left_as_they_are(file, content, n_good, n_bad):
    file.write_bytes(content)
    for n_more in (0, 1):
        learner = progress.read()
        assert learner.events[:n_good] == (EVENT,) * n_good and len(learner.events) == n_good + n_more
        assert [note.endswith(f": {n_bad}.") for note in learner.notes] == [True] * bool(n_bad)
        progress.record(EVENT)
    assert file.read_bytes().startswith(content)


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(errno.ENOSPC, "No space left"), "No space left"), (RuntimeError("No home."), "No home.")],
)
def test_without_a_disk_the_lesson_goes_on_and_the_reason_is_printed_once(monkeypatch, capsys, error, reason):
    def fail():
        raise error

    monkeypatch.setattr(progress, "progress_file", fail)
    progress.record(EVENT)
    progress.record(EVENT)
    printed = capsys.readouterr().out
    assert printed.count(reason) == 1 and "COURSE_HOME" in printed
    assert reason in progress.read().notes[0] and reason in progress.delete()


def test_a_lock_that_another_process_holds_and_a_folder_that_cannot_be_made(file, monkeypatch, capsys):
    monkeypatch.setattr(progress, "LONGEST_WAIT", 0.1)
    with progress.FileLock(file.with_suffix(".lock")):
        progress.record(EVENT)
    printed = capsys.readouterr().out
    assert all(part in printed for part in ("COURSE_HOME", str(file.with_suffix(".lock")), "0.1 seconds"))
    assert not file.exists()
    progress.record({**EVENT, "guess": set, "é": "√"})  # it is free again; odd values are written as text
    (event,) = progress.read().events
    assert event.pop("at").endswith("+00:00") and event == {**EVENT, "guess": "<class 'set'>", "é": "√"}
    deleted = progress.delete()
    assert progress.read() == Progress() and not file.exists()
    assert progress.delete() != deleted, "there was nothing to delete"
    file.write_text("x")
    monkeypatch.setenv("COURSE_HOME", str(file))  # a file stands where the folder should be
    progress.record(EVENT)
    assert "COURSE_HOME" in capsys.readouterr().out
    assert progress.read().events == () and progress.delete() and repr(progress_summary())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_a_full_disk_is_named(file, capsys):
    file.symlink_to("/dev/full")
    progress.record(EVENT)
    assert f"{os.strerror(errno.ENOSPC)} ({file})" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="links need a special right on Windows")
def test_progress_behind_a_link_is_written_and_deleted_there_and_the_link_stays(file, tmp_path):
    target = tmp_path / "elsewhere.jsonl"
    file.symlink_to(target)
    for _ in range(2):
        progress.record(EVENT)
        assert len(progress.read().events) == 1 and b"start_here" in target.read_bytes()
        assert str(file) in progress.delete()
        assert file.is_symlink() and not target.exists()


# ---- what follows from the events


def event(kind, name, **more):
    return {"kind": kind, "lesson": TOPIC, "name": name, **more}


def exercise(name, status="passed", **more):
    return event("exercise", name, status=status, **more)


def quiz(name, correct, first_try=True, **more):
    return event("quiz", name, correct=correct, first_try=first_try, **more)


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
    row = Progress(tuple(events)).lesson(TOPIC)
    n_passed = events.count(exercise("soft_lookup"))
    assert row.opened and list(row.counts) == [f"exercises {n_passed} of 3", *counts]


def test_goals_and_missed_questions_are_found():
    tries = (quiz("a", False), quiz("b", False), quiz("a", True), quiz("c", True))
    learner = Progress((event("goal", "Lab/wide"), *tries))
    assert learner.goals("Lab") == {"wide"} and learner.goals("Other") == set()
    assert learner.missed == ("b",)
    assert Progress((quiz("a", True), quiz("b", False), quiz("a", False))).missed == ("b", "a")


def test_a_lesson_is_complete_without_its_stretch_exercises_and_then_the_next_one_comes():
    assert not any(row.opened or row.complete for row in Progress().lessons)
    tracks = lesson(TOPIC).exercises
    core = tuple(exercise(name) for name, track in tracks.items() if track != "stretch")
    assert 0 < len(core) < len(tracks) == len(load_exercises(TOPIC))
    assert not Progress(core[1:]).lesson(TOPIC).complete
    assert Progress(core).lesson(TOPIC).complete
    assert Progress(core).next_lesson.topic == "start_here"
    assert Progress((exercise("exact_match", lesson="start_here"),)).next_lesson.number == "01"
    finished = Progress(tuple(exercise(name, lesson=topic) for name, topic in exercise_topics().items()))
    assert finished.next_lesson is None and str(finished)


def test_misconceptions_are_counted_and_put_right_by_a_later_answer_to_the_same_question():
    wrong = [quiz("a", False, misconception="M10"), exercise("soft_lookup", "wrong", misconception="M10")]
    right = [quiz("a", True, first_try=False), exercise("soft_lookup")]
    for events, text in (
        (wrong, "shown twice"),
        ([*wrong, right[0]], "shown twice"),
        ([*wrong, *right], "shown twice, corrected since"),
        ([*wrong, *right, wrong[0]], "shown 3 times"),
        ([*wrong, *right, quiz("a", False)], "shown twice, corrected since"),
    ):
        (shown,) = Progress(tuple(events)).misconceptions
        assert (shown.misconception.id, shown.times_text) == ("M10", text)


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
    learner = progress.read()
    assert learner.events[0].items() >= odd.items()
    assert learner.lesson(TOPIC).counts[0] == "exercises 1 of 3"
    assert str(learner) and learner._repr_html_()


# ---- the summary

LEARNER = Progress(
    (
        exercise("exact_match", lesson="start_here"),
        quiz("a", False, misconception="M10"),
        exercise("soft_lookup"),
    ),
    notes=("Your file <was> damaged.",),
)


def test_the_text_and_the_card_have_every_part(course_home):
    belief, truth = misconceptions()["M10"].belief, misconceptions()["M10"].truth
    opened, counts = lesson(TOPIC).label, LEARNER.lesson(TOPIC).counts
    note, title, complete, begun, coming, shown = str(LEARNER).splitlines()
    assert note == "Your file <was> damaged." and title
    assert complete.startswith(f"✓ {lessons()[0].label} · ") and begun.startswith(f"… {opened} · ")
    assert all(count in begun for count in counts) and counts[1].startswith("quiz 0 of 1")
    assert lessons()[1].label in coming and f"({lessons()[1].minutes} minutes)" in coming
    assert shown.startswith("M10 ") and shown.endswith(truth)
    assert str(course_home / "progress.jsonl") in LEARNER.report()
    page = LEARNER._repr_html_()
    for part in (
        f"1 of {len(lessons())} lessons",
        lessons()[18].label,
        *counts,
        coming,
        "M10",
        belief,
        truth,
        note,
    ):
        assert part in unescape(page)
    assert "<was>" not in page


def test_a_notebook_shows_the_card_and_running_the_cell_again_updates_it():
    data, _ = DisplayFormatter().format(progress_summary())
    assert data == {"text/plain": str(progress.read()), "text/html": Progress()._repr_html_()}
    assert not any(text in data["text/html"] for text in (" id=", "0x", "exercises 0"))
    progress.record(exercise("exact_match", lesson="start_here"))
    assert "exercises 1 of 1" in progress_summary()._repr_html_()

"""The progress file: several writers, half lines, rubbish, no disk. Nothing is lost and nothing raises."""

from __future__ import annotations

import errno
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from course_lib.teaching import event_log, progress, progress_summary

GOOD = b'{"kind": "lesson", "lesson": "start_here"}\n'
EVENT = {"kind": "lesson", "lesson": "start_here"}

WRITER = """
import pathlib, runpy, sys
event_log = runpy.run_path(sys.argv[1])  # the file alone: seconds saved
path, name = pathlib.Path(sys.argv[2]), sys.argv[3]
for number in range(60):
    event_log["append"](path, {"writer": name, "number": number})
    if number % 10 == 9:  # like a power cut: the next writer begins a new line
        with event_log["locked"](path), path.open("ab") as file:
            file.write(b'\\n{"half a line')
"""


@pytest.fixture(autouse=True)
def nothing_said_before():
    progress.say_once.cache_clear()


@pytest.fixture
def file(course_home):
    course_home.mkdir()
    return course_home / "progress.jsonl"


@pytest.mark.slow
def test_processes_and_threads_writing_at_once_lose_nothing(file):
    command = [sys.executable, "-c", WRITER, event_log.__file__, str(file)]
    writers = [subprocess.Popen([*command, name]) for name in ("one", "two")]

    def write(name):
        for number in range(60):
            event_log.append(file, {"writer": name, "number": number})

    while not file.exists() and all(writer.poll() is None for writer in writers):
        time.sleep(0.01)
    with ThreadPoolExecutor() as threads:
        list(threads.map(write, ("three", "four")))
    assert [writer.wait() for writer in writers] == [0, 0]
    events = event_log.read(file).events
    for name in ("one", "two", "three", "four"):
        assert [event["number"] for event in events if event["writer"] == name] == list(range(60))


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
    monkeypatch.setattr(event_log, "LONGEST_WAIT", 1.0)
    with event_log.FileLock(file.with_suffix(".lock")):
        start = time.monotonic()
        for _ in range(20):
            progress.record(EVENT)
        assert time.monotonic() - start < 10, "it is waited for once, not at every click"
    assert capsys.readouterr().out.count("Your progress cannot be saved") == 1 and not file.exists()
    progress.record(EVENT)  # it is free again
    assert len(progress.read().events) == 1
    monkeypatch.setenv("COURSE_HOME", str(file))  # a file stands where the folder should be
    progress.record(EVENT)
    assert "Your progress cannot be saved" in capsys.readouterr().out
    assert progress.read().events == () and progress.delete() and repr(progress_summary())


def test_odd_values_are_written_as_text(file):
    event_log.append(file, {"guess": set, "é": "√"})
    assert event_log.read(file).events == ({"guess": "<class 'set'>", "é": "√"},)
    assert "√" in file.read_text(encoding="utf-8")

"""The progress file: several writers, half lines, rubbish, no disk. Nothing is lost and nothing raises."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import time

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import event_log, progress

GOOD = b'{"kind": "lesson", "lesson": "start_here"}\n'
EVENT = {"kind": "lesson", "lesson": "start_here"}

WRITER = """
import importlib.util, pathlib, sys, types
sys.modules |= {"torch": types.ModuleType("torch"), "numpy": types.ModuleType("numpy")}  # seconds saved
spec = importlib.util.spec_from_file_location("event_log", sys.argv[1])
event_log = sys.modules["event_log"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(event_log)
path, name = pathlib.Path(sys.argv[2]), sys.argv[3]
for number in range(60):
    event_log.append(path, {"writer": name, "number": number})
    if number % 10 == 9:  # like a power cut: the next writer begins a new line
        with event_log.FileLock(path.with_suffix(".lock")), path.open("ab") as file:
            file.write(b'{"half a line')
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
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    command = [sys.executable, "-c", WRITER, event_log.__file__, str(file)]
    writers = [subprocess.Popen([*command, name], env=environment) for name in ("one", "two")]

    def write(name):
        for number in range(60):
            event_log.append(file, {"writer": name, "number": number})

    threads = [threading.Thread(target=write, args=(name,)) for name in ("three", "four")]
    while not file.exists() and all(writer.poll() is None for writer in writers):
        time.sleep(0.01)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
    ],
)
def test_spoilt_lines_are_passed_over_told_and_left_as_they_are(file, content, n_good, n_bad):
    file.write_bytes(content)
    assert event_log.read(file) == event_log.Log((EVENT,) * n_good, n_bad)
    assert progress.read().notes == (
        f"Lines of your progress file that cannot be read, and are passed over: {n_bad}.",
    )
    event_log.append(file, EVENT)
    assert event_log.read(file) == event_log.Log((EVENT,) * (n_good + 1), n_bad)
    assert file.read_bytes().startswith(content)


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", GOOD[:-1], GOOD.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + GOOD]
)
def test_what_an_editor_does_to_line_ends_is_no_damage(file, content):
    file.write_bytes(content)
    event_log.append(file, {"kind": "new"})
    log = event_log.read(file)
    assert log.events == (*([EVENT] if b"kind" in content else []), {"kind": "new"})
    assert not log.n_spoilt


def test_ten_thousand_events_stay_quick(file):
    file.write_bytes(GOOD * 10_000)
    start = time.process_time()
    for _ in range(10):
        event_log.append(file, EVENT)
    assert (time.process_time() - start) / 10 < 0.1
    start = time.process_time()
    found = progress.read()
    assert len(found.events) == 10_010 and found.report()
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "trouble", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("No home.")]
)
def test_without_a_disk_the_lesson_goes_on_and_it_is_said_once(monkeypatch, capsys, trouble):
    def fails(*_):
        raise trouble

    monkeypatch.setattr(event_log, "append", fails)
    monkeypatch.setattr(event_log, "read", fails)
    monkeypatch.setattr(event_log, "delete", fails)
    progress.record(EVENT)
    progress.record(EVENT)
    said = capsys.readouterr().out
    assert said.count("Your progress cannot be saved: No") == 1 and "COURSE_HOME" in said
    assert progress.read().notes[0].startswith("Your progress cannot be read: No")
    assert progress.delete().startswith("Your progress could not be deleted: No")


def test_a_lock_that_somebody_holds_is_waited_for_once(file, monkeypatch, capsys):
    monkeypatch.setattr(event_log, "LONGEST_WAIT", 0.5)
    with event_log.FileLock(file.with_suffix(".lock")):
        start = time.monotonic()
        for _ in range(5):
            progress.record(EVENT)
        assert time.monotonic() - start < 1.5
    assert capsys.readouterr().out.count("Your progress cannot be saved") == 1
    progress.record(EVENT)  # it is free again
    assert progress.read().events[0]["kind"] == "lesson"


def test_a_folder_that_cannot_be_made(course_home, capsys):
    course_home.parent.mkdir(exist_ok=True)
    course_home.write_text("a file stands where the folder should be")
    progress.record(EVENT)
    assert "Your progress cannot be saved" in capsys.readouterr().out
    assert progress.read().events == ()
    assert progress.delete()


def test_odd_values_are_written_as_text(file):
    event_log.append(file, {"guess": {1, 2}.__class__, "é": "√"})
    (event,) = event_log.read(file).events
    assert event == {"guess": "<class 'set'>", "é": "√"}
    assert json.loads(file.read_bytes()) == event

"""The memory and CPU time of a made-up lesson are measured correctly."""

from __future__ import annotations

import json
import sys

import pytest

from course_lib.runtime import data_path
from course_lib.teaching.contents import lessons
from tests.tools.authoring.made_up import TINY, MadeUpCourse
from tools.bench import hosting
from tools.cli import main
from tools.cli.environment import CommandError

ALLOCATES = """\
large = b"x" * 200_000_000
del large
kept = [*globals().get("kept", []), b"x" * 40_000_000]
"""
BURNS = """\
import subprocess, sys, time
from pathlib import Path

FULL = False
BURN = "import time\\nend = time.process_time() + {}\\nwhile time.process_time() < end: pass"
exec(BURN.format(3 if FULL else 1))
subprocess.run([sys.executable, "-c", BURN.format(0.6)], check=True)
Path(os.environ["COURSE_HOME"]).mkdir(exist_ok=True)
Path(os.environ["COURSE_HOME"], "file").write_bytes(b"x" * 5_000)
"""


@pytest.fixture
def costly(tmp_path):
    text = TINY.replace('print("seven:", 3 + 4)\n', ALLOCATES)
    text = text.replace('print(check("double_it"', f'{BURNS}print(check("double_it"')
    return MadeUpCourse(tmp_path / "project").draft(text)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_and_cpu_time_of_a_lesson_are_measured(costly, monkeypatch):
    meters, meter = [], hosting.KernelMeter
    monkeypatch.setattr(hosting, "KernelMeter", lambda: meters.append(meter()) or meters[-1])
    figures = hosting.measure_lesson(costly)
    first = meters[0].readings[0]
    assert first.kind == "setup" and first.memory["peak"] < 150
    assert 195 < figures["peak_mb"] - first.memory["peak"] < 245
    assert figures["largest_cell"] == {"kind": "see", "section": "One picture"}
    assert 35 < figures["own_mb"] - first.memory["own"] < 80
    assert figures["own_mb"] <= figures["pss_mb"] <= figures["own_mb"] + figures["files_mb"] + 1
    longest = figures["longest_cell"]
    assert longest["kind"] == "check" and 1.5 < longest["cpu_seconds"] < 2.5
    assert longest["cpu_seconds"] < figures["cpu_seconds"] - figures["start_cpu_seconds"] + 0.1
    assert 5_000 < figures["written_bytes"] < 100_000 and figures["notebook_bytes"] > 2_000
    # The second run keeps another 40 MB, and computes as much as the first one.
    assert 35 < figures["own_again_mb"] - figures["own_mb"] < 60
    assert 35 < figures["peak_again_mb"] - figures["peak_mb"] < 60
    assert 1.5 < figures["cpu_seconds_again"] < 2.8
    assert len(meters[0].readings) == 2 * 5


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_full_run_is_switched_on(costly):
    assert 3.5 < hosting.measure_full_run(costly)["longest_cell"]["cpu_seconds"] < 4.5


def test_the_switch_of_the_full_run_is_in_the_lesson():
    (lesson,) = (lesson for lesson in lessons() if lesson.number == hosting.FULL_RUN)
    source = hosting.PROJECT_ROOT / "lessons" / lesson.package.split(".")[1] / "lesson.py"
    assert source.read_text(encoding="utf-8").count(f"\n{hosting.SWITCH[0]} ") == 1


def test_wrong_uses_of_the_command_end_with_a_sentence(monkeypatch, capsys):
    assert main(["bench", "hosting", "42"]) == 1
    assert "Unknown lesson '42'" in capsys.readouterr().err
    monkeypatch.setattr(hosting.sys, "platform", "win32")
    with pytest.raises(CommandError, match="only on Linux, not on win32"):
        hosting.run([])


def test_a_row_of_the_table():
    figures = dict.fromkeys(("own_mb", "files_mb", "pss_mb", "cpu_seconds", "start_cpu_seconds"), 1)
    figures |= {"peak_mb": 400, "peak_again_mb": 415, "ms_per_move": None}
    row = hosting.row("06", figures | {"longest_cell": {"kind": "setup", "cpu_seconds": 5.1}})
    assert (
        row[:3] == ["06", "400", "+15"] and row[-2:] == ["–", "setup 5.1"] and len(row) == len(hosting.HEAD)
    )


def test_only_the_lessons_that_are_named_are_replaced_in_the_record(monkeypatch, tmp_path):
    path = tmp_path / "hosting.json"
    monkeypatch.setattr(hosting, "data_path", lambda *_: tmp_path)
    for names, figures, full_run in (
        ([], {"06": 1, "08": 2, "15": 3}, {"full_run": 4}),
        (["08"], {"08": 5}, {}),
    ):
        monkeypatch.setattr(
            hosting, "run", lambda _, figures=figures, full=full_run: {"lessons": figures} | full
        )
        hosting.store(names)
    assert json.loads(path.read_text()) == {"lessons": {"06": 1, "08": 5, "15": 3}, "full_run": 4}


def test_every_lesson_is_recorded():
    recorded = json.loads(data_path("results", "hosting.json").read_text(encoding="utf-8"))
    assert recorded["command"] == hosting.COMMAND and recorded["machine"]
    assert list(recorded["lessons"]) == [lesson.number for lesson in lessons()]
    for figures in [*recorded["lessons"].values(), recorded["full_run"]]:
        assert 250 < figures["own_mb"] <= figures["peak_mb"]
        assert 0 < figures["start_cpu_seconds"] < figures["cpu_seconds"]
        assert 0 < figures["longest_cell"]["cpu_seconds"] < figures["cpu_seconds"]

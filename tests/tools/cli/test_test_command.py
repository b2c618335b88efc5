"""`python3 -m course_lib test`: what is run, how results are counted, what the last line says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from argparse import Namespace

import nbformat
import pytest

from conftest import pytest_ignore_collect
from course_lib.runtime import PROJECT_ROOT
from tools.authoring.lesson import sources
from tools.authoring.source import LessonError
from tools.cli import test_command

SUITE = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}" /></testsuites>'


@pytest.fixture(autouse=True)
def reports(monkeypatch, tmp_path):
    monkeypatch.setattr(test_command, "REPORTS", tmp_path / "reports")
    (tmp_path / "reports").mkdir()
    return tmp_path / "reports"


@pytest.mark.parametrize(
    ("report", "code", "counts"),
    [
        (SUITE.format(5, 1, 1, 1), 1, (2, 2, 1)),
        (SUITE.format(1, 0, 0, 0), 0, (1, 0, 0)),
        (SUITE.format(1, 0, 0, 0), -9, (1, 1, 0)),
        (SUITE.format(0, 0, 0, 0), 5, (0, 1, 0)),
        ("<testsuites><tests", 2, (0, 1, 0)),
        (None, 0, (1, 0, 0)),  # a command without a report is one test
        (None, 3, (0, 1, 0)),
    ],
)
def test_a_nonzero_exit_code_is_a_failure_whatever_the_report_says(reports, report, code, counts):
    if report is not None:
        (reports / "x.xml").write_text(report, encoding="utf-8")
    assert test_command.count("x", code) == counts


@pytest.mark.parametrize(("codes", "expected"), [([0, 0], 0), ([1, 0], 1), ([0, 2], 1)])
def test_every_part_runs_and_one_failure_fails_the_command(monkeypatch, capfd, codes, expected):
    parts = [(f"s{code}", (sys.executable, "-c", f"exit({code})"), None) for code in codes]
    monkeypatch.setattr(test_command, "parts", lambda args, home: parts)
    assert test_command.run(Namespace(soak=False)) == expected
    printed = capfd.readouterr().out
    assert printed.count("==== s") == 3  # both parts and the summary
    assert printed.splitlines()[-1] == f"{codes.count(0)} passed, {2 - codes.count(0)} failed"


# ---- the parts


def parts_by_name(monkeypatch, home, chromium: str | None = "/bin/chromium", quick=False) -> dict[str, tuple]:
    monkeypatch.setattr("tests.browser.lab.chromium_path", lambda: chromium)
    monkeypatch.setattr(test_command, "notebooks", lambda folder: [folder / "solved" / "08.ipynb"])
    return {name: rest for name, *rest in test_command.parts(Namespace(quick=quick), home)}


def test_everything_is_run_in_this_order(monkeypatch, tmp_path):
    parts = parts_by_name(monkeypatch, tmp_path)
    assert list(parts) == ["style", "layout", "unit tests", "notebooks", "browser"]
    command, environment = parts["notebooks"]
    assert "loadscope" in command and "--nbval" in command  # strict: outputs are compared
    assert "COURSE_STRICT" not in environment and environment["OMP_NUM_THREADS"] == "1"
    command, _ = parts["browser"]
    tests = PROJECT_ROOT / "tests"
    marked = [
        path
        for path in tests.rglob("*.py")
        if "\npytestmark = pytest.mark.browser" in path.read_text("utf-8")
    ]
    assert "tests/browser" in command and {path.parent.name for path in marked} == {"browser"}
    assert len({environment["COURSE_HOME"] for _, environment in list(parts.values())[2:]}) == 3


def test_quick_runs_style_and_quick_unit_tests(monkeypatch, tmp_path):
    assert list(parts_by_name(monkeypatch, tmp_path, quick=True)) == ["style", "layout", "unit tests"]


def test_quick_does_not_even_load_what_takes_long(monkeypatch, tmp_path):
    for quick in (True, False):
        command, _ = parts_by_name(monkeypatch, tmp_path, quick=quick)["unit tests"]
        config = Namespace(option=Namespace(markexpr=command[command.index("-m", 3) + 1]))
        for path, ignored in (("lessons/l08_query_key_value", quick), ("tests/layers", False)):
            assert bool(pytest_ignore_collect(PROJECT_ROOT / path, config)) == ignored


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_a_missing_browser_is_reported_and_fails_in_ci(monkeypatch, tmp_path, ci, code):
    monkeypatch.setenv("CI", ci)
    command, _ = parts_by_name(monkeypatch, tmp_path, chromium=None)["browser"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "CHROMIUM" in done.stdout and done.returncode == (code if sys.platform == "linux" else 0)


@pytest.mark.parametrize("browser", ["/usr/bin/chromium", None])
def test_nbval_runs_every_edition_of_every_lesson(reports, monkeypatch, browser):
    """The learner's edition only if the browser tests don't run it."""
    monkeypatch.setattr("tests.browser.lab.chromium_path", lambda: browser)
    paths = test_command.notebooks(reports)
    lessons = {source.parent.name[1:] for source in sources(PROJECT_ROOT)}
    stored = PROJECT_ROOT / "notebooks"
    forms = ("short", "solved")
    for folder in (*(reports / form for form in forms), *([] if browser else [stored])):
        assert {path.stem for path in paths if path.parent == folder} == lessons
    assert len(paths) == (2 if browser else 3) * len(lessons)


def test_a_lesson_that_cannot_be_built_is_reported_and_the_others_are_run(monkeypatch, reports, capsys):
    def broken(*_):
        raise LessonError(12, "unbalanced marker")

    monkeypatch.setattr("tools.authoring.build.draft", broken)
    monkeypatch.setattr("tests.browser.lab.chromium_path", lambda: None)
    assert len(test_command.notebooks(reports)) == 2 * len(sources(PROJECT_ROOT))
    assert "08_query_key_value/lesson.py:12: unbalanced marker\n" in capsys.readouterr().err


SETTING = """import os
names = ("COURSE_STRICT", "COURSE_OPEN", "ATEN_CPU_CAPABILITY")
print(*map(os.environ.get, names), os.environ["COURSE_HOME"][-{}:])"""


@pytest.mark.slow
def test_a_notebook_gets_the_settings_of_its_form_and_a_difference_is_shown(monkeypatch, tmp_path):
    """One after another in one process, so that each form could affect the next; the last one differs."""
    outputs = {
        "solved/08": "1 1 None",
        "another_cpu/00": "None None default",
        "learner/00": "None None None",
        "learner/08": "a sum",
    }
    for name, setting in outputs.items():
        cell = nbformat.v4.new_code_cell(SETTING.format(len(name)), execution_count=1)
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=f"{setting} {name}\n")]
        (tmp_path / name).parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / f"{name}.ipynb")
    paths = [tmp_path / f"{name}.ipynb" for name in outputs]
    monkeypatch.setattr(test_command, "notebooks", lambda folder: paths)
    parts = {name: rest for name, *rest in test_command.parts(Namespace(quick=False), tmp_path)}
    command, environment = parts["notebooks"]
    ran = subprocess.run([*command, "-n0"], cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    for part in ("learner/08.ipynb", "import os", "a sum learner/08", "1 failed, 3 passed"):
        assert part in ran.stdout, ran.stdout


# ---- the long run

FOUND = """
import time
import pytest
from hypothesis import strategies as st

@pytest.mark.soak(weight=1)
def test_numbers(soak):
    def divide(number):
        assert number != 5, "five"
        100 / (number - 3)
    soak.search(divide, target=900, number=st.integers(0, 9))

@pytest.mark.soak(weight=1)
def test_waiting(soak):
    soak.search(lambda seconds: time.sleep(seconds), target=9, limit=0.05, seconds=st.sampled_from([0, 9]))

@pytest.mark.soak(weight=1)
def test_each_case(soak):
    soak.each([2, 3, 4], lambda number: None)
"""
FOREVER = """
import time
import pytest

@pytest.mark.soak(weight=1)
def test_forever(soak):
    soak.each(range(10**6), lambda number: time.sleep(0.01))
"""


@pytest.fixture
def soak_folder(tmp_path, monkeypatch):
    """The harness of the long run, with other parts."""
    shutil.copy(PROJECT_ROOT / "tests" / "soak" / "conftest.py", tmp_path / "conftest.py")
    monkeypatch.setattr(test_command, "SOAK", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    return tmp_path


@pytest.mark.slow
def test_the_long_run_reports_each_failure_once_with_its_smallest_example(soak_folder, reports, capfd):
    (soak_folder / "test_parts.py").write_text(FOUND, encoding="utf-8")
    assert test_command.run(Namespace(soak=True, minutes=0.2, seed=7)) == 1
    rows = {path.stem: json.loads(path.read_text()) for path in reports.glob("*.json")}
    numbers, waiting, each_case = (rows[f"test_{name}"] for name in ("numbers", "waiting", "each_case"))
    assert all(row["finished"] for row in rows.values()) and numbers["cases"] > 10
    assert sorted(text.split()[0] for text in numbers["failures"]) == ["AssertionError", "ZeroDivisionError"]
    assert any("number=5" in text for text in numbers["failures"])
    assert waiting["failures"][0].startswith("TimeoutError") and "seconds=9" in waiting["failures"][0]
    assert (each_case["cases"], each_case["failures"]) == (3, [])
    printed = capfd.readouterr().out
    assert "The seed is 7" in printed and "| each case | 3 | 0 |" in printed and "number=3" in printed


@pytest.mark.slow
def test_ctrl_c_prints_the_table_of_what_ran(soak_folder, reports):
    (soak_folder / "test_parts.py").write_text(FOREVER, encoding="utf-8")
    program = (
        "import sys; from argparse import Namespace; from pathlib import Path;"
        "from tools.cli import test_command;"
        "test_command.SOAK, test_command.REPORTS = map(Path, sys.argv[1:]);"
        "sys.exit(test_command.run(Namespace(soak=True, minutes=9, seed=7)))"
    )
    command = [sys.executable, "-c", program, str(soak_folder), str(reports)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    while not (reports / "test_forever.json").exists() and process.poll() is None:
        time.sleep(0.1)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "| forever (not finished) |" in printed


@pytest.mark.slow
def test_other_runs_do_not_load_the_long_run(monkeypatch, tmp_path):
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:nbval", "tests/soak"]
    ran = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert "no tests" in ran.stdout and ran.returncode == 5, ran.stdout
    unit_tests, _ = parts_by_name(monkeypatch, tmp_path)["unit tests"]
    assert f"not ({test_command.OTHER_RUNS})" in unit_tests

"""`python3 -m course_lib test`: what is run, how results are counted, what the last line says."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace

import nbformat
import pytest

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
    assert test_command.run(Namespace()) == expected
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
    quick = parts_by_name(monkeypatch, tmp_path, quick=True)
    assert list(quick) == ["style", "layout", "unit tests"]
    assert "not browser and not slow" in quick["unit tests"][0]


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_a_missing_browser_is_reported_and_fails_in_ci(monkeypatch, tmp_path, ci, code):
    monkeypatch.setenv("CI", ci)
    command, _ = parts_by_name(monkeypatch, tmp_path, chromium=None)["browser"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "CHROMIUM" in done.stdout and done.returncode == (code if sys.platform == "linux" else 0)


@pytest.mark.parametrize("browser", ["/usr/bin/chromium", None])
def test_nbval_runs_every_edition_of_every_lesson(reports, monkeypatch, browser):
    """The learner's edition runs as on another CPU, and on this CPU unless the browser tests do that."""
    monkeypatch.setattr("tests.browser.lab.chromium_path", lambda: browser)
    paths = test_command.notebooks(reports)
    lessons = {source.parent.name[1:] for source in sources(PROJECT_ROOT)}
    stored = PROJECT_ROOT / "notebooks"
    forms = ("another_cpu", "short", "solved")
    for folder in (*(reports / form for form in forms), *([] if browser else [stored])):
        assert {path.stem for path in paths if path.parent == folder} == lessons
    assert len(paths) == (3 if browser else 4) * len(lessons)


def test_a_lesson_that_cannot_be_built_is_reported_and_the_others_are_run(monkeypatch, reports, capsys):
    def broken(*_):
        raise LessonError(12, "unbalanced marker")

    monkeypatch.setattr("tools.authoring.build.draft", broken)
    monkeypatch.setattr("tests.browser.lab.chromium_path", lambda: None)
    assert len(test_command.notebooks(reports)) == 3 * len(sources(PROJECT_ROOT))
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

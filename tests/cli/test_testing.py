"""`python3 -m course_lib test`: what is run, how its end is counted, what the last line says."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace

import nbformat
import pytest

from course_lib.authoring.source import LessonError, sources
from course_lib.cli import testing
from course_lib.runtime import PROJECT_ROOT

SUITE = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}" /></testsuites>'


@pytest.fixture(autouse=True)
def reports(monkeypatch, tmp_path):
    monkeypatch.setattr(testing, "REPORTS", tmp_path / "reports")
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
def test_what_ended_badly_has_failed_whatever_its_report_says(reports, report, code, counts):
    if report is not None:
        (reports / "x.xml").write_text(report, encoding="utf-8")
    assert testing.count("x", code) == counts


@pytest.mark.parametrize(("codes", "expected"), [([0, 0], 0), ([1, 0], 1), ([0, 2], 1)])
def test_every_part_runs_and_one_failure_is_enough(monkeypatch, capfd, codes, expected):
    each = [(f"s{code}", ((sys.executable, "-c", f"exit({code})"), None)) for code in codes]
    monkeypatch.setattr(testing, "parts", lambda args, home: each)
    assert testing.run(Namespace()) == expected
    printed = capfd.readouterr().out
    assert printed.count("==== s") == 3  # both parts and the summary
    assert printed.splitlines()[-1] == f"{codes.count(0)} passed, {2 - codes.count(0)} failed"


# ---- what is run


def those(monkeypatch, home, chromium: str | None = "/bin/chromium", **asked) -> dict[str, testing.Command]:
    monkeypatch.setattr("tests.browser.lab.chromium_path", lambda: chromium)
    monkeypatch.setattr(testing, "notebooks", lambda folder: [folder / "solved" / "08.ipynb"])
    return dict(testing.parts(Namespace(**{"quick": False, "k": None} | asked), home))


def test_everything_is_run_in_this_order(monkeypatch, tmp_path):
    every = those(monkeypatch, tmp_path)
    assert list(every) == ["style", "layout", "unit tests", "notebooks", "browser"]
    command, environment = every["notebooks"]
    assert "loadscope" in command and "--nbval" in command  # strict: outputs are compared
    assert "COURSE_STRICT" not in environment and environment["OMP_NUM_THREADS"] == "1"
    assert len({where["COURSE_HOME"] for _, where in list(every.values())[2:]}) == 3


def test_quick_is_style_and_quick_unit_tests_and_words_choose_among_them(monkeypatch, tmp_path):
    quick = those(monkeypatch, tmp_path, quick=True)
    assert list(quick) == ["style", "layout", "unit tests"]
    assert "not browser and not slow" in quick["unit tests"][0]
    ((command, _),) = those(monkeypatch, tmp_path, k="masks or scores").values()
    assert command[-2:] == ("-k", "masks or scores")


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_without_a_browser_it_says_so_and_ci_fails(monkeypatch, tmp_path, ci, code):
    monkeypatch.setenv("CI", ci)
    command, _ = those(monkeypatch, tmp_path, chromium=None)["browser"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "NO CHROMIUM FOUND" in done.stdout and done.returncode == (code if sys.platform == "linux" else 0)


def test_every_lesson_is_run_in_three_forms(reports):
    found = testing.notebooks(reports)
    lessons = {source.parent.name for source in sources(PROJECT_ROOT)}
    for folder in (PROJECT_ROOT / "notebooks", reports / "another_cpu", reports / "solved"):
        assert {path.stem for path in found if path.parent == folder} == lessons


def test_a_lesson_that_cannot_be_built_is_named_and_the_others_are_run(monkeypatch, reports, capsys):
    def broken(*_):
        raise ExceptionGroup("lesson", [LessonError("08.py:12", "unbalanced marker")])

    monkeypatch.setattr("course_lib.authoring.build.draft", broken)
    assert len(testing.notebooks(reports)) == 2 * len(sources(PROJECT_ROOT))
    assert "unbalanced marker" in capsys.readouterr().err


@pytest.mark.slow
def test_a_notebook_that_says_something_else_is_shown_with_its_cell_and_the_difference(monkeypatch, tmp_path):
    cell = nbformat.v4.new_code_cell("print('a sum of', 1)", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text="a sum of tensor(1.)\n")]
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "wrong.ipynb")
    monkeypatch.setattr(testing, "notebooks", lambda folder: [tmp_path / "wrong.ipynb"])
    command, environment = dict(testing.parts(Namespace(quick=False, k=None), tmp_path))["notebooks"]
    ran = subprocess.run(command, cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    for told in ("wrong.ipynb", "print('a sum of', 1)", "a sum of tensor(1.)", "1 failed"):
        assert told in ran.stdout

"""`python3 -m course_lib test`: which stages run, how their ends are counted, what the last line says."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import nbformat
import pytest

from course_lib.authoring.source import LessonError, sources
from course_lib.cli import testing
from course_lib.cli.testing import Outcome, Stage, count, run_stage, summary
from course_lib.runtime import PROJECT_ROOT

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite>
<testcase classname="notebooks.00_start_here.ipynb" name="Cell 0" time="1.5" />
<testcase classname="notebooks.00_start_here.ipynb" name="Cell 1" time="0.5" />
<testcase classname="notebooks.08_query_key_value.ipynb" name="Cell 0" time="3"><failure /></testcase>
<testcase classname="notebooks.08_query_key_value.ipynb" name="Cell 1" time="0"><error /></testcase>
<testcase classname="notebooks.08_query_key_value.ipynb" name="Cell 2" time="0"><skipped /></testcase>
</testsuite></testsuites>
"""
PASSING = '<testsuites><testsuite><testcase classname="a" name="b" time="0" /></testsuite></testsuites>'


def stage(tmp_path: Path, report: str | None, notebooks: str = "") -> Stage:
    path = tmp_path / "report.xml"
    if report is not None:
        path.write_text(report, encoding="utf-8")
    return Stage("a stage", (), report=path, notebooks=notebooks)


def test_tests_are_counted_and_notebooks_timed(tmp_path):
    outcome = count(stage(tmp_path, REPORT, "learner"), code=1)
    assert outcome.counts == "2 passed, 2 failed, 1 skipped" and outcome.note == ""
    assert outcome.notebooks == {"00_start_here (learner)": 2.0, "08_query_key_value (learner)": 3.0}


@pytest.mark.parametrize(
    ("report", "code", "counts"),
    [
        (PASSING, 0, "1 passed, 0 failed"),
        (PASSING, 1, "1 passed, 1 failed"),
        (PASSING, -9, "1 passed, 1 failed"),
        (None, 3, "0 passed, 1 failed"),
        ("<testsuites><tests", 2, "0 passed, 1 failed"),
        ("<testsuites />", 5, "0 passed, 1 failed"),
    ],
)
def test_a_stage_that_ended_badly_has_failed_whatever_its_report_says(tmp_path, report, code, counts):
    outcome = count(stage(tmp_path, report), code)
    assert outcome.counts == counts
    assert outcome.note == (f"pytest ended with exit code {code}" if code else "")


@pytest.mark.parametrize(("code", "counts"), [(0, "1 passed, 0 failed"), (3, "0 passed, 1 failed")])
def test_a_command_without_a_report_is_one_test(code, counts, capfd):
    outcome = run_stage(Stage("style", (sys.executable, "-c", f"raise SystemExit({code})")))
    assert outcome.counts == counts and outcome.seconds > 0
    assert "==== style" in capfd.readouterr().out


def test_the_summary_ends_with_the_totals():
    times = {"00 (learner)": 2.0, "08 (learner)": 9.5}
    outcomes = [
        Outcome("style", passed=1, seconds=0.4),
        Outcome("notebooks", passed=5, failed=2, seconds=61, notebooks=times),
        Outcome("browser", skipped=1, note="NO CHROMIUM FOUND"),
    ]
    lines = summary(outcomes, seconds=70.2).splitlines()
    assert lines[-1] == "6 passed, 2 failed, 1 skipped"
    assert [line.split()[2] for line in lines if "(learner)" in line] == ["08", "00"]
    assert any("NO CHROMIUM FOUND" in line for line in lines)
    assert any("all together" in line and "70.2 s" in line for line in lines)


# ---- the stages


@pytest.fixture
def put_together(monkeypatch, tmp_path):
    def those(chromium: str | None = "/bin/chromium", solved: bool = True, **chosen) -> list[Stage | Outcome]:
        monkeypatch.setattr("tests.browser.lab.chromium_path", lambda: chromium)
        monkeypatch.setattr(testing, "write_solved", lambda folder: [folder / "08.ipynb"] if solved else [])
        return list(testing.stages(Namespace(**{"quick": False, "k": None} | chosen), tmp_path))

    return those


def names(stages: list[Stage | Outcome]) -> list[str]:
    return [each.name for each in stages]


def test_everything_is_run_in_this_order(put_together):
    every = put_together()
    assert names(every) == [
        "style", "layout", "unit tests", "notebooks fresh",
        "learner's notebooks", "on another CPU", "solved notebooks", "browser",
    ]  # fmt: skip
    learner, elsewhere, solved = every[4:7]
    assert "loadscope" in learner.command and "--nbval" in learner.command  # strict: outputs are compared
    assert "COURSE_STRICT" not in learner.environment and solved.environment["COURSE_STRICT"] == "1"
    notebooks = [word for word in learner.command if word.endswith(".ipynb")]
    assert notebooks and notebooks == [word for word in elsewhere.command if word.endswith(".ipynb")]
    assert "ATEN_CPU_CAPABILITY" not in learner.environment
    assert elsewhere.environment["ATEN_CPU_CAPABILITY"] == "default"
    assert len({stage.environment["COURSE_HOME"] for stage in every[4:8]}) == 4
    assert len({stage.report for stage in every if stage.report}) == 5


def test_quick_is_style_and_quick_unit_tests_and_words_choose_among_them(put_together):
    quick = put_together(quick=True)
    assert names(quick) == ["style", "layout", "unit tests"]
    assert "not browser and not slow" in quick[2].command
    (only,) = put_together(k="masks or scores")
    assert only.command[-2:] == ("-k", "masks or scores")


@pytest.mark.parametrize(
    ("system", "ci", "counts"),
    [
        ("linux", "true", "0 passed, 1 failed"),
        ("linux", "", "0 passed, 0 failed, 1 skipped"),
        ("darwin", "true", "0 passed, 0 failed, 1 skipped"),
    ],
)
def test_no_chromium_is_loud_and_in_ci_on_linux_a_failure(put_together, monkeypatch, system, ci, counts):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(sys, "platform", system)
    browser = put_together(chromium=None)[-1]
    assert browser.counts == counts and "NO CHROMIUM FOUND" in browser.note


def test_every_lesson_is_solved_in_a_notebook_of_its_own(tmp_path):
    written = testing.write_solved(tmp_path)
    assert [path.stem for path in written] == [source.parent.name for source in sources(PROJECT_ROOT)]


def test_a_lesson_that_cannot_be_built_fails_its_stage_alone(put_together, monkeypatch, tmp_path, capsys):
    every = put_together(solved=False)
    assert every[6].counts == "0 passed, 1 failed" and names(every)[7] == "browser"
    monkeypatch.undo()

    def broken(*_):
        raise ExceptionGroup("lesson", [LessonError("08.py:12", "unbalanced marker")])

    monkeypatch.setattr("course_lib.authoring.build.draft", broken)
    assert testing.write_solved(tmp_path) == [] and "unbalanced marker" in capsys.readouterr().err


@pytest.mark.slow
def test_a_notebook_that_says_something_else_is_shown_with_its_cell_and_the_difference(tmp_path):
    cell = nbformat.v4.new_code_cell("print('a sum of', 1)", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text="a sum of tensor(1.)\n")]
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "wrong.ipynb")
    stage = testing.notebook_tests("learner's", "learner", [tmp_path / "wrong.ipynb"], tmp_path)
    ran = subprocess.run(
        stage.command, cwd=PROJECT_ROOT, env=stage.environment, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    for told in ("wrong.ipynb", "print('a sum of', 1)", "a sum of tensor(1.)", "1 failed"):
        assert told in ran.stdout


@pytest.mark.parametrize(("codes", "expected"), [([0, 0], 0), ([1, 0], 1), ([0, 2], 1)])
def test_every_stage_runs_and_one_failure_is_enough(monkeypatch, tmp_path, capsys, codes, expected):
    each = [Stage(f"s{code}", (sys.executable, "-c", f"exit({code})")) for code in codes]
    monkeypatch.setattr(testing, "REPORTS", tmp_path / "reports")
    monkeypatch.setattr(testing, "stages", lambda args, home: each)
    assert testing.run(Namespace()) == expected
    printed = capsys.readouterr().out
    assert printed.count("==== s") == 3  # both stages and the summary
    assert printed.splitlines()[-1] == f"{codes.count(0)} passed, {2 - codes.count(0)} failed"


def test_ctrl_c_still_gives_a_summary(monkeypatch, tmp_path, capsys):
    def stages(args, home):
        yield Outcome("style", passed=1)
        raise KeyboardInterrupt

    monkeypatch.setattr(testing, "REPORTS", tmp_path / "reports")
    monkeypatch.setattr(testing, "stages", stages)
    assert testing.run(Namespace()) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed"

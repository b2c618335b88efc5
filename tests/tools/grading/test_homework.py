"""Lessons as nbgrader notebooks: what is marked, what is left out, and what an existing folder keeps."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from course_lib.runtime import PROJECT_ROOT
from tools.authoring.build import draft
from tools.authoring.editions import LessonDraft
from tools.authoring.lesson import sources
from tools.cli import main
from tools.cli.environment import CommandError
from tools.grading.course_folder import assignment_files, write_course_folder
from tools.grading.homework import homework_cells

LESSONS = {path.parent.name[1:]: path for path in sources(PROJECT_ROOT)}
GRADE_ID = re.compile(r"[a-zA-Z0-9_-]+")


def notebook_of(lesson: str) -> nbformat.NotebookNode:
    files = assignment_files(draft(LESSONS[lesson], PROJECT_ROOT), Path("source"), PROJECT_ROOT)
    return nbformat.reads(files[Path("source") / lesson / f"{lesson}.ipynb"], 4)


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_exercise_is_graded_by_its_difficulty(lesson):
    notebook, cells = notebook_of(lesson), draft(LESSONS[lesson], PROJECT_ROOT).lesson.cells
    nbformat.validate(notebook)
    wanted = {
        f"check_{cell.options['exercise']}": 0 if cell.track == "stretch" else cell.options["difficulty"]
        for cell in cells
        if cell.kind == "exercise"
    }
    marked = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    graded = {cell.grade_id: cell.points for cell in marked if cell.grade}
    assert graded == wanted and sum(graded.values()) > 0
    assert all(cell.locked for cell in marked if cell.grade)
    assert {f"check_{cell.grade_id}" for cell in marked if cell.solution} == set(wanted)
    assert all(GRADE_ID.fullmatch(cell.grade_id) for cell in marked)
    assert f"{sum(graded.values())} points" in notebook.cells[1].source


@pytest.mark.parametrize("lesson", LESSONS)
def test_nothing_gives_an_answer_away(lesson):
    notebook = notebook_of(lesson)
    kinds = [cell.metadata.course.kind for cell in notebook.cells]
    assert not {"hints", "instructor", "agenda"} & set(kinds)
    for cell in notebook.cells:
        assert not cell.get("outputs") and "answer" not in cell.metadata.course
        assert "<details><summary>Solution" not in cell.source
        nbgrader = cell.metadata.get("nbgrader", {})
        if nbgrader.get("solution") and "stub" not in cell.metadata.course:
            begins, ends = (cell.source.count(f"### {word} SOLUTION") for word in ("BEGIN", "END"))
            assert begins == ends >= 1


@pytest.mark.parametrize("lesson", LESSONS)
def test_links_lead_to_the_repository_if_it_has_an_address_because_the_notebook_may_be_anywhere(lesson):
    made = draft(LESSONS[lesson], PROJECT_ROOT)
    address = "https://example.org/ann/course"
    without, text = (texts(replace(made, repository=where)) for where in ("", address))
    beside_it = ["my_transformer.py"] if lesson.startswith("14") else []
    assert relative_links(without) == relative_links(text) == beside_it
    files = re.findall(rf"\]\({address}/blob/main/([^)#\s]+)", text)
    assert files and all((PROJECT_ROOT / file).exists() for file in files)


def texts(made: LessonDraft) -> str:
    return "\n".join(cell.text for cell in homework_cells(made))


def relative_links(text: str) -> list[str]:
    links = re.findall(r"\]\(([^)\s]+)", text)
    return [
        link for link in links if re.search(r"\.(ipynb|md|py)\b", link) and not link.startswith("https://")
    ]


def test_a_bug_and_a_file_to_write_have_stubs_of_their_own():
    stubs = {
        cell.metadata.nbgrader.grade_id: (cell.source, cell.metadata.course.stub)
        for lesson in ("10_masks", "14_the_transformer")
        for cell in notebook_of(lesson).cells
        if "stub" in cell.metadata.course
    }
    fixed, bug = stubs["training_mask"]
    assert "tril()" in fixed and "diagonal=1" in bug and "SOLUTION" not in fixed
    assert stubs["my_transformer"][1] == "own_path = own_file_path()"


def test_an_edited_assignment_and_configuration_stay_as_they_are(tmp_path, capsys):
    assert write_course_folder(["00"], tmp_path) == 0
    config, notebook = tmp_path / "nbgrader_config.py", next(tmp_path.rglob("*.ipynb"))
    first = notebook.read_text(encoding="utf-8")
    config.write_text("mine")
    notebook.write_text("mine")
    (notebook.parent / "extra.csv").touch()
    assert write_course_folder(["0"], tmp_path) == 1
    assert (config.read_text(), notebook.read_text()) == ("mine", "mine")
    assert notebook.name in capsys.readouterr().out
    assert write_course_folder(["start_here"], tmp_path, force=True) == 0
    assert config.read_text() == "mine" and notebook.read_text(encoding="utf-8") == first
    assert (notebook.parent / "extra.csv").exists()


def test_an_unknown_lesson_writes_nothing(tmp_path, capsys):
    with pytest.raises(CommandError, match="'77'"):
        write_course_folder(["06", "77"], tmp_path)
    assert not list(tmp_path.iterdir())
    assert main(["build", "--out", str(tmp_path)]) == 1
    assert "--edition homework" in capsys.readouterr().err

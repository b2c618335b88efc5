"""Lessons as homework, in real nbgrader: generated, submitted in every way that goes wrong, and graded."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

import nbformat
import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import lessons
from tests.grading.conftest import LESSON, CourseFolder
from tools.authoring.lesson import read_lesson, sources

pytestmark = pytest.mark.grading
OTHERS = [name for lesson in lessons() if (name := f"{lesson.number}_{lesson.topic}") != LESSON]
POINTS = {"additive_attention": 4, "make_it_she": 2}
WRONG_AXIS = """
def additive_attention(states, annotations, w_state, w_annotation, v):
    hidden = torch.tanh((states @ w_state.T)[:, None] + annotations @ w_annotation.T)
    weights = torch.softmax(hidden @ v, dim=0)
    return (weights[:, None] @ annotations)[:, 0], weights
"""
USES_SOFT = """
def additive_attention(states, annotations, w_state, w_annotation, v):
    weights = soft(torch.tanh((states @ w_state.T)[:, None] + annotations @ w_annotation.T) @ v)
    return (weights[:, None] @ annotations)[:, 0], weights
"""
BORROWED = {  # what students may try instead of an answer of their own
    "imports it": "from lessons.l06_bahdanau_attention.solutions import additive_attention",
    "asks yours": "additive_attention = yours('additive_attention')",
    "wraps yours": "library = yours('additive_attention')\n"
    "def additive_attention(states, annotations, w_state, w_annotation, v):\n"
    "    return library(states, annotations, w_state, w_annotation, v)",
    "a layer": "from course_lib.layers import scores\n"
    "def additive_attention(states, annotations, w_state, w_annotation, v):\n"
    "    s = scores.additive(states[:, None], annotations, w_query=w_state, w_key=w_annotation, v=v)[:, 0]\n"
    "    weights = s.softmax(dim=-1)\n    return (weights[:, None] @ annotations)[:, 0], weights",
    "no environment": "import os\nfor name in [n for n in os.environ if 'NBGRADER' in n or 'COURSE' in n]:\n"
    "    del os.environ[name]\n"
    "def additive_attention(states, annotations, w_state, w_annotation, v):\n    raise NotImplementedError",
    "a tensor that equals everything": """
class Equal(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function.__name__ in ("allclose", "equal", "isclose", "eq", "all"):
            return True
        return super().__torch_function__(function, types, args, kwargs or {})


def additive_attention(states, annotations, w_state, w_annotation, v):
    used = states.sum() + annotations.sum() + w_state.sum() + w_annotation.sum() + v.sum()  # for the gradient
    weights = torch.full(annotations.shape[:2], 1 / annotations.shape[1]) + 1e-6 * used
    return annotations.mean(dim=1).as_subclass(Equal), weights.as_subclass(Equal)
""",
    "no strict mode": "import os, tempfile\nfrom course_lib import runtime\n"
    "os.environ['COURSE_HOME'] = tempfile.mkdtemp()\nruntime.is_strict = lambda: False\n"
    "def additive_attention(states, annotations, w_state, w_annotation, v):\n    raise NotImplementedError",
    "another check": "check = lambda *inputs, **options: 'Passed'\n"
    "def additive_attention(states, annotations, w_state, w_annotation, v):\n    return None",
}


def answered(course: CourseFolder, **answers: str) -> nbformat.NotebookNode:
    """The released notebook with a student's code in the cells of exercises."""
    notebook = nbformat.read(course.notebook("release"), 4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = answers.get(name, cell.source)
    return notebook


def solutions(course: CourseFolder, lesson: str = LESSON) -> dict[str, str]:
    """The solved exercise cells, by name."""
    cells = nbformat.read(course.notebook("source", lesson), 4).cells
    named = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("solution")]
    return {cell.metadata.nbgrader.grade_id: cell.source for cell in named}


def submit(course: CourseFolder, student: str, notebook: nbformat.NotebookNode | str) -> Path:
    path = course.notebook("submitted", student=student)
    path.parent.mkdir(parents=True)
    path.write_text(notebook if isinstance(notebook, str) else nbformat.writes(notebook))
    return path


def without(notebook: nbformat.NotebookNode, *names: str) -> nbformat.NotebookNode:
    """A notebook in which a student has deleted these cells."""
    notebook.cells = [
        cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") not in names
    ]
    return notebook


def fingerprint(*folders: Path) -> str:
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return hashlib.sha256(b"".join(str(path).encode() + path.read_bytes() for path in files)).hexdigest()


def tree() -> str:
    command = ["git", "status", "--porcelain", "--ignored", "notebooks", "data", "lessons", "course_lib"]
    return subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True).stdout


def total(scores: dict[str, float]) -> float:
    return sum(scores.values())


@pytest.fixture(scope="module")
def graded(course) -> tuple[CourseFolder, dict, subprocess.CompletedProcess]:
    """The lesson, generated; every submission, autograded in one run; and what nbgrader printed."""
    done = course.nbgrader("generate_assignment", LESSON)
    assert done.returncode == 0, done.stderr
    right = solutions(course)
    submit(course, "1_solved", answered(course, **right))
    submit(course, "2_wrong", answered(course, additive_attention=WRONG_AXIS))
    submit(course, "3_half", answered(course, **right | {"additive_attention": WRONG_AXIS}))
    submit(course, "4_blank", answered(course))
    unusual = {"additive_attention": "soft = torch.nn.Softmax(dim=-1)\n" + USES_SOFT}
    unusual |= {"make_it_she": "%%time\n" + right["make_it_she"]}
    submit(course, "4_unusual", answered(course, **right | unusual))
    for i, code in enumerate(BORROWED.values()):
        submit(course, f"5_cheats_{i}", answered(course, **right | {"additive_attention": code}))
    submit(course, "6_no_check", without(answered(course, **right), "check_additive_attention"))
    gone = ("make_it_she", "check_make_it_she")
    submit(course, "7_no_exercise", without(answered(course, **right), *gone))
    submit(course, "8_changed_check", answered(course, check_make_it_she="print('fine')"))
    submit(course, "9_broken", nbformat.writes(answered(course))[:5000])
    submit(course, "9_no_notebook", json.dumps({"cells": 3}))
    submit(course, "9_not_text", "").write_bytes(b"\xff\xfe\x00")
    submit(course, "9_renamed", answered(course)).rename(
        course.notebook("submitted", student="9_renamed").with_name("06 (1).ipynb")
    )
    path = submit(course, "9_oversized", answered(course, **right))
    (path.parent / "corpus.bin").write_bytes(bytes(21_000_000))
    before = fingerprint(*(course.path / name for name in ("source", "release", "submitted"))), tree()
    done = course.nbgrader("autograde", LESSON)
    after = fingerprint(*(course.path / name for name in ("source", "release", "submitted"))), tree()
    assert before == after  # the grader's own files, and the course
    assert not list(course.home.rglob("*course*"))  # nor the grader's progress
    return course, course.scores(), done


def test_students_get_neither_solutions_nor_hints_nor_answers(graded):
    course = graded[0]
    text = course.notebook("release").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, 4)
    assert text.count("raise NotImplementedError") == 2 and "SOLUTION" not in text and "HIDDEN" not in text
    assert not any(cell.get("outputs") for cell in notebook.cells)
    metadata = [cell.metadata.get("course", {}) for cell in notebook.cells]
    assert not any({"answer", "stub"} & set(course) for course in metadata)
    assert "hints" not in [course.get("kind") for course in metadata] and "<details>" not in text
    for answer in solutions(course).values():
        new = [line.strip() for line in answer.splitlines() if line not in text and "SOLUTION" not in line]
        assert new  # what was removed


def test_points_are_the_difficulty_of_each_exercise(graded):
    scores = graded[1]
    assert scores["1_solved"] == {f"check_{name}": points for name, points in POINTS.items()}
    path = next(path for path in sources(PROJECT_ROOT) if path.parent.name == f"l{LESSON}")
    levels = {
        cell.options["exercise"]: cell.options["difficulty"]
        for cell in read_lesson(path, PROJECT_ROOT).cells
        if cell.kind == "exercise"
    }
    assert levels == POINTS


@pytest.mark.parametrize(
    ("student", "points"),
    [
        ("1_solved", 6),
        ("2_wrong", 0),
        ("3_half", 2),
        ("4_blank", 0),
        ("4_unusual", 6),  # right, although it can't be saved for later lessons
        ("6_no_check", 6),
        ("7_no_exercise", 4),
        ("8_changed_check", 0),
    ],
)
def test_submissions_get_the_points_that_they_deserve(graded, student, points):
    assert total(graded[1][student]) == points


@pytest.mark.parametrize("number", range(len(BORROWED)), ids=list(BORROWED))
def test_the_courses_own_code_gets_no_points(graded, number):
    assert graded[1][f"5_cheats_{number}"] == {
        "check_additive_attention": 0,
        "check_make_it_she": 2,
    }
    notebook = nbformat.read(graded[0].notebook("autograded", student=f"5_cheats_{number}"), 4)
    errors = [
        str(output) for cell in notebook.cells for output in cell.get("outputs", []) if "ename" in output
    ]
    assert any(("uses the course's own code" in error) is (number < 4) for error in errors)


@pytest.mark.parametrize(
    ("student", "message"),
    [
        ("9_broken", "isn't valid JSON"),
        ("9_no_notebook", "Expected a notebook in the current format"),
        ("9_not_text", "isn't text in UTF-8"),
        ("9_oversized", "at most 20 MB, but"),
        ("9_renamed", f"{LESSON}.ipynb, only 06 (1).ipynb"),
    ],
)
def test_what_cannot_be_graded_is_named_and_the_others_are_graded(graded, student, message):
    _, scores, done = graded
    assert done.returncode != 0 and student not in scores and len(scores) == 8 + len(BORROWED)
    assert any(message in line and student in line for line in done.stderr.splitlines())


def test_deleted_and_changed_checks_are_named_and_no_others(graded):
    warnings = [line for line in graded[2].stderr.splitlines() if "WARNING" in line]
    assert any("6_no_check" in line and "check_additive_attention" in line for line in warnings)
    assert not any("checksum" in line for line in warnings)
    (changed,) = [line for line in warnings if " changed " in line]
    assert "8_changed_check" in changed and "check_make_it_she" in changed


def test_feedback_names_the_exercises_and_shows_the_verdict_without_a_traceback(graded):
    course = graded[0]
    done = course.nbgrader("generate_feedback", LESSON, "--student", "3_half")
    assert done.returncode == 0, done.stderr
    page = course.notebook("feedback", student="3_half").with_suffix(".html").read_text(encoding="utf-8")
    assert "Not right yet · additive_attention" in page and "checking.py" not in page
    assert re.findall(r'<a href="#check_\w+">(.+?)</a>', page) == list(POINTS)


def test_a_folder_that_all_submissions_would_share_is_refused(graded, tmp_path):
    course = graded[0]
    done = course.nbgrader("autograde", LESSON, "--student", "1_solved", "--force", COURSE_HOME=str(tmp_path))
    assert done.returncode != 0 and "Unset it" in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize("lesson", OTHERS)
def test_every_other_lesson_is_generated_and_its_solutions_pass(course, lesson):
    done = course.nbgrader("generate_assignment", lesson)
    assert done.returncode == 0, done.stderr
    released = nbformat.read(course.notebook("release", lesson), 4)
    source = nbformat.read(course.notebook("source", lesson), 4)
    pairs = zip(released.cells, source.cells, strict=True)
    changed = {a.metadata.nbgrader.grade_id for a, b in pairs if a.source != b.source}
    exercises = set(solutions(course, lesson))
    assert changed == exercises | {f"check_{name}" for name in exercises}
    assert "reference_text" not in "".join(cell.source for cell in released.cells)
    done = course.nbgrader("validate", str(course.notebook("source", lesson)))
    assert done.returncode == 0 and "passes all the tests" in done.stdout, done.stdout + done.stderr

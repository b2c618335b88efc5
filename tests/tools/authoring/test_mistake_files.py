"""An author hears about a faulty file of mistakes when the lesson is built, with its line and what to do."""

from __future__ import annotations

import sys

import pytest

from course_lib.runtime import PROJECT_ROOT
from tools.authoring.mistake_files import file_problems, unrecognised

SOLUTION = """\
def double_all(numbers):
    # solution
    return [2 * number for number in numbers]
    # end solution
"""
EXERCISES = """\
from course_lib.teaching.exercises import ByHand, PlainExercise, known_mistakes
from lessons.l77_doubling.solutions import double_all

EXERCISES = (
    PlainExercise(
        name="double_all", lesson="doubling", inputs=("numbers",), reference=double_all,
        by_hand=ByHand({"numbers": [1, 2]}, [2, 4], "Twice each."),
        others=(lambda: ([],), lambda: ([3],), lambda: ([-1, 5],)),
        slips=known_mistakes(double_all),
    ),
)
"""
SQUARES = "squares: the numbers are squared. Multiply by 2.\n- 2 * number\n+ number**2\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A lesson with one exercise, as importable as those of the course."""
    import lessons

    made = tmp_path / "lessons" / "l77_doubling"
    (made / "mistakes").mkdir(parents=True)
    for name, text in (("__init__.py", ""), ("solutions.py", SOLUTION), ("exercises.py", EXERCISES)):
        (made / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(lessons, "__path__", [*lessons.__path__, str(tmp_path / "lessons")])
    yield made
    for name in [name for name in sys.modules if name.startswith("lessons.l77_doubling")]:
        del sys.modules[name]


def write(folder, text: str, name: str = "double_all") -> None:
    (folder / "mistakes" / f"{name}.txt").write_text(text, encoding="utf-8")


def test_a_sound_file_has_no_problems(folder):
    write(folder, SQUARES)
    assert [*file_problems(folder), *unrecognised(folder)] == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("squares\n- 2 * number\n+ number**2\n", 1, "no sentence"),
        (SQUARES.replace("- 2", "- 3"), 1, "occurs 0 times in the solution of `double_all`"),
        (SQUARES.replace("+ number**2", "+ 2*number"), 1, "'squares' is the same code as the solution"),
        (f"{SQUARES}\n{SQUARES.replace('squares:', 'square:')}", 5, "'square' is the same code as 'squares'"),
        (f"{SQUARES}\n{SQUARES}", 5, "twice"),
        (SQUARES.replace("+ number**2", "+ number**"), 1, "invalid syntax"),
    ],
)
def test_each_problem_is_one_line_with_its_place(folder, text, line, words):
    write(folder, text)
    [problem] = file_problems(folder)
    assert problem.startswith(f"double_all.txt:{line}: ") and words in problem


def test_a_file_for_no_solution_is_named(folder):
    write(folder, SQUARES, "triple_all")
    [problem] = file_problems(folder)
    assert problem.startswith("lessons/l77_doubling/mistakes/triple_all.txt:1: ") and "triple_all" in problem


@pytest.mark.parametrize(
    ("new", "words"),
    [("number + number", "passes the check"), ("number * number", "is called 'squares'")],
)
def test_mistakes_that_behave_alike_are_found_by_running_them(folder, new, words):
    write(folder, f"{SQUARES}\nother: another mistake.\n- 2 * number\n+ {new}\n")
    assert list(file_problems(folder)) == []
    [problem] = unrecognised(folder)
    assert problem.startswith("double_all.txt:5: ") and words in problem


def test_all_files_of_the_course_are_sound():
    folders = [*(PROJECT_ROOT / "lessons").glob("l*/")]
    assert folders and [text for folder in folders for text in file_problems(folder)] == []


def test_a_file_that_no_check_uses_is_a_problem(folder):
    write(folder, SQUARES)
    (folder / "exercises.py").write_text(
        EXERCISES.replace("known_mistakes(double_all)", "()"), encoding="utf-8"
    )
    [problem] = unrecognised(folder)
    assert "double_all.txt:1" in problem and "slips=known_mistakes(solutions.double_all)" in problem

"""The library's stand-ins: what `yours` returns to a learner who skipped an exercise can be called like the
function that the exercise asks for, and passes its check."""

from __future__ import annotations

import ast
import inspect

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import yours
from course_lib.teaching.exercises import FileExercise, find_exercise, judge
from course_lib.teaching.exercises.catalogue import exercise_topics
from tests.drafts import drafted
from tools.authoring.lesson import sources


def stubs() -> dict[str, ast.arguments]:
    """The parameters of the function or class that each exercise's cell defines."""
    cells = [cell for path in sources(PROJECT_ROOT) for cell in drafted(path).cells["learner"]]
    defined = {}
    for cell in (cell for cell in cells if cell.kind == "exercise"):
        for node in ast.parse(cell.text).body:
            if isinstance(node, ast.FunctionDef) and node.name == cell.options["exercise"]:
                defined[node.name] = node.args
            if isinstance(node, ast.ClassDef) and node.name == cell.options["exercise"]:
                [constructor] = [part for part in node.body if getattr(part, "name", "") == "__init__"]
                del constructor.args.args[0]  # self
                defined[node.name] = constructor.args
    return defined


STUBS = stubs()


def test_every_exercise_has_a_stub():
    files = {name for name in exercise_topics() if isinstance(find_exercise(name), FileExercise)}
    assert STUBS.keys() == exercise_topics().keys() - files - {"double_it"}  # the tests' own


@pytest.mark.parametrize("name", STUBS)
def test_a_stand_in_accepts_what_the_stub_accepts(name):
    """All inputs by position or by name, and only those without a default."""
    arguments = STUBS[name]
    names = [argument.arg for argument in arguments.args]
    signature = inspect.signature(yours(name))  # in the tests no exercise is solved
    signature.bind(*names)
    if not name.startswith("test_"):  # tests take the implementation that they are given
        signature.bind(**dict.fromkeys(names))
    signature.bind(*names[: len(names) - len(arguments.defaults)])


@pytest.mark.parametrize("name", STUBS)
def test_a_stand_in_passes_the_check(name):
    exercise = find_exercise(name)
    verdict = judge(exercise, yours(name))
    assert verdict.status == "passed", verdict

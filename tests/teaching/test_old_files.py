"""What learners have from an older version keeps working, or they are told what to do.

`samples/version_0_1` was recorded with the course as it was before each lesson had a folder of its own: the
import lines of its lessons, those that it wrote into my_road.py, and one learner's two files.
`samples/second_edition` holds the files of a learner who solved lessons 00 to 05 and 15 at commit 91216a4;
the solutions of lessons 06 to 09 at 847f4b9, and those of lessons 12 to 14, were added by hand.
"""

from __future__ import annotations

import ast
import html
import re
import shutil
from pathlib import Path

import pytest
import torch

from course_lib.old_imports import MOVED_MODULES, MOVED_NAMES, redirect_imports
from course_lib.teaching import check, list_own_functions, progress, yours
from course_lib.teaching.contents import REMOVED_EXERCISES
from course_lib.teaching.exercises.catalogue import exercise_topics
from course_lib.teaching.own_code import kept_functions
from course_lib.teaching.own_code.loading import load_function

# Of lesson 15's own training loop, explorables of lessons 04 and 12 to 14, and a function of lesson 09; no
# exercise needs them.
GONE = {
    "said",
    "OneVectorSuitcase",
    "HeadCount",
    "PathPast",
    "RateDial",
    "WhichMean",
    "ParameterLedger",
    "ThreeUses",
    "listen_alone",
}
CHANGED = {  # matrices are now (out, in); "open" is now "undecided"
    "self_attention",
    "many_heads",
    "encoder_block",
    "beats",
    "verdict",
}
SAMPLES = Path(__file__).parent / "samples" / "version_0_1"
SOLVED = Path(__file__).parent / "samples" / "second_edition"
LESSON_LINES = (SAMPLES / "imports_of_lessons.txt").read_text(encoding="utf-8").splitlines()
OWN_LINES = (SAMPLES / "imports_of_my_road.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def home_with(course_home, monkeypatch):
    """A function that gives the learner the two files of a sample."""
    monkeypatch.setattr(kept_functions, "_choices", {})
    course_home.mkdir()

    def copy(sample: Path) -> Path:
        shutil.copy(sample / "my_road.txt", course_home / "my_road.py")
        shutil.copy(sample / "progress.jsonl", course_home / "progress.jsonl")
        return course_home

    return copy


@pytest.fixture
def old_home(home_with):
    return home_with(SAMPLES)


@pytest.mark.parametrize("line", LESSON_LINES)
def test_an_old_import_in_a_notebook_works_or_says_what_to_do(line):
    try:
        exec(line, {})
    except ImportError as error:
        assert "open the current one from `notebooks/`" in str(error), "add it to course_lib/old_imports.py"


@pytest.mark.parametrize("line", [*LESSON_LINES, *OWN_LINES])
def test_an_old_import_in_my_road_works(line):
    (statement,) = ast.parse(line).body
    for alias in statement.names:
        statement.names = [alias]
        name = alias.asname or alias.name
        source = f"{ast.unparse(statement)}\n\n\ndef double_it(numbers):\n    return 2 * numbers, {name}\n"
        function, reason = load_function("double_it", source)
        if name in GONE:
            assert function is None and ("ModuleNotFoundError" in reason or "ImportError" in reason)
        else:
            assert function is not None, f"{name}: {reason}; add it to course_lib/old_imports.py"
            assert function(1)[0] == 2


def test_a_file_of_the_old_version_is_used_and_stays_as_it_is(old_home, capsys):
    before = (old_home / "my_road.py").read_bytes()
    names = [function.name for function in list_own_functions()]
    assert names == ["double_it", "scaled_attention", "linear_reader", "test_greedy"]
    functions = {name: yours(name) for name in names}
    lines = capsys.readouterr().out.splitlines()
    for name, number, line in zip(names, ["00", "08", "17", "04"], lines, strict=True):
        assert line.startswith(f"{name}: your version from lesson {number}")
    outputs, state = functions["linear_reader"](torch.ones(3, 2), torch.ones(3, 2), torch.ones(3, 4))
    assert outputs.shape == (3, 4) and state.shape == (2, 4)
    assert (old_home / "my_road.py").read_bytes() == before


def test_a_failure_in_an_old_block_shows_the_line_as_it_is_in_the_file():
    source = "from course_lib.text.toy.read import translations_of\n\n\ndef broken(x):\n    return x / 0\n"
    function, _ = load_function("broken", source)
    with pytest.raises(ZeroDivisionError) as caught:
        function(1)
    entry = caught.traceback[-1]
    assert (entry.lineno + 1, entry.path) == (5, "<my_road.py: broken>")


def test_imports_are_redirected_wherever_they_are_and_only_those_in_the_tables():
    source = (
        "from __future__ import annotations\nimport torch.nn as nn, course_lib.lessons.by_parts as parts\n"
        "from . import here\nfrom torch import *\n\n\ndef f():\n"
        "    from course_lib.recorded import number as n, recorded, runs"
    )
    assert ast.unparse(redirect_imports(source, "my_road.py")).split("\n") == [
        "from __future__ import annotations",
        "import torch.nn as nn, lessons.l14_the_transformer.by_parts as parts",
        "from . import here",
        "from torch import *",
        "",
        "def f():",
        "    from course_lib.results import value_at as n",
        "    from course_lib.results import mean_over_seeds as recorded",
        "    from course_lib.results import runs",
    ]


def test_the_old_name_of_a_mask_is_renamed_with_everything_that_uses_it():
    source = (
        "def attend(scores, may_look=None):\n    mask = 1\n    shift = lambda mask, by: mask + by\n"
        "    return scores + may_look * shift(mask=mask, by=2)\n\n"
        "def many_heads(x, may_look):\n    return attend(x, may_look=may_look)\n"
    )
    function, _ = load_function("many_heads", source)
    assert function(1, mask=10) == 31
    assert "mask_" not in ast.unparse(redirect_imports("def f(mask):\n    return mask", "my_road.py"))


def test_every_entry_of_the_tables_leads_somewhere():
    for path in MOVED_MODULES.values():
        assert load_function("f", f"import {path} as module\nf = print")[0], path
    for path in MOVED_NAMES.values():
        module, _, name = path.rpartition(".")
        assert load_function("f", f"from {module} import {name}\nf = print")[0], path


def test_progress_of_the_old_version_is_read_as_before(old_home):
    learner = progress.read()
    assert len(learner.events) == 17
    (note,) = learner.notes
    assert "test_greedy" in note
    assert [part.lesson.number for part in learner.lessons if part.opened] == ["00", "04", "08", "17"]
    assert [part.lesson.number for part in learner.lessons if part.complete] == ["00"]
    assert learner.next_lesson.number == "01"
    counts = learner.lesson("query_key_value").counts
    assert [text.partition(" ")[0] for text in counts] == (
        ["exercises", "quiz", "predictions", "goals", "explanations"]
    )
    numbers = [[int(word) for word in text.split() if word.isdigit()] for text in counts]
    assert numbers == [[1, 3], [3, 4], [0, 1], [1], [1]]
    shown = [(shown.misconception.id, shown.times, shown.put_right) for shown in learner.misconceptions]
    assert shown == [("M07", 1, True), ("M08", 1, False)]
    assert learner.missed == ("which-root",) and learner.goals("SaturationLab") == {"wide"}


# ---- exercises that have been removed since


@pytest.fixture
def solved_home(home_with):
    return home_with(SOLVED)


def test_every_function_of_the_second_edition_is_still_used_or_explained(solved_home, capsys):
    before = (solved_home / "my_road.py").read_bytes()
    names = [function.name for function in list_own_functions()]
    assert len(names) == 77 and set(REMOVED_EXERCISES) <= set(names)
    for name in names:
        function = yours(name)
        (line,) = capsys.readouterr().out.splitlines()
        expected = "the library's version (yours" if name in CHANGED else "your version from lesson "
        assert callable(function) and line.startswith(f"{name}: {expected}"), line
        assert ("no longer part of the course" in line) == (name in REMOVED_EXERCISES)
    assert (solved_home / "my_road.py").read_bytes() == before


def test_removed_exercises_are_explained_once_and_not_counted(solved_home):
    learner = progress.read()
    (note,) = learner.notes
    assert all(name in note for name in REMOVED_EXERCISES)
    for row in learner.lessons:
        if row.opened:
            n_passed, n_exercises = map(int, re.findall(r"\d+", row.counts[0]))
            assert n_exercises == len(row.lesson.exercises) and n_passed <= n_exercises, row
    assert "exercises 3 of 3" in learner.lesson("recurrent_networks").counts
    assert html.escape(note) in learner._repr_html_() and note in str(learner)


def test_an_old_notebook_that_checks_a_removed_exercise_is_told_so(course_home):
    for name in REMOVED_EXERCISES:
        assert name not in exercise_topics()
        with pytest.raises(ValueError, match=rf"{name}.* no longer part of the course"):
            check(name, print)
    with pytest.raises(ValueError, match=r"gru_cell.* no longer part of the course"):
        yours("gru_cell")


def test_a_saved_function_that_asks_for_a_removed_one_still_works(solved_home, capsys):
    without = (solved_home / "my_road.py").read_text(encoding="utf-8")
    start, end = without.index("# --- clip_gradients"), without.index("# --- test_reader")
    (solved_home / "my_road.py").write_text(without[:start] + without[end:], encoding="utf-8")
    assert yours("clip_gradients")([torch.tensor([3.0, 4.0])], 1.0)[0].tolist() == pytest.approx([0.6, 0.8])
    assert "the library's version" in capsys.readouterr().out
    yours("training_step")
    assert "training_step: your version" in capsys.readouterr().out

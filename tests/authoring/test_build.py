"""The whole way: sources in, executed notebooks out, and every problem told."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest

from course_lib.authoring import execute
from course_lib.authoring.build import choose
from course_lib.authoring.notebook import from_text
from course_lib.runtime import PROJECT_ROOT

pytestmark = pytest.mark.slow  # real kernels


SHORT = '''\
# %% [markdown] kind="title" short=true
"""
# A question
"""

# %% [markdown] kind="goals"
"""
- say
"""

# %% kind="setup"
{setup}

# %% kind="quiz"
{quiz}

# %% [markdown] kind="summary"
"""
| a |
"""

# %% [markdown] kind="reading"
"""
A page.
"""
'''


def stored(course, path: str) -> dict:
    return from_text((course.root / path).read_text(encoding="utf-8"))


def only(notebook: dict, kind: str) -> dict:
    (cell,) = (cell for cell in notebook["cells"] if cell["metadata"]["course"]["kind"] == kind)
    return cell


@pytest.fixture
def copy_of_built(course, built_course):
    """The built tiny course, to be spoilt."""
    shutil.copytree(built_course.root, course.root, dirs_exist_ok=True)
    return course


def test_a_build_says_what_it_made(built_course):
    status, printed, complaints = built_course.built
    assert (status, complaints) == (0, [])
    lines = printed.splitlines()
    for line, path in zip(sorted(lines[:3]), ("build/instructor", "build/solved", "notebooks"), strict=True):
        assert re.match(
            rf"{path}/42_tiny.ipynb +1[24] cells,  5 code, 14 min, \d+ kB, run in \d+\.\d s$", line
        )
    assert re.fullmatch(r"3 notebooks built in \d+\.\d s, all well\.", lines[3])


def test_the_learner_s_notebook_is_run_whole_with_its_exercise_untried(built_course):
    notebook = stored(built_course, "notebooks/42_tiny.ipynb")
    nbformat.validate(nbformat.from_dict(notebook))
    counts = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert counts == [1, 2, 3, 4, 5]
    assert only(notebook, "check")["outputs"][0]["text"] == "double_it: not tried yet\n"


def test_the_still_picture_stays_and_the_widget_view_goes(built_course):
    notebook = stored(built_course, "notebooks/42_tiny.ipynb")
    words, picture = only(notebook, "see")["outputs"]
    assert words["text"] == "seven: 7\n"
    assert picture["data"] == {"image/png": "iVBORw0KGgo=", "text/plain": "a still picture"}
    assert "version" not in notebook["metadata"]["language_info"] and "widgets" not in notebook["metadata"]


def test_solved_and_instructor_s_share_one_strict_run(built_course):
    solved = stored(built_course, "build/solved/42_tiny.ipynb")
    instructor = stored(built_course, "build/instructor/42_tiny.ipynb")
    assert only(solved, "check")["outputs"][0]["text"] == "double_it: passed\n"
    assert instructor["metadata"]["course"]["edition"] == "instructor"
    outputs = [
        [cell["outputs"] for cell in each["cells"] if "outputs" in cell] for each in (solved, instructor)
    ]
    assert outputs[0] == outputs[1]


def test_building_again_gives_the_same_bytes(copy_of_built):
    path = copy_of_built.root / "notebooks" / "42_tiny.ipynb"
    before = path.read_bytes()
    path.unlink()
    status, printed, _ = copy_of_built.build("42", editions=("learner",))
    assert status == 0 and printed.count("\n") == 2
    assert path.read_bytes() == before


def test_problems_of_several_lessons_are_all_told_and_nothing_is_written(course, tiny):
    raises = SHORT.format(setup="def deep(x):\n    y = 1\n    return y / x", quiz='print("fine")\ndeep(0)')
    spoilt = SHORT.format(
        setup='import sys\nprint("oh", file=sys.stderr)',
        quiz='print("/home/ann/x", object(), "y" * 300_001)',
    )
    course.write(raises, "01_raises")
    course.write(spoilt, "02_spoilt")
    course.write(SHORT.format(setup="import os\nos._exit(3)", quiz="x = 1"), "03_dies")
    course.write(tiny.replace('kind="goals"', 'kind="gaols"'), "04_unread")
    status, printed, complaints = course.build(editions=("learner",))
    assert status == 1
    assert printed.endswith(f"0 notebooks built in {printed.split()[-4]} s, 7 problems.\n")
    assert len(complaints) == 7
    told = "\n".join(text.removeprefix("notebooks/source/") for text in complaints)
    assert "04_unread/lesson.py:10: unknown kind 'gaols'; did you mean 'goals'?" in told
    assert (
        "01_raises/lesson.py:18: the quiz cell of line 16 raises ZeroDivisionError: division by zero "
        "(raised on line 14) [learner]"
    ) in told
    assert "02_spoilt/lesson.py:11: the cell writes to stderr: oh [learner]" in told
    assert "02_spoilt/lesson.py:15: the output holds an absolute path: /home/ann/x [learner]" in told
    assert "02_spoilt/lesson.py:15: the output holds a memory address: 0x" in told
    assert "02_spoilt/lesson.py:15: the output takes 300,1" in told
    assert "03_dies/lesson.py:11: the kernel died in this cell." in told
    assert not list(course.root.glob("**/*.ipynb"))


def test_an_unsolvable_solution_fails_the_strict_run_with_its_line(course, tiny, line_of):
    text = tiny.replace(
        'print(check("double_it", double_it))', 'assert check("double_it", double_it).endswith(MODE)'
    )
    text = text.replace('MODE = "solved"', 'MODE = "passed"').replace(
        "return 2 * number", "return 3 * number"
    )
    course.write(text)
    status, printed, complaints = course.build()
    line = line_of("assert check", text)
    assert status == 1 and "notebooks/42_tiny.ipynb" in printed and "build/" not in printed
    (told,) = complaints
    check = line_of('# %% kind="check"', text)
    assert told.startswith(
        f"notebooks/source/42_tiny/lesson.py:{line}: the check cell of line {check} raises AssertionError"
    )
    assert told.endswith("[solved]")


def test_a_cell_that_hangs_is_stopped(course, monkeypatch):
    monkeypatch.setattr(execute, "SECONDS_A_CELL", 1)
    course.write(SHORT.format(setup="import time", quiz="time.sleep(60)"), "05_hangs")
    _, _, complaints = course.build(editions=("learner",))
    assert complaints == ["notebooks/source/05_hangs/lesson.py:14: the cell ran longer than 1 s [learner]"]


def test_a_kernel_that_does_not_start_is_told_with_its_last_words(course):
    course.write(SHORT.format(setup="x = 1", quiz="x = 1"), "06_no_kernel")
    (course.root / "notebooks" / "ipykernel_launcher.py").write_text("raise SystemExit('no kernel today')")
    _, _, (told,) = course.build(editions=("learner",))
    assert told.startswith("notebooks/source/06_no_kernel/lesson.py:1: the kernel did not start: ")
    assert told.endswith(" no kernel today [learner]")


def test_the_kernel_s_surroundings_are_ours(monkeypatch, tmp_path):
    for name in ("COURSE_STRICT", "COURSE_OPEN", "COURSE_CLASSROOM", "MPLBACKEND", "PYTHONPATH"):
        monkeypatch.setenv(name, "elsewhere")
    learner = execute.kernel_environment("learner", tmp_path)
    assert not {"COURSE_STRICT", "COURSE_OPEN", "COURSE_CLASSROOM", "MPLBACKEND"} & set(learner)
    assert learner["PYTHONPATH"].split(os.pathsep) == [str(PROJECT_ROOT), "elsewhere"]
    assert learner["COURSE_HOME"].startswith(str(tmp_path)) and learner["PYTHONHASHSEED"] == "0"
    solved = execute.kernel_environment("solved", tmp_path)
    assert solved["COURSE_STRICT"] == solved["COURSE_OPEN"] == "1"
    assert learner["COURSE_BAR"] == solved["COURSE_BAR"] == "0"


def test_lessons_are_chosen_by_number_topic_or_name(course, tiny):
    paths = [course.write(tiny, name) for name in ("08_query_key_value", "42_tiny")]
    for name in ("08", "8", "query_key_value", "08_query_key_value"):
        assert choose(paths, [name]) == (paths[:1], [])
    assert choose(paths, []) == (paths, [])
    assert choose(paths, ["42", "tiny"]) == (paths[1:], [])
    assert choose(paths, ["9"]) == ([], ["There is no lesson '9'. There are: 08_query_key_value, 42_tiny."])


def test_a_course_without_lessons_says_so(course):
    status, _, complaints = course.build()
    assert status == 1 and complaints == [
        "There is no lesson in notebooks/source. See docs/writing_a_lesson.md."
    ]


def test_a_fresh_notebook_passes_the_check(copy_of_built):
    assert copy_of_built.build(check=True) == (0, "1 lesson looked at, all well.\n", [])


CHANGED = "stale: its cell 3 is not what line 15 of notebooks/source/42_tiny/lesson.py makes"
REMEDY = "; run `python3 -m course_lib build 42`"


def spoil_source(course):
    path = course.root / "notebooks" / "source" / "42_tiny" / "lesson.py"
    path.write_text(path.read_text() + "# one comment more\n")


def edit_notebook(change):
    def spoil(course):
        path = course.root / "notebooks" / "42_tiny.ipynb"
        notebook = json.loads(path.read_text())
        change(notebook)
        path.write_text(json.dumps(notebook))

    return spoil


def unlink(course):
    (course.root / "notebooks" / "42_tiny.ipynb").unlink()


def cut_short(course):
    (course.root / "notebooks" / "42_tiny.ipynb").write_text("{")


def set_source(notebook):
    notebook["cells"][2]["source"] = ["import sys"]


def set_id(notebook):
    notebook["cells"][2]["id"] = "another"


def add_stderr(notebook):
    notebook["cells"][2]["outputs"] = [{"output_type": "stream", "name": "stderr", "text": ["oh"]}]


def forget_count(notebook):
    notebook["cells"][2]["execution_count"] = None


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_source, "stale: notebooks/source/42_tiny/lesson.py has changed since"),
        (edit_notebook(set_source), CHANGED),
        (edit_notebook(set_id), CHANGED),
        (
            edit_notebook(lambda notebook: notebook["cells"].pop()),
            "stale: it has 11 cells, its source makes 12",
        ),
        (
            edit_notebook(lambda notebook: notebook["metadata"].pop("kernelspec")),
            "stale: its metadata was changed by hand",
        ),
        (edit_notebook(add_stderr), "the cell writes to stderr: oh (source line 15)"),
        (edit_notebook(forget_count), "the stored cell has execution count None, not 1 (source line 15)"),
        (unlink, "not built yet"),
        (cut_short, "this is not a notebook we wrote"),
    ],
)
def test_a_stale_notebook_is_told_with_what_to_run(copy_of_built, spoil, message):
    spoil(copy_of_built)
    status, _, complaints = copy_of_built.build("42", check=True)
    assert status == 1
    assert complaints == [f"notebooks/42_tiny.ipynb: {message}{REMEDY}"]


def test_a_notebook_without_a_source_is_told(copy_of_built):
    notebooks = copy_of_built.root / "notebooks"
    (notebooks / "42_tiny.ipynb").rename(notebooks / "43_gone.ipynb")
    _, _, complaints = copy_of_built.build(check=True)
    assert complaints == [
        f"notebooks/42_tiny.ipynb: not built yet{REMEDY}",
        "notebooks/43_gone.ipynb: no source makes it; delete it, "
        "or bring notebooks/source/43_gone/lesson.py back",
    ]


@pytest.mark.slow
def test_nbval_agrees_with_what_is_stored_and_objects_to_anything_else(copy_of_built, tmp_path):
    """Strict nbval: every text output is compared. A notebook with one word changed shows that it is."""
    notebooks = copy_of_built.root / "notebooks"
    other = (
        (notebooks / "42_tiny.ipynb")
        .read_text()
        .replace("double_it: not tried yet\\n", "double_it: passed\\n")
    )
    (notebooks / "43_other.ipynb").write_text(other)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "-p",
        "no:cacheprovider",
        "-q",
        "-rf",
        str(notebooks),
    ]
    run = subprocess.run(
        command,
        cwd=notebooks,
        env=execute.kernel_environment("learner", tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "1 failed, 9 passed" in run.stdout
    assert re.search(r"FAILED .*43_other\.ipynb::Cell 3", run.stdout)

"""The whole way: sources in, executed notebooks out, and every problem told."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from course_lib.authoring import execute
from course_lib.authoring.build import choose
from course_lib.authoring.editions import from_text
from course_lib.runtime import PROJECT_ROOT

pytestmark = pytest.mark.slow  # real kernels

GLOSSARY = "docs/glossary.md: stale; run `python3 -m course_lib build`"


@pytest.fixture(scope="module")
def built_course(tmp_path_factory, tiny, made_up_course):
    """The tiny lesson, really built in all its editions. Tests copy it before they change anything."""
    course = made_up_course(tmp_path_factory.mktemp("built") / "project")
    course.write(tiny)
    course.built = course.build()
    return course


@pytest.fixture
def copy_of_built(course, built_course):
    """The built tiny course, to be spoilt."""
    shutil.copytree(built_course.root, course.root, dirs_exist_ok=True)
    return course


def stored(course, path: str) -> dict:
    return from_text((course.root / path).read_text(encoding="utf-8"))


def test_a_build_says_what_it_made(built_course):
    status, printed, complaints = built_course.built
    assert (status, complaints) == (0, [])
    lines = printed.splitlines()
    for line, path in zip(sorted(lines[:3]), ("build/instructor", "build/solved", "notebooks"), strict=True):
        size = r"1[24] cells,  5 code, 14 min, \d+ kB, run in \d+\.\d s"
        assert re.fullmatch(rf"{path}/42_tiny.ipynb +{size}", line)
    assert re.fullmatch(r"notebooks built: 3, in \d+\.\d s; all well", lines[3])
    assert "No lesson defines a term" in (built_course.root / "docs" / "glossary.md").read_text()


def test_the_learner_s_notebook_is_run_whole_and_keeps_its_still_picture(built_course, only):
    notebook = stored(built_course, "notebooks/42_tiny.ipynb")
    counts = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert counts == [1, 2, 3, 4, 5]
    assert only(notebook, "check")["outputs"][0]["text"] == "double_it: not tried yet\n"
    words, picture = only(notebook, "see")["outputs"]
    assert words["text"] == "seven: 7\n"
    assert picture["data"] == {"image/png": "iVBORw0KGgo=", "text/plain": "a still picture"}
    assert "version" not in notebook["metadata"]["language_info"] and "widgets" not in notebook["metadata"]


def test_solved_and_instructor_s_share_one_strict_run(built_course, only):
    solved, instructor = (
        stored(built_course, f"build/{each}/42_tiny.ipynb") for each in ("solved", "instructor")
    )
    assert only(solved, "check")["outputs"][0]["text"] == "double_it: passed\n"
    assert instructor["metadata"]["course"]["edition"] == "instructor"
    ran = [[cell["outputs"] for cell in each["cells"] if "outputs" in cell] for each in (solved, instructor)]
    assert ran[0] == ran[1]


def test_building_again_gives_the_same_bytes(copy_of_built):
    path = copy_of_built.root / "notebooks" / "42_tiny.ipynb"
    before = path.read_bytes()
    path.unlink()
    status, printed, _ = copy_of_built.build("42", editions=("learner",))
    assert status == 0 and printed.count("\n") == 2
    assert path.read_bytes() == before


def test_problems_of_several_lessons_are_all_told_and_nothing_is_written(course, tiny, line_of, monkeypatch):
    monkeypatch.setattr(execute, "SECONDS_A_CELL", 5)
    spoilt = 'import sys\nprint("oh", file=sys.stderr)\nprint("/home/ann/x", object(), "y" * 300_001)'
    lessons = {
        "01_raises": ('print("seven:", 3 + 4)', "def deep(x):\n    return 1 / x"),
        "02_spoilt": ('print("quiz")', spoilt),
        "03_dies": ('print("quiz")', "os._exit(3)"),
        "04_unread": ('kind="goals"', 'kind="gaols"'),
        "05_hangs": ('print("quiz")', "import time\ntime.sleep(60)"),
    }
    for name, (old, new) in lessons.items():
        course.write(tiny.replace(old, new).replace('print("quiz")', "1 + 1\ndeep(0)"), name)
    status, printed, complaints = course.build(editions=("learner",))
    assert status == 1 and re.fullmatch(r"notebooks built: 0, in [\d.]+ s; problems: 8\n", printed)
    told = "\n".join(text.removeprefix("notebooks/source/") for text in complaints)
    goals, see, quiz = map(line_of, ('[markdown] kind="goals"', 'print("seven:"', '# %% kind="quiz"'))
    assert len(complaints) == 8
    for message in (
        f"04_unread/lesson.py:{goals}: unknown kind 'gaols'; did you mean 'goals'?",
        f"01_raises/lesson.py:{quiz + 3}: the quiz cell of line {quiz + 1} raises ZeroDivisionError: "
        f"division by zero (raised on line {see + 1}) [learner]",
        f"02_spoilt/lesson.py:{quiz}: the cell writes to stderr: oh [learner]",
        f"02_spoilt/lesson.py:{quiz}: the output holds an absolute path: /home/ann/x [learner]",
        f"02_spoilt/lesson.py:{quiz}: the output holds a memory address: 0x",
        f"02_spoilt/lesson.py:{quiz}: the output takes 300,1",
        f"03_dies/lesson.py:{quiz}: the kernel died in this cell.",
        f"05_hangs/lesson.py:{quiz}: the cell ran longer than 5 s [learner]",
    ):
        assert message in told
    assert not list(course.root.glob("**/*.ipynb")) and not (course.root / "docs").exists()


def test_an_unsolvable_solution_fails_the_strict_run_with_its_line(course, tiny, line_of):
    strict = 'assert check("double_it", double_it).endswith(MODE)'
    text = tiny.replace('print(check("double_it", double_it))', strict)
    text = text.replace('MODE = "solved"', 'MODE = "passed"').replace(
        "return 2 * number", "return 3 * number"
    )
    course.write(text)
    status, printed, (told,) = course.build()
    assert status == 1 and "notebooks/42_tiny.ipynb" in printed and "build/" not in printed
    line, check = line_of("assert check", text), line_of('# %% kind="check"', text)
    raised = (
        f"notebooks/source/42_tiny/lesson.py:{line}: the check cell of line {check} raises AssertionError"
    )
    assert told.startswith(raised) and told.endswith("[solved]")


def test_a_kernel_that_does_not_start_is_told_with_its_last_words(course, tiny):
    course.write(tiny, "06_no_kernel")
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
    none = "There is no lesson in notebooks/source. See docs/writing_a_lesson.md."
    assert choose([], []) == ([], [none])


def edit(change):
    def spoil(course):
        path = course.root / "notebooks" / "42_tiny.ipynb"
        notebook = json.loads(path.read_text())
        change(notebook)
        path.write_text(json.dumps(notebook))

    return spoil


def write(path: str, text: str | None):
    """Put text into a file, or take the file away."""
    return lambda course: (course.root / path).write_text(text) if text else (course.root / path).unlink()


def comment(course):
    path = course.root / "notebooks" / "source" / "42_tiny" / "lesson.py"
    path.write_text(path.read_text() + "# one comment more\n")


def setup(**changes):
    return edit(lambda notebook: notebook["cells"][2].update(changes))


NOTEBOOK, STALE = (
    "notebooks/42_tiny.ipynb",
    "stale: it is not what {}notebooks/source/42_tiny/lesson.py makes",
)
STDERR = [{"output_type": "stream", "name": "stderr", "text": ["oh"]}]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (comment, STALE.format("")),
        (setup(source=["import sys"]), STALE.format("line 15 of ")),
        (setup(id="another"), STALE.format("line 15 of ")),
        (edit(lambda notebook: notebook["cells"].pop()), STALE.format("")),
        (edit(lambda notebook: notebook["metadata"].pop("kernelspec")), STALE.format("")),
        (setup(outputs=STDERR), "the cell writes to stderr: oh (source line 15)"),
        (setup(execution_count=None), "the stored cell has execution count None, not 1 (source line 15)"),
        (write(NOTEBOOK, None), "not built yet"),
        (write(NOTEBOOK, "<<<<<<< HEAD"), "this is not a notebook we wrote"),
    ],
)
def test_a_stale_notebook_is_told_with_what_to_run(copy_of_built, spoil, message):
    assert copy_of_built.build(check=True) == (0, "lessons looked at: 1; all well\n", [])
    spoil(copy_of_built)
    status, _, complaints = copy_of_built.build("42", check=True)
    assert status == 1
    assert complaints == [f"notebooks/42_tiny.ipynb: {message}; run `python3 -m course_lib build 42`"]


def test_a_notebook_without_a_source_and_a_stale_glossary_are_told(copy_of_built):
    notebooks = copy_of_built.root / "notebooks"
    (notebooks / "42_tiny.ipynb").rename(notebooks / "43_gone.ipynb")
    write("docs/glossary.md", "# Another")(copy_of_built)
    _, _, complaints = copy_of_built.build(check=True)
    assert complaints[1].startswith("notebooks/43_gone.ipynb: no source makes it; delete it, or bring note")
    assert complaints[2:] == [GLOSSARY]
    write("docs/glossary.md", None)(copy_of_built)
    assert copy_of_built.build(check=True)[2][-1] == GLOSSARY


def test_a_bad_quiz_file_is_told(copy_of_built):
    quiz = copy_of_built.root / "notebooks" / "source" / "42_tiny" / "quiz.json"
    quiz.write_text('{"lesson": "tiny", "questions": []}')
    _, _, complaints = copy_of_built.build(check=True)
    assert complaints == ["notebooks/source/42_tiny/quiz.json: quiz: [] should be non-empty"]
    quiz.write_text("{")
    (told,) = copy_of_built.build(check=True)[2]
    assert told.startswith("notebooks/source/42_tiny/quiz.json: this is not JSON")


def test_terms_used_too_early_and_defined_twice_are_told(copy_of_built, tiny, line_of):
    line = line_of("A formula")
    early = tiny.replace("A formula", "A softmax").replace('kind="quiz"', 'kind="quiz" tags="x"')
    copy_of_built.write(early, "41_early")
    copy_of_built.write(tiny.replace("A formula", "A {term:softmax}"))
    _, _, complaints = copy_of_built.build(check=True)
    told = (
        f"notebooks/source/41_early/lesson.py:{line}: 'softmax' is used here, but 42_tiny explains it first; "
    )
    assert any(text.startswith(told) for text in complaints) and GLOSSARY in complaints
    copy_of_built.write(tiny.replace("A formula", "A {term:softmax}"), "41_early")
    page = (copy_of_built.root / "docs" / "glossary.md").read_text()
    status, printed, (told,) = copy_of_built.build(editions=("learner",))
    assert told.startswith(
        f"notebooks/source/42_tiny/lesson.py:{line}: the term 'softmax' is defined already, in "
    )
    assert status == 1 and printed.startswith("notebooks/41_early.ipynb ") and printed.count(".ipynb") == 1
    assert (copy_of_built.root / "docs" / "glossary.md").read_text() == page


def test_nbval_agrees_with_what_is_stored_and_objects_to_anything_else(copy_of_built, tmp_path):
    """Strict nbval: every text output is compared. A notebook with one word changed shows that it is."""
    notebooks = copy_of_built.root / "notebooks"
    text = (notebooks / "42_tiny.ipynb").read_text()
    (notebooks / "43_other.ipynb").write_text(text.replace("double_it: not tried yet", "double_it: passed"))
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
    environment = execute.kernel_environment("learner", tmp_path / "home")
    run = subprocess.run(command, cwd=notebooks, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "1 failed, 9 passed" in run.stdout
    assert re.search(r"FAILED .*43_other\.ipynb::Cell 3", run.stdout)

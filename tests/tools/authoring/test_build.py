"""The whole way: sources in, executed notebooks out, and every problem told."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import replace

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.questions.question import questions
from tests.tools.authoring.made_up import TINY, MadeUpCourse, line_of, only
from tools.authoring import build, execute
from tools.authoring.build import choose, draft, staleness
from tools.authoring.editions import from_text
from tools.authoring.source import sources

pytestmark = pytest.mark.slow  # real kernels

SOURCE, NOTEBOOK = "lessons/l42_tiny/lesson.py", "notebooks/42_tiny.ipynb"
GLOSSARY = "docs/glossary.md: stale; run `python3 -m course_lib build`"


@pytest.fixture(scope="module")
def built_course(tmp_path_factory):
    """The tiny lesson, really built in all its editions. Tests copy it before they change anything."""
    course = MadeUpCourse(tmp_path_factory.mktemp("built") / "project")
    course.write()
    course.built = course.build()
    return course


@pytest.fixture
def copy_of_built(course, built_course):
    """The built tiny course, to be spoilt."""
    shutil.copytree(built_course.root, course.root, dirs_exist_ok=True)
    return course


def test_every_edition_is_run_whole_and_stored(built_course):
    status, printed, complaints = built_course.built
    assert (status, complaints) == (0, [])
    lines = printed.splitlines()
    for line, path in zip(sorted(lines[:3]), ("build/instructor", "build/solved", "notebooks"), strict=True):
        size = r"1[24] cells,  5 code, 14 min, \d+ kB, run in \d+\.\d s"
        assert re.fullmatch(rf"{path}/42_tiny.ipynb +{size}", line)
    assert re.fullmatch(r"notebooks built: 3, in \d+\.\d s; all well", lines[3])
    assert "No lesson defines a term" in (built_course.root / "docs" / "glossary.md").read_text()
    learner, solved, instructor = (
        from_text((built_course.root / folder / "42_tiny.ipynb").read_text(encoding="utf-8"))
        for folder in ("notebooks", "build/solved", "build/instructor")
    )
    counts = [cell["execution_count"] for cell in learner["cells"] if cell["cell_type"] == "code"]
    assert counts == [1, 2, 3, 4, 5]
    assert only(learner, "check")["outputs"][0]["text"] == "double_it: not tried yet\n"
    words, picture = only(learner, "see")["outputs"]
    assert words["text"] == "seven: 7\n"
    assert picture["data"] == {"image/png": "iVBORw0KGgo=", "text/plain": "a still picture"}
    assert "version" not in learner["metadata"]["language_info"] and "widgets" not in learner["metadata"]
    assert only(solved, "check")["outputs"][0]["text"] == "double_it: passed\n"
    ran = [[cell["outputs"] for cell in each["cells"] if "outputs" in cell] for each in (solved, instructor)]
    assert instructor["metadata"]["course"]["edition"] == "instructor" and ran[0] == ran[1]


def test_problems_of_several_lessons_are_all_told_and_nothing_is_written(course, monkeypatch):
    monkeypatch.setattr(execute, "SECONDS_A_CELL", 5)
    monkeypatch.setattr(build, "RUNS", [["learner"]])
    spoilt = 'import sys\nprint("oh", file=sys.stderr)\nprint("/home/ann/x", object(), "y" * 300_001)'
    solution = (
        '# %% kind="exercise" exercise="x" title="X" difficulty=2 importance=4 minutes=3 track="core"\n'
    )
    solution += '# solution\nx = 2\n# end solution\n# %% kind="check"\ncheck("x", x)\n'
    solution += '# %% [markdown] kind="hints"\n"""Two."""\n# %% kind="quiz"\n'
    lessons = {
        "01_raises": ('print("seven:", 3 + 4)', "def deep(x):\n    return 1 / x"),
        "02_spoilt": ('print("quiz")', spoilt),
        "03_dies": ('print("quiz")', "os._exit(3)"),
        "04_unread": ('kind="goals"', 'kind="gaols"'),
        "05_hangs": ('print("quiz")', "import time\ntime.sleep(60)"),
        "06_outside": ('# %% kind="quiz" minutes=2 track="stretch"\n', solution),
    }
    for name, (old, new) in lessons.items():
        course.write(TINY.replace(old, new).replace('print("quiz")', "1 + 1\ndeep(0)"), name)
    status, printed, complaints = course.build()
    assert status == 1 and re.fullmatch(r"notebooks built: 0, in [\d.]+ s; problems: 9\n", printed)
    told = "\n".join(text.removeprefix("lessons/l") for text in complaints)
    goals, see, quiz = map(line_of, ('[markdown] kind="goals"', 'print("seven:"', '# %% kind="quiz"'))
    assert len(complaints) == 9
    for message in (
        f"04_unread/lesson.py:{goals}: the kind is 'gaols'; known are title, goals",
        f"01_raises/lesson.py:{see + 1}: the quiz cell of line {quiz + 1} raises ZeroDivisionError: "
        "division by zero [learner]",
        f"02_spoilt/lesson.py:{quiz}: the cell writes to stderr: oh [learner]",
        f"02_spoilt/lesson.py:{quiz}: the output holds an absolute path: /home/ann/x [learner]",
        f"02_spoilt/lesson.py:{quiz}: the output holds a memory address: 0x",
        f"02_spoilt/lesson.py:{quiz}: the output takes 300,1",
        f"03_dies/lesson.py:{quiz}: the kernel was stopped: Kernel died",
        f"05_hangs/lesson.py:{quiz}: the kernel was stopped: A cell timed out",
        f"06_outside/lesson.py:{quiz + 1}: the exercise cell of line {quiz} raises NotImplementedError: Your",
    ):
        assert message in told
    assert not list(course.root.glob("**/*.ipynb")) and not (course.root / "docs").exists()


def test_the_kernel_s_surroundings_are_ours(monkeypatch, tmp_path):
    for name in ("COURSE_STRICT", "COURSE_OPEN", "COURSE_CLASSROOM", "MPLBACKEND", "PYTHONPATH"):
        monkeypatch.setenv(name, "elsewhere")
    learner, solved = (execute.kernel_environment(edition, tmp_path) for edition in ("learner", "solved"))
    assert not {"COURSE_STRICT", "COURSE_OPEN", "COURSE_CLASSROOM", "MPLBACKEND"} & set(learner)
    assert learner["PYTHONPATH"].split(os.pathsep) == [str(PROJECT_ROOT), "elsewhere"]
    assert learner["COURSE_HOME"].startswith(str(tmp_path)) and learner["PYTHONHASHSEED"] == "0"
    assert solved["COURSE_STRICT"] == solved["COURSE_OPEN"] == "1"
    assert learner["COURSE_BAR"] == solved["COURSE_BAR"] == "0"


def test_lessons_are_chosen_by_number_topic_or_name(course):
    paths = [course.write(name=name) for name in ("08_query_key_value", "42_tiny")]
    for name in ("08", "8", "query_key_value", "08_query_key_value"):
        assert choose(paths, [name]) == (paths[:1], [])
    assert choose(paths, []) == (paths, [])
    assert choose(paths, ["42", "tiny"]) == (paths[1:], [])
    assert choose(paths, ["9"]) == ([], ["There is no lesson '9'. There are: 08_query_key_value, 42_tiny."])


def write(path: str, text: str | None):
    """Put text into a file, or take the file away."""
    return lambda course: (course.root / path).write_text(text) if text else (course.root / path).unlink()


def edit(change):
    """Change the stored notebook."""

    def spoil(course):
        notebook = json.loads((course.root / NOTEBOOK).read_text())
        change(notebook)
        write(NOTEBOOK, json.dumps(notebook))(course)

    return spoil


def setup(**changes):
    return edit(lambda notebook: notebook["cells"][2].update(changes))


STALE, LINE = f"stale: it is not what {SOURCE} makes", line_of('# %% kind="setup"')
STDERR = [{"output_type": "stream", "name": "stderr", "text": ["oh"]}]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (write(SOURCE, TINY + "# one comment more\n"), STALE),
        (setup(source=["import sys"]), STALE),
        (setup(id="another"), STALE),
        (edit(lambda notebook: notebook["cells"].pop()), STALE),
        (edit(lambda notebook: notebook["metadata"].pop("kernelspec")), STALE),
        (setup(outputs=STDERR), f"the cell writes to stderr: oh (source line {LINE})"),
        (
            setup(execution_count=None),
            f"the stored cell has execution count None, not 1 (source line {LINE})",
        ),
        (write(NOTEBOOK, None), "not built yet"),
        (write(NOTEBOOK, "<<<<<<< HEAD"), "this is not a notebook we wrote"),
    ],
)
def test_a_stale_notebook_is_told_with_what_to_run(copy_of_built, spoil, message):
    assert copy_of_built.build(check=True) == (0, "lessons looked at: 1; all well\n", [])
    spoil(copy_of_built)
    status, _, complaints = copy_of_built.build("42", check=True)
    assert status == 1
    assert complaints == [f"{NOTEBOOK}: {message}; run `python3 -m course_lib build 42`"]


def test_a_stale_glossary_and_a_bad_quiz_are_told(copy_of_built):
    quiz = "lessons/l42_tiny/quiz.json"
    write("docs/glossary.md", "# Another")(copy_of_built)
    write(quiz, '{"lesson": "tiny", "questions": []}')(copy_of_built)
    assert copy_of_built.build(check=True)[2] == [f"{quiz}: $.questions: [] should be non-empty", GLOSSARY]
    write("docs/glossary.md", None)(copy_of_built)
    write(quiz, "{")(copy_of_built)
    told = copy_of_built.build(check=True)[2]
    assert told[0].startswith(f"{quiz}: this is not JSON") and told[1:] == [GLOSSARY]


def test_what_a_lesson_folder_lacks_or_must_not_import_is_told_and_nothing_is_written(course):
    course.write(TINY.replace('print("seven:", 3 + 4)', "import lessons.l43_later"))
    (course.root / "lessons" / "l41_empty").mkdir()
    module = course.root / "lessons" / "l42_tiny" / "helper.py"
    module.write_text("import torch\nfrom tools.bench import clock", encoding="utf-8")
    quiz = course.root / "lessons" / "l42_tiny" / "quiz.json"
    quiz.write_text('{"lesson": "tiny",\n "text": "{result:no/such:.0%}"}', encoding="utf-8")
    status, _, complaints = course.build()
    assert status == 1 and not list((course.root / "notebooks").iterdir())
    told = [text.partition(";")[0] for text in complaints]
    line = line_of('print("seven:"')
    assert told == [
        "lessons/l41_empty/lesson.py:1: the file is missing",
        "lessons/l42_tiny/helper.py:2: it imports tools.bench.clock",
        f"lessons/l42_tiny/lesson.py:{line}: it imports lessons.l43_later",
        "lessons/l42_tiny/quiz.json:2: {result:no/such:.0%}: there is no results file 'no'",
    ]
    quiz.write_text('{"lesson": "tiny",\n\n "text": "{printed:counts}"}', encoding="utf-8")
    assert course.build(check=True)[2][3].startswith("lessons/l42_tiny/quiz.json:3: a quiz can't quote")


def test_a_question_that_changed_in_another_lesson_is_told(monkeypatch):
    """The recall of 08 is drawn from lessons 07 and 05; its source does not change when they do."""
    [path], _ = choose(sources(PROJECT_ROOT), ["08"])
    asked = questions("07")
    changed = {name: replace(one, text="Another?") for name, one in asked.items() if one.use == "later"}
    drawn_from = sys.modules["course_lib.teaching.questions.quiz"]
    monkeypatch.setattr(drawn_from, "questions", lambda n: changed if n == "07" else questions(n))
    (told,) = staleness(PROJECT_ROOT, draft(path, PROJECT_ROOT))
    assert '08_query_key_value.ipynb: `quiz("08", "recall")` shows something else now (source line' in told
    assert told.endswith("; run `python3 -m course_lib build 08`")
    monkeypatch.setattr(drawn_from, "questions", lambda n: {}[n])
    (told,) = staleness(PROJECT_ROOT, draft(path, PROJECT_ROOT))
    assert '`quiz("08", "recall")` cannot be asked: ' in told


def test_terms_used_too_early_and_defined_twice_are_told(copy_of_built, monkeypatch):
    monkeypatch.setattr(build, "RUNS", [["learner"]])
    line, term = line_of("A formula"), TINY.replace("A formula", "A {term:softmax}")
    copy_of_built.write(TINY.replace("A formula", "A softmax"), "41_early")
    copy_of_built.write(term)
    _, _, complaints = copy_of_built.build(check=True)
    early = f"lessons/l41_early/lesson.py:{line}: 'softmax' is used here, but 42_tiny explains it first"
    assert any(text.startswith(early) for text in complaints) and GLOSSARY in complaints
    copy_of_built.write(term, "41_early")
    page = (copy_of_built.root / "docs" / "glossary.md").read_text()
    status, _, (told,) = copy_of_built.build("41")
    assert status == 1 and told.startswith(f"{SOURCE}:{line}: the term 'softmax' is defined already, in ")
    assert (copy_of_built.root / "docs" / "glossary.md").read_text() == page

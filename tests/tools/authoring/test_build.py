"""The whole build: sources in, executed notebooks out, and every problem reported."""

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
from tests.full_disk import full_disk
from tests.tools.authoring.made_up import ADDRESS, TINY, MadeUpCourse, line_of, only
from tools.authoring import build, execute
from tools.authoring.build import choose, draft, staleness
from tools.authoring.editions import from_text
from tools.authoring.lesson import sources

pytestmark = pytest.mark.slow  # real kernels

SOURCE, NOTEBOOK = "lessons/l42_tiny/lesson.py", "notebooks/42_tiny.ipynb"
BUILD = "run `python3 -m course_lib build"


@pytest.fixture(scope="module")
def built_course(tmp_path_factory):
    """The tiny lesson, built in all editions. Tests copy it before they change anything."""
    course = MadeUpCourse(tmp_path_factory.mktemp("built") / "project")
    course.write()
    course.built = course.build()
    return course


@pytest.fixture
def copy_of_built(course, built_course):
    """A copy of the built course that a test may change."""
    shutil.copytree(built_course.root, course.root, dirs_exist_ok=True)
    return course


def test_every_edition_is_executed_and_stored(built_course):
    status, printed, problems = built_course.built
    assert (status, problems) == (0, [])
    lines = printed.splitlines()
    folders = ("build/instructor", "build/solved", "notebooks", "notebooks/short")
    for line, path in zip(sorted(lines[:4]), folders, strict=True):
        size = r"\d+ cells, +\d code, +\d+ min, \d+ kB, run in \d+\.\d s"
        assert re.fullmatch(rf"{path}/42_tiny.ipynb +{size}", line)
    assert re.fullmatch(r"notebooks/42_tiny.ipynb +(\d+) words, 1 picture: \1 words for each", lines[4])
    assert re.fullmatch(r"short/42_tiny.ipynb +\d+ words, 0 pictures", lines[5])
    assert lines[6].startswith("4 notebooks built in ")
    assert (built_course.root / "docs" / "glossary.md").read_text().startswith("# Glossary\n")
    learner, solved, instructor = (
        from_text((built_course.root / folder / "42_tiny.ipynb").read_text(encoding="utf-8"))
        for folder in ("notebooks", "build/solved", "build/instructor")
    )
    counts = [cell["execution_count"] for cell in learner["cells"] if cell["cell_type"] == "code"]
    assert counts == [1, 2, 3, 4, 5]
    assert only(learner, "check")["outputs"][0]["text"] == "double_it: not tried yet\n"
    text, picture = only(learner, "see")["outputs"]
    assert text["text"] == "seven: 7\n"
    assert picture["data"] == {"image/png": "iVBORw0KGgo=", "text/plain": "a still picture"}
    assert "version" not in learner["metadata"]["language_info"] and "widgets" not in learner["metadata"]
    assert only(solved, "check")["outputs"][0]["text"] == "double_it: passed\n"
    outputs = [
        [cell["outputs"] for cell in notebook["cells"] if "outputs" in cell]
        for notebook in (solved, instructor)
    ]
    assert instructor["metadata"]["course"]["edition"] == "instructor" and outputs[0] == outputs[1]


@pytest.mark.parametrize(("path", "n_bytes"), [("docs/glossary.md", 5), (NOTEBOOK, 2000)])
def test_a_build_that_does_not_fit_on_the_disk_leaves_the_old_files(
    copy_of_built, monkeypatch, path, n_bytes
):
    stored = from_text((copy_of_built.root / NOTEBOOK).read_text(encoding="utf-8"))

    async def outputs(*_):
        return [cell["outputs"] for cell in stored["cells"] if cell["cell_type"] == "code"]

    monkeypatch.setattr(execute, "execute", outputs)
    monkeypatch.setattr(build, "RUNS", [["learner"]])
    folder = (copy_of_built.root / path).parent
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    assert len(before[path.rpartition("/")[2]]) > n_bytes
    with full_disk(n_bytes):
        copy_of_built.build()
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


def test_problems_of_several_lessons_are_all_reported_and_nothing_is_written(course, monkeypatch):
    monkeypatch.setattr(execute, "SECONDS_A_CELL", 5)
    monkeypatch.setattr(build, "RUNS", [["learner"]])
    bad_output = 'import sys\nprint("oh", file=sys.stderr)\nprint("/home/ann/x", object(), "y" * 300_001)'
    solution = '# %% kind="exercise" exercise="x" title="X" difficulty=2 importance=4 track="core"\n'
    solution += '# solution\nx = 2\n# end solution\n# %% kind="check"\ncheck("x", x)\n'
    solution += '# %% [markdown] kind="hints"\n"""Two."""\n# %% kind="quiz"\n'
    lessons = {
        "01_raises": ('print("seven:", 3 + 4)', "def deep(x):\n    return 1 / x"),
        "02_bad_output": ('print("quiz")', bad_output),
        "03_dies": ('print("quiz")', "os._exit(3)"),
        "04_unread": ('kind="goals"', 'kind="gaols"'),
        "05_hangs": ('print("quiz")', "import time\ntime.sleep(60)"),
        "06_outside": ('# %% kind="quiz" track="stretch"\n', solution),
    }
    for name, (old, new) in lessons.items():
        course.write(TINY.replace(old, new).replace('print("quiz")', "1 + 1\ndeep(0)"), name)
    status, printed, problems = course.build()
    assert status == 1 and printed.startswith("0 notebooks built in ")
    text = "\n".join(problem.removeprefix("lessons/l") for problem in problems)
    goals, see, quiz = map(line_of, ('[markdown] kind="goals"', 'print("seven:"', '# %% kind="quiz"'))
    assert len(problems) == 9
    for pattern in (
        rf"04_unread/lesson.py:{goals}: .*'gaols'",
        rf"01_raises/lesson.py:{see + 1}: .* {quiz + 1} .*ZeroDivisionError: division by zero .*learner",
        rf"02_bad_output/lesson.py:{quiz}: .*stderr: oh",
        rf"02_bad_output/lesson.py:{quiz}: .*: /home/ann/x",
        rf"02_bad_output/lesson.py:{quiz}: .*: 0x",
        rf"02_bad_output/lesson.py:{quiz}: .* 300,1",
        rf"03_dies/lesson.py:{quiz}: .*Kernel died",
        rf"05_hangs/lesson.py:{quiz}: .*A cell timed out",
        rf"06_outside/lesson.py:{quiz + 1}: .* {quiz} .*NotImplementedError: Your",
    ):
        assert re.search(pattern, text), pattern
    assert not list(course.root.glob("**/*.ipynb")) and not (course.root / "docs").exists()


def test_the_kernel_s_environment_does_not_depend_on_the_caller(monkeypatch, tmp_path):
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
    chosen, [problem] = choose(paths, ["9"])
    assert chosen == [] and "'9'" in problem and "08_query_key_value, 42_tiny" in problem


def write(path: str, text: str | None):
    """Write text to a file, or delete the file (None)."""
    return lambda course: (course.root / path).write_text(text) if text else (course.root / path).unlink()


def edit(change):
    """Change the stored notebook."""

    def change_file(course):
        notebook = json.loads((course.root / NOTEBOOK).read_text())
        change(notebook)
        write(NOTEBOOK, json.dumps(notebook))(course)

    return change_file


def setup(**changes):
    return edit(lambda notebook: notebook["cells"][2].update(changes))


STALE, LINE = f"stale: .*{SOURCE}", line_of('# %% kind="setup"')
STDERR = [{"output_type": "stream", "name": "stderr", "text": ["oh"]}]


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        (write(SOURCE, TINY + "# one comment more\n"), STALE),
        (setup(source=["import sys"]), STALE),
        (setup(id="another"), STALE),
        (edit(lambda notebook: notebook["cells"].pop()), STALE),
        (edit(lambda notebook: notebook["metadata"].pop("kernelspec")), STALE),
        (setup(outputs=STDERR), f"stderr: oh .*line {LINE}"),
        (setup(execution_count=None), f"execution count None, not 1 .*line {LINE}"),
        (write(NOTEBOOK, None), "not been built"),
        (write(NOTEBOOK, "<<<<<<< HEAD"), "not a notebook"),
    ],
)
def test_a_stale_notebook_is_reported_with_the_command_to_run(copy_of_built, change, pattern):
    status, printed, problems = copy_of_built.build(check=True)
    assert (status, problems) == (0, []) and printed.startswith("1 lesson checked; ")
    change(copy_of_built)
    status, _, problems = copy_of_built.build("42", check=True)
    assert status == 1
    assert re.fullmatch(f"{NOTEBOOK}: .*{pattern}.*{BUILD} (--no-run )?42`", problems[0])
    assert [problem.split(":")[0] for problem in problems[1:]] in ([], ["notebooks/short/42_tiny.ipynb"])


def stored_notebooks(course) -> dict[str, dict]:
    paths = sorted((course.root / "notebooks").rglob("*.ipynb"))
    return {path.parent.name: from_text(path.read_text(encoding="utf-8")) for path in paths}


def test_text_and_address_are_updated_without_a_run(copy_of_built, monkeypatch):
    monkeypatch.setattr(build, "build_drafts", lambda *_: pytest.fail("nothing may run"))
    before, moved = stored_notebooks(copy_of_built), "https://github.com/another/place"
    copy_of_built.publish(moved)
    copy_of_built.write(TINY.replace("A formula:", "Another formula:").replace("All is built.", "Done."))
    for problem in copy_of_built.build(check=True)[2][:2]:
        assert problem.startswith("notebooks/") and problem.endswith(f"{BUILD} --no-run 42`")
    status, printed, problems = copy_of_built.build(run=False)
    assert (status, problems) == (0, []) and "2 notebooks updated in " in printed
    after = stored_notebooks(copy_of_built)
    for name, notebook in after.items():
        text = json.dumps(notebook)
        assert moved in text and ADDRESS not in text and "someone/tiny" not in text and "Done." in text
        results = [
            [(cell["outputs"], cell["execution_count"]) for cell in build.code_cells(either)]
            for either in (before[name], notebook)
        ]
        assert results[0] == results[1] and results[0][0][1] == 1
    assert "0 notebooks updated in " in copy_of_built.build(run=False)[1]


def test_changed_code_is_not_stored_without_a_run(copy_of_built):
    before = stored_notebooks(copy_of_built)
    for old, new in (("import os\n", "import os as os\n"), ("import os\n", "")):
        copy_of_built.write(TINY.replace(old, new, 1))
        status, printed, problems = copy_of_built.build(run=False)
        assert status == 1 and "0 notebooks updated in " in printed
        assert len(problems) == 2 and all(problem.endswith(f"{BUILD} 42`") for problem in problems)
    assert stored_notebooks(copy_of_built) == before


def is_stale_glossary(problem: str) -> bool:
    return problem.startswith("docs/glossary.md: ") and problem.endswith(f"{BUILD}`")


def test_a_stale_glossary_and_a_bad_quiz_are_reported(copy_of_built):
    quiz = "lessons/l42_tiny/quiz.json"
    write("docs/glossary.md", "# Another")(copy_of_built)
    write(quiz, '{"lesson": "tiny", "questions": []}')(copy_of_built)
    in_quiz, in_glossary = copy_of_built.build(check=True)[2]
    assert in_quiz.startswith(f"{quiz}: $.questions: ") and is_stale_glossary(in_glossary)
    write("docs/glossary.md", None)(copy_of_built)
    write(quiz, "{")(copy_of_built)
    in_quiz, in_glossary = copy_of_built.build(check=True)[2]
    assert in_quiz.startswith(f"{quiz}: ") and "JSON" in in_quiz and is_stale_glossary(in_glossary)


def test_missing_files_and_forbidden_imports_are_reported_and_nothing_is_written(course):
    course.write(TINY.replace('print("seven:", 3 + 4)', "import lessons.l43_later"))
    (course.root / "lessons" / "l41_empty").mkdir()
    module = course.root / "lessons" / "l42_tiny" / "helper.py"
    module.write_text("import torch\nfrom tools.bench import clock", encoding="utf-8")
    quiz = course.root / "lessons" / "l42_tiny" / "quiz.json"
    quiz.write_text('{"lesson": "tiny",\n "text": "{result:no/such:.0%}"}', encoding="utf-8")
    status, _, problems = course.build()
    assert status == 1 and not list((course.root / "notebooks").iterdir())
    line = line_of('print("seven:"')
    expected = [
        ("l41_empty/lesson.py:1: ", "missing"),
        ("l42_tiny/helper.py:2: ", "tools.bench.clock"),
        (f"l42_tiny/lesson.py:{line}: ", "lessons.l43_later"),
        ("l42_tiny/quiz.json:2: ", "{result:no/such:.0%}"),
    ]
    for problem, (start, name) in zip(problems, expected, strict=True):
        assert problem.startswith(f"lessons/{start}") and name in problem
    quiz.write_text('{"lesson": "tiny",\n\n "text": "{printed:counts}"}', encoding="utf-8")
    assert course.build(check=True)[2][3].startswith("lessons/l42_tiny/quiz.json:3: ")


def test_a_question_names_a_section_that_the_lesson_has(course):
    course.write()
    quiz = course.root / "lessons" / "l42_tiny" / "quiz.json"
    sample = json.loads((PROJECT_ROOT / "tests/teaching/samples/quiz.json").read_text("utf-8"))
    quiz.write_text(json.dumps(sample, indent=1), encoding="utf-8")
    problems = course.build(check=True)[2]
    titles = {question["reread"] for question in sample["questions"] if "reread" in question}
    assert titles and all(any(f"no section {title!r}" in problem for problem in problems) for title in titles)


def test_a_question_on_the_short_track_is_about_a_section_on_it(course):
    course.write()
    quiz = course.root / "lessons" / "l42_tiny" / "quiz.json"
    sample = json.loads((PROJECT_ROOT / "tests/teaching/samples/quiz.json").read_text("utf-8"))
    asked = sample["questions"][0] | {"reread": "One picture"}
    for track, problems in (({}, 1), ({"track": "core"}, 0)):
        quiz.write_text(json.dumps(sample | {"questions": [asked | track]}, indent=1), encoding="utf-8")
        found = [problem for problem in course.build(check=True)[2] if problem.startswith("lessons/")]
        assert len(found) == problems and all("'One picture'" in problem for problem in found)


def test_a_question_that_changed_in_another_lesson_is_reported(monkeypatch):
    """The recall quiz of 08 uses questions of lessons 07 and 05; its source does not change when they do."""
    [path], _ = choose(sources(PROJECT_ROOT), ["08"])
    changed = {
        name: replace(question, text="Another?")
        for name, question in questions("07").items()
        if question.use == "later"
    }
    quiz_module = sys.modules["course_lib.teaching.questions.quiz"]
    monkeypatch.setattr(quiz_module, "questions", lambda n: changed if n == "07" else questions(n))
    for folder, problem in zip(
        ("notebooks", "notebooks/short"), staleness(PROJECT_ROOT, draft(path, PROJECT_ROOT)), strict=True
    ):
        assert problem.startswith(f"{folder}/08_query_key_value.ipynb: ") and problem.endswith(f"{BUILD} 08`")
        assert '`quiz("08", "recall")` ' in problem
    monkeypatch.setattr(quiz_module, "questions", lambda n: {}[n])
    problems = staleness(PROJECT_ROOT, draft(path, PROJECT_ROOT))
    assert len(problems) == 2 and all('`quiz("08", "recall")` ' in problem for problem in problems)


def test_terms_used_too_early_or_without_an_entry_are_reported(copy_of_built, monkeypatch):
    monkeypatch.setattr(build, "RUNS", [["learner"]])
    entry = '[softmax]\nterm = "softmax"\ndefinition = "Makes probabilities."\nlesson = "42"\n'
    (copy_of_built.root / "lessons" / "glossary.toml").write_text(entry)
    line = line_of("A formula")
    copy_of_built.write(TINY.replace("A formula", "A softmax"), "41_early")
    _, _, problems = copy_of_built.build(check=True)
    early = f"lessons/l41_early/lesson.py:{line}: 'softmax' "
    assert any(problem.startswith(early) and "lesson 42" in problem for problem in problems)
    assert any(map(is_stale_glossary, problems))
    copy_of_built.write(TINY.replace("A formula", "A {term:hard max}"), "41_early")
    page = (copy_of_built.root / "docs" / "glossary.md").read_text()
    status, _, (problem,) = copy_of_built.build("41")
    assert status == 1 and problem.startswith(f"lessons/l41_early/lesson.py:{line}: ")
    assert "'hard max'" in problem and (copy_of_built.root / "docs" / "glossary.md").read_text() == page

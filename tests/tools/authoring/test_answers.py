"""The answers to predictions and estimates: from the solved run to the learner's metadata."""

from __future__ import annotations

import json

import pytest

from course_lib.teaching.questions.guess import ANSWER
from tests.tools.authoring.made_up import TINY, MadeUpCourse, line_of, only
from tools.authoring import build, execute
from tools.authoring.answers import answers_in
from tools.authoring.editions import from_text
from tools.authoring.source import LessonError

GUESSES = """# %% kind="predict"
from course_lib import theme, views
from course_lib.teaching import estimate, predict

figure = views.StaticImage(theme.figure(2, 1).subplots().figure, alt="A line.")
print("drawn")
predict("00", "times-four", figure)
# %% kind="estimate" track="short"
estimate("00", "how-typical", lambda: 22.6)
"""
QUIZ = '# %% kind="quiz" track="stretch"\n'
LESSON = TINY.replace(QUIZ, GUESSES + QUIZ).replace(" contents=", ' track="short" contents=')
NOTEBOOKS = ("notebooks/42_tiny.ipynb", "notebooks/short/42_tiny.ipynb")


def html(text: str) -> list[dict]:
    return [{"output_type": "display_data", "data": {"text/html": text}}]


def test_an_answer_is_found_by_the_id_of_its_cell_and_a_missing_one_reported(course):
    cells = course.draft(LESSON).cells["solved"]
    code = [cell for cell in cells if cell.form == "code"]
    outputs = {cell.kind: [] for cell in code}
    stream = {"output_type": "stream", "name": "stdout", "text": "drawn"}
    outputs |= {
        "predict": [stream, *html(f"<p>Why?</p>{ANSWER}Because</div>")],
        "estimate": html("<p>How?</p>"),
    }
    with pytest.raises(LessonError) as problem:
        answers_in(cells, [outputs[cell.kind] for cell in code])
    assert problem.value.line == line_of('# %% kind="estimate"', LESSON)
    outputs["estimate"] = html(f"{ANSWER}22</div>")
    answers = answers_in(cells, [outputs[cell.kind] for cell in code])
    assert sorted(answers.values()) == [f"{ANSWER}22</div>", f"{ANSWER}Because</div>"]
    stored = {cell.id: cell.metadata.course.kind for cell in course.draft(LESSON).notebook("learner").cells}
    assert sorted(stored[name] for name in answers) == ["estimate", "predict"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    course = MadeUpCourse(tmp_path_factory.mktemp("answers") / "project")
    course.write(LESSON)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "RUNS", [["learner"], ["short"], ["solved"]])
        assert course.build()[2] == []
    return course


@pytest.mark.slow
def test_learners_get_the_answers_as_metadata_and_not_in_their_outputs(built):
    learner, short = (from_text((built.root / path).read_text(encoding="utf-8")) for path in NOTEBOOKS)
    predicted, estimated = only(learner, "predict"), only(learner, "estimate")
    answer = predicted.metadata.course.answer
    assert "It comes close to 1" in answer and answer.count("data:image/webp") == 1 and "A line." in answer
    assert "22.6 %" in estimated.metadata.course.answer == only(short, "estimate").metadata.course.answer
    outputs = json.dumps([cell["outputs"] for cell in learner.cells if cell.cell_type == "code"])
    assert "22.6" not in outputs and ANSWER not in outputs
    shown = predicted.outputs[-1].data["text/html"]
    assert "A line." in shown.partition("<details>")[2], "the figure is stored folded"
    solved = from_text((built.root / "build/solved/42_tiny.ipynb").read_text(encoding="utf-8"))
    assert only(solved, "predict").outputs[-1].data["text/html"].endswith(answer)
    assert "answer" not in only(solved, "predict").metadata.course


@pytest.mark.slow
def test_a_missing_and_an_outdated_answer_are_reported(built):
    path = built.root / NOTEBOOKS[0]
    fresh = path.read_text(encoding="utf-8")
    assert built.build(check=True)[2] == []
    for change, word in ((lambda course: course.pop("answer"), "no answer"), (spoil, "out of date")):
        notebook = from_text(fresh)
        change(only(notebook, "predict").metadata.course)
        path.write_text(json.dumps(notebook), encoding="utf-8")
        [problem] = built.build(check=True)[2]
        assert problem.startswith(NOTEBOOKS[0]) and word in problem and problem.endswith("build 42`")
    path.write_text(fresh, encoding="utf-8")


def spoil(course: dict) -> None:
    course["answer"] = f"{ANSWER}<p>An older reason.</p></div>"


@pytest.mark.slow
def test_nothing_is_written_if_the_solved_run_fails(course, monkeypatch):
    async def run(made, edition, folder):
        if edition == "solved":
            raise LessonError(7, "it failed")
        return [[] for cell in made.cells[edition] if cell.form == "code"]

    monkeypatch.setattr(execute, "execute", run)
    course.write(TINY)
    status, _, problems = course.build()
    assert status == 1 and problems == ["lessons/l42_tiny/lesson.py:7: it failed [solved]"]
    assert not list(course.root.glob("**/*.ipynb"))

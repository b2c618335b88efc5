"""Minutes are computed from what a cell contains."""

from __future__ import annotations

import json

import pytest

from course_lib.runtime import PROJECT_ROOT
from tests.drafts import drafted
from tests.tools.authoring.made_up import TINY
from tools.authoring.lesson import read_lesson, sources
from tools.authoring.minutes import EXPLORABLE, FORMULA, LEAST, WORDS_A_MINUTE, question_words, words


def minutes(course, header: str, text: str) -> float:
    """The minutes of a cell that is added to the tiny lesson."""
    path = course.write(TINY + f"# %% {header}\n{text}\n")
    return read_lesson(path, course.root).cells[-1].minutes


def prose(course, text: str, header: str = '[markdown] kind="text"') -> float:
    return minutes(course, header, f'r"""\n{text}\n"""')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat drank the water.", 5),
        ("A **bold** `name`, a [link](https://example.org/a/b) and $x_1$.", 8),
        ("one\n\n$$ a = b $$\n\n```python\nx = 1\n```\ntwo", 2),
        ("encoder-decoder isn't {result:a/b/c:.0%} of 3.5", 4),
    ],
)
def test_words_are_counted_as_a_reader_would(text, expected):
    assert words(text) == expected


def test_prose_takes_its_words_and_formulas_and_never_nothing(course):
    assert prose(course, " ".join(["word"] * 10 * WORDS_A_MINUTE)) == 10
    longer = " ".join(["word"] * 2 * WORDS_A_MINUTE)
    assert prose(course, longer + "\n\n$$ a = b $$") == 2 + FORMULA
    assert prose(course, "Word.") == LEAST
    assert prose(course, longer, '[markdown] kind="instructor"') == 0
    assert prose(course, longer, '[markdown] kind="text" minutes=7 because="a walk"') == 7


def test_code_takes_its_lines_unless_they_are_hidden(course):
    code = "\n\n# a comment\n".join(["x = 1"] * 30)
    assert minutes(course, 'kind="code"', code) == 3
    assert minutes(course, 'kind="code" hide_input=true', code) == LEAST
    assert minutes(course, 'kind="train"', code) > 3


def test_a_question_takes_its_words_and_an_explorable_more(course):
    question = {"id": "why", "text": " ".join(["word"] * WORDS_A_MINUTE), "options": [], "because": ""}
    closing = [{"use": "closing", "text": "One?", "options": [{"text": "Yes."}]}] * 4
    quiz = course.write().with_name("quiz.json")
    quiz.write_text(json.dumps({"predictions": [question], "questions": closing}))
    figure = minutes(course, 'kind="predict"', 'predict("42", "why", figure)')
    explorable = minutes(course, 'kind="predict"', 'predict("42", "why", GateMixer())')
    assert 2 < figure < explorable <= figure + EXPLORABLE
    assert 2 <= minutes(course, 'kind="quiz"', 'quiz("42", "closing")') < 3
    quiz.write_text("{")
    assert question_words(quiz) == {}  # the builder reports it


def test_an_exercise_takes_longer_if_it_is_harder_or_longer(course):
    def taken(difficulty: int, n_lines: int) -> float:
        lines = "    # solution\n" + "    x = 1\n" * n_lines + "    # end solution"
        header = f'exercise="e" title="E" difficulty={difficulty} importance=1 track="core"'
        return minutes(course, f'kind="exercise" {header}', f"def f():\n{lines}")

    assert 2 <= taken(1, 1) < taken(1, 9) < taken(3, 9) < taken(4, 9) < taken(5, 9) < 60


def test_no_cell_of_a_lesson_takes_no_time():
    for lesson in (drafted(path).lesson for path in sources(PROJECT_ROOT)):
        assert all(cell.minutes >= LEAST for cell in lesson.cells if cell.kind != "instructor")

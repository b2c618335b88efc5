"""Malformed lessons: authors get a problem with a file and a line, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import strategies as st

from course_lib.runtime import PROJECT_ROOT
from tests.soak.inputs import any_text, damage, edits, json_paths, json_values, replaced
from tests.tools.authoring.made_up import TINY, MadeUpCourse
from tools.authoring.quiz_file import quiz_problems
from tools.authoring.source import LessonError

LINES = [
    *(
        '# %% kind="code"',
        '# %% [markdown] kind="text"',
        "# %%",
        "# %% kind=",
        '# %% kind="exercise" x=1',
        '"""',
    ),
    *(
        "    # solution",
        "    # end solution",
        "{term:attention}",
        "{result:x/y}",
        "{printed:seven}",
        "## A head",
    ),
    *("$\\frac{1}", "![](x)", "---", "<script>", "\x0c", "\0", "\ufeff", "é" * 200, "def f(:", "    return"),
]


@pytest.mark.soak(weight=2)
def test_lesson_sources(soak, tmp_path):
    course = MadeUpCourse(tmp_path / "project")

    def draft_or_explain(changes, lines, options):
        text = damage(TINY.encode(), changes).decode(errors="replace").split("\n")
        for where, line in lines:
            text.insert(int(where * len(text)), line)
        for where, option in options:
            headers = [number for number, line in enumerate(text) if line.startswith("# %%")] or [0]
            text[headers[int(where * len(headers))]] += f" {option}"
        for problem in course.problems("\n".join(text).encode(errors="replace").decode()):
            line, _, message = problem.partition(": ")
            assert 1 <= int(line) <= len(text) + 1 and message

    fraction = st.floats(0, 0.999)
    lines = st.lists(st.tuples(fraction, st.sampled_from(LINES) | st.text(max_size=20)), max_size=4)
    keys = st.sampled_from(
        ["kind", "exercise", "track", "difficulty", "minutes", "importance", "contents", "x"]
    )
    option = st.tuples(keys, json_values | any_text).map(lambda pair: f"{pair[0]}={json.dumps(pair[1])}")
    options = st.lists(st.tuples(fraction, option), max_size=2)
    changes = st.just([]) | edits
    soak.search(draft_or_explain, target=5_000, changes=changes, lines=lines, options=options)


@pytest.mark.soak(weight=2)
def test_quiz_files(soak, tmp_path):
    quizzes = sorted((PROJECT_ROOT / "lessons").glob("*/quiz.json"))
    contents = [json.loads(path.read_text(encoding="utf-8")) for path in quizzes[:3]]
    path = Path(tmp_path / "quiz.json")

    def check_or_explain(number, where, value, changes):
        paths = json_paths(contents[number])
        content = replaced(contents[number], paths[int(where * len(paths))], value)
        path.write_bytes(damage(json.dumps(content, ensure_ascii=False).encode(errors="replace"), changes))
        try:
            assert all(problem.startswith("quiz.json") for problem in quiz_problems(path, tmp_path))
        except LessonError as error:
            assert error.line

    inputs = {"number": st.integers(0, 2), "where": st.floats(0, 0.999), "value": json_values}
    soak.search(check_or_explain, target=3_000, **inputs, changes=st.just([]) | edits)

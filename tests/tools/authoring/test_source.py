"""Parsing a source: the content and lines of its cells, and a clear error for every mistake."""

from __future__ import annotations

import pytest

from tests.tools.authoring.made_up import REGION, TINY, line_of
from tools.authoring.lesson import read_lesson

QUIZ = '# %% kind="quiz" track="stretch"'
EXERCISE = '# %% kind="exercise" exercise="double_it" title="Double it"'
CHECK, HINTS = '# %% kind="check"', '# %% [markdown] kind="hints"'
GOALS = '"""\n- build a notebook\n"""'
CALL = 'print(check("double_it", double_it))'
CODE = 'print("quiz")'


def test_cells_know_their_kind_form_text_and_lines(course):
    assert course.problems(TINY) == []
    lesson = read_lesson(course.write(), course.root)
    title, goals, setup, text = lesson.cells[:4]
    assert (title.kind, title.form, goals.kind, setup.form) == ("title", "markdown", "goals", "code")
    assert (goals.text, goals.lines) == ("- build a notebook", (line_of("- build a notebook"),))
    assert text.text.endswith("A formula: $\\sqrt{d_k}$.")
    assert (text.minutes, setup.minutes, text.track) == (0.5, 0.5, "core")
    assert setup.line == line_of('# %% kind="setup"')
    assert setup.text.splitlines()[2].startswith("MODE") and setup.lines[2] == line_of("MODE")
    assert (lesson.name, lesson.title) == ("42_tiny", "How does a tiny lesson work?")
    core = [cell.minutes for cell in lesson.cells if cell.track != "stretch"]
    assert lesson.minutes == pytest.approx(sum(core)) and len(core) == len(lesson.cells) - 1


def test_windows_line_ends_give_the_same_lesson(course):
    plain = read_lesson(course.write(), course.root)
    path = course.root / plain.path
    path.write_bytes(TINY.replace("\n", "\r\n").encode())
    assert read_lesson(path, course.root) == plain


HEADERS = [
    ('# %% kind="quizz"', "kind is 'quizz'"),
    ("# %% name=3", "kind is None"),
    ('# %% kind="code" minutes', '`# %% kind="code" minutes`'),
    *((header, f"`{header}`") for header in ("# %% kind=code", '# %% kind="code"minutes=3',
      '# %% Some title kind="code"', '# %% [md] kind="text"', '#%% kind="code"', '# %%kind="code"')),
    ('# %% kind="code" minuts=3', "option minuts"),
    ('# %% kind="code" track="bonus"', "track is 'bonus'"),
    *((f'# %% kind="code" minutes={given}', f"minutes is {shown}; ")
      for given, shown in (('"3"', "'3'"), ("-3", "-3"), ("91", "91"), ("true", "True"))),
    ('# %% kind="code" exercise=""', "exercise must be a non-empty string, not ''"),
    ('# %% kind="code" minutes=3', "because"),
    ('# %% kind="code" because="it trains"', "because"),
    ('# %% kind="code" minutes=3 because=""', "because must be a non-empty string, not ''"),
    ('# %% kind="check" hide_input=true', "check cell"),
    ('# %% kind="code" exercise="other"', "exercise 'other'"),
    ('# %% kind="code" hide_input="no"', "hide_input is 'no'"),
    ('# %% kind="text"', '# %% [markdown] kind="text"'),
    ('# %% [markdown] kind="quiz"', '# %% kind="quiz"'),
]  # fmt: skip
MISTAKES = [  # the old text, the new text, a text on the line of the error, words of the message
    *((QUIZ, header, header, message) for header, message in HEADERS),
    # the options of an exercise
    (' difficulty=2 importance=4 track="core"', "", EXERCISE, "difficulty, importance, track"),
    ("difficulty=2", "difficulty=0", EXERCISE, "difficulty is 0; "),
    ("importance=4", 'importance=4 mode="riddle"', EXERCISE, "mode is 'riddle'; "),
    # the content of a cell
    (CODE, "x = 1\n\ny = (", "y = (", "'(' was never closed"),
    (GOALS, "# a comment", "# a comment", "one string"),
    (GOALS, '"""a"""\nx = 1', '"""a"""', "one string"),
    (GOALS, 'f"""a {b}"""', 'f"""a', "one string"),
    (GOALS, '"""\nhalf\n$\\tau$\n"""', "$\\tau$", "backslash"),
    ("# A tiny lesson", "import os\n# A", "import os", '# %% kind="code"'),
    # exercises
    (REGION, "    # solution\n    return 2", EXERCISE, "`# solution` … `# end solution`"),
    (REGION, "    return 2 * number", EXERCISE, "`# solution` … `# end solution`"),
    (REGION, "    return 2\n    # end solution", "# end solution", "`# end solution`"),
    (REGION, REGION.replace("# sol", "# Sol"), "# Solution", "`# Solution`"),
    (REGION, REGION.replace("return", "# solution\n    return"), "# solution\n    r", "`# solution`"),
    (REGION, f"    # bug\n    return number\n    # end bug\n{REGION}", "# bug", "`# bug`"),
    ('track="core"', 'track="core" mode="bug"', "# solution", "`# bug`"),
    (CHECK, '# %% kind="code"', EXERCISE, "'double_it'"),
    (HINTS, '# %% [markdown] kind="text"', EXERCISE, "'double_it'"),
    (CALL, 'check("other", 1)', CHECK, 'check("double_it", ...)'),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "at", "message"), MISTAKES)
def test_a_mistake_is_reported_with_its_line(course, old, new, at, message):
    text = TINY.replace(old, new, 1)
    assert text != TINY
    problems = course.problems(text)
    assert problems[0].startswith(f"{line_of(at, text)}: ") and message in problems[0], problems

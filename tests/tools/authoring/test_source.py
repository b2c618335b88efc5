"""Reading a source: what is in a cell, on which line, and a clear word about every slip in it."""

from __future__ import annotations

import pytest

from tests.tools.authoring.made_up import REGION, TINY, line_of
from tools.authoring.source import read_lesson

QUIZ = '# %% kind="quiz" minutes=2 track="stretch"'
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
    assert (text.minutes, setup.minutes, text.track) == (2, 0, "core")
    assert setup.line == line_of('# %% kind="setup"')
    assert setup.text.splitlines()[2].startswith("MODE") and setup.lines[2] == line_of("MODE")
    assert (lesson.name, lesson.title) == ("42_tiny", "How does a tiny lesson work?")
    assert lesson.minutes == sum(cell.minutes for cell in lesson.cells) == 14


def test_windows_line_ends_make_the_same_lesson(course):
    plain = read_lesson(course.write(), course.root)
    path = course.root / plain.path
    path.write_bytes(TINY.replace("\n", "\r\n").encode())
    assert read_lesson(path, course.root) == plain


HEADERS = [
    ('# %% kind="quizz"', "the kind is 'quizz'; known are title, goals, setup"),
    ("# %% minutes=3", "the kind is None; known are title"),
    ('# %% kind="code" minutes', 'cannot read `# %% kind="code" minutes`: write key=value pairs'),
    *((header, "cannot read ") for header in ("# %% kind=code", '# %% kind="code"minutes=3',
      '# %% Some title kind="code"', '# %% [md] kind="text"', '#%% kind="code"', '# %%kind="code"')),
    ('# %% kind="code" minuts=3', "there is no option minuts; known are kind, name, minutes"),
    ('# %% kind="code" track="bonus"', "the track is 'bonus'; known are core, stretch"),
    *((f'# %% kind="code" minutes={given}', f"the minutes are {told}; a code cell has a number from 0 to 90")
      for given, told in (('"3"', "'3'"), ("-3", "-3"), ("91", "91"), ("true", "True"))),
    ('# %% kind="code" exercise=""', "the exercise is a text, not ''"),
    ('# %% kind="check" minutes=0', "this check cell stands alone; first comes its exercise"),
    ('# %% kind="code" exercise="other"', "this text belongs to the exercise 'other', which must come next"),
    ('# %% kind="code" hide_input="no"', "the hide_input is 'no'; known are True, False"),
    ('# %% kind="text"', 'a text cell is not code; open it with # %% [markdown] kind="text"'),
    ('# %% [markdown] kind="quiz"', 'a quiz cell is not markdown; open it with # %% kind="quiz"'),
]  # fmt: skip
SLIPS = [  # what is replaced, by what, the text on whose line the slip is told, the message
    *((QUIZ, header, header, message) for header, message in HEADERS),
    # the facts of an exercise
    (' difficulty=2 importance=4 minutes=3 track="core"', "", EXERCISE, "the exercise lacks difficulty, imp"),
    ("difficulty=2", "difficulty=0", EXERCISE, "the difficulty is 0; known are 1, 2, 3, 4, 5"),
    ("minutes=3", 'minutes=3 mode="riddle"', EXERCISE, "the mode is 'riddle'; known are build, test, bug"),
    # what a cell holds
    (CODE, "x = 1\n\ny = (", "y = (", "this is not Python: '(' was never closed"),
    (GOALS, "# a comment", "# a comment", "a Markdown cell holds one string"),
    (GOALS, '"""a"""\nx = 1', '"""a"""', "a Markdown cell holds one string"),
    (GOALS, 'f"""a {b}"""', 'f"""a', "a Markdown cell holds one string"),
    (GOALS, '"""\nhalf\n$\\tau$\n"""', "$\\tau$", "a backslash in a plain string"),
    ("# A tiny lesson", "import os\n# A", "import os", "open a cell first"),
    # exercises
    (REGION, "    # solution\n    return 2", EXERCISE, "the exercise has no solution; put it between `# so"),
    (REGION, "    return 2 * number", EXERCISE, "the exercise has no solution"),
    (REGION, "    return 2\n    # end solution", "# end solution", "here stands `# end solution`, where `#"),
    (REGION, REGION.replace("# sol", "# Sol"), "# Solution", "here stands `# Solution`, where `# solution`"),
    (REGION, REGION.replace("return", "# solution\n    return"), "# solution\n    r", "here stands `# solu"),
    (REGION, f"    # bug\n    return number\n    # end bug\n{REGION}", "# bug", "here stands `# bug`, where"),
    ('track="core"', 'track="core" mode="bug"', "# solution", "here stands `# solution`, where `# bug` must"),
    (CHECK, '# %% kind="code"', EXERCISE, "right after the exercise 'double_it' come its check and"),
    (HINTS, '# %% [markdown] kind="text"', EXERCISE, "right after the exercise 'double_it' come its check"),
    (CALL, 'check("other", 1)', CHECK, 'the check cell does not call check("double_it", ...)'),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "at", "message"), SLIPS)
def test_a_slip_is_told_with_its_line(course, old, new, at, message):
    text = TINY.replace(old, new, 1)
    assert text != TINY
    problems = course.problems(text)
    assert problems[0].startswith(f"{line_of(at, text)}: {message}"), problems

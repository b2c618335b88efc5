"""Reading a source: what is in a cell, on which line, and a clear word about every slip in it."""

from __future__ import annotations

import pytest

from course_lib.authoring.source import read_lesson
from tests.authoring.made_up import REGION, TINY, line_of

QUIZ = '# %% kind="quiz" minutes=2 track="stretch"'
EXERCISE = '# %% kind="exercise" exercise="double_it" title="Double it"'
TASK = '# %% [markdown] kind="text" exercise="double_it"'
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
    ('# %% kind="quizz"', "the cell's kind is 'quizz'; known are title, goals, setup"),
    ("# %% minutes=3", "the cell's kind is None; known are title"),
    ('# %% kind="code" minutes', 'cannot read `# %% kind="code" minutes`: write key=value pairs'),
    *((header, "cannot read ") for header in ("# %% kind=code", '# %% kind="code"minutes=3',
      '# %% Some title kind="code"', '# %% [md] kind="text"', '#%% kind="code"', '# %%kind="code"')),
    ('# %% kind="code" kind="see"', "an option is there twice"),
    ('# %% kind="code" minuts=3', "the option minuts does not belong on a code cell"),
    ('# %% kind="code" difficulty=2', "the option difficulty does not belong on a code cell"),
    ('# %% kind="code" minutes="3"', 'minutes wants a number of minutes from 0 to 90; it is "3"'),
    ('# %% kind="code" minutes=true', "minutes wants a number of minutes"),
    ('# %% kind="code" minutes=NaN', "minutes wants a number of minutes"),
    ('# %% kind="code" track="bonus"', 'track wants "core" or "stretch"; it is "bonus"'),
    ('# %% kind="code" hide_input=1', "hide_input wants true or false; it is 1"),
    ('# %% kind="text"', 'a text cell is not code; open it with # %% [markdown] kind="text"'),
    ('# %% [markdown] kind="quiz"', 'a quiz cell is not markdown; open it with # %% kind="quiz"'),
]  # fmt: skip
SLIPS = [  # what is replaced, by what, the text on whose line the slip is told, the message
    *((QUIZ, header, header, message) for header, message in HEADERS),
    # the facts of an exercise
    (' difficulty=2 importance=4 minutes=3 track="core"', "", EXERCISE, "the exercise lacks difficulty, imp"),
    ("difficulty=2", "difficulty=0", EXERCISE, "difficulty wants a whole number from 1 to 5; it is 0"),
    ("importance=4", "importance=2.5", EXERCISE, "importance wants"),
    ('title="Double it"', 'title=""', EXERCISE[:30], "title wants the exercise's title"),
    ("minutes=3", "minutes=-1", EXERCISE, "minutes wants"),
    ("minutes=3", 'minutes=3 mode="riddle"', EXERCISE, "mode wants one of build, test, bug, transfer"),
    # what a cell holds
    (CODE, "\n", QUIZ, "the cell is empty"),
    (CODE, "x = 1\n\ny = (", "y = (", "this is not Python: '(' was never closed"),
    (CODE, "x = 1; y = ';'\nplot(x);", "plot(x)", "a `;` at the end"),
    (GOALS, "# a comment", "# a comment", "a Markdown cell holds one string"),
    (GOALS, '"""a"""\nx = 1', '"""a"""', "a Markdown cell holds one string"),
    (GOALS, 'f"""a {b}"""', 'f"""a', "a Markdown cell holds one string"),
    (GOALS, '"""\n\n"""', '# %% [markdown] kind="goals"', "the cell is empty"),
    (GOALS, '"""\nhalf\n$\\tau$\n"""', "$\\tau$", "a backslash in a plain string"),
    (GOALS, '"""\nsee {term:softmax\n"""', "see {term", "write a term as {term:softmax}"),
    (GOALS, '"""\nsee {term:a}\n{Term: x}\n"""', "{Term", "write a term as {term:softmax}"),
    ("# A tiny lesson", "import os\n# A", "import os", "open a cell first"),
    # exercises
    (REGION, "    # solution\n    return 2", EXERCISE, "the exercise has no solution; put it between `# so"),
    (REGION, "    # solution\n\n    # end solution", EXERCISE, "the exercise has no solution"),
    (REGION, "    return 2 * number", EXERCISE, "the exercise has no solution"),
    (REGION, "    return 2\n    # end solution", "# end solution", "here stands `# end solution`, where `#"),
    (REGION, REGION.replace("# sol", "# Sol"), "# Solution", "here stands `# Solution`, where `# solution`"),
    (REGION, REGION.replace("return", "# solution\n    return"), "# solution\n    r", "here stands `# solu"),
    (REGION, f"    # bug\n    return number\n    # end bug\n{REGION}", "# bug", "here stands `# bug`, where"),
    ('track="core"', 'track="core" mode="bug"', "# solution", "here stands `# solution`, where `# bug` must"),
    (CHECK, '# %% kind="code"', EXERCISE, "right after the exercise 'double_it' come its check and"),
    (HINTS, '# %% [markdown] kind="text"', EXERCISE, "right after the exercise 'double_it' come its check"),
    (TASK, TASK.replace("double", "treble"), "treble_it", "this text belongs to the exercise 'treble_it'"),
    (CALL, 'check("other", 1)', CHECK, 'the check cell does not call check("double_it", ...)'),
    ('kind="check"', 'kind="check" exercise="other"', CHECK, "this check cell is for the exercise 'other'"),
    (HINTS, f'{HINTS} exercise="other"', HINTS, "this hints cell is for the exercise 'other', not 'double_"),
    (QUIZ, f'# %% kind="check" track="core"\nx\n\n{QUIZ}', 'track="core"\nx', "this check cell stands alone"),
    (QUIZ, TINY[TINY.index(EXERCISE) : TINY.index(QUIZ)].replace("2 *", "3 *") + QUIZ, "    return 3",
     "the exercise 'double_it' is there already, on line "),
    ("\n---\n", "\n---\n---\n", "---\n---", "the hint after this line is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "at", "message"), SLIPS)
def test_a_slip_is_told_with_its_line(course, old, new, at, message):
    text = TINY.replace(old, new, 1)
    assert text != TINY
    problems = course.problems(text)
    line = line_of(at, text) - (4 if "is there already" in message else 0)  # its header
    assert problems[0].startswith(f"{line}: {message}"), problems


def test_all_slips_are_told_at_once_in_the_order_of_their_lines(course):
    text = TINY.replace('kind="goals"', 'kind="gaols"').replace(QUIZ, "# %%").replace('kind="see"', "")
    where = [line_of(at, text) for at in ('kind="gaols"', "# %% \nclass", "# %%\n")]
    assert [int(problem.split(":")[0]) for problem in course.problems(text)] == where
    text = TINY.replace(CALL, 'check("other", 1)').replace('"quiz")', '"quiz")  #' + 90 * " ·")
    where = [line_of(at, text) for at in (CHECK, 'print("quiz')]
    assert [int(problem.split(":")[0]) for problem in course.problems(text)] == where


def test_a_folder_with_a_wrong_name_is_refused(course):
    assert course.problems(TINY, "tiny")[0].startswith("1: a lesson's folder is called NN_topic")

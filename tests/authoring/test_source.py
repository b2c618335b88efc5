"""Reading a source: what is in a cell, on which line, and a clear word about every slip in it."""

from __future__ import annotations

import pytest

from course_lib.authoring.source import read_cells, read_lesson

QUIZ = '# %% kind="quiz" minutes=2 track="stretch"'
EXERCISE = '# %% kind="exercise" exercise="double_it" title="Double it"'
GOALS = '"""\n- build a notebook\n"""'
REGION = "    # solution\n    return 2 * number\n    # end solution"
CHECK = 'print(check("double_it", double_it))'
CODE = 'print("quiz")'


def test_the_tiny_lesson_breaks_no_rule(course, tiny):
    assert course.problems(tiny) == []


def test_cells_know_their_kind_form_text_and_lines(course, tiny, line_of):
    lesson = read_lesson(course.write(tiny), course.root)
    title, goals, setup, text = lesson.cells[:4]
    assert (title.kind, title.form, goals.kind, setup.form) == ("title", "markdown", "goals", "code")
    assert (goals.text, goals.lines) == ("- build a notebook", (line_of("- build a notebook"),))
    assert text.text.endswith("A formula: $\\sqrt{d_k}$.")
    assert (text.minutes, setup.minutes, text.track) == (2, 0, "core")
    assert setup.line == line_of('# %% kind="setup"')
    assert setup.text.splitlines()[2].startswith("MODE") and setup.lines[2] == line_of("MODE")
    assert (lesson.name, lesson.title) == ("42_tiny", "How does a tiny lesson work?")
    assert lesson.minutes == sum(cell.minutes for cell in lesson.cells) == 14


def test_windows_line_ends_make_the_same_lesson(course, tiny):
    plain = read_lesson(course.write(tiny), course.root)
    path = course.root / plain.path
    path.write_bytes(tiny.replace("\n", "\r\n").encode())
    assert read_lesson(path, course.root) == plain


def test_semicolons_inside_strings_and_between_statements_are_fine():
    (cell,) = read_cells("x.py", '# %% kind="code"\nx = 1; y = "a;"  # and;\n')
    assert cell.text.startswith("x = 1;")


HEADERS = [
    ('# %% kind="quizz"', "unknown kind 'quizz'; did you mean 'quiz'?"),
    ('# %% kind="xyz"', "unknown kind 'xyz'; known are title, goals, setup"),
    ("# %% minutes=3", "the cell has no kind; known are title"),
    ('# %% kind="code" minutes', 'cannot read `kind="code" minutes`: write key=value pairs like'),
    ("# %% kind=code", "cannot read `kind=code`"),
    ('# %% kind="code"minutes=3', "cannot read "),
    ('# %% Some title kind="code"', "cannot read "),
    ('# %% [md] kind="text"', "cannot read "),
    ('#%% kind="code"', 'a cell opens with # %% kind="..."'),
    ('# %%kind="code"', 'a cell opens with # %% kind="..."'),
    ('# %% kind="code" kind="see"', "the option kind is there twice"),
    ('# %% kind="code" minuts=3', "unknown option 'minuts'; did you mean 'minutes'?"),
    ('# %% kind="code" minutes="3"', 'minutes wants a number of minutes from 0 to 90; it is "3"'),
    ('# %% kind="code" minutes=true', "minutes wants a number of minutes"),
    ('# %% kind="code" minutes=NaN', "minutes wants a number of minutes"),
    ('# %% kind="code" track="bonus"', 'track wants "core" or "stretch"; it is "bonus"'),
    ('# %% kind="code" hide_input=1', "hide_input wants true or false; it is 1"),
    ('# %% kind="code" difficulty=2', "the option difficulty does not belong on a code cell"),
    ('# %% kind="text"', 'a text cell is not code; open it with # %% [markdown] kind="text"'),
    ('# %% [markdown] kind="quiz"', 'a quiz cell is not markdown; open it with # %% kind="quiz"'),
]
FACTS = [
    (' difficulty=2 importance=4 minutes=3 track="core"', "", "the exercise lacks difficulty, importance,"),
    (' title="Double it"', "", "the exercise lacks title in its header"),
    ("difficulty=2", "difficulty=0", "difficulty wants a whole number from 1 to 5; it is 0"),
    ("difficulty=2", "difficulty=6", "difficulty wants"),
    ("importance=4", "importance=2.5", "importance wants"),
    ('title="Double it"', 'title=""', "title wants the exercise's title"),
    ("minutes=3", "minutes=-1", "minutes wants"),
    ("minutes=3", 'minutes=3 mode="riddle"', "mode wants one of build, test, bug, transfer"),
]  # fmt: skip
BODIES = [  # what is replaced, by what, the text on whose line the slip is told, the message
    (CODE, "\n", QUIZ, "the cell is empty"),
    (CODE, "x = 1\n\ny = (", "y = (", "this is not Python: '(' was never closed"),
    (CODE, "x = 1;", "x = 1;", "a `;` at the end"),
    (CODE, "\nx = 1\nplot(x);  # hush", "plot(x)", "a `;` at the end"),
    (GOALS, "# a comment", "# a comment", "a Markdown cell holds one string"),
    (GOALS, '"""a"""\nx = 1', '"""a"""', "a Markdown cell holds one string"),
    (GOALS, 'f"""a {b}"""', 'f"""a', "a Markdown cell holds one string"),
    (GOALS, '"""\n\n"""', '# %% [markdown] kind="goals"', "the cell is empty"),
    (GOALS, '"""\nhalf\n$\\tau$\n"""', "$\\tau$", "a backslash in a plain string"),
    (GOALS, '"""\nsee {term:softmax\n"""', "see {term", "write a term as {term:softmax}"),
    (GOALS, '"""\nsee\n{Term: x}\n"""', "{Term", "write a term as {term:softmax}"),
    ("# A tiny lesson", "import os\n# A", "import os", "open a cell first"),
    # exercises
    (REGION, "    # solution\n    return 2", "# solution", "`# solution` stands alone; markers"),
    (REGION, "    return 2\n    # end solution", "# end solution", "`# end solution` stands alone"),
    (REGION, REGION.replace("# sol", "# Sol"), "# Solution", "`# Solution` stands alone"),
    (REGION, REGION.replace("return", "# solution\n    return"), "# solution\n    r", "`# solution` stands"),
    (REGION, "    # solution\n\n    # end solution", EXERCISE, "the exercise has no solution"),
    (REGION, "    return 2 * number", EXERCISE, "the exercise has no solution"),
    (REGION, "    return 1\n\n# solution\nx = 2\n# end solution", "# solution", "a solution outside a"),
    (REGION, "    try:\n        f()\n    # solution\n    except TypeError:\n        pass\n    # end solution",
     "# solution", "without the solution this is not Python: expected 'except'"),
    (REGION, "    # bug\n    return number\n    # end bug\n" + REGION, "# bug", 'in mode="bug", and only'),
    (CODE, '# solution\nprint("quiz")\n# end solution', '# solution\nprint("q', "a solution marker"),
    ('# %% kind="check"', '# %% kind="code"', EXERCISE, "right after the exercise 'double_it' come its"),
    ('kind="hints"', 'kind="text"', EXERCISE, "right after the exercise 'double_it' come its check"),
    (EXERCISE, EXERCISE.replace("double_it", "treble_it"), '# %% [markdown] kind="text" exercise',
     "this text belongs to the exercise 'double_it'"),
    (CHECK, 'check("other", 1)', 'check("other"', "the check names the exercise 'other', not 'double_it'"),
    (CHECK, "print(double_it)", '# %% kind="check"', 'the check cell does not call check("double_it", ...)'),
    ('kind="check"', 'kind="check" exercise="other"', '# %% kind="check"', "this check cell is for"),
    ('kind="hints"', 'kind="hints" exercise="other"', 'kind="hints"', "this hints cell is for"),
    (QUIZ, f'# %% kind="check" tags="two"\nx\n\n{QUIZ}', 'tags="two"', "this check cell stands alone"),
    ("\n---\n", "\n---\n---\n", "---\n---", "the hint after this line is empty"),
]  # fmt: skip
TWO_AT_ONCE = {
    '# %% kind="code"',
    EXERCISE.replace("double_it", "treble_it"),
}  # its check does not fit either
SLIPS = [
    *((QUIZ, header, header, message) for header, message in HEADERS),
    *((old, new, EXERCISE[:30], message) for old, new, message in FACTS),
    *BODIES,
]


@pytest.mark.parametrize(("old", "new", "at", "message"), SLIPS)
def test_a_slip_is_told_with_its_line(course, tiny, line_of, old, new, at, message):
    assert tiny.count(old) >= 1
    text = tiny.replace(old, new, 1)
    problems = course.problems(text)
    assert problems[0].startswith(f"{line_of(at, text)}: {message}"), problems
    assert len(problems) == (2 if new in TWO_AT_ONCE else 1)


def test_two_exercises_of_one_name_are_refused(course, tiny, line_of):
    again = tiny[tiny.index(EXERCISE) : tiny.index(QUIZ)]
    text = tiny.replace(QUIZ, again + QUIZ)
    second = text[: text.rindex(EXERCISE)].count("\n") + 1
    first = line_of(EXERCISE)
    assert course.problems(text) == [f"{second}: the exercise 'double_it' is there already, on line {first}"]


def test_all_slips_are_told_at_once_in_the_order_of_their_lines(course, tiny, line_of):
    text = tiny.replace('kind="goals"', 'kind="gaols"').replace(QUIZ, "# %%").replace('kind="see"', "")
    where = [line_of(at, text) for at in ('kind="gaols"', "# %% \nclass", "# %%\n")]
    assert [int(problem.split(":")[0]) for problem in course.problems(text)] == where
    text = tiny.replace(CHECK, 'check("other", 1)').replace('"quiz")', '"quiz")  #' + 90 * " ·")
    assert [problem[:3] for problem in course.problems(text)] == [
        f"{line_of(at, text)}:" for at in ('check("other', 'print("quiz')
    ]


def test_a_folder_with_a_wrong_name_is_refused(course, tiny):
    assert course.problems(tiny, "tiny")[0].startswith("1: a lesson's folder is called NN_topic")

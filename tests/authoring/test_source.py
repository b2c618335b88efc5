"""Reading a source: what is in a cell, on which line, and a clear word about every slip."""

from __future__ import annotations

import pytest

from course_lib.authoring.source import read_cells, read_lesson


def test_the_tiny_lesson_breaks_no_rule(course, tiny):
    assert course.problems(tiny) == []


def test_cells_know_their_kind_form_text_and_lines(course, tiny, line_of):
    lesson = read_lesson(course.write(tiny), course.root)
    title, goals, setup, text = lesson.cells[:4]
    assert (title.kind, title.form, goals.kind, setup.form) == ("title", "markdown", "goals", "code")
    assert goals.text == "- build a notebook"
    assert goals.lines == (line_of("- build a notebook"),)
    assert text.text.endswith("A formula: $\\sqrt{d_k}$.")
    assert (text.minutes, setup.minutes, text.track) == (2, 0, "core")
    assert setup.line == line_of('# %% kind="setup"')
    assert setup.text.splitlines()[2].startswith("MODE") and setup.lines[2] == line_of("MODE")


def test_a_lesson_has_number_topic_title_and_minutes(course, tiny):
    lesson = read_lesson(course.write(tiny), course.root)
    assert (lesson.number, lesson.topic, lesson.name) == ("42", "tiny", "42_tiny")
    assert lesson.title == "How does a tiny lesson work?"
    assert lesson.short
    assert lesson.minutes == sum(cell.minutes for cell in lesson.cells) == 14


def test_windows_line_ends_make_the_same_lesson(course, tiny):
    plain = read_lesson(course.write(tiny), course.root)
    path = course.root / "notebooks" / "source" / "42_tiny" / "lesson.py"
    path.write_bytes(tiny.replace("\n", "\r\n").encode())
    assert read_lesson(path, course.root) == plain


def cell_problem(header: str, body: str = "x = 1") -> str:
    with pytest.raises(ExceptionGroup) as caught:
        read_cells("x.py", f"# a comment\n\n{header}\n{body}\n")
    assert len(caught.value.exceptions) == 1
    return str(caught.value.exceptions[0])


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ('# %% kind="cod"', "x.py:3: unknown kind 'cod'; did you mean 'code'?"),
        ('# %% kind="xyz"', "x.py:3: unknown kind 'xyz'; known are title, goals, setup"),
        ("# %%", "x.py:3: the cell has no kind"),
        ("# %% minutes=3", "x.py:3: the cell has no kind"),
        ('# %% kind="code" minutes', "x.py:3: cannot read the option at `minutes`"),
        ("# %% kind=code", "x.py:3: cannot read the option at `kind=code`: write key=value with a JSON"),
        ('# %% kind="code"minutes=3', "x.py:3: cannot read the option at `minutes=3`"),
        ('# %% Some title kind="code"', "x.py:3: cannot read the option at `Some title"),
        ('# %% [md] kind="text"', "x.py:3: cannot read the option at `[md]"),
        ('#%% kind="code"', 'x.py:3: a cell opens with # %% kind="..."'),
        ('# %%kind="code"', 'x.py:3: a cell opens with # %% kind="..."'),
        ('# %% kind="code" kind="see"', "x.py:3: the option kind is there twice"),
        ('# %% kind="code" minuts=3', "x.py:3: unknown option 'minuts'; did you mean 'minutes'?"),
        ('# %% kind="code" minutes="3"', 'x.py:3: minutes wants a number of minutes from 0 to 90; it is "3"'),
        ('# %% kind="code" minutes=true', "x.py:3: minutes wants a number of minutes"),
        ('# %% kind="code" minutes=NaN', "x.py:3: minutes wants a number of minutes"),
        ('# %% kind="code" track="bonus"', 'x.py:3: track wants "core" or "stretch"; it is "bonus"'),
        ('# %% kind="code" difficulty=2', "x.py:3: the option difficulty does not belong on a code cell"),
        ('# %% kind="text"', 'x.py:3: a text cell is not code; open it with # %% [markdown] kind="text"'),
        (
            '# %% [markdown] kind="setup"',
            'x.py:3: a setup cell is not markdown; open it with # %% kind="setup"',
        ),
    ],
)
def test_a_slip_in_a_header_is_told_with_its_line(header, message):
    assert cell_problem(header).startswith(message)


def exercise_header(**changes) -> str:
    options = {
        "exercise": '"e"',
        "title": '"E"',
        "difficulty": "2",
        "importance": "3",
        "minutes": "4",
        "track": '"core"',
    } | changes
    return '# %% kind="exercise" ' + " ".join(f"{name}={value}" for name, value in options.items() if value)


@pytest.mark.parametrize("name", ["exercise", "title", "difficulty", "importance", "minutes", "track"])
def test_an_exercise_without_one_of_its_facts_is_refused(name):
    assert cell_problem(exercise_header(**{name: ""})) == f"x.py:3: the exercise lacks {name} in its header"


@pytest.mark.parametrize(
    ("name", "value"),
    [("difficulty", "0"), ("difficulty", "6"), ("importance", "2.5"), ("title", '""'), ("minutes", "-1")],
)
def test_an_exercise_with_an_impossible_fact_is_refused(name, value):
    assert cell_problem(exercise_header(**{name: value})).startswith(f"x.py:3: {name} wants ")


def test_an_exercise_takes_time():
    assert "give it minutes above 0" in cell_problem(exercise_header(minutes="0"))


@pytest.mark.parametrize(
    ("header", "body", "message"),
    [
        ('# %% kind="code"', "\n\n", "x.py:3: the cell is empty"),
        ('# %% kind="code"', "x = 1\n\ny = (", "x.py:6: this is not Python: '(' was never closed"),
        ('# %% kind="code"', "x = 1;", "x.py:4: a `;` at the end"),
        ('# %% kind="code"', "\nx = 1\nplot(x);  # hush", "x.py:6: a `;` at the end"),
        ('# %% [markdown] kind="text"', "# a comment", "x.py:4: a Markdown cell holds one string"),
        ('# %% [markdown] kind="text"', '"""a"""\nx = 1', "x.py:4: a Markdown cell holds one string"),
        ('# %% [markdown] kind="text"', 'f"""a {b}"""', "x.py:4: a Markdown cell holds one string"),
        ('# %% [markdown] kind="text"', '"""\n\n"""', "x.py:4: the cell is empty"),
        ('# %% [markdown] kind="text"', '"""\nhalf\n$\\tau$\n"""', "x.py:6: a backslash in a plain string"),
        ('# %% [markdown] kind="text"', '"""\nhalf\n', "x.py:4: this is not Python: unterminated"),
    ],
)
def test_a_slip_in_a_body_is_told_with_its_line(header, body, message):
    assert cell_problem(header, body).startswith(message)


def test_semicolons_inside_strings_and_between_statements_are_fine():
    (cell,) = read_cells("x.py", '# %% kind="code"\nx = 1; y = "a;"  # and;\n')
    assert cell.text.startswith("x = 1;")


def test_several_slips_are_told_together():
    with pytest.raises(ExceptionGroup) as caught:
        read_cells("x.py", 'import os\n# %% kind="a"\nx\n# %% kind="code"\nx\n# %% kind="b"\nx\n')
    assert [problem.line for problem in caught.value.exceptions] == [1, 2, 6]


def test_a_source_without_cells_or_with_a_wrong_name_or_encoding_is_refused(course, tiny):
    assert course.problems("# only a comment\n") == [
        '1: there is no cell; open one with a line like # %% kind="code"'
    ]
    assert course.problems(tiny, "tiny")[0].startswith("1: a lesson's folder is called NN_topic")
    path = course.write("")
    path.write_bytes(b"# %% \xff")
    with pytest.raises(ExceptionGroup, match="cannot be built") as caught:
        read_lesson(path, course.root)
    assert "not UTF-8" in str(caught.value.exceptions[0])

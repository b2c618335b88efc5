"""An exercise is gathered whole or refused: solution markers, check, hints, names."""

from __future__ import annotations

import pytest

from course_lib.authoring.card import card, dots
from course_lib.authoring.exercise import Exercise, gather_steps
from course_lib.authoring.hints import folded, hints_text
from course_lib.authoring.source import read_lesson

EXERCISE = '# %% kind="exercise" exercise="double_it" title="Double it"'


@pytest.fixture
def exercise(course, tiny) -> Exercise:
    steps, problems = gather_steps(read_lesson(course.write(tiny), course.root))
    assert problems == []
    (found,) = (step for step in steps if isinstance(step, Exercise))
    return found


def test_the_stub_loses_its_solution_and_keeps_the_rest(exercise, line_of):
    assert exercise.stub.unsolved.text == (
        'def double_it(number):\n    """Twice the number."""\n    raise NotImplementedError("Your turn")'
    )
    assert (
        exercise.stub.solved.text
        == 'def double_it(number):\n    """Twice the number."""\n    return 2 * number'
    )
    assert exercise.stub.unsolved.lines[2] == line_of("    # solution")
    assert exercise.stub.solved.lines[2] == line_of("return 2 * number")


def test_several_regions_each_become_one_line(course, tiny):
    code = tiny.replace(
        "    # solution\n    return 2 * number\n    # end solution",
        "    # solution\n    half = number\n\n    # end solution\n    half += 0\n"
        "    if half:\n        # solution\n        half *= 2\n        # end solution\n    return half",
    )
    steps, problems = gather_steps(read_lesson(course.write(code), course.root))
    stub = next(step.stub for step in steps if isinstance(step, Exercise))
    assert problems == []
    assert stub.unsolved.text.split("\n")[2:] == [
        '    raise NotImplementedError("Your turn")',
        "    half += 0",
        "    if half:",
        '        raise NotImplementedError("Your turn")',
        "    return half",
    ]
    assert "solution" not in stub.solved.text and "half *= 2" in stub.solved.text


REGION = "    # solution\n    return 2 * number\n    # end solution"


@pytest.mark.parametrize(
    ("region", "at", "message"),
    [
        (
            "    # solution\n    return 2 * number",
            "# solution",
            "`# solution` without an `# end solution` after it",
        ),
        (
            "    return 2 * number\n    # end solution",
            "# end solution",
            "`# end solution` without a `# solution`",
        ),
        (
            "    # solution\n    x = 1\n    # solution\n    return x\n    # end solution\n    # end solution",
            "# solution\n    return x",
            "`# solution` inside the solution of line",
        ),
        ("    # solution\n\n    # end solution", "# end solution", "the solution is empty"),
        (
            "    # Solution:\n    return 2 * number\n    # end solution",
            "# Solution:",
            "write the marker as `# solution`",
        ),
        (
            "    # solution\n    return 2 * number\n    # END solution",
            "# END",
            "write the marker as `# solution`",
        ),
        (
            "    # solution\n    return 2 * number\n# end solution",
            "# end solution",
            "`# end solution` is not indented",
        ),
        (
            "        # solution\n    return 2 * number\n        # end solution",
            "return 2",
            "this line of the solution",
        ),
        ("    return 2 * number", EXERCISE, "the exercise has no solution"),
        (
            "    try:\n        f()\n    # solution\n    except TypeError:\n        pass\n    # end solution",
            "# solution",
            "without the solution this is not Python: expected 'except'",
        ),
        (
            "    return 1\n\n# solution\nx = 2\n# end solution",
            "# solution",
            "a solution outside a function stops",
        ),
    ],
)
def test_a_slip_in_the_markers_is_told_with_its_line(course, tiny, line_of, region, at, message):
    text = tiny.replace(REGION, region)
    problems = course.problems(text)
    assert len(problems) == 1
    assert problems[0].startswith(f"{line_of(at, text)}: {message}")


def test_a_marker_outside_an_exercise_is_refused(course, tiny, line_of):
    text = tiny.replace('print("quiz")', '# solution\nprint("quiz")\n# end solution')
    wanted = line_of('# solution\nprint("quiz")', text)
    assert course.problems(text) == [f"{wanted}: a solution marker stands only in an exercise cell"]


CHECK = 'print(check("double_it", double_it))'


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ('# %% kind="check"', '# %% kind="code"', EXERCISE, "the exercise 'double_it' has no check"),
        (
            '# %% [markdown] kind="hints"',
            '# %% [markdown] kind="text"',
            EXERCISE,
            "the exercise 'double_it' has no hints",
        ),
        (
            EXERCISE,
            EXERCISE.replace("double_it", "treble_it"),
            '# %% [markdown] kind="text" exercise',
            "this text belongs to the exercise 'double_it'",
        ),
        (
            CHECK,
            'check("other", double_it)',
            'check("other"',
            "the check names the exercise 'other', not 'double_it'",
        ),
        (
            CHECK,
            "print(double_it)",
            '# %% kind="check"',
            'the check cell does not call check("double_it", ...)',
        ),
        (
            '# %% kind="check"',
            '# %% kind="check" exercise="other"',
            '# %% kind="check"',
            "this check cell is for the exercise 'other'",
        ),
        (
            'kind="hints"',
            'kind="hints" exercise="other"',
            '# %% [markdown] kind="hints"',
            "this hints cell is for the exercise 'other'",
        ),
        (
            '# %% kind="quiz"',
            '# %% kind="check"\ncheck("double_it", 1)\n\n# %% kind="quiz"',
            '# %% kind="check"\ncheck("double_it", 1)',
            "this check cell stands alone",
        ),
        ("\n---\n", "\n---\n---\n", "---\n\nMultiply", "this hint is empty"),
    ],
)
def test_an_exercise_that_is_not_whole_is_refused(course, tiny, line_of, old, new, at, message):
    assert old in tiny
    text = tiny.replace(old, new)
    problems = course.problems(text)
    assert problems[0].startswith(f"{line_of(at, text)}: {message}")


def test_two_exercises_of_one_name_are_refused(course, tiny, line_of):
    again = tiny[tiny.index(EXERCISE) : tiny.index('# %% kind="quiz"')]
    text = tiny.replace('# %% kind="quiz"', again + '# %% kind="quiz"')
    second = text.rindex(EXERCISE)
    at = text[:second].count("\n") + 1
    assert course.problems(text) == [
        f"{at}: the exercise 'double_it' is there already, on line {line_of(EXERCISE)}"
    ]


def test_hints_are_cut_at_rules_but_not_inside_code(exercise):
    first, second = exercise.hints
    assert (first.title, first.text) == ("Look at `number`", "What is twice 4?")
    assert second.title == "" and "```text\n---\n2 * number\n```" in second.text


def test_hints_and_solution_are_folded_with_blank_lines_around_their_text(exercise):
    text = hints_text(exercise.hints, "return 1")
    opening, closing = "</summary><blockquote>\n\n", "\n\n</blockquote></details>"
    assert (
        f"<details><summary>Hint 1 · Look at <code>number</code>{opening}What is twice 4?{closing}\n\n"
        in text
    )
    assert f"<details><summary>Hint 2{opening}Multiply:\n\n```text" in text
    assert text.endswith(f"<details><summary>Solution{opening}```python\nreturn 1\n```{closing}")
    assert "Solution" not in hints_text(exercise.hints, None)


def test_a_summary_is_escaped_and_a_fence_outgrows_the_code():
    assert "a &lt; b" in folded("a < b", "")
    assert "````python\nx = '```'\n````" in hints_text((), "x = '```'")


def test_the_card_shows_the_facts_of_the_header(exercise):
    assert card(exercise) == (
        "> ### Exercise 1 · Double it\n>\n"
        "> Difficulty ●●○○○ &nbsp;·&nbsp; Importance ●●●●○ &nbsp;·&nbsp; about 3 min &nbsp;·&nbsp; ★ core\n\n"
        "Return twice the number."
    )
    assert dots(5) == "●●●●●"

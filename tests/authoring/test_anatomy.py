"""The rules of a lesson's anatomy, each broken once."""

from __future__ import annotations

import pytest


def markdown(kind: str, text: str, options: str = "") -> str:
    return f'# %% [markdown] kind="{kind}"{options}\n"""\n{text}\n"""\n\n'


def code(kind: str, text: str = "x = 1", options: str = "") -> str:
    return f'# %% kind="{kind}"{options}\n{text}\n\n'


def exercise(name: str) -> str:
    facts = f' exercise="{name}" title="T" difficulty=1 importance=1 minutes=5 track="core"'
    body = "def f():\n    # solution\n    return 1\n    # end solution"
    return code("exercise", body, facts) + code("check", f'check("{name}", f)') + markdown("hints", "Try.")


def full_lesson(fill: int = 22) -> dict[str, str]:
    """A lesson of 40 cells, by part; change a part and join them."""
    return {
        "title": markdown("title", "# A question"),
        "goals": markdown("goals", "- say"),
        "setup": code("setup"),
        "recall": code("recall"),
        "fill": markdown("text", "Word.", " minutes=0") * fill,
        "predict": code("predict"),
        "explore": code("explore"),
        "one": exercise("one"),
        "two": exercise("two"),
        "break": code("break"),
        "quiz": code("quiz"),
        "summary": markdown("summary", "| a |"),
        "reading": markdown("reading", "A page."),
    }


@pytest.fixture
def problems(course):
    def find(parts: dict[str, str], *order: str) -> list[str]:
        names = order or tuple(parts)
        return course.problems("".join(parts[name] for name in names))

    return find


def at(parts: dict[str, str], name: str) -> int:
    """The line on which a part begins."""
    names = list(parts)
    return "".join(parts[part] for part in names[: names.index(name)]).count("\n") + 1


def test_a_full_lesson_breaks_no_rule(problems):
    assert problems(full_lesson()) == []


@pytest.mark.parametrize("kind", ["title", "goals", "setup", "recall", "break", "quiz", "summary", "reading"])
def test_a_part_that_is_missing_is_named(problems, kind):
    parts = full_lesson(fill=24)
    del parts[kind]
    assert any(found.startswith(f"1: the lesson has no {kind} cell") for found in problems(parts))


@pytest.mark.parametrize("kind", ["title", "goals", "setup", "summary", "reading"])
def test_a_part_that_is_there_twice_is_named(problems, kind):
    parts = full_lesson()
    line = at(parts, kind) + parts[kind].count("\n")
    parts[kind] *= 2
    assert problems(parts) == [f"{line}: there is a {kind} cell already; a lesson has one"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("goals", "setup"), ("setup", "recall"), ("recall", "break"), ("break", "quiz"), ("summary", "reading")],
)
def test_parts_out_of_order_are_named(problems, first, second):
    parts = full_lesson()
    order = [second if name == first else first if name == second else name for name in parts]
    swapped = {name: parts[name] for name in order}
    wanted = f"{at(swapped, second)}: {second} comes before {first} (line {at(swapped, first)})"
    assert any(found.startswith(wanted) for found in problems(swapped))


def test_a_quiz_in_the_middle_is_welcome(problems):
    parts = full_lesson(fill=21)
    assert problems(parts | {"explore": code("explore") + code("quiz")}) == []


def test_a_lesson_begins_with_its_title_and_its_code_with_the_setup(problems):
    parts = full_lesson()
    order = ["goals", "title", *list(parts)[2:]]
    assert any(
        found.startswith("1: a lesson begins with its title cell, not with goals")
        for found in problems(parts, *order)
    )
    early = full_lesson(fill=21) | {"goals": code("code") + markdown("goals", "- say")}
    assert problems(early) == [f"{at(early, 'goals')}: the first code cell is the setup, not code"]
    bare = full_lesson() | {"title": markdown("title", "A question")}
    assert problems(bare) == ["1: the title cell begins with a heading: # The question this lesson answers"]


@pytest.mark.parametrize(("fill", "count"), [(21, 39), (53, 71)])
def test_a_lesson_too_short_or_too_long_is_refused(problems, fill, count):
    (found,) = problems(full_lesson(fill))
    assert found.startswith(f"1: the learner's notebook has {count} cells; a lesson has 40 to 70")


def test_a_lesson_of_seventy_cells_is_fine(problems):
    assert problems(full_lesson(fill=52)) == []


def test_a_short_lesson_is_excused_from_length_recall_break_exercises_and_predictions(problems):
    parts = full_lesson(fill=0) | {"title": markdown("title", "# A question", " short=true")}
    assert problems(parts, "title", "goals", "setup", "explore", "quiz", "summary", "reading") == []


TOO_LONG = "the code cell has 26 lines, at most 25; split it, or move its machinery into course_lib"


def test_long_code_cells_are_refused(problems):
    lines = ["x = 1"] * 25
    fits = full_lesson() | {"break": code("break", "\n".join(lines))}
    assert problems(fits) == []
    long = full_lesson() | {"break": code("break", "\n".join([*lines, "x"]))}
    assert problems(long) == [f"{at(long, 'break')}: {TOO_LONG}"]


def test_a_wide_line_of_code_is_refused(problems):
    parts = full_lesson() | {"break": code("break", "x = 1\n# " + 87 * "x")}
    assert problems(parts) == [
        f"{at(parts, 'break') + 2}: the line has 89 characters, at most 88: learners would have to scroll"
    ]


def test_a_solution_counts_as_code_too(problems):
    solution = "\n".join(["    x = 1"] * 25)
    parts = full_lesson()
    parts["two"] = parts["two"].replace("    return 1", solution)
    assert problems(parts) == [f"{at(parts, 'two')}: {TOO_LONG}"]


def test_a_long_silence_between_two_checks_names_both_lines(problems):
    parts = full_lesson(fill=21)
    parts["fill"] += markdown("text", "Long.", " minutes=12")
    assert problems(parts) == []
    parts["fill"] += markdown("text", "Longer.", " minutes=0.5")
    recall, predict = at(parts, "recall"), at(parts, "predict")
    assert problems(parts) == [
        f"{predict}: 12.5 minutes pass between recall (line {recall}) and predict (line {predict}); "
        "at most 12: put a prediction, a check or a quiz between them"
    ]


def test_an_exercise_is_not_a_silence(problems):
    parts = full_lesson()
    parts["two"] = parts["two"].replace("minutes=5", "minutes=40")
    assert problems(parts) == []


def test_every_explorable_has_a_prediction_of_its_own(problems):
    parts = full_lesson(fill=21)
    parts["explore"] *= 2
    second = at(parts, "one") - code("explore").count("\n")
    assert problems(parts) == [
        f"{second}: no prediction comes before this explorable; put a predict cell in front of it"
    ]


def test_two_exercises_at_least(problems):
    parts = full_lesson(fill=26)
    del parts["two"]
    assert problems(parts) == ["1: exercises in the lesson: 1; there must be at least 2"]


@pytest.mark.parametrize(
    "picture",
    [
        "![a cat](https://example.org/cat.png)",
        "<img alt='a cat' src='http://example.org/cat.png'>",
        '<img src="//example.org/cat.png">',
        '<script src="https://example.org/cat.js"></script>',
        '<link rel="stylesheet" href="https://example.org/cat.css">',
    ],
)
def test_a_picture_or_script_from_the_network_is_refused(problems, picture):
    parts = full_lesson()
    parts["summary"] = markdown("summary", f"Fine.\n{picture}")
    (found,) = problems(parts)
    assert found.startswith(f"{at(parts, 'summary') + 3}: this would be fetched from the network: ")
    assert "example.org/cat" in found


def test_links_and_local_pictures_are_welcome(problems):
    text = "[a page](https://example.org) ![a cat](figures/cat.png) <a href='https://example.org'>b</a>"
    assert problems(full_lesson() | {"summary": markdown("summary", text)}) == []

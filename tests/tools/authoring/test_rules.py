"""The rules for lessons, each broken once."""

from __future__ import annotations

import pytest

from tools.authoring import rules
from tools.authoring.minutes import WORDS_A_MINUTE


def markdown(kind: str, text: str, options: str = "") -> str:
    return f'# %% [markdown] kind="{kind}"{options}\n"""\n{text}\n"""\n\n'


def code(kind: str, text: str = "x = 1", options: str = "") -> str:
    return f'# %% kind="{kind}"{options}\n{text}\n\n'


def exercise(name: str, body: str, options: str) -> str:
    options = f' exercise="{name}" title="T" difficulty=1 importance=1 track="core" {options}'
    text = f"def f():\n{body}    # solution\n    return 1\n    # end solution"
    return code("exercise", text, options) + code("check", f'check("{name}", f)') + markdown("hints", "Try.")


def reading(minutes: float) -> str:
    """A text that takes so many minutes to read."""
    return " ".join(["word"] * round(minutes * WORDS_A_MINUTE))


QUESTION = "# A title\n\n**The question:** why?"
PARTS = {  # a lesson by its parts
    "title": markdown("title", QUESTION),
    "goals": markdown("goals", "- say"),
    "setup": code("setup"),
    "recall": code("recall"),
    "text": markdown("text", "A word."),
    "predict": code("predict"),
    "explore": code("explore"),
    "estimate": code("estimate"),
    "explain": code("explain"),
    "one": exercise("one", "", ""),
    "two": exercise("two", "    # bug\n    return 2\n    # end bug\n", 'mode="bug"'),
    "break": code("break"),
    "quiz": code("quiz"),
    "summary": markdown("summary", "| a |"),
    "reading": markdown("reading", "A page."),
}


def swapped(first: str, second: str) -> dict[str, str]:
    other = {first: second, second: first}
    return {other.get(name, name): PARTS[other.get(name, name)] for name in PARTS}


def without(name: str) -> dict[str, str]:
    return {part: PARTS[part] for part in PARTS if part != name}


LONG = "26 lines, but the limit is 25"
LINE = "x = total_of_all_the_weights(1)"  # 31 characters
BUILD = PARTS["one"].replace("    return 1", f"    {LINE}\n    return x")
PICTURES = [
    "![a cat](https://example.org/cat.png)",
    "<img alt='a cat' src='//example.org/cat.png'>",
    '<link rel="stylesheet" href="https://example.org/cat.css">',
]
# The change; the part that the problem is in, and how many lines below its start; words of the message.
BREACHES = [
    *((without(kind), "", 0, f"no {kind} cell")
      for kind in (*rules.ORDER, "goals")),
    *((swapped(*pair), pair[1], 0, f"{pair[1]} comes before {pair[0]} (line ")
      for pair in (("title", "setup"), ("goals", "recall"), ("setup", "recall"), ("recall", "quiz"),
                   ("quiz", "summary"), ("summary", "reading"), ("title", "goals"))),
    ({"title": markdown("title", "# A title")}, "title", 0, "the title asks no question"),
    ({"break": code("break", "\n".join(["x = 1"] * 26))}, "break", 0, LONG),
    ({"one": PARTS["one"].replace("    return 1", "\n".join(["    x = 1"] * 25))}, "one", 0, LONG),
    ({"break": code("break", "x = 1\n# " + 87 * "x")}, "break", 2, "89 characters, but the limit is 88"),
    ({"text": markdown("text", reading(15.2))}, "predict", 0, "15.2 minutes"),
    ({"explore": 2 * code("explore")}, "explore", 3, "prediction"),
    ({"one": PARTS["one"].replace("track=", 'mode="transfer" track=')}, "", 0, 'mode="build"'),
    ({"one": PARTS["one"].replace('"core"', '"stretch"').replace("difficulty=1", "difficulty=4")}, "", 0,
     "a quarter of core"),
    ({"one": BUILD, "predict": code("predict", f"y = 1\n{LINE}")}, "one", 3,
     "line of the solution"),
    *(({"summary": markdown("summary", text)}, "summary", 0, "{term:softmax}")
      for text in ("A {terms:softmax}.", "A { Term: softmax }.", "A {term|softmax}.")),
    *(({"summary": markdown("summary", f"Fine.\n{picture}")}, "summary", 3, "network: ")
      for picture in PICTURES),
]  # fmt: skip
VALID = [
    {},
    swapped("goals", "setup"),
    dict.fromkeys(("two", "break", "estimate", "explain"), ""),
    {"break": code("break", "\n".join(["x = 1"] * 25))},
    {"text": markdown("text", reading(11))},
    {"text": markdown("text", reading(9)), "two": PARTS["two"].replace('"core"', '"stretch"')},
    {"break": code("break", options=' minutes=10 because="a long run"')},
    {"one": BUILD, "break": code("break", LINE), "predict": code("predict", "return 1")},
    {"one": PARTS["one"].replace("    # sol", f"    {LINE}\n    # sol"), "predict": code("predict", LINE)},
    {"summary": markdown("summary", "[a](https://a.org) ![b](c.png) <a href='https://a.org'>d</a>")},
]  # fmt: skip


@pytest.mark.parametrize(("change", "part", "below", "message"), BREACHES)
def test_a_breach_is_reported_with_its_line(course, change, part, below, message):
    parts = change if len(change) > 10 else PARTS | change
    before = "".join(parts.values()).index(parts[part]) if part else 0
    line = "".join(parts.values())[:before].count("\n") + 1 + below
    problems = course.problems("".join(parts.values()))
    assert any(problem.startswith(f"{line}: ") and message in problem for problem in problems), problems


INTRODUCTION = {"title": markdown("title", QUESTION, " introduction=true")}
NOT_REQUIRED = ("recall", "text", "predict", "estimate", "explain", "one", "two", "break")


@pytest.mark.parametrize("change", [*VALID, INTRODUCTION | dict.fromkeys(NOT_REQUIRED, "")])
def test_a_lesson_within_the_rules_has_no_problems(course, change):
    assert course.problems("".join((PARTS | change).values())) == []


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_an_empty_lesson_has_problems_and_no_exception(course, text):
    assert course.problems(text)

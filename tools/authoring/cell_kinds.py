"""The vocabulary of lesson sources: kinds of cells, modes of exercises, options of a cell's header.

    # %% kind="exercise" exercise="scale" title="Scale" difficulty=2 importance=5 track="core"

The parser rejects everything that is not in these tables; docs/writing_a_lesson.md explains them.
"""

from __future__ import annotations

from typing import NamedTuple

CODE, MARKDOWN = "code", "markdown"
EDITIONS = LEARNER, SOLVED, INSTRUCTOR = "learner", "solved", "instructor"
# What is short is also core. There is a short and a core edition besides, made from the learner's by leaving
# cells out; the core edition is only run.
TRACKS = SHORT, CORE, STRETCH = "short", "core", "stretch"


class Kind(NamedTuple):
    """A kind of cell, and the forms it may have."""

    name: str
    forms: tuple[str, ...]
    meaning: str
    gives_feedback: bool = False  # the learner finds out whether they have understood


KINDS = {
    kind.name: kind
    for kind in (
        Kind("title", (MARKDOWN,), "the question this lesson answers, its duration, its prerequisites"),
        Kind(
            "goals",
            (MARKDOWN,),
            "three to five things the learner will be able to do, each of which can be tested",
        ),
        Kind("setup", (CODE,), "the same few lines in every lesson; the first code cell"),
        Kind(
            "recall",
            (CODE,),
            "questions about the previous lesson and the one three lessons back",
            gives_feedback=True,
        ),
        Kind("text", (MARKDOWN,), "prose; a `## heading` opens a section"),
        Kind("formula", (MARKDOWN,), "a formula with its table: symbol, variable, shape"),
        Kind("picture", (CODE,), "the lesson's key picture, whole or with one part lit"),
        Kind("example", (CODE, MARKDOWN), "the problem, with numbers small enough to check by hand"),
        Kind("loop", (CODE,), "the naive loop"),
        Kind("tensor", (CODE,), "the tensor form, asserted equal to the loop"),
        Kind("library", (CODE,), "the library's version, shown and asserted equal"),
        Kind("see", (CODE,), "a picture"),
        Kind("predict", (CODE,), "a guess before the explorable opens", gives_feedback=True),
        Kind("explore", (CODE,), "an explorable: an interactive figure"),
        Kind(
            "estimate",
            (CODE,),
            "a number that the learner commits to before a measurement",
            gives_feedback=True,
        ),
        Kind("explain", (CODE,), "the learner's own words, then a model answer", gives_feedback=True),
        Kind("exercise", (CODE,), "a stub, with its solution between markers"),
        Kind("check", (CODE,), "the exercise's check", gives_feedback=True),
        Kind("hints", (MARKDOWN,), "the exercise's graded hints, separated by lines of `---`"),
        Kind("train", (CODE,), "train or load a model; asserts its result"),
        Kind("break", (CODE, MARKDOWN), "break it and see what happens"),
        Kind("quiz", (CODE,), "the closing quiz, or a quiz within the lesson", gives_feedback=True),
        Kind("summary", (MARKDOWN,), "a table of new names and shapes, and what is still missing"),
        Kind("reading", (MARKDOWN,), "a section of the paper and one other explanation"),
        Kind(
            "instructor",
            (MARKDOWN,),
            "prompts, expected answers, common errors; only in the instructor's edition",
        ),
        Kind("code", (CODE,), "any other code"),
    )
}
MODES = {
    "build": "write a function",
    "test": "write a test that accepts the reference and catches the known mistakes",
    "bug": "find and fix a bug; the card doesn't say that there is one",
    "transfer": "apply the same idea to something else",
    "file": "write a file; `lines` says how many lines of it are new",
}


SWITCH, LEVELS = (True, False), (1, 2, 3, 4, 5)
OPTIONS = {  # of a header, with the allowed values; None: anything
    "kind": tuple(KINDS),
    "name": None,
    "minutes": None,
    "because": None,
    "track": TRACKS,
    "contents": None,
    "ignore_output": SWITCH,
    "hide_input": SWITCH,
    "introduction": SWITCH,
    "part": None,
    "exercise": None,
    "title": None,
    "difficulty": LEVELS,
    "importance": LEVELS,
    "mode": tuple(MODES),
    "lines": None,
}
EXERCISE_NEEDS = ("exercise", "title", "difficulty", "importance", "track")

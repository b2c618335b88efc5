"""The kinds a lesson's cells can have, and the options a cell's header can carry.

    # %% [markdown] kind="formula" minutes=3

These two tables are the vocabulary of lesson sources: the reader refuses what is not in them.
"""

from __future__ import annotations

from dataclasses import dataclass

CODE, MARKDOWN = "code", "markdown"


@dataclass(frozen=True)
class Kind:
    """One kind of cell: the forms it may take, the minutes it costs when its header does not say."""

    name: str
    forms: tuple[str, ...]
    minutes: float
    meaning: str
    answers_back: bool = False  # a formative check: here the learner finds out where they stand


KINDS = {
    kind.name: kind
    for kind in (
        Kind("title", (MARKDOWN,), 1, "the question this lesson answers, its minutes, what it needs"),
        Kind("goals", (MARKDOWN,), 1, "three to five testable verbs"),
        Kind("setup", (CODE,), 0, "the same few lines in every lesson; the first code cell"),
        Kind("recall", (CODE,), 3, "quiz on the lesson before", answers_back=True),
        Kind("text", (MARKDOWN,), 1, "prose; a `## heading` opens a section"),
        Kind("formula", (MARKDOWN,), 2, "a formula with its table: symbol, variable, shape"),
        Kind("example", (CODE, MARKDOWN), 2, "the problem in tiny numbers"),
        Kind("loop", (CODE,), 2, "the naive loop"),
        Kind("tensor", (CODE,), 1, "the tensor form, asserted equal to the loop"),
        Kind("library", (CODE,), 1, "the library's version, shown and asserted equal"),
        Kind("see", (CODE,), 1, "a picture"),
        Kind("predict", (CODE,), 1, "a guess before the explorable opens", answers_back=True),
        Kind("explore", (CODE,), 3, "an explorable"),
        Kind("exercise", (CODE,), 0, "a stub; its solution between markers"),
        Kind("check", (CODE,), 0, "the exercise's check", answers_back=True),
        Kind("hints", (MARKDOWN,), 0, "the exercise's graded hints, between lines of `---`"),
        Kind("train", (CODE,), 2, "train or load a model; asserts its result"),
        Kind("break", (CODE, MARKDOWN), 3, "break it and see what happens"),
        Kind("quiz", (CODE,), 5, "closing quiz, or a quiz within the lesson", answers_back=True),
        Kind("summary", (MARKDOWN,), 2, "table of new names and shapes, what is still missing"),
        Kind("reading", (MARKDOWN,), 1, "paper section and one other explanation"),
        Kind(
            "instructor",
            (MARKDOWN,),
            0,
            "prompts, expected answers, common errors; instructor's edition only",
        ),
        Kind("code", (CODE,), 1, "any other code"),
    )
}

TRACKS = ("core", "stretch")
EVERY_KIND = tuple(KINDS)
EVERY_TIMED_KIND = tuple(name for name in KINDS if name != "instructor")  # not on the learner's clock
EVERY_CODE_KIND = tuple(kind.name for kind in KINDS.values() if CODE in kind.forms)


@dataclass(frozen=True)
class Option:
    """One option of a cell header: on which kinds it may stand, and which values it takes."""

    kinds: tuple[str, ...]
    wants: str
    types: tuple[type, ...]
    low: float | None = None
    high: float | None = None
    one_of: tuple[str, ...] = ()

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool):  # True is an int to Python, and a slip here
            return bool in self.types
        if not isinstance(value, self.types):
            return False
        if isinstance(value, str):
            return bool(value.strip()) and (not self.one_of or value in self.one_of)
        return self.low is None or self.low <= value <= self.high


OPTIONS = {
    "kind": Option(EVERY_KIND, "one of the kinds", (str,)),
    "minutes": Option(EVERY_TIMED_KIND, "a number of minutes from 0 to 90", (int, float), 0, 90),
    "track": Option(EVERY_KIND, '"core" or "stretch"', (str,), one_of=TRACKS),
    "tags": Option(EVERY_KIND, 'cell tags with commas between, such as "a,b"', (str,)),
    "ignore_output": Option(EVERY_CODE_KIND, "true or false", (bool,)),
    "hide_input": Option(EVERY_CODE_KIND, "true or false", (bool,)),
    "short": Option(("title",), "true or false", (bool,)),
    "exercise": Option(("text", "exercise", "check", "hints"), "the exercise's name", (str,)),
    "title": Option(("exercise",), "the exercise's title", (str,)),
    "difficulty": Option(("exercise",), "a whole number from 1 to 5", (int,), 1, 5),
    "importance": Option(("exercise",), "a whole number from 1 to 5", (int,), 1, 5),
}

EXERCISE_NEEDS = ("exercise", "title", "difficulty", "importance", "minutes", "track")

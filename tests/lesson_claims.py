"""What the tests of lessons compare: a lesson's text, its quiz and its named cells, and recorded results.

LESSON = LessonText("masks")
LESSON.asked("times-zero").right                              # which options of a question are right
LESSON.run_cell("leak", torch=torch)["perplexity"]            # a variable after a cell with a name has run
means("leak", "history", -1, "loss")["leaky"]                 # over the seeds of data/results/leak.json
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache

import pytest

from course_lib.results import mean_over_seeds, runs, value_at
from course_lib.runtime import data_path
from course_lib.teaching.contents import lesson
from course_lib.teaching.questions.question import Question, questions
from course_lib.text.pair import Pair
from course_lib.text.toy.splits import TEST_SIZES, Splits, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped
from tools.authoring.source import Cell, read_cells


class LessonText:
    """One lesson as its author wrote it."""

    def __init__(self, topic: str):
        self.lesson = lesson(topic)
        self.folder = self.lesson.folder
        self.source = (self.folder / "lesson.py").read_text(encoding="utf-8")

    def asked(self, name: str) -> Question:
        """A question of its quiz."""
        return questions(self.lesson.number)[name]

    def cell(self, name: str) -> Cell:
        """The code cell whose header has this name."""
        [cell] = [cell for cell in read_cells(self.source) if cell.options.get("name") == name]
        return cell

    def run_cell(self, name: str, **variables: object) -> dict:
        """The variables of the notebook after a cell with a name has run on these."""
        exec(self.cell(name).text, variables)
        return variables

    def stored(self) -> dict:
        """What `python3 -m tools.experiments.measurements` has measured for the lesson."""
        path = data_path("results", f"lesson_{self.lesson.number}.json")
        return json.loads(path.read_text(encoding="utf-8"))


def assert_measured_again(
    measured: Mapping, stored: Mapping, *, parts: Mapping[str, Mapping[str, float]] | None = None, **tolerance
) -> None:
    """What `measure()` returns today is what is stored for its lesson, number for number and text for text.

    `tolerance` is `rel` and `abs` of `pytest.approx`; `parts` has others for some parts. A lesson measures in
    this one test. Its other tests take the stored numbers, so that no worker measures a second time.
    """
    for part, value in measured.items():
        options, before = (parts or {}).get(part, tolerance), flatten(stored[part])
        assert flatten(value) == {
            path: old if isinstance(old, str) else pytest.approx(old, **options)
            for path, old in before.items()
        }, part


def flatten(value: object, path: tuple = ()) -> dict[tuple, object]:
    """The numbers of nested dictionaries and lists, by their paths."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {inner: number for key, item in items for inner, number in flatten(item, (*path, key)).items()}
    return {path: value}


def means(experiment: str, *path: str | int, times: float = 1) -> dict[str, float]:
    """The mean over the seeds, for each variant of an experiment."""
    return mean_over_seeds(experiment, lambda run: times * value_at(run, *path))


def seeds(experiment: str, variant: str, *path: str | int, times: float = 1) -> list[float]:
    """The same for each seed of one variant; a value that is not a number is returned as it is."""
    values = [value_at(run, *path) for run in runs(experiment) if run["variant"] == variant]
    return values if times == 1 else [times * value for value in values]


def exact(experiment: str, split: str = "test", words: str | None = None) -> dict[str, float]:
    """The percentage of sentences translated exactly; `words` restricts it to a range of lengths."""
    path = ("scores", split, "exact") if words is None else ("scores", split, "by_length", words, "exact")
    return means(experiment, *path, times=100)


@cache
def held_out_splits() -> Splits:
    """The test splits that every lesson uses."""
    return splits(seed=0, sizes=TEST_SIZES)


@cache
def all_splits() -> Splits:
    """All splits, with the 20,000 sentences that everything was trained on."""
    return splits(seed=0)


@cache
def held_out_pairs(n: int) -> tuple[Pair, ...]:
    """The test sentences of a lesson that asks for n of them and for no other split."""
    return splits(seed=0, sizes={"test": n}).test


def translations(system: Shipped, pairs, **options) -> list[str]:
    """The translations of these sentences by a system."""
    outputs = translate([pair.src_text for pair in pairs], system.model, system.tokenizer, **options)
    return [output.target for output in outputs]


def n_right(texts: list[str], pairs) -> int:
    """How many are exactly their reference."""
    return sum(text == pair.tgt_text for text, pair in zip(texts, pairs, strict=True))


def indices_of_true(*claims: bool) -> list[int]:
    """The places of the claims that hold, to be compared with the `right` options of a question."""
    return [place for place, holds in enumerate(claims) if holds]


def numbers_of_right(question: Question) -> list[float]:
    """All numbers in the text of the one right option, in order."""
    [right] = question.right
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", question.options[right].text)]

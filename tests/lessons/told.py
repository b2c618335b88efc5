"""What a lesson tells and what was measured: the tests of all lessons compare the two by these few words.

L = Told("masks")
L.says("0.08 on validation where the sound one has 0.07")     # in its prose or its quiz
means("leak", "history", -1, "loss")["leaky"]                 # over the seeds of data/results/leak.json
drawn(60)                                                      # drawn once for all tests
"""

from __future__ import annotations

import json
from functools import cache, cached_property

from course_lib.results import mean_over_seeds, runs, value_at
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import lesson
from course_lib.teaching.questions.question import questions
from course_lib.text.pair import Pair
from course_lib.text.toy.splits import SIZES_OF_TESTS, Splits, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped


class Told:
    """One lesson: its prose and code, and its quiz, as the author wrote them."""

    def __init__(self, topic: str):
        self.lesson = lesson(topic)
        self.folder = self.lesson.folder
        self.source = (self.folder / "lesson.py").read_text(encoding="utf-8")
        self.quiz = (self.folder / "quiz.json").read_text(encoding="utf-8")

    def says(self, *texts: str) -> None:
        """All these are in its prose, its code or its quiz."""
        for text in texts:
            assert text in self.source or text in self.quiz, f"{self.lesson.label} does not say {text!r}"

    @cached_property
    def printed(self) -> str:
        """What the cells of its stored notebook print; nbval runs them all again and compares."""
        notebook = json.loads((PROJECT_ROOT / "notebooks" / self.lesson.notebook).read_text(encoding="utf-8"))
        compared = (
            cell for cell in notebook["cells"] if "nbval-ignore-output" not in cell["metadata"]["tags"]
        )
        outputs = [output for cell in compared for output in cell.get("outputs", [])]
        return " ".join("".join("".join(output.get("text", "")) for output in outputs).split())

    def prints(self, *texts: str) -> None:
        """All these are printed by a cell of its stored notebook."""
        for text in texts:
            assert " ".join(text.split()) in self.printed, f"{self.lesson.label} does not print {text!r}"

    def asked(self, name: str):
        """A question of its quiz."""
        return questions(self.lesson.number)[name]

    def right(self, name: str) -> str:
        """The right option of a question."""
        return self.asked(name).options[self.asked(name).right[0]].text

    def cells(self, *beginnings: str) -> str:
        """Its code cells that begin so, one after another."""
        cells = [cell.partition("\n")[2] for cell in self.source.split("\n# %% ")]
        found = [cell for beginning in beginnings for cell in cells if cell.startswith(beginning)]
        assert len(found) == len(beginnings), beginnings
        return "\n".join(found)


def means(experiment: str, *path: str | int, times: float = 1) -> dict[str, float]:
    """The mean over the seeds, for each variant of an experiment."""
    return mean_over_seeds(experiment, lambda run: times * value_at(run, *path))


def seeds(experiment: str, variant: str, *path: str | int, times: float = 1) -> list[float]:
    """The same for each seed of one variant; or whatever else lies there."""
    found = [value_at(run, *path) for run in runs(experiment) if run["variant"] == variant]
    return found if times == 1 else [times * one for one in found]


def exact(experiment: str, split: str = "test", words: str | None = None) -> dict[str, float]:
    """Percent of the sentences without a fault; of those with so many words, where asked for."""
    path = ("scores", split, "exact") if words is None else ("scores", split, "by_length", words, "exact")
    return means(experiment, *path, times=100)


def shown(numbers: dict[str, float], names: str, form: str = ".1f") -> str:
    """The numbers of these names (parted by spaces), as a lesson prints them."""
    return " ".join(f"{numbers[name]:{form}}" for name in names.split())


@cache
def exams() -> Splits:
    """The test splits, as every lesson draws them."""
    return splits(seed=0, sizes=SIZES_OF_TESTS)


@cache
def language() -> Splits:
    """All splits, with the 20,000 sentences that everything was trained on."""
    return splits(seed=0)


@cache
def drawn(n: int) -> tuple[Pair, ...]:
    """So many test sentences, as a lesson draws them that asks for no more."""
    return splits(seed=0, sizes={"test": n}).test


def said(system: Shipped, pairs, **options) -> list[str]:
    """What a system makes of these sentences."""
    found = translate([pair.src_text for pair in pairs], system.model, system.tokenizer, **options)
    return [one.target for one in found]


def n_right(texts: list[str], pairs) -> int:
    """How many are word for word as they should be."""
    return sum(text == pair.tgt_text for text, pair in zip(texts, pairs, strict=True))

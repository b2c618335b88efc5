"""How the attention of a translator changes while it is trained, from nearly uniform weights to an alignment.

    >>> " ".join(compute(step=4000, sentence="the happy mother …")["translation"])
    "la mère heureuse n' a pas vendu la vieille fleur blanche"

Three training runs of Bahdanau's system were recorded (`emergence` in data/results). The map is the first
run's, under teacher forcing, so its rows are always the words of the correct translation.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from course_lib.explore.base import Choice, Explorable, Facts
from course_lib.formatting import fixed, minus
from course_lib.results import runs
from course_lib.text.pair import Pair
from course_lib.text.special import EOS, SPECIAL
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.text.toy.twins import twins
from course_lib.views.cells import word_map
from course_lib.views.plane import Plane
from course_lib.views.svg import dot, word
from course_lib.views.words import fits, mistakes, spread, word_row

STEPS = (*range(0, 601, 25), 800, 1000, 1500, 2000, 4000)
SENTENCES = {"the happy mother …": "crossing", "the cat drank …": "thirsty"}  # their names in the results
MOTHER, CAT = SENTENCES
CURVES = {  # how the picture names what was recorded, and where its scale ends
    "diagonal": ("diagonal (correlation)", (-0.2, 1)),
    "words": ("words right", (0, 1)),
    "links": ("own word (links right)", (0, 1)),
}
LEFT, TOP, APART = 530, 124, 94  # of the curves
SOON = 25  # steps: the scale of the curves is the logarithm of step + SOON
SIZE = 13  # of the translation


def pair_of(sentence: str) -> Pair:
    return twins(1)[0] if sentence == CAT else splits(seed=0, sizes=TEST_SIZES).test[4]


@cache
def recorded(part: str) -> list[dict[int, dict[str, Any]]]:
    """The curve or the snapshots of each run, by step; the first run is shown."""
    return [{each["step"]: each for each in run[part]} for run in runs("emergence")]


def compute(*, step: int, sentence: str) -> Facts:
    """The map and the translation at one step, and the measurements of all runs up to it."""
    pair, so_far = pair_of(sentence), [each for each in STEPS if each <= step]
    shot = recorded("snapshots")[0][step]["maps"][SENTENCES[sentence]]
    weights, translation = np.array(shot["weights"]), shot["translation"].split()
    hidden = pair.tgt.index("il") if sentence == CAT else -1  # where it looks, a later section asks
    rings = {(french, english) for english, french in pair.links}
    curves = {
        name: np.array([[run[s][name] for s in so_far] for run in recorded("curve")]) for name in CURVES
    }
    facts = {
        "source": [*pair.src, SPECIAL[EOS]],
        "target": [*pair.tgt, SPECIAL[EOS]],
        "weights": weights,
        "rings": rings,
        "hidden": hidden,
        "found": len(rings & {(i, int(row.argmax())) for i, row in enumerate(weights) if i != hidden}),
        "span": float(np.ptp(weights @ np.arange(weights.shape[1]))),  # of the mean attended positions
        "translation": translation,
        "wrong": mistakes(translation, pair.tgt)[0],
        "steps": np.array(so_far),
        "curves": curves,
        "now": {name: float(of_runs[0, -1]) for name, of_runs in curves.items()},
    }
    return facts | (in_the_first_sentence(facts) if sentence == MOTHER else NOT_IN_THIS_SENTENCE)


NOT_IN_THIS_SENTENCE = {"flower_and_white": 0.0, "la_to_mother": 0.0}


def in_the_first_sentence(facts: Facts) -> dict[str, float]:
    """How much fleur and blanche attend to their own words (the smaller weight), and the first la to two."""

    def weight(french: str, english: str) -> float:
        return float(facts["weights"][facts["target"].index(french), facts["source"].index(english)])

    return {
        "flower_and_white": min(weight("fleur", "flower"), weight("blanche", "white")),
        "la_to_mother": weight("la", "mother"),
    }


def headline(facts: Facts) -> str:
    found = facts["found"]
    most = [int(row.argmax()) for i, row in enumerate(facts["weights"][:-1]) if i != facts["hidden"]]
    stage = "a diagonal" if most == sorted(most) else "a diagonal with crossings"
    if facts["span"] < 3:
        stage = "all rows are nearly the same"
    elif found >= 9:
        stage = "close to the true links"
    look = "looks most at its" if found == 1 else "look most at their"
    return f"Step {facts['step']:,}: {stage}; {found} of {len(most)} words {look} own word"


def shortened(words: list[str]) -> list[str]:
    """As many words of a translation as fit beside its name."""
    return words[: next(n for n in range(len(words), -1, -1) if fits(words[:n], 626, SIZE))]


def draw_curves(facts: Facts) -> Iterable[str]:
    yield word(LEFT, 84, "three runs so far, 200 sentences", 12, "soft", "start")
    steps = facts["steps"] + SOON
    for i, (name, (title, ends)) in enumerate(CURVES.items()):
        plane = Plane(LEFT, TOP + APART * i, 200, 58, (SOON, 4000 + SOON), ends, log_x=True)
        yield plane.scale_y({0: "0", 1: "1" if name == "diagonal" else "100%"})
        yield word(LEFT, plane.top - 9, title, 13, anchor="start")
        yield word(LEFT + 200, plane.top - 9, shown(facts, name), 13, anchor="end", bold=True)
        for run in (2, 1, 0):
            style = ("calm", 1.5) if run else ("ink", 2.4)
            yield plane.curve(steps, facts["curves"][name][run], *style)
        yield dot(*plane.at(steps[-1], facts["now"][name]), 4, "ink", "paper")
    ticks = {step + SOON: f"{step:,}" for step in (0, 100, 400, 1000, 4000)}
    yield plane.scale_x(ticks, "training steps (thick: this run)")


def shown(facts: Facts, name: str) -> str:
    value = facts["now"][name]
    return minus(fixed(value, 2)) if name == "diagonal" else f"{fixed(100 * value, 0)}%"


class AttentionEmerges(Explorable):
    title = "Attention emerges"
    question = "Play the training run. When do the attention weights become an alignment?"
    size = (760, 424)
    step = Choice("training steps", STEPS, 200, text=lambda step: f"{step:,}")
    sentence = Choice("sentence", tuple(SENTENCES), MOTHER, buttons=True)
    play = "step"
    presets = {"step 0": {"step": 0}, "step 4,000": {"step": 4000}}
    goals = {
        "aligned": "More than half of the links right",
        "crossed": "fleur and blanche: more than half of the attention on their own word",
        "article": "The first la: more than half of the attention on mother",
    }
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "aligned": now["now"]["links"] > 0.5,
            "crossed": now["flower_and_white"] > 0.5,
            "article": now["la_to_mother"] > 0.5,
        }

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        yield word(14, 28, headline(facts), 15, anchor="start", bold=True)
        words = shortened(facts["translation"])
        yield word(14, 56, "translation", 12, "soft", "start")
        places = spread(words, 100, 740, SIZE, most=9)
        yield word_row(words, places, 56, SIZE, marked=facts["wrong"])
        yield word(746, 56, "…" if words != facts["translation"] else "", SIZE, "soft", "end")
        rows = "rows: the correct words (teacher forcing); rings: true links"
        rows += "; *il*: section 6" if facts["sentence"] == CAT else ""
        yield word(14, 84, rows, 12, "soft", "start")
        names = {"rows": facts["target"], "columns": facts["source"]}
        shown = facts["weights"].copy()
        if facts["hidden"] >= 0:
            shown[facts["hidden"]] = np.nan
        yield word_map(100, 96, shown, size=(33, 21.5), rings=facts["rings"], **names)
        yield from draw_curves(facts)

    @staticmethod
    def describe(facts: Facts) -> str:
        measured = ", ".join(f"{title} {shown(facts, name)}" for name, (title, _) in CURVES.items())
        words = " ".join(shortened(facts["translation"]))
        words += " …" if len(words.split()) < len(facts["translation"]) else ""
        return f"{headline(facts)}. In this run, {measured}. The translation is “{words}”."

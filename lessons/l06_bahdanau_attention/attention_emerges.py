"""How the attention of a translator changes while it is trained, from nearly uniform weights to an alignment.

    >>> " ".join(compute(step=4000, sentence="the happy mother …")["translation"])
    "la mère heureuse n' a pas vendu la vieille fleur blanche"

Three training runs of Bahdanau's system were recorded (`emergence` in data/results). The map is the first
run's, or that of the learner's own run (`of`), under teacher forcing, so its rows are always the words of the
correct translation.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
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


Run = dict[str, list[dict[str, Any]]]


@cache
def recorded() -> tuple[Run, ...]:
    return tuple(runs("emergence"))


def compute(*, step: int, sentence: str, own: Run | None = None) -> Facts:
    """The map and the translation at one step of a run, and the measurements of all runs up to it."""
    first, *others = (own, *recorded()) if own else recorded()
    measured = [{each["step"]: each for each in run["curve"]} for run in (first, *others)]
    shots = {each["step"]: each["maps"][SENTENCES[sentence]] for each in first["snapshots"]}
    pair, so_far = pair_of(sentence), [each for each in shots if each <= step and each in STEPS]
    weights, translation = np.array(shots[step]["weights"]), shots[step]["translation"].split()
    rings = {(french, english) for english, french in pair.links}
    curves = {name: np.array([[run[s][name] for run in measured] for s in so_far]) for name in CURVES}
    return {
        "source": [*pair.src, SPECIAL[EOS]],
        "target": [*pair.tgt, SPECIAL[EOS]],
        "weights": weights,
        "rings": rings,
        "found": len(rings & {(i, int(row.argmax())) for i, row in enumerate(weights)}),
        "span": float(np.ptp(weights @ np.arange(weights.shape[1]))),  # of the mean attended positions
        "translation": translation,
        "wrong": mistakes(translation, pair.tgt)[0],
        "steps": np.array(so_far),
        "curves": curves,
        "now": {name: float(of_runs[-1, 0]) for name, of_runs in curves.items()},
        "own": max(shots) if own else 0,  # the steps of the learner's run
        "flower_and_white": own_words(weights, pair) if sentence == MOTHER else 0.0,
    }


def own_words(weights: np.ndarray, pair: Pair) -> float:
    """How much fleur and blanche attend to their own words: the smaller weight."""
    both = (("fleur", "flower"), ("blanche", "white"))
    return min(float(weights[pair.tgt.index(to), pair.src.index(word)]) for to, word in both)


def headline(facts: Facts) -> str:
    found = facts["found"]
    most = [int(row.argmax()) for row in facts["weights"][:-1]]
    stage = "a diagonal" if most == sorted(most) else "a diagonal with crossings"
    if facts["span"] < 3:
        stage = "all rows are nearly the same"
    elif found >= 9:
        stage = "close to the true links"
    look = "looks most at its" if found == 1 else "look most at their"
    return f"Step {facts['step']:,}: {stage}; {found} of {len(most)} words {look} own word"


def shortened(words: list[str]) -> list[str]:
    """As many words of a translation as fit beside its name."""
    return words[: next(n for n in range(len(words), -1, -1) if fits(words[:n], 610, SIZE))]


def draw_curves(facts: Facts) -> Iterable[str]:
    own = f"your run of {facts['own']} steps; grey: recorded"
    whose = own if facts["own"] else "three runs so far, 200 sentences"
    yield word(LEFT, 84, whose, 12, "soft", "start")
    n_runs, steps = facts["curves"]["words"].shape[1], facts["steps"] + SOON
    for i, (name, (title, ends)) in enumerate(CURVES.items()):
        plane = Plane(LEFT, TOP + APART * i, 200, 58, (SOON, 4000 + SOON), ends, log_x=True)
        yield plane.scale_y({0: "0", 1: "1" if name == "diagonal" else "100%"})
        yield word(LEFT, plane.top - 9, title, 13, anchor="start")
        yield word(LEFT + 200, plane.top - 9, shown(facts, name), 13, anchor="end", bold=True)
        for run in reversed(range(n_runs)):
            style = ("calm", 1.5) if run else ("accent" if facts["own"] else "ink", 2.4)
            yield plane.curve(steps, facts["curves"][name][:, run], *style)
        yield dot(*plane.at(steps[-1], facts["now"][name]), 4, style[0], "paper")
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
    presets = {"step 0": {"step": 0}, "step 250": {"step": 250}, "step 4,000": {"step": 4000}}
    goals = {
        "aligned": "More than half of the links right",
        "crossed": "fleur and blanche: more than half of the attention on their own word",
    }
    compute = staticmethod(compute)

    @classmethod
    def of(cls, own: Run) -> type[AttentionEmerges]:
        """The film of a learner's run, from its first snapshot to its last."""
        steps = tuple(each["step"] for each in own["snapshots"])
        members = {
            "step": Choice("training steps", steps, steps[-1], text=lambda step: f"{step:,}"),
            "sentence": Choice("sentence", tuple(SENTENCES), MOTHER, buttons=True),
            "presets": {"step 0": {"step": 0}},
            "compute": staticmethod(partial(compute, own=own)),
        }
        return type(cls.__name__, (cls,), members)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "aligned": now["now"]["links"] > 0.5,
            "crossed": now["flower_and_white"] > 0.5,
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
        yield word(14, 84, rows, 12, "soft", "start")
        names = {"rows": facts["target"], "columns": facts["source"]}
        yield word_map(100, 96, facts["weights"], size=(33, 21.5), rings=facts["rings"], **names)
        yield from draw_curves(facts)

    @staticmethod
    def describe(facts: Facts) -> str:
        measured = ", ".join(f"{title} {shown(facts, name)}" for name, (title, _) in CURVES.items())
        words = " ".join(shortened(facts["translation"]))
        words += " …" if len(words.split()) < len(facts["translation"]) else ""
        return f"{headline(facts)}. In this run, {measured}. The translation is “{words}”."

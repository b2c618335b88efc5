"""The beam-search tree: two small languages, a beam of any width, and what it finds.

    >>> [search(TREES["A"], width=width, alpha=0.0).best.sentence for width in (1, 2)]
    [('the', 'cat', '</s>'), ('a', 'cat', '</s>')]
    >>> search(TREES["B"], width=5, alpha=0.0).best.sentence              # too wide: an empty sentence
    ('</s>',)

A tree holds the probability of each word after the words before it. `search` does in plain Python what
`translation/search.py` does, and records what it kept. A finished sentence is
ranked by its sum of log-probabilities divided by ((5 + length) / 6)^alpha, the end mark counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from matplotlib.collections import LineCollection

from course_lib import theme
from course_lib.explore.raster.base import (
    Axes,
    Choice,
    Facts,
    Integer,
    Number,
    Panel,
    RasterExplorable,
    Show,
    blank_axes,
)
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed, minus
from course_lib.text.special import EOS, SPECIAL

Words = tuple[str, ...]
Tree = dict[Words, dict[str, float]]
END = SPECIAL[EOS]
LONGEST, WIDEST = 6, 5  # words; hypotheses
ENDED = {END: 1.0}
TREES: dict[str, Tree] = {
    "A": {
        (): {"the": 0.6, "a": 0.4},
        ("the",): {"cat": 0.4, "dog": 0.35, "bird": 0.25},
        ("a",): {"cat": 0.9, "dog": 0.1},
    },
    "B": {
        (): {"le": 0.41, "un": 0.25, "ce": 0.16, END: 0.12, "la": 0.06},
        ("le",): {"chat": 0.6, "chien": 0.25, END: 0.15},
        ("un",): {"chat": 0.4, "chien": 0.4, "oiseau": 0.2},
        ("ce",): {"chat": 0.5, "chien": 0.5},
        ("la",): {"souris": 1.0},
        ("le", "chat"): {"dort": 0.7, "mange": 0.3},
        ("le", "chien"): {"dort": 0.5, "mange": 0.5},
        ("un", "chat"): {"dort": 0.6, "mange": 0.4},
        ("un", "chien"): {"dort": 0.6, "mange": 0.4},
        ("un", "oiseau"): {"dort": 1.0},
        ("ce", "chat"): {"dort": 1.0},
        ("ce", "chien"): {"dort": 1.0},
        ("la", "souris"): {"dort": 1.0},
        ("le", "chat", "dort"): {END: 0.56, "ici": 0.24, "bien": 0.2},
    },
}
MOST_NODES, MOST_LISTED = 48, 6


class Finished(NamedTuple):
    """A finished sentence, its sum of log-probabilities, and what it is ranked by."""

    sentence: Words
    total: float
    score: float


@dataclass
class Trace:
    """What a search kept open, what it considered and what it finished."""

    open: list[list[tuple[Words, float]]] = field(default_factory=list)  # by step
    considered: set[Words] = field(default_factory=set)
    finished: list[Finished] = field(default_factory=list)

    @property
    def best(self) -> Finished:
        return max(self.finished, key=lambda hypothesis: hypothesis.score)


def following(tree: Tree, words: Words) -> dict[str, float]:
    """The probability of each next word; a prefix that is not in the tree ends."""
    return tree.get(words, ENDED)


def score_of(total: float, length: int, alpha: float) -> float:
    return total / ((5 + length) / 6) ** alpha


def search(tree: Tree, *, width: int, alpha: float) -> Trace:
    """Keep the best `width` prefixes, extend each with every word, keep the best again."""
    trace, going = Trace(), [((), 0.0)]
    for step in range(1, LONGEST + 1):
        candidates = [
            ((*words, word), total + math.log(probability))
            for words, total in going
            for word, probability in following(tree, words).items()
        ]
        trace.considered |= {words for words, _ in candidates}
        candidates.sort(key=lambda candidate: (-candidate[1], candidate[0][-1] == END))
        ended = [(words, total) for words, total in candidates[:width] if words[-1] == END]
        trace.finished += [Finished(words, total, score_of(total, step, alpha)) for words, total in ended]
        going = [(words, total) for words, total in candidates if words[-1] != END][:width]
        trace.open.append(going)
        if len(trace.finished) >= width or not going:
            break
        if trace.finished and trace.best.score >= score_of(going[0][1], LONGEST, alpha):
            break
    return trace


@cache
def positions(name: str) -> dict[Words, tuple[float, float]]:
    """Column and row of each prefix: the column is its length, rows follow the order of the leaves."""
    tree, coordinates = TREES[name], {}

    def lay_out(words: Words, top: float) -> float:
        """Set the position of a prefix and of all that follow it; return the next free row."""
        below = top
        for word in following(tree, words) if not words or words[-1] != END else ():
            below = lay_out((*words, word), below)
        below = max(below, top + 1)
        coordinates[words] = (len(words), (top + below - 1) / 2)
        return below

    depth = lay_out((), 0.0)
    return {words: (column, row / (depth - 1)) for words, (column, row) in coordinates.items()}


def compute(*, tree: str, width: int, alpha: float) -> Facts:
    trace = search(TREES[tree], width=width, alpha=alpha)
    best = trace.best
    status = {words: "dropped" if words in trace.considered else "unseen" for words in positions(tree)}
    status |= {words: "kept" for level in trace.open for words, _ in level} | {(): "kept"}
    status |= {hypothesis.sentence: "finished" for hypothesis in trace.finished}
    status |= {best.sentence[:length]: "best" for length in range(1, len(best.sentence) + 1)}
    return {
        "output": best.sentence[:-1],
        "total": best.total,
        "score": best.score,
        "probability": math.exp(best.total),
        "status": status,
        "finished": sorted(trace.finished, key=lambda hypothesis: -hypothesis.score),
        "n_considered": len(trace.considered),
    }


COLOURS = {
    "unseen": theme.HAIRLINE,
    "dropped": theme.SOFT_INK,
    "kept": theme.BLUE,
    "finished": theme.GREEN,
    "best": theme.ORANGE,
}


def draw_tree(axes: Axes) -> Show:
    blank_axes(axes, x=(-0.25, 5.75), y=(1.05, -0.05))
    lines = LineCollection([], linewidths=1.2, zorder=1)
    axes.add_collection(lines, autolim=False)
    labels = [add_text(axes, 0, 0, va="center", size=9.5) for _ in range(MOST_NODES)]

    def show(facts: Facts) -> None:
        tree, coordinates = TREES[facts["tree"]], positions(facts["tree"])
        stretch = 5.0 / max(column for column, _ in coordinates.values())
        named = [words for words in coordinates if words]
        colours = [COLOURS[facts["status"][words]] for words in named]
        segments, texts = [], []
        for words, label in zip(named, labels, strict=False):
            (column, row), (parent_column, parent_row) = coordinates[words], coordinates[words[:-1]]
            start = parent_column * stretch + (0.7 if words[:-1] else 0.1)
            segments.append([(start, parent_row), (column * stretch - 0.06, row)])
            label.set_position((column * stretch, row))
            probability = following(tree, words[:-1])[words[-1]]
            texts.append(words[-1] if probability == 1 else f"{words[-1]} {fixed(probability, 2)[1:]}")
        lines.set(segments=segments, color=colours)
        set_texts(labels, texts, colours, bold=[facts["status"][words] == "best" for words in named])

    return show


def draw_finished(axes: Axes) -> Show:
    blank_axes(axes, x=(0, 1), y=(8.2, -1))
    columns = []
    for x, side, name in ((0, "left", ""), (0.8, "right", "log-prob."), (1.0, "right", "score")):
        add_text(axes, x, -0.4, name, ha=side, va="center", size=10, colour=theme.SOFT_INK)
        rows = range(MOST_LISTED)
        columns.append([add_text(axes, x, 0.6 + row, ha=side, va="center", size=10) for row in rows])
    named = {"best": "best", "finished": "finished", "kept": "kept open", "dropped": "dropped"}
    for i, (status, name) in enumerate({**named, "unseen": "not considered"}.items()):
        x, y = 0.5 * (i % 2), 6.6 + 0.65 * (i // 2)
        add_text(axes, x, y, f"● {name}", size=10, colour=COLOURS[status])

    def show(facts: Facts) -> None:
        finished = facts["finished"]
        colours = [COLOURS["finished" if row else "best"] for row in range(len(finished))]
        outputs = [" ".join(hypothesis.sentence[:-1]) or "(empty)" for hypothesis in finished]
        sums, scores = ([minus(fixed(hypothesis[i], 3)) for hypothesis in finished] for i in (1, 2))
        for column, texts in zip(columns, (outputs, sums, scores), strict=True):
            set_texts(column, texts, colours)

    return show


class BeamTree(RasterExplorable):
    title = "Beam search"
    question = "Keep the k most probable partial sentences instead of one. Is a wider beam better?"
    size = (10.0, 4.6)
    main_control = "width"
    tree = Choice("language", tuple(TREES), "A", buttons=True)
    width = Integer("beam width k", 1, WIDEST, 1)
    alpha = Number("length penalty α", 0.0, 1.0, 0.0, step=0.1)
    presets = {
        "A, greedy": {},
        "B, greedy": {"tree": "B"},
        "B, k = 5": {"tree": "B", "width": 5},
    }
    goals = {
        "likelier": "A: find a more probable sentence than greedy decoding",
        "nothing": "B, α = 0: the smallest k that changes the output",
        "back": "B, k = 5: the smallest α that changes it back",
    }
    panels = (
        Panel("Partial sentences, with the probability of each word", draw_tree, 1.5),
        Panel("Finished sentences", draw_finished, 0.7),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        def found(width: int, alpha: float) -> Words:
            return search(TREES["B"], width=width, alpha=alpha).best.sentence

        width, alpha, is_b = now["width"], now["alpha"], now["tree"] == "B"
        greedy, wide = found(1, 0.0), found(WIDEST, 0.0)
        output = (*now["output"], END)
        return {
            "likelier": now["tree"] == "A" and now["total"] > start["total"] + 1e-9,
            "nothing": is_b and alpha == 0 and width > 1 and found(width - 1, 0.0) == greedy != output,
            "back": is_b
            and width == WIDEST
            and alpha > 0
            and output == greedy
            and found(width, max(0.0, alpha - 0.1)) == wide,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        output, settings = " ".join(facts["output"]), f"k = {facts['width']}, α = {fixed(facts['alpha'], 1)}"
        return [f"{settings}: {output or '(empty)'}, p = {fixed(facts['probability'], 3)}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        output = f"“{' '.join(facts['output'])}”" if facts["output"] else "the empty sentence"
        penalty = fixed(facts["alpha"], 1)
        total, score = (minus(fixed(facts[name], 3)) for name in ("total", "score"))
        return (
            f"Language {facts['tree']}, beam width {facts['width']}, length penalty {penalty}: the best of "
            f"{len(facts['finished'])} finished is {output}, log-probability {total}, score {score}; "
            f"{facts['n_considered']} partial sentences were considered."
        )

"""A translator while it writes: lines lead from each French word to the English words it attends to.

    >>> facts = compute(step=13)
    >>> facts["newest"], facts["source"][facts["weights"].argmax()]
    ('filles', 'girls')

The shipped Bahdanau system translates one long sentence of the test set. Step 1 writes the first French word.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from course_lib import theme
from course_lib.explore.raster.artists import Rectangles
from course_lib.explore.raster.base import Axes, Facts, Integer, Panel, RasterExplorable, Show, blank_axes
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed
from course_lib.translation.shipped import shared
from lessons.l00_start_here.long_sentences import LONG_SENTENCE

IN_ENGLISH = (  # of each French word
    *("the", "woman", "looks for", "the", "bread", "and", "the", "queen", "it", "eats"),
    *("and", "the", "girls", "sad", "not", "drink", "not", "the", "milk"),
)
N_STEPS = len(IN_ENGLISH)
SMALLEST = 0.02  # attention weights below it have no line
SPLIT = 0.3  # attention is split if two words get more than this

# In inches: the picture, the heights of the rows and of half a box, the padding of a word.
WIDTH, HEIGHT = 9.2, 2.8
ENGLISH, FRENCH, BELOW, HALF_BOX = 2.4, 0.5, 0.16, 0.16
PADDING, FONT_SIZE = 0.07, 11.0


@cache
def translate_once() -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
    """The English words, the French words, and the attention weights (French, English).

    The end-of-sentence token is left out: no French word attends to it.
    """
    translation = shared("bahdanau")(LONG_SENTENCE, with_weights=True)
    weights = translation.weights[0, 0, :-1, :-1].numpy()
    return translation.source_tokens[:-1], translation.target_tokens[:-1], weights


def compute(*, step: int) -> Facts:
    """The attention weights of one step, and of all steps before it."""
    source, target, weights = translate_once()
    previous = weights[step - 2] if step > 1 else np.zeros_like(weights[0])
    return {
        "source": source,
        "target": target,
        "newest": target[step - 1],
        "weights": weights[step - 1],
        "previous_weights": previous,
    }


def layout(words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The centres and the widths of the words of a row, in inches, spread over the picture."""
    measure, font = TextToPath(), FontProperties(family="DejaVu Sans", size=FONT_SIZE)
    points = [measure.get_text_width_height_descent(word, font, ismath=False)[0] for word in words]
    widths = np.array(points) / 72 + 2 * PADDING
    gap = (WIDTH - widths.sum()) / (len(words) - 1)
    left = np.cumsum(widths + gap) - widths - gap
    return left + widths / 2, widths


def curve(bottom: float, top: float) -> np.ndarray:
    """A smooth line from a French word up to an English one."""
    t = np.linspace(0, 1, 40)
    x = bottom + (top - bottom) * t * t * (3 - 2 * t)
    y = FRENCH + HALF_BOX + (ENGLISH - FRENCH - 2 * HALF_BOX) * t
    return np.stack([x, y], axis=1)


def draw_lines(axes: Axes) -> Show:
    """Both sentences, and a line for each attention weight of the words written so far."""
    source, target, weights = translate_once()
    blank_axes(axes, x=(-0.04, WIDTH + 0.04), y=(0, HEIGHT))
    (top, top_widths), (bottom, bottom_widths) = layout(source), layout(target)
    links = [(t, s) for t, s in np.argwhere(weights > SMALLEST)]
    lines = LineCollection([curve(bottom[t], top[s]) for t, s in links], capstyle="butt")
    axes.add_collection(lines, autolim=False)

    boxes, written = Rectangles(axes, len(source)), Rectangles(axes, 1)
    written.set_edgecolor(theme.ORANGE)
    written.set_linewidth(2.0)
    text = {"ha": "center", "va": "center", "size": FONT_SIZE}
    english = [add_text(axes, x, ENGLISH, **text) for x in top]
    french = [add_text(axes, x, FRENCH, **text) for x in bottom]
    small = text | {"size": 9, "colour": theme.SOFT_INK}
    glosses = [add_text(axes, x, BELOW, **small) for x in bottom]
    numbers = [add_text(axes, x, ENGLISH + HALF_BOX + 0.13, **small) for x in top]

    def show(facts: Facts) -> None:
        now = facts["step"] - 1
        lines.set_linewidths([weights[t, s] * (8 if t == now else 3) for t, s in links])
        lines.set_colors([(*to_rgb(theme.BLUE), opacity(t, now)) for t, _ in links])
        colours = [theme.WEIGHTS(weight) for weight in facts["weights"]]
        edges = {"low": ENGLISH - HALF_BOX, "high": ENGLISH + HALF_BOX, "colours": colours}
        boxes.set_edges(left=top - top_widths / 2, right=top + top_widths / 2, **edges)
        set_texts(english, source, [theme.ink_on(colour) for colour in colours])
        shown = facts["weights"] > SMALLEST
        set_texts(numbers, [fixed(w, 2) if s else "" for w, s in zip(facts["weights"], shown, strict=True)])
        left, right = (bottom[now] + side * bottom_widths[now] / 2 for side in (-1, 1))
        frame = {"low": FRENCH - HALF_BOX, "high": FRENCH + HALF_BOX, "colours": theme.PAPER}
        written.set_edges(left=[left], right=[right], **frame)
        set_texts(french, target[: now + 1], bold=[False] * now + [True])
        set_texts(glosses, IN_ENGLISH[: now + 1])

    return show


def opacity(target: int, now: int) -> float:
    """Of a line: words that come later have none yet, earlier ones are pale."""
    return 0.0 if target > now else 0.85 if target == now else 0.3


class AttentionLines(RasterExplorable):
    title = "Attention, word by word"
    question = "Which English words does the network attend to for each French word?"
    size = (9.6, 3.4)
    step = Integer("words written", 1, N_STEPS, 13)
    presets = {"first word": {"step": 1}, "last word": {"step": N_STEPS}}
    goals = {
        "back": "Find a step at which the attention moves back to the left",
        "split": "Find a step at which the attention is split between two words",
    }
    panels = (Panel("", draw_lines),)
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "back": now["weights"].argmax() < now["previous_weights"].argmax(),
            "split": np.sort(now["weights"])[-2] > SPLIT,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        return [f"word {facts['step']} of {len(facts['target'])}: {facts['newest']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        pairs = zip(facts["source"], facts["weights"], strict=True)
        attended = [f"“{word}” {fixed(weight, 2)}" for word, weight in pairs if weight > SMALLEST]
        return (
            f"For word {facts['step']} of {len(facts['target'])}, “{facts['newest']}”, "
            f"the attention weights are: {', '.join(attended)}. All other weights are close to 0."
        )

"""The key picture of this lesson: three masks over the same scores, and what *chat* may attend to.

The scores are those of a head in layer 0 of the shipped Transformer language model, as in the mask painter.
They are the same under every mask, because nothing has attended to anything before them.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from course_lib.formatting import fixed
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, box, group, line, number, path, width_of, word
from course_lib.views.words import links, spread
from lessons.l10_masks.mask_painter import (
    BEFORE,
    BOTH,
    CAUSAL,
    LABELS,
    N_REAL,
    PADDING,
    apply,
    masks,
    model_scores,
)

PARTS = ("", PADDING, CAUSAL, BOTH)
WORDS = (*LABELS[:N_REAL], "pad", "pad")
HEAD, ASKS = 1, 2  # "chat" asks
HIDES = {
    PADDING: "the keys of the padding are hidden",
    CAUSAL: "all later positions are hidden",
    BOTH: "padding & causal",
}
SIZE, TOP, LEFTS = 22, 92, (48, 294, 540)


@cache
def numbers() -> dict[str, np.ndarray]:
    """The attention weights under each mask, NaN where a key is hidden."""
    n, scores = len(WORDS), model_scores()[HEAD]
    seen = {name: masks()[name][:n, :n] for name in HIDES}
    return {
        name: np.where(mask, apply(scores[:n, :n], mask, BEFORE)[0], np.nan) for name, mask in seen.items()
    }


def draw(lit: str = "") -> Picture:
    """A grid for each mask, and under it the lines from one word to what it may attend to."""
    title = f"A mask decides which words *{WORDS[ASKS]}* may attend to: the same scores, three masks"
    out = word(14, 28, title, 15, anchor="start", bold=True)
    for (name, weights), left in zip(numbers().items(), LEFTS, strict=True):
        out += group(_panel(name, weights, left), opacity=None if lit in ("", name) else "0.3")
    later = {
        name: fixed(float(np.nansum(weights[ASKS, ASKS + 1 :])), 2) for name, weights in numbers().items()
    }
    return Picture(
        WIDTH,
        438,
        out,
        alt=f"Three masks over nine positions, the last two padding. With the padding mask, {WORDS[ASKS]} "
        f"gives {later[PADDING]} of its attention to the words after it. The causal mask hides these, "
        "and all of its attention goes to itself and to what comes before. Together, they hide both.",
    )


def _panel(name: str, weights: np.ndarray, left: float) -> str:
    """One mask: the grid, and an example row as lines."""
    side = SIZE * len(WORDS)
    out = word(left, 60, name, 14, anchor="start", bold=True)
    out += word(left, 78, HIDES[name], 12, "soft", "start") + _grid(name, weights, left)
    out += box(left, TOP + SIZE * ASKS, side, SIZE, "none", "accent", radius=2, line=2)
    places = spread(WORDS, left - 14, left + side + 12, 12, most=9)
    names = {"names": (f"{name}-row", f"{name}-column"), "words": ([WORDS[ASKS]], WORDS)}
    row = np.nan_to_num(weights[ASKS : ASKS + 1])
    out += word(places[ASKS], 350, WORDS[ASKS], 13, "accent", bold=True)
    out += links(row, [places[ASKS]], places, (356, 402), colours="accent", **names)
    for text, x, weight in zip(WORDS, places, weights[ASKS], strict=True):
        half, hidden = width_of(text, 12) / 2, np.isnan(weight)
        out += word(x, 418, text, 12, "calm" if hidden else "key")
        out += line([(x - half, 414), (x + half, 414)], "calm", 1.2) if hidden else ""
    return out


def _grid(name: str, weights: np.ndarray, left: float) -> str:
    """Attention weights, the darker the larger; hidden cells are grey with a stroke."""
    out, hidden, strokes = "", "", ""
    for (i, j), weight in np.ndenumerate(weights):
        x, y = left + SIZE * j, TOP + SIZE * i
        if np.isnan(weight):
            hidden += f"M{number(x)} {number(y)}h{SIZE - 1}v{SIZE - 1}h{1 - SIZE}z"
            strokes += f"M{number(x + 7)} {number(y + 14)}l7 -7"
        else:
            own = belongs(f"{name}-row-{i}", tip=f"{WORDS[i]} → {WORDS[j]}: {fixed(float(weight), 2)}")
            frame = {"radius": 1, "opacity": float(weight)}
            out += group(box(x, y, SIZE - 1, SIZE - 1, "query", "calm", line=0.6, **frame), **own)
    out += path(hidden, "none", 0, fill="hair") + path(strokes, "calm", 1.2)
    for i, text in enumerate(WORDS):
        x, y = left + SIZE * (i + 0.5) + 4, TOP + SIZE * len(WORDS) + 12
        out += word(left - 7, TOP + SIZE * (i + 0.5) + 4, text, 12, "query", "end", bold=i == ASKS)
        out += word(x, y, text, 12, "key", "end", transform=f"rotate(-40 {number(x - 4)} {number(y)})")
    return out

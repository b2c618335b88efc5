"""The key picture of this lesson: three masks over the same scores, and what *chat* may attend to.

The scores are those of a head in layer 0 of the shipped Transformer language model, as in the mask painter.
They are the same under every mask, because nothing has attended to anything before them.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from course_lib.formatting import fixed
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, box, group, note, number, path, word
from course_lib.views.words import links
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
WORDS = (*LABELS[:N_REAL], "<pad>", "<pad>")
HEAD, ASKS = 1, 2  # "chat" asks
HIDES = {
    PADDING: "the keys of the padding are hidden",
    CAUSAL: "all later positions are hidden",
    BOTH: "padding & causal",
}
SIZE, TOP, LEFTS = 22, 92, (52, 300, 548)


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
    title = f"A mask decides what *{WORDS[ASKS]}* may attend to: the same scores, three masks"
    out = word(14, 28, title, 15, anchor="start", bold=True)
    for (name, weights), left in zip(numbers().items(), LEFTS, strict=True):
        out += group(_panel(name, weights, left), opacity=None if lit in ("", name) else "0.3")
    later = {
        name: fixed(float(np.nansum(weights[ASKS, ASKS + 1 :])), 2) for name, weights in numbers().items()
    }
    return Picture(
        WIDTH,
        480,
        out,
        alt=f"Three masks over nine positions, the last two padding. With the padding mask, {WORDS[ASKS]} "
        f"gives {later[PADDING]} of its attention to the words after it. The causal mask hides these, "
        "and all of its attention goes to itself and to what comes before. Both together hide the same from "
        "a word as the causal mask alone, because the padding comes last.",
    )


def _panel(name: str, weights: np.ndarray, left: float) -> str:
    """One mask: the grid, and an example row as lines."""
    side = SIZE * len(WORDS)
    out = word(left, 60, name, 14, anchor="start", bold=True)
    out += word(left, 78, HIDES[name], 12, "soft", "start") + _grid(name, weights, left)
    out += box(left, TOP + SIZE * ASKS, side, SIZE, "none", "accent", radius=2, line=2)
    places = [left + SIZE * (i + 0.5) for i in range(len(WORDS))]
    names = {"names": (f"{name}-row", f"{name}-column"), "words": ([WORDS[ASKS]], WORDS)}
    row = np.nan_to_num(weights[ASKS : ASKS + 1])
    out += word(places[ASKS], 350, WORDS[ASKS], 13, "query", bold=True)
    out += links(row, [places[ASKS]], places, (356, 400), colours="accent", **names)
    remark = ["For words, the same as causal,", "because the padding comes last."] if name == BOTH else []
    return out + _columns(left, 402, np.isnan(weights[ASKS])) + note(left, 454, remark, 11)


def _columns(left: float, top: float, hidden: np.ndarray) -> str:
    """The words under their columns; hidden ones are crossed out."""
    out, y = "", top + 12
    for i, text in enumerate(WORDS):
        x = left + SIZE * (i + 0.5)
        shown = {"fill": "calm", "text_decoration": "line-through"} if hidden[i] else {"fill": "key"}
        out += word(x + 4, y, text, 11, anchor="end", transform=f"rotate(-40 {number(x)} {y})", **shown)
    return out


def _grid(name: str, weights: np.ndarray, left: float) -> str:
    """Attention weights, the darker the larger; hidden cells are grey with a slash."""
    out, hidden, slashes = "", "", ""
    for (i, j), weight in np.ndenumerate(weights):
        x, y = left + SIZE * j, TOP + SIZE * i
        if np.isnan(weight):
            hidden += f"M{number(x)} {number(y)}h{SIZE - 1}v{SIZE - 1}h{1 - SIZE}z"
            slashes += f"M{number(x + 7)} {number(y + 14)}l7 -7"
        else:
            own = belongs(f"{name}-row-{i}", tip=f"{WORDS[i]} → {WORDS[j]}: {fixed(float(weight), 2)}")
            frame = {"radius": 1, "opacity": float(weight)}
            out += group(box(x, y, SIZE - 1, SIZE - 1, "query", "calm", line=0.6, **frame), **own)
    out += path(hidden, "none", 0, fill="hair") + path(slashes, "calm", 1.2)
    for i, text in enumerate(WORDS):
        out += word(left - 5, TOP + SIZE * (i + 0.5) + 4, text, 12, "query", "end", bold=i == ASKS)
    return out + _columns(left, TOP + SIZE * len(WORDS), np.zeros(len(WORDS)))

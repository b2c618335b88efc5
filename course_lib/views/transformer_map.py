"""The Transformer as small as a stamp, with "you are here".

>>> transformer_map("positions", "Positions are added to the embeddings.")
Picture('You are here in the Transformer: Positions are added to the embeddings.')

The whole picture is lesson 14's. From the bottom up: words, embeddings with positions, three encoder blocks
on the left, whose output goes to the three decoder blocks on the right, and the next words.
"""

from __future__ import annotations

from itertools import product

from course_lib.views.picture import Picture
from course_lib.views.svg import box, line, path, word

PARTS = ("positions", "attention", "block", "whole")
WIDTH, HEIGHT, BLOCK = 400, 214, 40
TOWERS = {
    "encoder": (30, ("feed-forward", "attention")),
    "decoder": (120, ("feed-forward", "cross", "attention")),
}
BOX, STREAM, TOP = 38, 56, 34  # a box's width; from its left side to the stream; the top of the last block


def transformer_map(part: str, text: str) -> Picture:
    """`part` is lit, and `text` says what it does."""
    if part not in PARTS:
        raise ValueError(f"Expected one of {', '.join(PARTS)} as the part of the map; got {part!r}.")
    bottom, drawn = TOP + 3 * BLOCK, ""
    for left, _ in TOWERS.values():
        x = left + STREAM
        ends = [(x, bottom + 30), (x, TOP - (16 if left > 100 else 6))]
        drawn += line(ends, "calm", 5, opacity=0.5)
    drawn += path(f"M86 {TOP - 6}V22Q86 16 92 16H101Q107 16 107 22V{bottom - 20}", "key", 2, opacity=0.7)
    for i in range(3):
        y = bottom - BLOCK * i - 20
        drawn += line([(107, y), (118, y)], "key", 1.4, head=True)
    for (side, (left, kinds)), layer in product(TOWERS.items(), range(3)):
        top = bottom - BLOCK * (layer + 1)
        lit = part == "whole" or (part == "block" and (side, layer) == ("encoder", 0))
        drawn += box(left - 5, top + 2, 74, BLOCK - 4, "wash", "accent" if lit else None, line=1.8)
        step = (BLOCK - 8) / len(kinds)
        for i, kind in enumerate(kinds):
            own = part == "attention" and kind != "feed-forward"
            stroke = "accent" if own else "calm" if kind == "feed-forward" else "query"
            drawn += box(
                left, top + 5 + step * i, BOX, step - 2, stroke=stroke, radius=2, line=1.8 if own else 1
            )
    for left, _ in TOWERS.values():
        lit = part in ("positions", "whole")
        x, y = left + STREAM, bottom + 12
        wave = f"M{x - 44} {y}q5 -9 10 0t10 0t10 0"
        drawn += path(wave, "accent" if lit else "soft", 2 if lit else 1.2)
        drawn += box(x - 9, y - 4, 18, 8, stroke="accent" if lit else "ink", radius=4, line=1.6 if lit else 1)
    drawn += box(160, 12, 32, 8, stroke="accent" if part == "whole" else "soft", radius=2)
    drawn += word(86, HEIGHT - 10, "English", 11, "soft") + word(176, HEIGHT - 10, "French", 11, "soft")
    drawn += word(214, 70, "You are here", 13, "accent", "start", bold=True)
    rows, row = [], ""
    for each in text.split():
        if len(f"{row} {each}") > 27:
            rows, row = [*rows, row], ""
        row = f"{row} {each}".strip()
    for i, each in enumerate([*rows, row]):
        drawn += word(214, 90 + 16 * i, each, 12, anchor="start")
    return Picture(WIDTH, HEIGHT, drawn, alt=f"You are here in the Transformer: {text}")

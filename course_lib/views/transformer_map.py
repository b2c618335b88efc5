"""The Transformer as small as a stamp, with "you are here".

>>> transformer_map("positions", "Positions are added to the embeddings.")
Picture('You are here in the Transformer: Positions are added to the embeddings.')

The whole picture is lesson 14's. From the bottom up: words, embeddings with positions, three encoder blocks
on the left, whose output goes to the three decoder blocks on the right, and the next words.
"""

from __future__ import annotations

from itertools import product
from textwrap import wrap

from course_lib.views.picture import Picture
from course_lib.views.svg import box, line, path, word

PARTS = ("positions", "attention", "block", "whole")
WIDTH, HEIGHT, BLOCK, TOP = 420, 214, 40, 34  # of the picture; of a block; the top of the last block
TOWERS = {
    "encoder": (30, ("feed-forward", "attention")),
    "decoder": (140, ("feed-forward", "cross", "attention")),
}
BOX, STREAM = 38, 60  # a box's width; from its left side to the stream
BOTTOM = TOP + 3 * BLOCK


def transformer_map(part: str, text: str) -> Picture:
    """`part` is lit, and `text` says what it does."""
    if part not in PARTS:
        raise ValueError(f"Expected one of {', '.join(PARTS)} as the part of the map; got {part!r}.")
    backs, streams, boxes = "", "", ""
    for (side, (left, kinds)), layer in product(TOWERS.items(), range(3)):
        top, x = BOTTOM - BLOCK * (layer + 1), left + STREAM
        lit = part == "whole" or (part == "block" and (side, layer) == ("encoder", 0))
        backs += box(left - 5, top + 2, 78, BLOCK - 4, "wash", "accent" if lit else None, line=1.8)
        step = (BLOCK - 8) / len(kinds)
        for i, kind in enumerate(kinds):
            own, y = part == "attention" and kind != "feed-forward", top + 5 + step * i
            stroke = "accent" if own else "calm" if kind == "feed-forward" else "query"
            middle = y + step / 2 - 1
            boxes += line([(left + BOX, middle), (x, middle)], "accent" if own else "calm", 1)
            boxes += box(left, y, BOX, step - 2, stroke=stroke, radius=2, line=1.8 if own else 1)
    for left, _ in TOWERS.values():
        x, y, lit = left + STREAM, BOTTOM + 12, part in ("positions", "whole")
        streams += line([(x, BOTTOM + 30), (x, TOP - (16 if left > 100 else 6))], "calm", 5)
        tone = "accent" if lit else "soft"
        boxes += path(f"M{x - 44} {y}q5 -9 10 0t10 0t10 0", tone, 2 if lit else 1.2)
        boxes += box(x - 9, y - 4, 18, 8, stroke="accent" if lit else "ink", radius=4, line=1.6 if lit else 1)
    memory = path(f"M90 {TOP - 6}V22Q90 16 96 16H114Q120 16 120 22V{BOTTOM - 20}", "key", 2)
    for i in range(3):
        y = BOTTOM - BLOCK * i - 20
        memory += line([(120, y), (137, y)], "key", 1.4, head=True)
    boxes += box(184, 12, 32, 8, stroke="accent" if part == "whole" else "soft", radius=2)
    names = word(90, HEIGHT - 10, "English", 11, "soft") + word(200, HEIGHT - 10, "French", 11, "soft")
    names += word(240, 70, "You are here", 13, "accent", "start", bold=True)
    for i, row in enumerate(wrap(text, 25)):
        names += word(240, 90 + 16 * i, row, 12, anchor="start")
    alt = f"You are here in the Transformer: {text}"
    return Picture(WIDTH, HEIGHT, backs, streams, memory, boxes, names, alt=alt)

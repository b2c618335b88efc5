"""The key picture of this lesson: queries, keys and values are cut into heads, and the heads joined again.

All numbers are those of one layer of the shipped Transformer; the word *it* is outlined on its way through.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch.nn import functional as F

from course_lib.layers.multi_head import join_heads
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.translation.shipped import shared
from course_lib.views.cells import heat
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, box, group, line, note, path, word

PARTS = ("", "split", "attention", "join", "output")
SENTENCE = "the cat drank the water because it was thirsty"
LAYER, WORD = 1, 6  # an encoder block, and the word whose way is outlined
# The first slice, from one to the next, its width, a word's height; where the rows of the picture begin.
LEFT, PITCH, SLICE, ROW = 80, 156, 128, 11
SPLIT, MAPS, CONTEXTS, JOINED, THIN = 96, 241, 376, 450, 4.2
CLIPPED = 0.97  # larger numbers than this quantile are equally dark


class Attention(NamedTuple):
    """One layer of multi-head attention at work, from the queries to the output."""

    words: list[str]
    queries: Float[Tensor, "heads n d_k"]
    weights: Float[Tensor, "heads n n"]
    contexts: Float[Tensor, "heads n d_k"]
    output: Float[Tensor, "n model"]


@cache
@torch.no_grad()
def numbers() -> Attention:
    encode, model = shared("transformer").tokenizer.encode, shared("transformer").model.eval()
    x = model.source_positions.add(model.words.source(make_batch([encode(SENTENCE)], [[]]).src))
    for block in model.encoder.blocks[:LAYER]:
        x, _, _ = block(x)
    block = model.encoder.blocks[LAYER]
    query, keys, values = block.attention.project(block.around_attention.before(x))
    _, weights = block.attention.attend(query, keys, values, with_weights=True)
    contexts = weights @ values
    output = F.linear(join_heads(contexts), block.attention.w_output)
    return Attention([*SENTENCE.split(), "</s>"], query[0], weights[0], contexts[0], output[0])


def field(x: float, y: float, matrix: Tensor, size: tuple[float, float], frame: str, largest: float) -> str:
    """Numbers as cells in a frame, one row outlined."""
    row = size[1] / len(matrix)
    outline = box(x - 2, y + row * WORD - 0.8, size[0] + 4, row + 1.6, "none", "accent", line=1.3, radius=2)
    cells = heat(x, y, matrix, (size[0] / matrix.shape[1], row), largest=largest, shades=12)
    return box(x, y, *size, radius=2) + cells + box(x, y, *size, "none", frame, radius=2, line=1.4) + outline


def arrow(x: float, top: float, bottom: float) -> str:
    return line([(x, top), (x, bottom)], "soft", 1.2, head=True)


def draw(lit: str = "") -> Picture:
    words, queries, weights, contexts, output = numbers()
    tall, thin = ROW * len(words), THIN * len(words)
    frame = dict(zip(PARTS[1:], ("query", "query", "value", "ink"), strict=True))
    largest = [float(part.abs().quantile(CLIPPED)) for part in (queries, contexts, output)]
    attended, parts = weights[:, WORD].argmax(dim=-1).tolist(), dict.fromkeys(PARTS[1:], "")
    for head in range(len(queries)):
        x, slot = LEFT + PITCH * head, LEFT + 64 * head
        middle = x + SLICE / 2
        for name, back in (("value", 14), ("key", 7)):
            card = x + back, SPLIT - back, SLICE, tall
            parts["split"] += box(*card, radius=2) + box(*card, name, name, radius=2, line=1.4, opacity=0.2)
        parts["split"] += word(middle, SPLIT - 20, f"head {head}", 12, bold=True)
        parts["split"] += field(x, SPLIT, queries[head], (SLICE, tall), frame["split"], largest[0])
        tip = f"head {head}: {words[WORD]} → {words[attended[head]]} {weights[head, WORD].max():.2f}"
        square = field(middle - tall / 2, MAPS, weights[head], (tall, tall), frame["attention"], 1)
        parts["attention"] += arrow(middle, SPLIT + tall + 5, MAPS - 4) + group(square, **belongs(tip=tip))
        ribbon = f"M{x} {CONTEXTS + thin + 2:g}H{x + SLICE}L{slot + 64} {JOINED - 2}H{slot}Z"
        parts["join"] += path(ribbon, "none", 0, fill=frame["join"], opacity=0.14)
        parts["join"] += arrow(middle, MAPS + tall + 3, CONTEXTS - 3)
        side, end = x + SLICE + 10, CONTEXTS - 10
        of_values = [(side, SPLIT + tall - 14), (side, end), (middle + 4, end)]
        parts["join"] += line(of_values, "value", 1.4, head=True)
        parts["join"] += field(x, CONTEXTS, contexts[head], (SLICE, thin), frame["join"], largest[1])
    parts["join"] += field(LEFT, JOINED, join_heads(contexts), (256, thin), frame["join"], largest[1])
    parts["output"] += field(LEFT + 352, JOINED, output, (256, thin), frame["output"], largest[2])
    parts["output"] += box(LEFT + 280, JOINED - 3, 48, 48, "wash", frame["output"], radius=2, line=1.4)
    # what stands beside them
    first, right, last = LEFT + SLICE / 2 - 8, LEFT + PITCH * 3 + SLICE + 20, JOINED + thin + 17
    for part, x, y, said in (
        ("split", right, SPLIT + tall - 3, "10 × 16"),
        ("attention", first, MAPS - 15, "softmax(QKᵀ/√dₖ)"),
        ("attention", right, MAPS + 12, "10 × 10"),
        ("join", first, CONTEXTS - 9, "× V"),
        ("join", right, CONTEXTS + 12, "10 × 16"),
        ("join", LEFT + 84, last, "joined: 10 × 64"),
        ("output", LEFT + 281, last, "64 × 64"),
        ("output", LEFT + 436, last, "output: 10 × 64"),
    ):
        parts[part] += word(x, y, said, 12, "soft", "end" if x == first else "start")
    for name, letter, y in (("value", "V", SPLIT - 6), ("key", "K", SPLIT + 9), ("query", "Q", SPLIT + 24)):
        parts["split"] += word(right, y, letter, 13, name, "start", bold=True)
    for x, sign in ((268, "×"), (304, "Wₒᵀ"), (340, "=")):
        parts["output"] += word(LEFT + x, JOINED + 26, sign, 13)
    faded = {name: "0.3" if lit not in ("", name) else None for name in parts}
    out = "".join(group(drawn, opacity=faded[name]) for name, drawn in parts.items())
    for x, y, row in (
        *((LEFT - 9, SPLIT + ROW * (i + 0.5), i) for i in range(len(words))),
        *((LEFT + (SLICE - tall) / 2 - 7, MAPS + ROW * (i + 0.5), i) for i in range(len(words))),
        *((LEFT - 9, y + THIN * (WORD + 0.5), WORD) for y in (CONTEXTS, JOINED)),
    ):
        fill = "accent" if row == WORD else "ink"
        out += word(x, y + 3.8, words[row], 11, fill, "end", bold=row == WORD)
    headline = "Four heads, four attention maps: each computes with 16 of the 64 columns"
    said = "Q, K and V are 10 × 64: one row for each word. They are cut into four slices of 16 columns."
    colours = "Blue is above 0, orange below. The largest 3% are equally dark; in the maps, full blue is 1."
    out += word(20, 26, headline, 15, anchor="start", bold=True) + note(20, 45, [said, colours])
    alt = (
        f"Queries, keys and values of '{SENTENCE}', 10 × 64, are cut into four heads of 10 × 16, each with "
        "its own attention map, and V comes in after it. The "
        "contexts, 10 × 16, are joined to 10 × 64 and multiplied by W_O."
    )
    return Picture(WIDTH, 520, out, alt=alt)

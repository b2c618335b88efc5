"""The key picture of this lesson: six layers add to the words, and the residual stream grows.

Each line is a word, as thick as its vector is large; a green arrow is as thick as what a layer adds to
all of them.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from statistics import mean
from typing import NamedTuple

import torch

from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.translation.shipped import shared
from course_lib.views.cells import heat
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, bend, box, group, line, note, path, word
from course_lib.views.words import spread, word_row

PARTS = ("", "attention", "feed-forward", "norm", "residual")
SENTENCE = "the cat drank the water because it was thirsty"
BOX, RIVER, BARS = 20, 330, 470  # where the layers begin; the middle of the stream; where the bars begin
APART, THICK, UNIT = 6.4, 1.8, 76  # pixels between two lines; of a line and of a bar for each 1 of size
LOWEST, STEP, TALL = 418, 54, 40  # the first layer's height, how far the next ones are, a box


class Layer(NamedTuple):
    """One layer at work: the size of each word before and after it, and of what is added to it."""

    name: str
    before: list[float]
    added: list[float]
    after: list[float]
    maps: Float[Tensor, "heads n n"] | None


def size(x: Float[Tensor, "1 n model"]) -> list[float]:
    """The root mean square of each word's components."""
    return x[0].square().mean(dim=-1).sqrt().tolist()


@cache
@torch.no_grad()
def numbers() -> tuple[list[str], list[float], list[Layer], list[float]]:
    """The words, the sizes of their embeddings, the six encoder layers, the sizes after the last norm."""
    encode, model = shared("transformer").tokenizer.encode, shared("transformer").model.eval()
    embedded = model.words.source(make_batch([encode(SENTENCE)], [[]]).src)
    x, layers = model.source_positions.add(embedded), []
    for block in model.encoder.blocks:
        change, maps = block.attention(block.around_attention.before(x), with_weights=True)
        layers.append(Layer("attention", size(x), size(change), size(x + change), maps[0]))
        x = x + change
        change = block.feed_forward(block.around_feed_forward.before(x))
        layers.append(Layer("feed-forward", size(x), size(change), size(x + change), None))
        x = x + change
    return [*SENTENCE.split(), "</s>"], size(embedded), layers, size(model.encoder.last_norm(x))


def river(words: list[str], sizes: list[float], bottom: float, top: float, stroke: str) -> str:
    """One line per word, as thick as its vector is large."""
    lines = []
    for i, (name, value) in enumerate(zip(words, sizes, strict=True)):
        x, own = RIVER + APART * (i - (len(words) - 1) / 2), belongs(f"word-{i}", tip=f"{name}: {value:.2f}")
        lines.append(line([(x, bottom), (x, top)], stroke, THICK * value, stroke_linecap="butt", **own))
    return "".join(lines)


def plus(y: float, stroke: str) -> str:
    """An addition to every word."""
    sign = [[(RIVER - 4, y), (RIVER + 4, y)], [(RIVER, y - 4), (RIVER, y + 4)]]
    frame = box(RIVER - 36, y - 7, 72, 14, "paper", stroke, radius=7, line=1.3)
    return frame + "".join(line(points, stroke, 1.4) for points in sign)


def sublayer(layer: Layer, y: float, tone: str) -> str:
    """What a layer does: it gets normed words from the stream."""
    out = box(BOX, y - TALL / 2, 236, TALL, "paper", "calm" if tone == "ink" else tone, radius=7, line=1.6)
    out += word(BOX + 10, y + 4, layer.name, 12, tone, "start", bold=True)
    if layer.maps is None:
        shape, sizes = "l46-11h32l46 11v10l-46 11h-32l-46-11Z", ((-46, 64), (0, 256), (46, 64))
        out += path(f"M{BOX + 108} {y - 5}{shape}", "none", 0, fill="calm", opacity=0.25)
        out += "".join(word(BOX + 170 + across, y + 4, width, 11, "soft") for across, width in sizes)
    else:
        for head, weights in enumerate(layer.maps):
            cell = 30 / len(weights)
            out += heat(BOX + 94 + 36 * head, y - 15, weights, (cell, cell), fill=tone, shades=12)
    return out + line([(RIVER + 32, y + 10), (BOX + 239, y + 10)], "soft", 1.2, head=True)


def addition(layer: Layer, y: float, fill: str) -> str:
    """What a layer adds to the stream: an arrow as thick as all changes together, and a bar for the mean."""
    half, end = THICK * sum(layer.added) / 2, RIVER - 38
    shape = f"M{BOX + 238} {y - 10 - half:.1f}H{end - 8}v-4L{end} {y - 10}l-8 {half + 4:.1f}v-4H{BOX + 238}Z"
    return path(shape, "none", 0, fill=fill) + bar(y + 9, layer.added, fill, "{:.2f} added")


def bar(y: float, sizes: list[float], fill: str, said: str) -> str:
    length = UNIT * mean(sizes)
    tone, said = "soft" if fill == "calm" else fill, said.format(mean(sizes))
    return box(BARS, y - 6, length, 12, fill, radius=2) + word(
        BARS + length + 7, y + 4, said, 12, tone, "start"
    )


def draw(lit: str = "") -> Picture:
    words, embedded, layers, memory = numbers()
    own = {"attention": "query", "feed-forward": "ink", "norm": "calm", "residual": "calm"}
    tone = {name: "accent" if name == lit else colour for name, colour in own.items()}

    def part(names: str, *drawn: str) -> str:
        return group("".join(drawn), opacity="0.3" if lit not in ("", *names.split()) else None)

    heights = [LOWEST - STEP * i for i in range(len(layers))]
    starts, top = [LOWEST + 38, *(y - 10 for y in heights)], heights[-1] - 44
    sizes = [layers[0].before, *(layer.after for layer in layers)]
    out = "".join(
        box(10, y - STEP / 2 + 2, 424, 2 * STEP - 4, "wash", radius=10)
        + word(384, y + STEP / 2 + 4, f"block {i}", 12, "soft", "start")
        for i, y in enumerate(heights[1::2])
    )
    for y, layer in zip(heights, layers, strict=True):
        arrow = "accent" if lit in (layer.name, "residual") else "value"
        out += part(layer.name, sublayer(layer, y, tone[layer.name]))
        out += part(f"{layer.name} residual", addition(layer, y, arrow))
        out += part("norm", box(RIVER - 56, y + 1, 8, 18, tone["norm"], radius=4))
    stream = "".join(
        river(words, size, *ends, tone["residual"])
        for size, ends in zip([*sizes, memory], pairwise([*starts, top, top - 24]), strict=True)
    )
    places = spread(words, RIVER - 285, RIVER + 300)
    for i, value in enumerate(embedded):
        end = RIVER + APART * (i - (len(words) - 1) / 2), starts[0]
        stream += bend((places[i], 494), end, tone["residual"], THICK * value)
    out += part("residual", stream, *(plus(y, "accent" if lit == "residual" else "ink") for y in starts))
    wave = f"M214 {starts[0]}c8 -9 16 -9 24 0s16 9 24 0"
    entering = line([(270, starts[0]), (RIVER - 39, starts[0])], "soft", 1.2, head=True)
    out += word(206, starts[0] + 4, "position", 12, "soft", "end") + path(wave, "soft", 1.4) + entering
    out += word(632, 490, "embeddings × √64", 12, "soft", "start")
    out += box(RIVER - 36, top - 4.5, 72, 9, radius=4.5)
    out += part("norm", box(RIVER - 36, top - 4.5, 72, 9, tone["norm"], radius=4.5))
    said = [
        f"{{:.2f}} with position, {mean(embedded):.2f} without",
        *["{:.2f}"] * len(layers),
        "{:.2f} after the last norm",
    ]
    for y, size, text in zip([*starts, top - 14], [*sizes, memory], said, strict=True):
        out += part("residual", bar(y, size, "calm", text))
    first, last = f"{mean(sizes[0]):.2f}", f"{mean(sizes[-1]):.2f}"
    headline = f"Six layers add to every word: on average, its size grows from {first} to {last}"
    out += word(20, 30, headline, 15, anchor="start", bold=True)
    said = ["Each line is a word. Its thickness is its size:", "the root mean square of its 64 numbers."]
    said += ["Thick arrow: the ten changes side by side."]
    out += note(20, 56, said)
    out += note(
        BARS,
        56,
        ["Mean of the ten words. Sizes don't add up,", "because vectors point in different directions."],
    )
    out += word(RIVER - 52, heights[1] + 31, "norm", 11, "soft")
    out += word(RIVER + 44, top + 4, "norm", 11, "soft", "start")
    added = ", ".join(f"{mean(layer.added):.2f}" for layer in layers[1::2])
    alt = (
        f"The words of '{SENTENCE}' as parallel lines through three encoder blocks. Each layer reads a "
        f"normed copy and adds its output: the mean size grows from {first} to {last}. Feed-forward layers "
        f"add {added}, attention less; a last norm brings it back to about 1."
    )
    return Picture(WIDTH, 520, out, word_row(words, places, 508, 13, name="word"), alt=alt)

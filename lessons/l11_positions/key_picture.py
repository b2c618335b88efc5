"""The key picture of this lesson: a position as clock hands, added to a word or turning its query and key.

Above: the sinusoids of a sentence and three of their 32 hands. Below: RoPE turns a real query and a real key.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import torch

from course_lib.formatting import minus
from course_lib.layers.positions import angles, sinusoids
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.translation.shipped import shared
from course_lib.views.cells import heat
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, colour, dot, group, line, note, tag, word

PARTS = ("", "sinusoids", "RoPE")
WORDS = ("the", "cat", "drank", "the", "water", "because", "it", "was", "thirsty", "</s>")
HANDS, D_MODEL, D_K, HEAD, ROWS = (0, 4, 8), 64, 16, 1, 64
QUERY, KEY = "drank", "cat"
SENTENCES = (
    "the cat drank the water",
    "the girl who saw the cat drank the water",
    "the cat that slept drank the water",
)
TABLE, SIDE, LEFT, PITCH, CLOCKS, ROPE = (58, 66), 160, 328, 45, 76, 374


class Turned(NamedTuple):
    """A query and a key of one head in RoPE's first layer: their first two components, and their score.

    `part` is what these two components contribute to it.
    """

    sentence: str
    positions: tuple[int, int]
    before: tuple[list[float], list[float]]
    after: tuple[list[float], list[float]]
    part: float
    score: float


@cache
@torch.no_grad()
def numbers() -> tuple[Float[Tensor, "n model"], Float[Tensor, "n pairs"], list[Turned]]:
    """The sinusoids and their angles, and the same query and key turned in three sentences."""
    model, turned = shared("transformer_rotary").model.eval(), []
    block, rotate = model.encoder.blocks[0], model.source_positions.rotate
    for sentence in SENTENCES:
        batch = make_batch([shared("transformer_rotary").tokenizer.encode(sentence)], [[]])
        x = model.source_positions.add(model.words.source(batch.src))  # RoPE adds nothing
        places = sentence.split().index(QUERY), sentence.split().index(KEY)
        both = block.attention.project(block.around_attention.before(x))[:2]
        before = [part[0, HEAD, i] for part, i in zip(both, places, strict=True)]
        after = [rotate(part)[0, HEAD, i] for part, i in zip(both, places, strict=True)]
        pairs = (tuple(vector[:2].tolist() for vector in vectors) for vectors in (before, after))
        part, score = (float(after[0][:n] @ after[1][:n]) / math.sqrt(D_K) for n in (2, D_K))
        turned.append(Turned(sentence, places, *pairs, part, score))
    return sinusoids(ROWS, D_MODEL), angles(len(WORDS), D_MODEL), turned


def clock(x: float, y: float, angle: float, tip: str) -> str:
    """A face whose hand points up at angle 0 and turns clockwise: sine to the right, cosine up."""
    end = x + 17 * math.sin(angle), y - 17 * math.cos(angle)
    return group(dot(x, y, 17, "paper", "calm", 1) + line([(x, y), end], "ink", 2.2), **belongs(tip=tip))


def face(x: float, turned: Turned, unit: float = 42) -> str:
    """A query and a key as arrows, thin before the rotation, thick after it, and the angle between them."""
    out = dot(x, ROPE, 54, "paper", "calm", 1)
    for vectors, how in ((turned.before, {"opacity": 0.5}), (turned.after, {"width": 2.8, "head": True})):
        for (a, b), name in zip(vectors, ("query", "key"), strict=True):
            out += line([(x, ROPE), (x + unit * a, ROPE - unit * b)], name, **how)
    of_query, of_key = (math.atan2(b, a) for a, b in turned.after)
    between = (of_query - of_key + math.pi) % (2 * math.pi) - math.pi
    arc = [of_key + between * i / 30 for i in range(31)]
    out += line([(x + 19 * math.cos(at), ROPE - 19 * math.sin(at)) for at in arc], "accent", 2)
    said = [minus(f"whole score {turned.score:.2f}"), "query at {}, key at {}".format(*turned.positions)]
    angle = f"angle {abs(math.degrees(between)):.0f}°"
    out += word(x + 64, ROPE - 16, angle, 14, "accent", "start", bold=True) + note(x + 64, ROPE + 21, said)
    out += word(x + 64, ROPE + 5, minus(f"this pair {turned.part:.2f}"), 12, anchor="start")
    words = turned.sentence.split()[: turned.positions[0] + 1]
    fills = [colour({QUERY: "query", KEY: "key"}.get(name)) for name in words]
    spans = [
        tag("tspan", name, fill=fill, font_weight=fill and "600")
        for name, fill in zip(words, fills, strict=True)
    ]
    at = {"x": x - 54, "y": ROPE + 80, "font_size": 13, "fill": colour("soft")}
    return out + tag("text", " ".join([*spans, "…"]), **at)


def draw(lit: str = "") -> Picture:
    table, theta, turned = numbers()
    (x, y), cell = TABLE, SIDE / ROWS
    above = heat(*TABLE, table, (SIDE / D_MODEL, SIDE / ROWS), shades=7) + word(
        x + SIDE / 2, y + SIDE + 32, "64 components, added to the embedding", 12, "soft"
    )
    above += word(22, y + SIDE / 2, "position", 12, "soft", transform=f"rotate(-90 22 {y + SIDE / 2:g})")
    above += word(x - 6, y - 8, "hand", 11, anchor="end")
    for i in (0, 16, 32, 48):
        above += word(x - 6, y + cell * i + 9, i, 11, "soft", "end")
        above += word(x + cell * i + 3, y + SIDE + 15, i, 11, "soft")
    bracket = [
        (x + SIDE + 4, y),
        (x + SIDE + 9, y),
        (x + SIDE + 9, y + 10 * cell),
        (x + SIDE + 4, y + 10 * cell),
    ]
    above += line(bracket, "ink", 1.2)
    for i, hand in enumerate(HANDS):
        above += word(x + cell * (2 * hand + 1), TABLE[1] - 8, hand, 11)
        y = CLOCKS + 46 * i
        above += word(LEFT - 30, y - 2, f"hand {hand}", 13, anchor="end", bold=True)
        above += word(LEFT - 30, y + 14, f"{math.degrees(theta[1, hand]):.0f}° a step", 12, "soft", "end")
        for position, angle in enumerate(theta[:, hand].tolist()):
            tip = f"position {position}: sin {math.sin(angle):.2f}, cos {math.cos(angle):.2f}"
            above += clock(LEFT + PITCH * position, y, angle, minus(tip))
    for position, name in enumerate(WORDS):
        above += word(LEFT + PITCH * position, CLOCKS + 128, position, 11, "soft")
        above += word(LEFT + PITCH * position, CLOCKS + 144, name, 11)
    said = [
        "A hand is two components: its tip is at (sine, cosine).",
        "In the table, blue is above 0, orange below.",
    ]
    above += note(LEFT - 20, CLOCKS + 168, said)
    title = f"RoPE turns the query of *{QUERY}* and the key of *{KEY}* instead, counter-clockwise, 57° a step"
    below = word(20, ROPE - 90, title, 14, anchor="start", bold=True)
    said = (
        f"The first of 8 pairs of components, in head {HEAD} of the first layer of our translator with RoPE."
    )
    below += note(20, ROPE - 71, [f"{said} Thin: not rotated."])
    below += "".join(face(78 + 246 * i, each) for i, each in enumerate(turned))
    out = group(above, opacity="0.3" if lit == "RoPE" else None)
    out += group(below, opacity="0.3" if lit == "sinusoids" else None)
    headline = "A position is a set of clock hands: some turn fast, some slowly"
    degrees = ", ".join(f"{math.degrees(theta[1, hand]):.0f}°" for hand in HANDS)
    one, again, other = (minus(f"{each.score:.2f}") for each in turned)
    alt = (
        f"Three clock hands over the positions of a sentence, turning by {degrees} a step, and the table of "
        f"sinusoids. Below, RoPE turns the query of {QUERY} and the key of {KEY}: one word apart, their "
        f"score is {one}, early in a sentence or later ({again}); three words apart, it is {other}."
    )
    return Picture(WIDTH, 470, word(20, 30, headline, 15, anchor="start", bold=True), out, alt=alt)

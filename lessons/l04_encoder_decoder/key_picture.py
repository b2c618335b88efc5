"""The key picture of this lesson: seq2seq translates *the cat sleeps* through a single vector."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import shared
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import box, group, line, note, path, word
from course_lib.views.unrolled import chain, feeds, guesses, height_of, tiny_cells

PARTS = ("", "context vector")
SOURCE = "the cat sleeps"
SHOWN = 6  # numbers of a hidden state, at equal distances


class Step(NamedTuple):
    """A word that goes in, both layers' hidden states after it, and the decoder's best next words."""

    word: str
    layers: np.ndarray
    guesses: list[tuple[str, float]]


@cache
def numbers() -> tuple[list[Step], dict[str, np.ndarray], list[Step]]:
    """The encoder's steps, the context vector (hidden and cell, of both layers), the decoder's steps."""
    system, special = shared("seq2seq"), {BOS: "<s>", EOS: "</s>"}
    model = system.model.eval()

    def name(token: int) -> str:
        return special.get(token) or system.tokenizer.decode([token])

    encoder, decoder, token = [], [], BOS
    with torch.no_grad():
        state = model.encoder.zeros(1)
        for read in [*system.tokenizer.encode(SOURCE)[::-1], EOS]:
            _, state = model.encoder.step(model.words.source(torch.tensor([read])), state)
            encoder.append(Step(name(read), state["hidden"][0].numpy(), []))
        context = state
        while token != EOS:
            logits, state, _ = model.step(context, state, torch.tensor([token]))
            best = logits[0].softmax(dim=-1).topk(3)
            found = [(name(i), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)]
            decoder.append(Step(name(token), state["hidden"][0].numpy(), found))
            token = int(best.indices[0])
    return encoder, {part: rows[0].numpy() for part, rows in context.items()}, decoder


ENCODER, DECODER = [104 + 56 * i for i in range(4)], [494 + 72 * i for i in range(4)]  # across
LEFT, RIGHT = 322, 426  # of the context vector
GUESSES, WORDS, SOURCE_AT, LAYERS = 72, 362, 414, {1: 146, 0: 252}  # heights; the second layer is above
TALL = height_of(SHOWN)
HEADLINES = {
    "": "All that the decoder learns about *the cat sleeps* is one vector of {} numbers",
    "context vector": "The context vector: the decoder starts from the encoder's last state",
}


def draw(lit: str = "") -> Picture:
    """Encoder, context vector, decoder; the source is below because it is reversed first."""
    encoder, context, decoder = numbers()
    size = sum(part.size for part in context.values())
    told = ", ".join(f"{name} ({p:.2f})" for (name, p), *_ in (step.guesses for step in decoder))
    networks = _decoding(decoder) + _layers(encoder, ENCODER) + _layers(decoder, DECODER)
    for i, text in enumerate(SOURCE.split()):
        networks += word(ENCODER[i], SOURCE_AT, text, fill="soft")
        way = [(ENCODER[i], SOURCE_AT - 16), (ENCODER[2 - i], WORDS + 8)]
        networks += line(way, "calm", 1.4, head=True)
    left = ENCODER[0] - 16
    networks += word(left, GUESSES - 18, "encoder", 13, anchor="start", bold=True)
    networks += note(
        left, GUESSES + 2, ["two LSTM layers; hidden and cell", "states are passed to the right"]
    )
    networks += note(left, LAYERS[1] - 12, [f"shown: {SHOWN} of 100 hidden numbers"], 11)
    networks += note(ENCODER[-1] + 2, SOURCE_AT - 18, ["the encoder starts", "with the last word"], 11)
    networks += "".join(
        word(14, y + TALL / 2 + 4, f"layer {i + 1}", 12, "soft", "start") for i, y in LAYERS.items()
    )
    return Picture(
        WIDTH,
        432,
        word(14, 26, HEADLINES[lit].format(size), 15, anchor="start", bold=True),
        group(networks, opacity="0.3" if lit else None),
        _vector(context, "accent" if lit else "key"),
        alt=f"The encoder reads sleeps, cat, the, </s>. Its last state, {size} numbers, is all that the "
        f"decoder gets from it. The decoder's outputs are {told}; each is the next input.",
    )


def _layers(steps: list[Step], places: list[float]) -> str:
    """Words, the states of the first layer above them, and those of the second above these."""
    out = feeds(places, LAYERS[0] - 5, LAYERS[1] + TALL + 6) + feeds(places, WORDS - 17, LAYERS[0] + TALL + 6)
    for layer, y in LAYERS.items():
        states = [step.layers[layer, :: 100 // SHOWN][:SHOWN] for step in steps]
        out += chain(places, y, states, tips=[f"layer {layer + 1} after {step.word}" for step in steps])
    return out + "".join(word(x, WORDS, step.word) for x, step in zip(places, steps, strict=True))


def _decoding(steps: list[Step]) -> str:
    """The decoder's best words, and the way of each to the next input."""
    out = word(DECODER[0] - 29, GUESSES - 18, "decoder", 13, anchor="start", bold=True)
    out += word(WIDTH - 20, GUESSES - 18, "bars: next word's probability", 11, "soft", "end")
    out += note(DECODER[1] - 20, WORDS + 34, ["its own output is its next input"], 11)
    for x, after in pairwise(DECODER):
        turn = x + 36
        d = f"M{x + 31} {GUESSES - 4}C{turn} {GUESSES - 4} {turn} {GUESSES} {turn} {GUESSES + 8}"
        d += f"V{WORDS - 22}C{turn} {WORDS - 8} {turn + 4} {WORDS - 5} {after - 20} {WORDS - 5}"
        out += path(d, "calm", 1.2, head=True, dash="3 3")
    for x, step in zip(DECODER, steps, strict=True):
        out += guesses(x, GUESSES, step.guesses, bold=step.guesses[0][0], width=58)
    return out + feeds(DECODER, LAYERS[1] - 5, GUESSES + 44)


def _vector(context: dict[str, np.ndarray], stroke: str) -> str:
    """All its numbers, and the only arrows from the encoder to the decoder."""
    top, bottom, middle = LAYERS[1] - 6, LAYERS[0] + TALL + 6, (LEFT + RIGHT) / 2
    out = box(LEFT - 6, top, RIGHT - LEFT + 12, bottom - top, "paper", stroke, line=2.5)
    out += word(middle, top - 28, "context vector", 13, stroke, bold=True)
    for x, part, largest in ((LEFT, "hidden", 1), (LEFT + 54, "cell", 3.5)):
        out += word(x + 24, top - 7, part, 11, stroke)
        for layer, y in LAYERS.items():
            out += tiny_cells(x, y, context[part][layer].reshape(10, 10), 5, TALL / 10, largest)
    for y in LAYERS.values():
        for start, end in ((ENCODER[-1] + 12, LEFT - 9), (RIGHT + 7, DECODER[0] - 13)):
            out += line([(start, y + TALL / 2), (end, y + TALL / 2)], stroke, 3, head=True)
    said = ["strongest colour:", "hidden ±1, cell ±3.5"]
    return out + note(middle, bottom + 18, said, 11, anchor="middle")

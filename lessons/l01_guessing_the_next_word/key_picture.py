"""The key picture of this lesson: a window network at work, the map of its nouns, and a sampled sentence."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import shared
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.shapes import side_bars
from course_lib.views.svg import bend, group, line, note, word
from course_lib.views.unrolled import column, feeds, tiny_cells
from course_lib.views.words import spread
from lessons.l01_guessing_the_next_word import noun_map

PARTS = ("", "network")
CONTEXT = "chat a bu le"  # the last four words of le chat a bu le
SHOWN, SEED = 8, 0


class Window(NamedTuple):
    """What the network computes from four words: its embeddings, hidden layer, and the best next words."""

    embeddings: Tensor
    hidden: Tensor
    features: Tensor
    best: list[tuple[str, float]]


@cache
def numbers() -> tuple[Window, dict[str, tuple[float, float]], list[tuple[str, float]]]:
    """The window's numbers, where each noun is on the map, and a sampled sentence with its probabilities."""
    system = shared("mlp_lm")
    model = system.model.eval()
    with torch.no_grad():
        embeddings = model.words.target(torch.tensor(system.tokenizer.encode(CONTEXT)))
        hidden = torch.tanh(model.to_hidden(embeddings.flatten()))
        features = model.to_embed(hidden)
        best = model.words.logits(features).softmax(dim=-1).topk(6)
        words = [system.tokenizer.decode([token]) for token in best.indices.tolist()]
        window = Window(embeddings, hidden, features, list(zip(words, best.values.tolist(), strict=True)))
        generator = torch.Generator().manual_seed(SEED)
        state, token, sample = model.start(1), BOS, []
        while token != EOS:
            logits, state, _ = model.step(state, torch.tensor([token]))
            row = logits[0].softmax(dim=-1)
            token = int(torch.multinomial(row, 1, generator=generator))
            sample.append(("</s>" if token == EOS else system.tokenizer.decode([token]), row[token].item()))
    return window, noun_map.places(), sample


PLACES = [76 + 72 * i for i in range(4)]  # of the four words
BARS, FEATURES, HIDDEN, VECTORS, WORDS, SAMPLE = 62, 206, 250, 304, 416, 482  # heights
LEFT, STRIP, BESIDE = 42, 284, 338  # where a layer starts, how long it is, and its name
HEADLINES = {
    "": "After *chat a bu le*, the network expects drinks that are neighbours on its map",
    "network": "Four words, one hidden layer, and a probability for every next word",
}


def draw(lit: str = "") -> Picture:
    """The network on the left, the map on the right, a sample below; with `network`, the others fade."""
    window, nouns, sample = numbers()
    rest = noun_map.draw(nouns) + _sample(sample)
    names, probabilities = zip(*window.best, strict=True)
    drinks = [i for i, name in enumerate(names) if name in noun_map.DRINKS]
    bars = side_bars(110, BARS, names, probabilities, width=190, row=19, fill="calm", lit=drinks)
    told = ", ".join(f"{name} {p:.2f}" for name, p in window.best if name in noun_map.DRINKS)
    written = " ".join(name for name, _ in sample[:-1])
    return Picture(
        WIDTH,
        510,
        word(14, 26, HEADLINES[lit], 15, anchor="start", bold=True),
        _network(window, "accent" if lit else "calm"),
        bars,
        group(rest, opacity="0.3" if lit else None),
        alt=f"After {CONTEXT}, a trained window network gives {told}. On the map of its vectors, these "
        f"are neighbours; places and food have regions of their own, people and animals share one. "
        f"Sampled: {written}",
    )


def _network(window: Window, stroke: str) -> str:
    """From the words up: embeddings, hidden layer, a vector like an embedding."""
    middle = LEFT + STRIP / 2
    out = feeds(PLACES, WORDS - 16, VECTORS + 82)
    for x, name, vector in zip(PLACES, CONTEXT.split(), window.embeddings, strict=True):
        out += column(x, VECTORS, vector[:: 64 // SHOWN], 9, tip=name, largest=3)
        out += word(x, WORDS, name)
        out += bend((x, VECTORS - 2), ((x + middle) / 2, HIDDEN + 15), stroke, 1.4, head=True)
    for y, values, rows in ((HIDDEN, window.hidden, 2), (FEATURES, window.features, 1)):
        wide, high = STRIP / (len(values) // rows), STRIP / len(window.features)
        out += tiny_cells(LEFT, y, values.reshape(rows, -1), wide, high, float(values.abs().max()))
    out += feeds([middle], HIDDEN - 5, FEATURES + 12, stroke)
    out += feeds([middle], FEATURES - 5, FEATURES - 24, stroke)
    of_words = ["embeddings:", f"{SHOWN} of 64 numbers", "each; all 4 × 64 are", "concatenated"]
    of_features = [f"{len(window.features)} numbers, compared", "with every word's", "vector; then softmax"]
    out += note(BESIDE, VECTORS + 20, of_words, 11) + note(BESIDE, FEATURES - 20, of_features, 11)
    out += note(BESIDE, HIDDEN + 6, [f"hidden layer: {len(window.hidden)}", "numbers, tanh"], 11)
    n = shared("mlp_lm").model.words.output.out_features
    return out + word(110, BARS - 8, f"next word, of {n} tokens, English ones too", 11, "soft", "start")


def _sample(sample: list[tuple[str, float]]) -> str:
    """A sentence, with the probability that each word had."""
    out = line([(14, SAMPLE - 46), (WIDTH - 14, SAMPLE - 46)], "hair")
    told = "The first sentence that it sampled (*do the aunts look for?*), with each word's probability:"
    out += word(14, SAMPLE - 24, told, 12, "soft", "start")
    for x, (name, p) in zip(spread([name for name, _ in sample], 14, WIDTH - 14, 12), sample, strict=True):
        said = f"{p:.2f}".lstrip("0") if p >= 0.01 else "<.01"
        out += word(x, SAMPLE, name, 12) + word(x, SAMPLE + 16, said, 11, "soft")
    return out

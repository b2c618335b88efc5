"""The key picture of this lesson: every word attends to every word, and *bank* is pulled towards *river*.

The attention weights are those of one head of the shipped Transformer: of all twelve in its encoder, the one
in which *the* attends most to its noun. The vectors on the right are those of the lesson's example.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from course_lib.formatting import fixed
from course_lib.text.batch import make_batch
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.shipped import shared
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.plane import Plane
from course_lib.views.svg import belongs, box, dot, group, line, note, word
from course_lib.views.words import links, word_row
from lessons.l09_self_attention.pronoun import masked_translation

PARTS = ("",)
SENTENCE, LAYER, HEAD = "the white cats see the small dog", 2, 0
N_SENTENCES = 100
ARTICLES = {0: 2, 4: 6}  # each "the", and its noun
VECTORS = {"the": (0.0, 0.0), "river": (3.0, 0.0), "bank": (1.0, 1.0)}
CELL, LEFT, TOP = (50, 22), 70, 226  # of the matrix
PLANE = Plane(530, 122, 210, 210, (-0.2, 3.3), (-0.2, 3.3))


@cache
@torch.no_grad()
def of_test_sentences() -> tuple[int, int]:
    """How often *the* attends most to its noun, the first one after it, and how often it occurs."""
    shipped, nouns = shared("transformer"), {form for noun in lexicon().nouns for form in noun.en}
    sentences = [pair.src for pair in splits(seed=0, sizes=TEST_SIZES).test[:N_SENTENCES]]
    encoded = [shipped.tokenizer.encode(" ".join(words)) for words in sentences]
    batch = make_batch(encoded, [[]] * N_SENTENCES)
    weights = shipped.model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)["encoder"]
    most = weights[:, LAYER, HEAD].argmax(dim=-1).tolist()
    found = [
        row[i] == next(j for j in range(i, len(words)) if words[j] in nouns)
        for words, row in zip(sentences, most, strict=True)
        for i, name in enumerate(words)
        if name == "the"
    ]
    return sum(found), len(found)


@cache
def numbers() -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """The attention weights of the head, those of "bank" in "the river bank", and its new vector."""
    weights = masked_translation(shared("transformer"), SENTENCE).encoder_weights[LAYER, HEAD]
    x = np.array(list(VECTORS.values()))
    shares = np.exp(x @ x[-1]) / np.exp(x @ x[-1]).sum()
    return weights, shares, shares @ x


def draw(lit: str = "") -> Picture:
    """Lines from the sentence to itself, the same weights as a matrix, and what they do to a vector."""
    weights, shares, moved = numbers()
    words = (*SENTENCE.split(), "</s>")
    (first, noun), (second, other) = ARTICLES.items()
    title = "Every word attends to every word: the first *the* mostly to "
    title += f"*{words[noun]}*, the second to *{words[other]}*"
    return Picture(
        WIDTH,
        438,
        word(14, 28, title, 15, anchor="start", bold=True),
        _sentence(weights, words),
        _bank(shares, moved),
        alt=f"In encoder {LAYER}.{HEAD}, the first the attends to {words[noun]} with a weight of "
        f"{fixed(float(weights[first, noun]), 2)}, the second to {words[other]} with "
        f"{fixed(float(weights[second, other]), 2)}. With invented vectors, "
        "bank in the river bank attends to river with "
        f"{fixed(float(shares[1]), 2)}, and its vector moves from (1, 1) to "
        f"({fixed(float(moved[0]), 1)}, {fixed(float(moved[1]), 1)}).",
    )


def _sentence(weights: torch.Tensor, words: tuple[str, ...]) -> str:
    """Lines between two copies of the sentence, and the matrix under the second."""
    places = [LEFT + CELL[0] * (i + 0.5) for i in range(len(words))]
    colours = ["accent" if i in ARTICLES else "calm" for i in range(len(words))]
    names = {"names": ("row", "column"), "words": (words, words)}
    out = links(
        weights.tolist(), places, places, (82, 198), colours=colours, thickest=10, opacity=0.75, **names
    )
    out += word(LEFT - 8, 74, "asks", 12, "query", "end") + word(LEFT - 8, 214, "is asked", 12, "key", "end")
    out += word_row(words, places, 74, 13, "query", name="row", bold=tuple(ARTICLES))
    out += word_row(words, places, 214, 13, "key", name="column")
    for (i, j), weight in np.ndenumerate(weights.numpy()):
        x, y = LEFT + CELL[0] * j, TOP + CELL[1] * i
        cell = box(x, y, CELL[0] - 1, CELL[1] - 1, "query", radius=1, opacity=max(0.05, 0.6 * float(weight)))
        cell += word(x + CELL[0] / 2, y + 15, fixed(float(weight), 2), 11)
        tip = f"{words[i]} → {words[j]} {fixed(float(weight), 2)}"
        out += group(cell, **belongs(f"row-{i}", f"column-{j}", tip=tip))
    for i, text in enumerate(words):
        place = LEFT - 8, TOP + CELL[1] * (i + 0.5) + 4
        drawn = word(*place, text, 13, "query", "end", bold=i in ARTICLES)
        out += group(drawn, class_="word", **belongs(f"row-{i}"))
    for asks in ARTICLES:
        frame = LEFT, TOP + CELL[1] * asks, CELL[0] * len(words), CELL[1]
        out += box(*frame, "none", "accent", radius=2, line=2)
    said = (
        f"Encoder {LAYER}.{HEAD}, chosen from our encoder's 12 heads. In {N_SENTENCES} test sentences, *the* "
    )
    said += "attends most to its noun in {} of {} cases.".format(*of_test_sentences())
    return out + word(14, 424, said, 11, "soft", "start")


def _bank(shares: np.ndarray, moved: np.ndarray) -> str:
    """The vectors of three words, a line from each to the new vector, as thick as its weight."""
    out = note(
        506, 62, ["The same idea by hand,", "with invented vectors:", "*bank* in *the river bank*"], 13
    )
    out += line([PLANE.at(0, 3.3), PLANE.at(0, 0), PLANE.at(3.3, 0)], "hair", 1.4)
    out += word(*PLANE.at(1.5, -0.3), "water", 12, "soft")
    out += word(PLANE.at(0, 0)[0] - 4, PLANE.top - 4, "money", 12, "soft", "start")
    x, y = PLANE.at(0, 3)
    out += dot(x, y, 5, "paper", "calm") + word(
        x + 12, y + 4, "*money*: and in *the money bank*?", 12, "soft", "start"
    )
    end = PLANE.at(*moved)
    below = {"the": (0, 19), "river": (0, 19), "bank": (0, -12)}
    for (name, vector), share in zip(VECTORS.items(), shares.tolist(), strict=True):
        x, y = PLANE.at(*vector)
        own = belongs(f"bank-{name}", tip=f"bank → {name}: {fixed(share, 2)}")
        out += line([(x, y), end], "value", max(0.6, 14 * share), opacity=0.55, class_="link", **own)
        label = word(x + below[name][0], y + below[name][1], name, 13, "value", halo="paper")
        label += word(
            x + below[name][0], y + below[name][1] + (14 if y > 300 else -15), fixed(share, 2), 11, "soft"
        )
        out += group(dot(x, y, 5, "value", "paper", 1) + label, **own)
    out += dot(*end, 7, "paper", "accent", 3)
    out += word(end[0] + 16, end[1] - 16, "*bank*, now", 13, "accent", bold=True, halo="paper")
    return out

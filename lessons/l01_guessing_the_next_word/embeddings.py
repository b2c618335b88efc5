"""The embeddings of a trained window MLP in two dimensions, and which words are each other's neighbours.

    >>> word_classes()["chat"], word_classes()["mange"]
    ('noun', 'verb')
    >>> nearest_neighbours(torch.tensor([[1.0, 0.0], [0.0, 2.0], [9.0, 1.0]]), ["a", "b", "c"])
    {'a': 'c', 'b': 'c', 'c': 'a'}

The picture shows the first two principal components: the two directions in which the vectors vary most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib import theme
from course_lib.text.toy.lexicon import Noun, lexicon
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
from course_lib.views.static_image import StaticImage

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes

CLASSES = {
    "noun": theme.BLUE,
    "adjective": theme.GREEN,
    "verb": theme.ORANGE,
    "participle": theme.PINK,
    "other word": theme.SOFT_INK,
}
KINDS = {
    "person": theme.BLUE,
    "animal": theme.ORANGE,
    "food": theme.GREEN,
    "drink": theme.PINK,
    "thing": theme.YELLOW,
    "place": theme.SKY,
}
NAMED = {  # words with a label: its distance from the point, in points
    "roi": (-2, -26),
    "reine": (24, -22),
    "rois": (-20, -16),
    "chat": (22, 22),
    "vache": (30, 22),
    "pomme": (14, -22),
    "pommes": (4, -22),
    "lait": (-26, 16),
    "livre": (-30, 14),
    "livres": (-34, 10),
    "maison": (-36, 6),
    "maisons": (28, -27),
}


@cache
def vocabulary() -> tuple[str, ...]:
    return tuple(sorted({word for pair in splits(seed=0).train for word in pair.tgt}))


@cache
def word_classes() -> dict[str, str]:
    """The word class of every French word of the corpus that has exactly one."""
    found = defaultdict(set)
    for noun in lexicon().nouns:
        found["noun"].update(noun.fr)
    for quality in lexicon().qualities:
        found["adjective"].update(quality.fr)
    for verb in lexicon().verbs:
        found["verb"].update(verb.fr + verb.imperfect)
        found["participle"].update(verb.participle)
    classes = {word: [name for name, words in found.items() if word in words] for word in vocabulary()}
    return {word: names[0] for word, names in classes.items() if len(names) == 1}


def nearest_neighbours(vectors: Tensor, words: Sequence[str]) -> dict[str, str]:
    """For each word the other word with the most similar vector; `vectors` has one row per word.

    The similarity is the dot product of the vectors after each is divided by its length.
    """
    unit = F.normalize(vectors, dim=1)
    similarity = (unit @ unit.T).fill_diagonal_(-2)  # a word isn't its own neighbour
    return {word: words[i] for word, i in zip(words, similarity.argmax(dim=1).tolist(), strict=True)}


def embeddings_of(words: Sequence[str]) -> Tensor:
    """The rows of the shipped MLP's embedding matrix."""
    system = shared("mlp_lm")
    ids = [system.tokenizer.encode(word)[0] for word in words]
    return system.model.words.output.weight.detach()[ids]


def first_two_components(vectors: Tensor) -> Tensor:
    """The vectors in the plane in which they vary most, with signs that don't depend on the machine."""
    centred = (vectors - vectors.mean(dim=0)).double()
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    points = centred @ directions.T
    largest = points.gather(0, points.abs().argmax(dim=0, keepdim=True))
    return points * largest.sign()


def nouns_by_form() -> dict[str, tuple[Noun, int]]:
    """The noun of each form in the corpus, and 0 for singular or 1 for plural."""
    forms = {form: (noun, number) for noun in lexicon().nouns for number, form in enumerate(noun.fr)}
    return {word: forms[word] for word, name in word_classes().items() if name == "noun"}


def draw_classes(axes: Axes) -> None:
    points, classes = first_two_components(embeddings_of(vocabulary())), word_classes()
    for name, colour in CLASSES.items():
        rows = [i for i, word in enumerate(vocabulary()) if classes.get(word, "other word") == name]
        axes.scatter(*points[rows].T, s=14, color=colour, label=f"{name}s")
    axes.set_title("All words, by word class")


def draw_nouns(axes: Axes) -> None:
    nouns = nouns_by_form()
    points = first_two_components(embeddings_of(list(nouns)))
    for (word, (noun, number)), point in zip(nouns.items(), points.tolist(), strict=True):
        colour = KINDS[noun.kind]
        marker, fill = "^" if noun.gender == "f" else "o", "none" if number else colour
        axes.scatter(*point, s=26, marker=marker, facecolors=fill, edgecolors=colour)
        if word in NAMED:
            line = {"arrowstyle": "-", "color": theme.SOFT_INK, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 3}
            axes.annotate(
                word,
                point,
                NAMED[word],
                textcoords="offset points",
                ha="center",
                va="center",
                arrowprops=line,
            )
    for kind, colour in KINDS.items():
        axes.scatter([], [], s=26, color=colour, label=kind)
    axes.scatter([], [], s=26, marker="^", facecolors=theme.INK, edgecolors=theme.INK, label="feminine")
    axes.scatter([], [], s=26, facecolors="none", edgecolors=theme.INK, label="plural (open)")
    axes.set_title("Nouns, by what they refer to")


def embedding_map() -> StaticImage:
    figure = theme.figure(9.6, 5.0)
    for axes, draw, n_columns in zip(figure.subplots(1, 2), (draw_classes, draw_nouns), (5, 4), strict=True):
        draw(axes)
        axes.set(xticks=(), yticks=())
        axes.set(xlabel="first principal component", ylabel="second principal component")
        axes.margins(0.08)
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.08)}
        axes.legend(ncols=n_columns, handletextpad=0.2, columnspacing=1.0, **below)
    alt = (
        "Two scatter plots of embeddings. Left: all words; verbs and participles are mostly in regions of "
        "their own, while nouns and adjectives overlap. Right: nouns; people, animals, food and drinks, "
        "things and places form groups, singular and plural forms are apart, and masculine and feminine "
        "nouns are often on different sides of a group."
    )
    return StaticImage(figure, alt=alt)

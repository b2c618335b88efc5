"""Stacks of convolutions, drawn as dots and lines: which words reach the last output, and by which paths.

>>> draw_stacks({"dilations 1, 1": [1, 1], "dilations 1, 3": [1, 3]}, n_words=9)
StaticImage('dilations 1, 1: the last output depends on 5 of 9 words. dilations 1, 3: ... on 9 of 9 words.')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from course_lib import theme
from course_lib.views.static_image import StaticImage

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes

PANEL_WIDTH, PANEL_HEIGHT = 3.6, 2.3  # inches


def draw_stacks(stacks: Mapping[str, Sequence[int]], *, n_words: int, width: int = 3) -> StaticImage:
    """One panel for each stack, given as the dilations of its layers, the lowest first."""
    figure = theme.figure(PANEL_WIDTH * len(stacks), PANEL_HEIGHT)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.06)
    sentences = []
    for axes, (name, dilations) in zip(figure.subplots(1, len(stacks)), stacks.items(), strict=True):
        reached = connected_positions(dilations, n_words, width)
        draw_stack(axes, reached, dilations, n_words, width)
        axes.set_title(name)
        sentences.append(f"{name}: the last output depends on {len(reached[0])} of {n_words} words.")
    return StaticImage(figure, alt=" ".join(sentences))


def connected_positions(dilations: Sequence[int], n_words: int, width: int) -> list[set[int]]:
    """For the words and for each layer, the positions from which a path leads to the last output.

    >>> [sorted(positions) for positions in connected_positions([1, 3], 9, 3)]
    [[0, 1, 2, 3, 4, 5, 6, 7, 8], [2, 5, 8], [8]]
    """
    levels = [{n_words - 1}]
    for dilation in reversed(dilations):
        below = {position - j * dilation for position in levels[0] for j in range(width)}
        levels.insert(0, {position for position in below if position >= 0})
    return levels


def draw_stack(
    axes: Axes, reached: list[set[int]], dilations: Sequence[int], n_words: int, width: int
) -> None:
    for level, dilation in enumerate(dilations):
        for position in reached[level + 1]:
            for start in (position - j * dilation for j in range(width)):
                if start >= 0:
                    axes.plot([start, position], [level, level + 1], color=theme.BLUE, linewidth=1.3)
    for level, positions in enumerate(reached):
        for position in range(n_words):
            colour = theme.BLUE if position in positions else theme.HAIRLINE
            axes.plot(position, level, "o", color=colour, markersize=7)
    axes.set(xlim=(-0.5, n_words - 0.5), ylim=(-0.4, len(dilations) + 0.4))
    axes.set_xticks(range(n_words))
    axes.set_yticks(range(len(dilations) + 1), ["words", *(f"layer {n + 1}" for n in range(len(dilations)))])
    axes.spines[:].set_visible(False)

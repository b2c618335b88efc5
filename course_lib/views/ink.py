"""The ink that reads well on a colour: dark on light, paper on dark."""

from __future__ import annotations

from course_lib import theme


def ink_on(colour: tuple[float, float, float, float]) -> str:
    """The text colour for a background of this red, green, blue and opacity, each from 0 to 1."""
    red, green, blue, _ = colour
    return theme.INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else theme.PAPER

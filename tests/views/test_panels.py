"""Panels of lines: what they hold, and what they refuse."""

from __future__ import annotations

import pytest

from course_lib.views import Part, panels


def test_panels_hold_curves_of_the_same_names():
    parts = [
        Part("left", [1, 10], {"a": [1, 2], "b": [2, 1]}, "steps", log_x=True),
        Part("right", [1, 10], {"b": [0.1, 0.001]}, log_y=True),
    ]
    still = panels(parts, x_name="distance")
    assert still.alt == (
        "left, distance from 1 to 10: a goes from 1 to 2; b goes from 2 to 1. "
        "right, distance from 1 to 10: b goes from 0.1 to 0.001."
    )
    assert (
        panels(parts, x_name="distance", alt="Two panels.").alt == "Two panels."
        and 400 < still.width < 840
        and still.height > 150
    )


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([], "1 to 3 panels"),
        ([Part("", [1], {str(i): [1] for i in range(9)})], "1 to 6 curves"),
        ([Part("", [1, 2], {"a": [1]})], "'a' has 1 points and x has 2"),
    ],
)
def test_what_cannot_be_drawn_is_refused(parts, says):
    with pytest.raises(ValueError, match=says):
        panels(parts, x_name="x")

"""Which outputs count as pictures."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import views
from tools.authoring.picture_count import pictures_in

HEAT_MAP = views.heatmap(np.eye(2), rows="ab", columns="cd", alt="Two cells.")
STILL = '<img class="course-still" alt="" src="data:image/svg+xml;base64,AA">'
FOLDED = f"<details><summary>See it</summary>{HEAT_MAP.img()}</details>"


def output(shown) -> dict:
    """The output of a cell that shows a view, or HTML."""
    data, metadata = {"text/html": shown}, {}
    if not isinstance(shown, str):
        bundle = shown._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    return {"output_type": "display_data", "data": data, "metadata": metadata}


@pytest.mark.parametrize(
    ("shown", "n_pictures"),
    [
        (HEAT_MAP, 1),
        (STILL, 1),
        (FOLDED + STILL, 2),
        ("<table><tr><td>course-still</td></tr></table><p class='course-still'></p>", 0),
    ],
)
def test_pictures_count_and_tables_do_not(shown, n_pictures):
    cell = {"outputs": [output(shown)], "metadata": {"course": {"kind": "see"}}}
    assert pictures_in(cell) == n_pictures


@pytest.mark.parametrize(("kind", "n_pictures"), [("see", 2), ("predict", 1)])
def test_a_picture_in_two_forms_counts_once_and_so_does_all_that_a_card_covers(kind, n_pictures):
    both = output(HEAT_MAP)
    both["data"]["text/html"] = FOLDED
    cell = {"outputs": [both, output(STILL)], "metadata": {"course": {"kind": kind}}}
    assert pictures_in(cell) == n_pictures

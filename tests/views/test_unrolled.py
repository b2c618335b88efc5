"""States as columns of cells: each number is a cell in a frame, and an arrow leads from state to state."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from course_lib.views.picture import Picture
from course_lib.views.unrolled import chain, column, feeds, guesses, height_of, tiny_cells


def drawn(body: str, name: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(Picture(300, 200, body, alt="").svg)
    return list(root.iter(f"{{http://www.w3.org/2000/svg}}{name}"))


def test_a_column_has_a_cell_for_each_number_inside_its_frame():
    _, frame, *cells = drawn(column(50, 10, [0.5, -1.0, 0.0, 2.0, 1.0], 12), "rect")
    assert len(cells) == 5 and float(frame.get("height")) == height_of(5, 12)
    for cell in cells:
        for start, length in (("x", "width"), ("y", "height")):
            inside = float(cell.get(start)) - float(frame.get(start))
            assert 0 < inside < inside + float(cell.get(length)) < float(frame.get(length))
    shown = column(50, 10, [-3.0], largest=6)
    assert "−3.00" in shown and 'fill-opacity="0.5"' in shown


def test_an_arrow_leads_from_each_state_to_the_next_and_from_each_word():
    body = chain([40, 100, 160], 20, np.zeros((3, 4)), stroke="accent", tips=["le", "chat", "dort"])
    assert len(drawn(body, "marker")) == 1 and body.count("marker-end") == 2
    assert body.count('stroke="var(--accent)"') == 2 and "chat: 0.00" in body
    assert feeds([40, 100], 90, 70).count("marker-end") == 2


def test_the_bars_of_guesses_are_as_long_as_the_words_are_probable():
    _, whole, first, _, second = drawn(guesses(50, 20, [("eau", 0.75), ("lait", 0.25)], bold="eau"), "rect")
    assert [float(bar.get("width")) for bar in (whole, first, second)] == [48, 36, 12]


def test_tiny_cells_of_one_shade_are_one_path():
    paths = drawn(tiny_cells(0, 0, np.array([[1.0, -1.0], [0.3, 1.0]]), 5, 5), "path")
    cells_of = {(path.get("fill"), path.get("fill-opacity")): path.get("d").count("M") for path in paths}
    assert cells_of == {("var(--query)", "1.0"): 2, ("var(--query)", "0.3"): 1, ("var(--key)", "1.0"): 1}

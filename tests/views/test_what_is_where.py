"""Labels, marks and colours belong to the right cell, curve, year or word."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from course_lib import theme
from course_lib.views import Part, bars, heatmap, lines, panels, word_rows


def parts(picture, name: str) -> list[dict]:
    """The attributes of every element of a kind, in the order of the picture."""
    root = ElementTree.fromstring(picture.svg)
    found = root.iter(f"{{http://www.w3.org/2000/svg}}{name}")
    return [{**node.attrib, "content": "".join(node.itertext())} for node in found]


@pytest.fixture
def figures(monkeypatch):
    """The figures that views draw: an image keeps only the pixels."""
    drawn, original = [], theme.figure

    def figure(*size):
        drawn.append(original(*size))
        return drawn[-1]

    monkeypatch.setattr(theme, "figure", figure)
    return drawn


def test_a_curve_is_named_at_the_height_of_its_last_point(figures):
    lines([0, 1], {"falls": [1, 0], "rises": [0, 1]})
    heights = {text.get_text(): text.xy[1] for text in figures[0].axes[0].texts}
    assert heights["falls"] < 0.1 and heights["rises"] > 0.9


def test_a_name_has_the_same_colour_in_every_panel_and_in_the_legend(figures):
    x = [1, 2]
    panels([Part("one", x, {"a": x, "b": x}), Part("two", x, {"b": x, "c": x})], x_name="x")
    [figure] = figures
    drawn = [line for axes in figure.axes for line in axes.lines]
    colours = {(line.get_label(), line.get_color()) for line in drawn}
    assert len(drawn) == 4 and len(colours) == len({colour for _, colour in colours}) == 3
    [legend] = figure.legends
    entries = zip(legend.get_texts(), legend.legend_handles, strict=True)
    assert {(text.get_text(), handle.get_color()) for text, handle in entries} == colours


def test_bars_are_as_long_as_their_numbers_and_negative_ones_hang_from_zero():
    drawn = parts(bars([0.6, 0.3, -0.3], labels="abc"), "rect")[1:]  # the first is the paper
    heights = [float(bar["height"]) for bar in drawn]
    tops = [float(bar["y"]) for bar in drawn]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2) == pytest.approx(2 * heights[2], abs=0.2)
    assert (
        tops[0] + heights[0]
        == pytest.approx(tops[1] + heights[1], abs=0.2)
        == pytest.approx(tops[2], abs=0.2)
    )


def test_word_rows_frame_the_marked_word_of_each_sentence():
    """A word that is marked in another sentence has no frame. A word can be read on dark and on pale."""
    words = [["cat", "it"], ["it", "dog"]]
    picture = word_rows([[0.9, 0.1], [0.5, 0.5]], words=words, marked=["it", "dog"])
    framed = [box["stroke"] == "var(--accent)" for box in parts(picture, "rect")[1:]]
    assert framed == [False, True, False, True]
    inks = {text["content"]: text["fill"] for text in parts(picture, "text")}
    assert (inks["cat"], inks["dog"]) == ("var(--paper)", "var(--ink)")


def test_quotes_in_an_alt_text_do_not_end_the_attribute():
    alt = 'A "soft" <look-up> & more'
    found = {}

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found[tag] = dict(attributes)

    Reader().feed(heatmap(np.eye(2), rows="ab", columns="cd", alt=alt).img())
    assert found["img"]["alt"] == alt

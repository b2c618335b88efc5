"""Labels, marks and colours belong to the right cell, curve, year or word."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyBboxPatch

from course_lib import theme
from course_lib.views import Part, bars, diagram, gallery, heatmap, lines, panels, timeline, word_rows


@pytest.fixture
def figures(monkeypatch):
    """The figures that views draw: an image keeps only the pixels."""
    drawn, original = [], theme.figure

    def figure(*size):
        drawn.append(original(*size))
        return drawn[-1]

    monkeypatch.setattr(theme, "figure", figure)
    return drawn


def test_labels_and_marks_of_a_heat_map_are_at_the_middle_of_their_cells(figures):
    heatmap(np.eye(2, 3), rows=["it", "was"], columns=["cat", "water", "cold"], marks=[(0, 2)])
    [axes] = figures[0].axes
    assert list(axes.get_yticks()) == [0.5, 1.5] and list(axes.get_xticks()) == [0.5, 1.5, 2.5]
    [ring] = axes.lines
    assert (*ring.get_xdata(), *ring.get_ydata()) == (2.5, 0.5), "row 0, column 2"


def test_a_gallery_labels_the_rows_on_the_left_and_the_columns_at_the_bottom(figures):
    names = "abcde"
    gallery({name: np.eye(2) for name in names}, rows=["q", "r"], columns=["k", "l"], alt="Five maps.")
    maps = {axes.get_title(loc="left"): axes for axes in figures[0].axes if axes.get_visible()}
    assert list(maps) == list(names)

    def labelled(which: str) -> str:
        return "".join(
            name for name, axes in maps.items() if any(t.get_text() for t in getattr(axes, which)())
        )

    assert labelled("get_yticklabels") == "ad"
    assert labelled("get_xticklabels") == "cde", "nothing is below c"


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


def test_bars_start_at_zero(figures):
    bars([0.7, 0.25], labels=["cat", "water"])
    assert figures[0].axes[0].get_ylim()[0] == 0


def test_a_timeline_is_dotted_only_where_years_are_left_out_and_highlights_the_last_event(figures):
    timeline({2014: ["a"], 2015: ["b"], 2017: ["c", "d"]})
    [axes] = figures[0].axes
    styles = [line.get_linestyle() for line in axes.lines if len(line.get_xdata()) == 2]
    assert styles == ["-", ":"]
    assert [text.get_text() for text in axes.texts if text.get_color() == theme.ORANGE] == ["d"]


def test_word_rows_frame_the_marked_word_of_each_sentence(figures):
    """A word that is marked in another sentence has no frame. A word can be read on dark and on pale."""
    words = [["cat", "it"], ["it", "dog"]]
    word_rows([[0.9, 0.1], [0.5, 0.5]], words=words, marked=["it", "dog"])
    [axes] = figures[0].axes
    boxes = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    framed = [box.get_edgecolor() == to_rgba(theme.ORANGE) for box in boxes]
    assert framed == [False, True, False, True]
    assert [text.get_color() for text in axes.texts[:4:2]] == [theme.PAPER, theme.INK]


@pytest.mark.parametrize(
    "html_of",
    [
        lambda alt: diagram({"a": (0, 0)}, [], alt=alt)._repr_mimebundle_()["text/html"],
        lambda alt: heatmap(np.eye(2), rows="ab", columns="cd", alt=alt).img(),
    ],
)
def test_quotes_in_an_alt_text_do_not_end_the_attribute(html_of):
    alt = 'A "soft" <look-up> & more'
    found = {}

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found[tag] = dict(attributes)

    Reader().feed(html_of(alt))
    assert found["img"]["alt"] == alt

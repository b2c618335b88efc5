"""What pictures are made of: well-formed, escaped, rounded, each mark where its number says, clear errors."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from course_lib.views.cells import cells, heat, word_map
from course_lib.views.picture import Picture
from course_lib.views.plane import Plane
from course_lib.views.run_dots import round_numbers
from course_lib.views.shapes import run_rows, side_bars
from course_lib.views.svg import box, choice, line, number, tag, word
from course_lib.views.words import fits, links, mistakes, spread, word_row

WORDS = ["le", "chat", "dort"]
PLANE = Plane(10, 20, 200, 100, (-1, 1), (0, 4))


def drawn(body: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(Picture(300, 200, body, alt="").svg).iter())


def widths(body: str) -> list[float]:
    return [float(value) for value in re.findall(r'stroke-width="([\d.]+)"', body)]


def test_what_a_learner_typed_is_text_and_never_markup():
    body = word(1, 2, "<b>*a* & b") + choice(box(0, 0, 1, 1), '"quoted" <b>', text="<script>")
    body += word_row(["<i>"], [3], 4, name="q") + word_map(0, 0, [[1.0]], rows=["<r>"], columns=["&c"])
    texts = ["".join(node.itertext()) for node in drawn(body) if node.tag.endswith("text")]
    assert texts == ["<b>a & b", "<i>", "<r>", "&c"]
    assert "<script>" not in Picture(10, 10, body, alt='"<b>"').img()


def test_the_same_numbers_up_to_the_last_bits_give_the_same_file():
    one = word_map(0, 0, [[0.3, 0.7]], rows=["a"], columns=["b", "c"])
    assert one == word_map(0, 0, np.array([[0.1 + 0.2, 0.7 - 1e-15]]), rows=["a"], columns=["b", "c"])
    assert [number(value) for value in (1.0, -0.04, 2.35001, -1.25001)] == ["1", "0", "2.4", "-1.3"]


def test_thickness_is_weight_and_a_small_weight_has_no_line():
    body = links([[0.9, 0.3, 0.001]], [50], [10, 50, 90], (100, 20), thickest=10)
    assert widths(body) == [9.0, 3.0]
    assert 'data-of="query-0 key-1 query-0-1" data-tip="0.30" data-lights="query-0-1"' in body


def test_a_number_is_where_the_plane_says_and_back():
    assert PLANE.at(0, 1) == (110, 95) and PLANE.value(110, 95) == pytest.approx((0, 1))
    assert PLANE.at(7, -7) == (210, 120), "at the edge"
    scale = Plane(0, 0, 100, 100, (1, 100), (0.01, 1), log_x=True, log_y=True)
    assert scale.at(10, 0.1) == pytest.approx((50, 50))
    assert PLANE.curve([-1, 0, 1], [0, math.nan, 1], "query").count("<path") == 2, "a gap"


def test_words_keep_their_order_and_stay_within_the_row():
    places = spread(WORDS, 20, 200)
    assert places == sorted(places) and places[0] > 20 and places[-1] < 200
    assert fits(WORDS, 200) and not fits(WORDS * 9, 200)


def test_words_that_the_reference_does_not_have_there_are_wrong():
    assert mistakes([*"abxcc"], [*"abyc"])[0] in ([2, 3], [2, 4])
    assert mistakes(WORDS, WORDS) == ([], {}) and mistakes([], WORDS) == ([], {0: 3})
    assert word_row(WORDS, [10, 50, 90], 20, marked=[1]).count("accent") == 2, "by colour and a line"


def test_bars_dots_and_slices_are_in_proportion():
    bars = [
        node
        for node in drawn(side_bars(50, 0, ["a", "b"], [0.5, -0.25], width=100))
        if node.tag.endswith("rect")
    ]
    assert [float(bar.get("width")) for bar in bars[1:]] == [50, 25] and float(bars[2].get("x")) == 25
    dots = [
        node
        for node in drawn(run_rows(0, 0, {"a": [-1, 0, 1]}, PLANE, zero=True))
        if node.tag.endswith("circle")
    ]
    assert [float(dot.get("cx")) for dot in dots] == [10, 110, 210]
    assert tag("g", data_row=3, class_="cell") == '<g data-row="3" class="cell"/>'


def test_a_blank_a_masked_and_a_signed_number_look_different():
    body = cells(0, 0, [0.5, -0.5, 0.0, -math.inf])
    assert re.findall(r"var\(--(\w+)\)", body) == ["query", "key", "query", "hair"]
    assert 'fill-opacity="0"' in body
    many = heat(0, 0, [[1, 1, -1, 0], [0.5, 0, 0, math.nan]], (2, 2), shades=2)
    paths = [
        (node.get("d"), node.get("stroke"), node.get("opacity")) for node in drawn(many) if node.get("d")
    ]
    assert paths == [
        ("M2 0h1", "var(--key)", "1"),
        ("M0 1h1", None, "0.5"),
        ("M0 0h2", None, "1"),
        ("M3 1h1", "var(--hair)", None),
    ]


def test_the_size_of_a_scale_is_round():
    assert list(round_numbers(-0.3, 10.2)) == [0, 2, 4, 6, 8, 10]
    assert list(round_numbers(97.2, 98.9).values()) == ["97.5", "98.0", "98.5"]


def test_a_stored_copy_has_both_palettes_and_a_live_one_the_pages():
    picture = Picture(
        90, 30, line([(0, 0), (9, 9)], "query", head=True), choice(word(9, 9, "a"), "b", x=1), alt="An arrow."
    )
    assert "prefers-color-scheme:dark" in picture.file and "data-set" not in picture.file
    assert "<style>" not in picture.svg and 'data-set="{&quot;x&quot;: 1}"' in picture.svg
    assert picture.svg.count('id="query-tip"') == 1 and picture.png()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: word_row(WORDS, [1, 2], 3), "2 words expected, one for each of the places; got 3"),
        (lambda: links([[1, 0]], [1], [1, 2, 3], (0, 1)), "3 weights of query 0 expected.*keys; got 2"),
        (lambda: word_map(0, 0, [[1, 2]], rows=["a"], columns=["b"]), "1 columns of numbers expected.*got 2"),
        (lambda: side_bars(0, 0, ["a"], [1, 2]), "1 values expected.*got 2"),
    ],
)  # fmt: skip
def test_wrong_input_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()

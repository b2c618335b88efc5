"""Diagrams: every label fits its box, and the lit part differs by more than colour."""

from __future__ import annotations

import base64
from xml.etree import ElementTree

import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from course_lib import theme
from course_lib.views import diagram

PARTS = {"query": (0, 0), "keys": (0, 1), "scores": (1, 0.5), "÷ √d_k": (2, 0.5), "values": (2, 1.5)}
ARROWS = [("query", "scores"), ("keys", "scores"), ("scores", "÷ √d_k"), ("values", "÷ √d_k")]
SVG = "{http://www.w3.org/2000/svg}"


def attention(lit=()):
    return diagram(PARTS, ARROWS, lit=lit, notes={"scores": "query · key"}, title="Query, key, value")


def parse(picture):
    """The root of the SVG, its boxes as (left, top, right, bottom), and its texts."""
    root = ElementTree.fromstring(picture.svg)
    boxes = []
    for box in root.iter(f"{SVG}rect"):
        if box.get("x"):  # not the background
            x, y, width, height = (float(box.get(side)) for side in ("x", "y", "width", "height"))
            boxes.append((x, y, x + width, y + height))
    return root, boxes, list(root.iter(f"{SVG}text"))


def test_a_diagram_is_an_image_with_alt_text():
    picture = attention("scores")
    flow = "query, keys → scores; scores, values → ÷ √d_k."
    assert picture.alt == f"Query, key, value. {flow} Highlighted: scores."
    assert diagram(PARTS, ARROWS).alt == f"Diagram. {flow}"
    root = parse(picture)[0]
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.find(f"{SVG}title").text == picture.alt
    data = picture._repr_mimebundle_()
    assert set(data) == {"text/html", "text/plain"} and data["text/plain"] == picture.alt
    assert data["text/html"].startswith('<img class="course-diagram" alt="Query, key, value. query')
    source = data["text/html"].partition("base64,")[2].partition('"')[0]
    assert base64.b64decode(source).decode() == picture.svg
    assert "img.course-diagram" in theme.PAGE_STYLE and repr(picture).startswith("Diagram('Query")


def test_the_lit_part_differs_by_more_than_colour():
    plain, lit = (parse(attention(name))[0] for name in ((), "scores"))
    thick = [[box.get("stroke-width") for box in root.iter(f"{SVG}rect")].count("3") for root in (plain, lit)]
    bold = [
        [text.text for text in root.iter(f"{SVG}text") if text.get("font-weight") == "700"]
        for root in (plain, lit)
    ]
    assert thick == [0, 1] and bold == [["Query, key, value"], ["Query, key, value", "scores"]]
    assert attention(["scores", "values"]).svg == attention(["values", "scores"]).svg


NARROW = {"notes": {"a": "(batch, heads, queries)"}, "title": "A title wider than its boxes"}
PICTURES = [
    attention(),
    attention(PARTS),
    diagram({"multi-head attention": (0, 0)}, [], lit="multi-head attention", title="One"),
    diagram({"a": (0, 0)}, [], **NARROW),
]


@pytest.mark.parametrize("picture", PICTURES)
def test_no_label_leaves_its_box_in_a_wide_font(picture):
    """Measured in DejaVu Sans, the widest of the fonts that a page may use, and bold if lit."""
    root, boxes, texts = parse(picture)
    assert len(texts) > len(boxes) > 0
    width, height = float(root.get("width")), float(root.get("height"))
    for text in texts:
        font = FontProperties(family="DejaVu Sans", weight=int(text.get("font-weight")))
        path = TextPath((0, 0), text.text, size=float(text.get("font-size")), prop=font)
        text_width = path.get_extents().width
        x, y = float(text.get("x")), float(text.get("y"))
        if text.get("text-anchor") == "start":
            assert x + text_width < width
        else:
            [(left, _, right, _)] = [box for box in boxes if box[0] < x < box[2] and box[1] < y < box[3]]
            assert left + 4 < x - text_width / 2 and x + text_width / 2 < right - 4
    for left, top, right, bottom in boxes:
        assert left >= 10 and top >= 10 and right <= width - 10 and bottom <= height - 10


def test_boxes_do_not_touch_wide_ones_span_columns_and_labels_are_escaped():
    parts = {"a": (0, 0), "<b> & 'c'": (1, 0), "a very wide part": (0, 1, 2)}
    _, [a, b, wide], texts = parse(diagram(parts, [("a", "a very wide part")], title='"quoted"'))
    assert a[2] < b[0] and a[3] < wide[1]
    assert (wide[0], wide[2]) == (a[0], b[2])
    assert [text.text for text in texts] == ['"quoted"', *parts]


@pytest.mark.parametrize(
    "wrong", [{"lit": "score"}, {"notes": {"score": ""}}, {"arrows": [("keys", "score")]}]
)
def test_an_unknown_part_is_rejected(wrong):
    with pytest.raises(ValueError, match=r"no part 'score'; it has query, keys, scores"):
        diagram(PARTS, **{"arrows": ARROWS, **wrong})

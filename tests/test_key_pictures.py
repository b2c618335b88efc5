"""Every lesson has a key picture near its top, on both tracks, and every state of every one can be read."""

from __future__ import annotations

import json
import re
from importlib import import_module
from itertools import combinations
from xml.etree import ElementTree

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import lessons
from course_lib.views.picture import LARGEST, WIDTH, Picture
from course_lib.views.svg import width_of
from course_lib.views.transformer_map import PARTS, transformer_map
from lessons.l03_lstm_and_gru import unrolled_cell
from tools.authoring.docs_pictures import FOLDER, pictures

SVG = "{http://www.w3.org/2000/svg}"
NARROWER = 0.9  # texts are usually narrower than `width_of` says


def key_pictures() -> dict[str, Picture]:
    found = {}
    for folder in sorted((PROJECT_ROOT / "lessons").glob("l*/key_picture.py")):
        module = import_module(f"lessons.{folder.parent.name}.key_picture")
        for part in getattr(module, "PARTS", ("",)):
            found[f"{folder.parent.name[:3]} {part}".strip()] = module.draw(part) if part else module.draw()
    found["l03 unrolled"] = unrolled_cell.draw()
    return found


def texts_of(node: ElementTree.Element, dx: float = 0, dy: float = 0):
    """Texts that aren't turned, with their boxes."""
    turn = node.get("transform") or ""
    if moved := re.match(r"translate\(([-\d.]+) ([-\d.]+)\)$", turn):
        dx, dy = dx + float(moved[1]), dy + float(moved[2])
    elif turn:
        return
    if node.tag == f"{SVG}text" and node.get("x"):
        text, size = "".join(node.itertext()), float(node.get("font-size"))
        wide, anchor = width_of(text, size) * NARROWER, node.get("text-anchor", "start")
        left = float(node.get("x")) + dx - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        bottom = float(node.get("y")) + dy
        yield text, (left, bottom - 0.7 * size, left + wide, bottom + 0.1 * size)
    for child in node:
        yield from texts_of(child, dx, dy)


def unreadable(picture: Picture) -> list[str]:
    """Texts that are too small, outside, or on one another."""
    root = ElementTree.fromstring(picture.svg)
    problems = [text.text for text in root.iter(f"{SVG}text") if float(text.get("font-size")) < 11]
    placed = list(texts_of(root))
    for text, (left, top, right, bottom) in placed:
        if left < -1 or top < -1 or right > picture.width + 1 or bottom > picture.height + 1:
            problems.append(f"outside: {text}")
    for (one, a), (two, b) in combinations(placed, 2):
        across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        if across > 2 and down > 2:
            problems.append(f"{one!r} on {two!r}")
    return problems


@pytest.mark.slow
def test_every_state_of_every_key_picture_can_be_read():
    pictures = key_pictures()
    for name, picture in pictures.items():
        assert unreadable(picture) == [], name
        assert picture.width <= WIDTH and len(picture.svg) < LARGEST, name
        assert 40 < len(picture.alt) < 700 and "icture of" not in picture.alt, name
    assert len({picture.svg for picture in pictures.values()}) == len(pictures), "a part that is lit shows"


@pytest.mark.parametrize("part", PARTS)
def test_the_small_map_lights_one_part(part):
    picture = transformer_map(part, "Positions are added to the embeddings, once, before the first block.")
    assert unreadable(picture) == [] and 'stroke="var(--accent)"' in picture.svg


def test_a_part_that_the_map_does_not_have():
    with pytest.raises(ValueError, match="positions, attention, block, whole"):
        transformer_map("head", "A head.")


def test_every_lesson_begins_with_its_key_picture_on_both_tracks():
    for lesson in lessons():
        for folder in ("notebooks", "notebooks/short"):
            [path] = (PROJECT_ROOT / folder).glob(f"{lesson.number}_*.ipynb")
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            first = [c for c in cells[:8] if c["metadata"]["course"]["kind"] in ("setup", "picture")]
            shown = [output for cell in first for output in cell["outputs"]]
            assert any("image/png" in output.get("data", {}) for output in shown), path.name


def test_the_pictures_of_the_readme_are_those_of_the_lessons():
    readme = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
    for name, picture in pictures().items():
        stored = ElementTree.parse(FOLDER / f"{name}.svg").getroot()
        drawn = ElementTree.fromstring(picture.svg)
        texts = ["".join(text.itertext()) for root in (stored, drawn) for text in root.iter(f"{SVG}text")]
        half = len(texts) // 2
        assert texts[:half] == texts[half:], f"run `python3 -m tools.authoring.docs_pictures`: {name}"
        assert f"docs/pictures/{name}.svg" in readme

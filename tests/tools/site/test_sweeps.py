"""Explorables as pictures with a slider."""

from __future__ import annotations

import io
import json
import re

import pytest
from nbformat.v4 import new_code_cell
from PIL import Image

from course_lib.teaching.contents import lessons
from course_lib.teaching.questions.question import questions
from lessons.l00_start_here import AttentionLines, SoftmaxDial
from tools.bench.explorables import explorables
from tools.site import sweeps
from tools.site.sweeps import find_explorable, main_control, spread, states_of, sweep_html

PREDICTION = 'predict("00", "times-four", SoftmaxDial())'


def test_the_explorable_is_found_in_the_last_line():
    assert find_explorable(f"x = 1\n{PREDICTION}") == (SoftmaxDial, questions("00")["times-four"])
    assert find_explorable("AttentionLines()") == (AttentionLines, None)
    for other in (
        "",
        "AttentionLines",
        "AttentionLines().facts",
        "lab = AttentionLines()",
        "print()",
        "%time x",
    ):
        assert find_explorable(other) is None
    assert find_explorable('predict("01", "never-seen", figure)') is None


def test_every_explorable_of_the_lessons_is_found():
    shown = []
    for lesson in lessons():
        source = (lesson.folder / "lesson.py").read_text(encoding="utf-8")
        cells = re.split(r"^# %%.*$", source, flags=re.M)
        shown += [found[0].__name__ for cell in cells if (found := find_explorable(cell.strip()))]
    assert sorted(shown) == sorted(explorables().keys() - {"Steering"})  # it is shown with own code


def test_the_fingerprint_changes_with_the_text_of_a_file_and_with_its_name(monkeypatch, tmp_path):
    monkeypatch.setattr(sweeps, "PROJECT_ROOT", tmp_path)
    monkeypatch.setattr(sweeps, "SOURCES", ("*.py",))
    prints = set()
    for name, text in (("a.py", "x = 1"), ("a.py", "x = 2"), ("b.py", "x = 2")):
        for old in tmp_path.glob("*.py"):
            old.unlink()
        (tmp_path / name).write_text(text)
        prints.add(sweeps.fingerprint.__wrapped__())
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("count", "most", "needed", "rows"),
    [
        (3, 24, [2], [0, 1, 2]),
        (9, 3, [5], [0, 5, 8]),
        (100, 4, [40, 41], [0, 40, 41, 99]),
        (9, 3, [4, 0], [0, 4, 8]),
        (81, 5, [10, 80], [0, 10, 40, 60, 80]),
        (37, 3, [0, 36], [0, 18, 36]),
    ],
)
def test_values_are_spread_evenly_and_the_needed_ones_are_among_them(count, most, needed, rows):
    assert spread(count, most, needed) == rows


@pytest.mark.parametrize("kind", explorables().values(), ids=lambda kind: kind.__name__)
def test_the_main_control_moves_and_the_others_stay(kind):
    control = main_control(kind)
    assert not kind.main_control or control.name == kind.main_control
    states = states_of(kind, None)
    texts = [control.text_of(state[control.name]) for state in states]
    assert 2 <= len(set(texts)) == len(states) <= 24
    assert control.text_of(kind.start[control.name]) in texts
    assert all({**state, control.name: 0} == {**kind.start, control.name: 0} for state in states)


def test_a_prediction_fixes_the_other_controls_at_its_preset():
    kind, asked = find_explorable('predict("02", "nine-tenths", GradientTelephone())')
    states = states_of(kind, asked)
    assert {state["steps"] for state in states} == {50} != {kind.start["steps"]}
    factors = [round(state["factor"], 2) for state in states]
    assert {0.9, 1.0} <= set(factors) and factors == sorted(factors)


def test_pictures_are_drawn_once_and_the_page_starts_as_the_explorable_does(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(sweeps, "MOST", 3)
    folder = tmp_path / "site" / "pictures"
    html = sweep_html(new_code_cell(PREDICTION), folder, "../pictures")
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    pictures = json.loads(data)
    assert [picture["text"] for picture in pictures] == ["0.0", "1.0", "4.0"]
    assert 'value="1"' in html and 'src="../pictures/SoftmaxDial_01.webp"' in html
    dial = SoftmaxDial()
    assert pictures[1]["alt"] == dial.description and dial.description in html
    drawn = Image.open(folder / "SoftmaxDial_02.webp").convert("RGB")
    dial.preset("sharp")
    exact = Image.open(io.BytesIO(dial.static_image().png))
    assert (
        drawn.size == exact.size and drawn.tobytes() != Image.open(folder / "SoftmaxDial_01.webp").tobytes()
    )
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(sweeps, "draw", None)  # a second time would fail
    assert sweep_html(new_code_cell(PREDICTION), folder, "../pictures") == html
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_change_of_the_code_draws_again_and_removes_the_old_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "CACHE", tmp_path)
    monkeypatch.setattr(sweeps, "MOST", 3)
    for version in ("one", "two"):
        monkeypatch.setattr(sweeps, "fingerprint", lambda version=version: version)
        sweeps.cached_pictures(SoftmaxDial, None)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_state_that_looks_like_the_one_before_is_left_out(tmp_path):
    states = [{"multiplier": value} for value in (0.0, 0.0, 1.0, 4.0)]
    sweeps.draw(SoftmaxDial, states, tmp_path / "new")
    pictures = json.loads((tmp_path / "new" / sweeps.TEXTS).read_text(encoding="utf-8"))
    assert [picture["text"] for picture in pictures] == ["0.0", "1.0", "4.0"]
    assert len(list((tmp_path / "new").glob("*.webp"))) == 3


def test_other_cells_write_nothing(tmp_path):
    assert sweep_html(new_code_cell("1 + 1"), tmp_path / "new", "x") == "" and not (tmp_path / "new").exists()

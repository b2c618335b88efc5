"""The window lab walks as the shipped systems do, and shows what lesson 07 tells of it."""

from __future__ import annotations

import pytest

from course_lib.explore import window_lab
from course_lib.explore.window_lab import ENGLISH, FRENCH, LINKS, SYSTEMS, compute, look, system_called, walk
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits


def at(system: str, half_width: int, times: float = 1.0) -> dict:
    return compute(system=system, half_width=half_width, times=times)


def test_the_links_are_those_of_the_toy_language():
    pair = next(pair for pair in splits(seed=0, sizes=SIZES_OF_TESTS).test if pair.src_text == ENGLISH)
    assert pair.tgt_text == FRENCH
    linked = (tuple(sorted(e for e, f in pair.links if f == place)) for place in range(len(pair.tgt)))
    assert tuple(linked) == LINKS


@pytest.mark.parametrize("system", SYSTEMS)
def test_with_its_own_window_it_is_the_shipped_system(system):
    own = 5 if system.startswith("local") else 20
    weights = system_called(system)(ENGLISH, with_weights=True).weights[0, 0].numpy()
    assert walk(system, own, 1.0)["weights"] == pytest.approx(weights, abs=1e-5)
    assert at(system, own)["right"]


def test_what_lesson_07_tells():
    narrow = at("local-m", 3)
    assert " ".join(narrow["said"]).startswith(
        "ces salles de classe n' étaient pas grandes et les reines ont ce"
    )
    assert at("local-m", 5)["right"] and not narrow["right"]
    assert narrow["agreed"] == 12 and FRENCH.split()[12] == "vendu" and not narrow["window"][12, 8]
    assert at("local-p", 2)["right"] and not at("local-p", 1)["right"]
    assert at("location", 20)["missed"] >= 8
    assert at("general", 20, 0.25)["missed"] == at("general", 20)["missed"] == 0
    assert not at("concat", 20, 0.1)["right"]
    pas, english = FRENCH.split().index("pas"), ENGLISH.split()
    assert not at("local-p", 2)["window"][pas, english.index("not")]
    sums = at("local-p", 5)["sums"]
    assert sums.max() <= 1.0001 and sums.min() < 0.5


def test_pas_needs_no_look(monkeypatch):
    def blind_at_pas(*given):
        weights, window = look(*given)
        return (0 * weights if given[3] == FRENCH.split().index("pas") else weights), window

    monkeypatch.setattr(window_lab, "look", blind_at_pas)
    said = walk.__wrapped__("local-p", 2, 1.0)["said"]
    assert " ".join(said[:-1]) == FRENCH

"""The facts that the explorables of lesson 07 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.layers.scores import AdditiveScore, GeneralScore, LocationScore
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits
from lessons.l07_score_functions import score_zoo, window_lab
from lessons.l07_score_functions.window_lab import ENGLISH, FRENCH


def zoo(**state) -> dict[str, np.ndarray]:
    facts = score_zoo.compute(**{"angle": 30, "length": 1.0, "key_2": 1.0, **state})
    expected = torch.softmax(torch.from_numpy(facts["scores"]), dim=-1).numpy()
    assert facts["weights"] == pytest.approx(expected)
    return dict(zip(score_zoo.SCORES, facts["scores"], strict=True))


def test_which_scores_see_a_doubled_key():
    """What the prediction of lesson 07 says: all change but cosine and location."""
    before, after = zoo(), zoo(key_2=2.0)
    for name in ("cosine", "location"):
        assert after[name] == pytest.approx(before[name], abs=1e-6)
    assert zoo(length=2.4)["cosine"] == pytest.approx(before["cosine"], abs=1e-6)
    for name in ("dot", "scaled dot", "general"):
        assert after[name] == pytest.approx(before[name] * [1, 2, 1], rel=1e-5)
    assert abs(after["additive"][1] - before["additive"][1]) > 0.05
    assert after["additive"][1] != pytest.approx(2 * before["additive"][1], rel=0.05)
    found = [zoo(angle=angle, length=2.4, key_2=2.4)["additive"] for angle in range(0, 360, 10)]
    assert np.abs(found).max() <= float(score_zoo.V.abs().sum()), "tanh has an end"


def test_what_each_score_has_to_learn():
    layers = (
        GeneralScore(query_dim=2, key_dim=2),
        AdditiveScore(query_dim=2, key_dim=2, attn_dim=3),
        LocationScore(query_dim=2, max_len=3),
    )
    learned = [sum(p.numel() for p in layer.parameters()) for layer in layers]
    assert (0, 0, 0, *learned) == score_zoo.PARAMETERS and learned[:2] == [4, 15]


def at(system: str, half_width: int, times: float = 1.0) -> dict:
    return window_lab.compute(system=system, half_width=half_width, times=times)


@pytest.mark.parametrize("system", window_lab.SYSTEMS)
def test_with_its_own_window_it_is_the_shipped_system(system):
    own = 5 if system.startswith("local") else 20
    weights = window_lab.system_called(system)(ENGLISH, with_weights=True).weights[0, 0].numpy()
    assert window_lab.walk(system, own, 1.0)["weights"] == pytest.approx(weights, abs=1e-5)
    assert at(system, own)["right"]


def test_what_lesson_07_tells(monkeypatch):
    pair = next(pair for pair in splits(seed=0, sizes=SIZES_OF_TESTS).test if pair.src_text == ENGLISH)
    linked = (tuple(sorted(e for e, f in pair.links if f == place)) for place in range(len(pair.tgt)))
    assert pair.tgt_text == FRENCH and tuple(linked) == window_lab.LINKS
    narrow, french = at("local-m", 3), FRENCH.split()
    opening = "ces salles de classe n' étaient pas grandes et les reines ont ce"
    assert " ".join(narrow["said"]).startswith(opening) and not narrow["right"] and at("local-m", 5)["right"]
    assert narrow["agreed"] == 12 and french[12] == "vendu" and not narrow["window"][12, 8]
    assert at("local-p", 2)["right"] and not at("local-p", 1)["right"]
    assert at("location", 20)["missed"] >= 8 and not at("concat", 20, 0.1)["right"]
    assert at("general", 20, 0.25)["missed"] == at("general", 20)["missed"] == 0
    assert not at("local-p", 2)["window"][french.index("pas"), ENGLISH.split().index("not")]
    assert at("local-p", 5)["sums"].max() <= 1.0001 and at("local-p", 5)["sums"].min() < 0.5

    look = window_lab.look

    def blind_at_pas(*given):
        weights, window = look(*given)
        return (0 * weights if given[3] == french.index("pas") else weights), window

    monkeypatch.setattr(window_lab, "look", blind_at_pas)
    assert window_lab.walk.__wrapped__("local-p", 2, 1.0)["said"][:-1] == french, "pas needs no look"

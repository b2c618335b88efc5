"""The score zoo and the window lab show what the lesson says."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_lib.explore.base import Facts
from course_lib.layers.scores import AdditiveScore, GeneralScore, LocationScore
from course_lib.text.toy.splits import TEST_SIZES, splits
from lessons.l07_score_functions import score_zoo, window_lab
from lessons.l07_score_functions.score_zoo import SCORES
from lessons.l07_score_functions.window_lab import ENGLISH, FRENCH
from tests.explore.limits import Limit
from tests.explore.settings import open_question


def largest(name: str) -> Callable[[Facts, float], Facts]:
    """Give a score function's largest weight a value."""

    def change(facts: Facts, value: float) -> Facts:
        weights = np.minimum(facts["weights"], value / 2)
        for index, score in enumerate(SCORES):
            weights[index, 0] = value if score == name else facts["weights"][index].max()
        return facts | {"weights": weights}

    return change


LIMITS = {
    "ScoreZoo": [
        Limit("long", "above 0.9", largest("dot")),
        Limit("long", "below 0.6", largest("cosine"), operator.lt),
    ],
    "WindowLab": [
        Limit("elsewhere", "8 or more", "missed"),
        Limit("narrowest", "× 1", "times"),
        Limit("whole-yet-wrong", "D = 20", "half_width"),
    ],
}


WORDS = FRENCH.split()


def zoo_scores(**controls) -> dict[str, np.ndarray]:
    facts = score_zoo.compute(**{"angle": 30, "length": 1.0, "key_2": 1.0, **controls})
    expected = torch.softmax(torch.from_numpy(facts["scores"]), dim=-1).numpy()
    assert facts["weights"] == pytest.approx(expected)
    return dict(zip(score_zoo.SCORES, facts["scores"], strict=True))


def test_all_scores_but_cosine_and_location_see_a_doubled_key():
    asked, _, start, preset = open_question("07", "longer-key", score_zoo.ScoreZoo)
    assert asked.right == [2] and preset["key_2"] == 2 * start["key_2"]
    before, after = zoo_scores(), zoo_scores(key_2=2.0)
    for name in ("cosine", "location"):
        assert after[name] == pytest.approx(before[name], abs=1e-6)
    assert zoo_scores(length=2.4)["cosine"] == pytest.approx(before["cosine"], abs=1e-6)
    for name in ("dot", "scaled dot", "general"):
        assert after[name] == pytest.approx(before[name] * [1, 2, 1], rel=1e-5)
    assert abs(after["additive"][1] - before["additive"][1]) > 0.05
    assert after["additive"][1] != pytest.approx(2 * before["additive"][1], rel=0.05)
    additive = [zoo_scores(angle=angle, length=2.4, key_2=2.4)["additive"] for angle in range(0, 360, 10)]
    assert np.abs(additive).max() <= float(score_zoo.V.abs().sum()), "tanh is bounded"


def test_what_each_score_has_to_learn():
    layers = (
        GeneralScore(query_dim=2, key_dim=2),
        AdditiveScore(query_dim=2, key_dim=2, attn_dim=3),
        LocationScore(query_dim=2, max_len=3),
    )
    learned = [sum(p.numel() for p in layer.parameters()) for layer in layers]
    assert (0, 0, 0, *learned) == score_zoo.PARAMETERS and learned[:2] == [4, 15]


def lab(system: str, half_width: int, times: float = 1.0) -> dict:
    return window_lab.compute(system=system, half_width=half_width, times=times)


@pytest.mark.parametrize("system", window_lab.SYSTEMS)
def test_with_its_own_window_it_is_the_shipped_system(system):
    own = 5 if system.startswith("local") else 20
    weights = window_lab.system_called(system)(ENGLISH, with_weights=True).weights[0, 0].numpy()
    assert window_lab.translate(system, own, 1.0)["weights"] == pytest.approx(weights, abs=1e-5)
    assert lab(system, own)["right"]


def test_the_links_are_those_of_the_toy_language():
    pair = next(pair for pair in splits(seed=0, sizes=TEST_SIZES).test if pair.src_text == ENGLISH)
    positions = range(len(pair.tgt))
    links = [tuple(sorted(e for e, f in pair.links if f == position)) for position in positions]
    assert pair.tgt_text == FRENCH and tuple(links) == window_lab.LINKS


def test_a_narrow_window_loses_the_word_that_lies_outside():
    asked, _, wide, narrow = open_question("07", "narrow-window", window_lab.WindowLab)
    assert asked.right == [1] and (wide["half_width"], narrow["half_width"]) == (5, 3)
    assert wide["right"] and not narrow["right"]
    first_wrong, sold = narrow["agreed"], ENGLISH.split().index("sold")
    assert WORDS[first_wrong] == "vendu" and first_wrong - sold == 4, "four positions from the diagonal"
    assert not narrow["window"][first_wrong, sold]
    assert narrow["words"][first_wrong] == WORDS[first_wrong + 1], "the word is left out"


def test_local_p_follows_in_a_window_of_two_and_not_of_one():
    assert lab("local-p", 2)["right"] and not lab("local-p", 1)["right"]
    assert lab("local-p", 5)["sums"].max() <= 1.0001 and lab("local-p", 5)["sums"].min() < 0.5


def test_location_attends_elsewhere_and_concat_needs_its_scores_and_general_does_not():
    assert lab("location", 20)["missed"] >= 8
    assert not lab("concat", 20, 0.1)["right"]
    assert lab("general", 20, 0.25)["missed"] == lab("general", 20)["missed"] == 0


def test_local_p_knows_pas_without_attention(monkeypatch):
    pas, attend = WORDS.index("pas"), window_lab.attend
    assert not lab("local-p", 2)["window"][pas, ENGLISH.split().index("not")]

    def attend_to_nothing_at_pas(*inputs):
        weights, window = attend(*inputs)
        return (0 * weights if inputs[3] == pas else weights), window

    monkeypatch.setattr(window_lab, "attend", attend_to_nothing_at_pas)
    assert window_lab.translate.__wrapped__("local-p", 2, 1.0)["words"][:-1] == WORDS


def test_each_block_has_the_colour_of_its_key_and_the_width_of_its_weight():
    facts = score_zoo.compute(angle=30, length=1.0, key_2=2.0)
    axes = Figure().add_subplot()
    score_zoo.draw_weights(axes)(facts)
    [blocks] = axes.collections
    drawn = np.zeros_like(facts["weights"])
    for path, colour in zip(blocks.get_paths(), blocks.get_facecolor(), strict=True):
        (left, low), (right, high) = path.vertices.min(axis=0), path.vertices.max(axis=0)
        key = [to_rgba(of_key) for of_key in score_zoo.COLOURS].index(tuple(colour))
        drawn[round((low + high) / 2), key] = right - left
    assert drawn == pytest.approx(facts["weights"])

"""The facts of W6: which scores see lengths, how far each can go, and what each has to learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.explore.score_zoo import PARAMETERS, SCORES, W_KEY, W_QUERY, ScoreZoo, V, compute
from course_lib.layers.scores import AdditiveScore, GeneralScore, LocationScore, dot, general

NAMES = list(SCORES)
START = {"angle": 30, "length": 1.0, "key_2": 1.0}


def scores(**state) -> dict[str, np.ndarray]:
    return dict(zip(NAMES, compute(**{**START, **state})["scores"], strict=True))


def test_cosine_sees_no_length_and_location_no_key():
    before = scores()
    for state in ({"key_2": 2.0}, {"key_2": 0.2}):
        for name in ("cosine", "location"):
            assert scores(**state)[name] == pytest.approx(before[name], abs=1e-6)
    assert scores(length=2.4)["cosine"] == pytest.approx(before["cosine"], abs=1e-6)


def test_a_doubled_key_doubles_the_products_and_bends_the_additive_score():
    """What the prediction of lesson 07 says: all change but cosine and location."""
    before, after = scores(), scores(key_2=2.0)
    for name in ("dot", "scaled dot", "general"):
        assert after[name][1] == pytest.approx(2 * before[name][1], rel=1e-5)
        assert after[name][[0, 2]] == pytest.approx(before[name][[0, 2]])
    assert abs(after["additive"][1] - before["additive"][1]) > 0.05
    assert after["additive"][1] != pytest.approx(2 * before["additive"][1], rel=0.05)


def test_bilinear_with_the_identity_is_the_dot_product():
    query, keys = torch.randn(2, 3), torch.randn(4, 3)
    torch.testing.assert_close(general(query, keys, weight=torch.eye(3)), dot(query, keys))


def test_additive_never_exceeds_the_sum_of_v():
    most = float(V.abs().sum())
    found = [scores(angle=angle, length=2.4, key_2=2.4)["additive"] for angle in range(0, 360, 10)]
    assert np.abs(found).max() <= most


def test_what_each_has_to_learn():
    assert PARAMETERS[:3] == (0, 0, 0)
    assert PARAMETERS[3] == sum(p.numel() for p in GeneralScore(query_dim=2, key_dim=2).parameters()) == 4
    jury = AdditiveScore(query_dim=2, key_dim=2, attn_dim=3)
    assert PARAMETERS[4] == sum(p.numel() for p in jury.parameters()) == 3 * (2 + 2) + 3
    assert PARAMETERS[4] == W_QUERY.numel() + W_KEY.numel() + V.numel()
    assert PARAMETERS[5] == sum(p.numel() for p in LocationScore(query_dim=2, max_len=3).parameters())


def test_weights_are_the_softmax_of_each_row():
    facts = ScoreZoo().facts
    assert facts["weights"].sum(axis=1) == pytest.approx(np.ones(6))
    expected = torch.softmax(torch.from_numpy(facts["scores"]), dim=-1).numpy()
    assert facts["weights"] == pytest.approx(expected)

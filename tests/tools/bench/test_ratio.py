"""A ratio says how many times faster the better way is."""

from __future__ import annotations

import torch

from tools.bench import decoding


def test_the_ratio_of_a_faster_cache_is_above_one(monkeypatch):
    monkeypatch.setattr(decoding, "VOCAB", {"tiny": 30})
    monkeypatch.setattr(decoding, "LENGTH", 3)
    monkeypatch.setattr(decoding, "in_turn", lambda ways, rounds: {"cached": [0.5], "recomputed": [2.0]})
    row = decoding.measure("transformer", "tiny", device=torch.device("cpu"))
    assert "4.0 ×" in row and row.index("0.50 s") < row.index("2.00 s")

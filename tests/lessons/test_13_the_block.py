"""Figures and claims of lesson 13 are what was measured, recorded or live."""

from __future__ import annotations

import json
from statistics import mean

import torch
from torch.nn import functional as F

from course_lib.layers.block import Block
from course_lib.recorded import recorded
from course_lib.runtime import data_path
from course_lib.teaching.lessons import lesson

FOLDER = lesson("the_block").folder
SOURCE = (FOLDER / "lesson.py").read_text(encoding="utf-8")
QUIZ = (FOLDER / "quiz.json").read_text(encoding="utf-8")


def runs(experiment: str) -> list[dict]:
    return json.loads(data_path("results", f"{experiment}.json").read_text(encoding="utf-8"))["runs"]


def exact(experiment: str, variant: str, split: str = "test") -> list[int]:
    """In percent, one for each seed; halves are rounded up."""
    found = [run["scores"][split]["exact"] for run in runs(experiment) if run["variant"] == variant]
    return [int(100 * share + 0.5) for share in found]


def variants(experiment: str) -> list[str]:
    return list(dict.fromkeys(run["variant"] for run in runs(experiment)))


@torch.no_grad()
def stack(n_blocks: int, seed: int, **options) -> tuple[list[float], list[float]]:
    """Likeness and size of words at the start and after every block."""
    torch.manual_seed(seed)
    x, alike, sizes = torch.randn(8, 8, 64), [], []
    for place in range(n_blocks + 1):
        if place:
            x = Block(d_model=64, n_heads=4, d_ff=256, **options)(x)[0]
        unit = F.normalize(x, dim=-1)
        alike.append((((unit @ unit.mT).sum((-1, -2)) - 8) / 56).mean().item())
        sizes.append(x.square().mean().sqrt().item())
    return alike, sizes


def test_words_grow_alike_as_told():
    without = [stack(4, seed, residual=False)[0] for seed in range(3)]
    assert all(found[2] > 0.97 and found[4] > 0.995 for found in without)
    assert abs(mean(found[2] for found in without) - 0.99) < 0.015
    with_path = [stack(12, seed)[0] for seed in range(3)]
    assert 0.25 < mean(found[2] for found in with_path) < 0.37
    assert 0.7 < mean(found[12] for found in with_path) < 0.85
    after = [stack(12, seed, pre_norm=False)[0] for seed in range(3)]
    assert all(found[12] > 0.99 for found in after)


def test_sizes_through_24_blocks():
    assert 1e4 < stack(24, 0, norm="none")[1][-1] < 1e5
    assert 4 < stack(24, 0)[1][-1] < 6
    assert stack(24, 0, norm="none", residual=False)[1][-1] < 1e-5


def test_the_block_record_is_as_told():
    test = recorded("block", lambda run: 100 * run["scores"]["test"]["exact"])
    long = recorded("block", lambda run: 100 * run["scores"]["long"]["exact"])
    last = recorded("block", lambda run: run["likeness"][-1])
    assert test["no residual path"] == 0 and round(last["no residual path"], 2) == 1
    assert round(last["as it is"], 2) == 0.02 and round(last["no norm"], 2) == 0.11
    assert f"{test['as it is']:.1f}" == "98.5" and f"{test['attention only']:.1f}" == "95.5"
    assert f"{test['BatchNorm']:.1f}" == "94.5" and round(long["BatchNorm"]) == 4
    assert 11 <= long["as it is"] < 12 and test["as it is"] - test["no norm"] < 1
    assert all(abs(test[name] - test["as it is"]) < 1 for name in ("RMSNorm", "SwiGLU", "post-norm"))
    assert "193,064 parameters in place of 392,360" in SOURCE


def test_the_depth_record_is_as_told():
    assert exact("depth", "6 layers, post-norm") == [95, 19, 83]
    assert exact("depth", "12 layers, post-norm") == [0, 0, 0]
    assert all(99 <= share <= 100 for share in exact("depth", "12 layers, pre-norm"))
    test = recorded("depth", lambda run: 100 * run["scores"]["test"]["exact"])
    assert all(abs(test[f"{n} layers, pre-norm"] - test[f"{n} layers, post-norm"]) < 1.5 for n in (1, 2, 3))
    recipe = runs("depth")[0]["recipe"]
    assert (recipe["warm_up"], recipe["learning_rate"]) == (400, 0.003)
    assert "95, 19 and 83%" in SOURCE and "95, 19 and 83%" in QUIZ


def test_the_patients_are_who_the_quiz_says():
    block, depth = variants("block"), variants("depth")
    assert [block[n] for n in (0, 1, 3, 4)] == ["as it is", "no residual path", "BatchNorm", "attention only"]
    assert depth[7] == "6 layers, post-norm"
    assert 'files = {"A": ("block", 1), "B": ("depth", 7), "C": ("block", 3), "D": ("block", 4)}' in SOURCE
    assert exact("block", "BatchNorm") == [94, 95, 94]
    assert exact("block", "attention only") == [95, 95, 97]

    def last(name: str, kind: str) -> float:
        return mean(run["history"][-1][kind] for run in runs("block") if run["variant"] == name)

    assert abs(last("BatchNorm", "train_loss") - last("as it is", "train_loss")) < 0.03
    assert last("BatchNorm", "loss") > 1.3 * last("as it is", "loss")


def test_the_feed_forward_layer_is_the_larger_half():
    block = Block(d_model=64, n_heads=4, d_ff=256)
    assert sum(p.numel() for p in block.feed_forward.parameters()) == 33_088
    assert sum(p.numel() for p in block.attention.parameters()) == 16_384


def test_gradients_through_24_blocks():
    def back(seed: int, **options) -> float:
        torch.manual_seed(seed)
        start = torch.randn(2, 8, 64, requires_grad=True)
        x = start
        for _ in range(24):
            x = Block(d_model=64, n_heads=4, d_ff=256, **options)(x)[0]
        (x * torch.randn_like(x)).sum().backward()
        return start.grad.square().mean().sqrt().item()

    for seed in range(3):
        assert 1 < back(seed) < 10
        assert back(seed, norm="none") > 1e6
        assert back(seed, norm="none", residual=False) < 1e-4
        assert 0.05 < back(seed, residual=False) < 20

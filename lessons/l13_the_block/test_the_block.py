"""Figures and claims of lesson 13 are what was measured, recorded or live."""

from __future__ import annotations

import json
from statistics import mean

import torch
from torch.nn import functional as F

from course_lib.layers.block import Block
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.results import runs
from tests.lessons.told import Told, exact, means, seeds

L = Told("the_block")
CAUSES = (
    "attention only, 7 layers",
    "12 layers, post-norm, rate 0.001",
    "12 layers, post-norm, rate 0.001, warm-up 2000",
    "12 layers, no norm",
)


def percents(experiment: str, variant: str) -> list[int]:
    """One for each seed; halves are rounded up."""
    return [int(share + 0.5) for share in seeds(experiment, variant, "scores", "test", "exact", times=100)]


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


def test_words_grow_alike_and_their_sizes_through_24_blocks():
    without = [stack(4, seed, residual=False)[0] for seed in range(3)]
    assert all(found[2] > 0.97 and found[4] > 0.995 for found in without)
    assert abs(mean(found[2] for found in without) - 0.99) < 0.015
    assert 0.25 < mean(stack(2, seed)[0][2] for seed in range(3)) < 0.37
    assert 4 < stack(24, 0)[1][-1] < 6
    for seed in range(3):
        grown = stack(24, seed, norm="none")[1]
        assert 100 < grown[12] < 300 and 3e4 < grown[24] < 1.2e5
    assert stack(24, 0, norm="none", residual=False)[1][-1] < 1e-5


def test_the_records():
    test = exact("block")
    assert [round(test["as it is"] - test[name]) for name in ("attention only", "BatchNorm")] == [3, 4]
    assert abs(test["post-norm"] - test["as it is"]) < 1
    deep, gentle, gentlest, bare = (
        [run for run in runs("block_causes") if run["variant"] == name] for name in CAUSES
    )
    assert [len(three) for three in (deep, gentle, gentlest, bare)] == [3, 3, 3, 3]
    assert abs(deep[0]["parameters"] - 392_360) < 2000
    assert [run["recipe"]["learning_rate"] for run in gentle + gentlest] == [0.001] * 6
    assert all(run["recipe"]["warm_up"] == 2000 for run in gentlest)
    for run in gentle + gentlest:
        assert run["scores"]["test"]["exact"] <= 0.005 and min(run["likeness"][5:]) > 0.96
    assert all(run["ended"] == "diverged" and run["history"][0]["step"] == 500 for run in bare)


def test_the_depth_record_and_what_warm_up_is_worth():
    """Means over three seeds; the pre-norm ones without warm-up are those of lesson 15's record."""
    assert percents("depth", "12 layers, post-norm") == [0, 0, 0]
    assert all(99 <= share <= 100 for share in percents("depth", "12 layers, pre-norm"))
    assert percents("depth", "6 layers, pre-norm") == [99, 98, 99]
    test = exact("depth")
    assert all(abs(test[f"{n} layers, pre-norm"] - test[f"{n} layers, post-norm"]) < 1.5 for n in (1, 2, 3))
    recipe = runs("depth")[0]["recipe"]
    assert (recipe["warm_up"], recipe["learning_rate"]) == (400, 0.003)
    post, pre = exact("warm_up"), exact("recipe")
    assert round(post["post-norm"] - post["post-norm, no warm-up"]) == 4
    assert 0 < pre["as it is"] - pre["no warm-up"] < 1
    L.says("98 or 99% with every seed")
    L.says("three post-norm layers lose four points and three pre-norm ones less than one")


def test_the_patients_and_their_curves():
    block, depth = (list(means(name, "parameters")) for name in ("block", "depth"))
    assert [block[n] for n in (0, 1, 3, 4)] == ["as it is", "no residual path", "BatchNorm", "attention only"]
    assert depth[7] == "6 layers, post-norm"
    L.says('files = {"A": ("block", 1), "B": ("depth", 7), "C": ("block", 3), "D": ("block", 4)}')
    clinic = [one["options"] for one in json.loads(L.quiz)["questions"] if one["use"] == "clinic"]
    right = [[option["correct"] for option in options].index(True) for options in clinic]
    assert right == [2, 3, 0, 1], "patient A is not option A"

    def curve(name: str, kind: str, experiment: str = "block") -> list[float]:
        three = seeds(experiment, name, "history")
        return [mean(entry[kind] for entry in entries) for entries in zip(*three, strict=True)]

    healthy, healthy_outside = curve("as it is", "train_loss"), curve("as it is", "loss")
    no_path, outside = curve("no residual path", "train_loss"), curve("no residual path", "loss")
    assert [f"{no_path[i]:.1f}" for i in (0, -1)] == ["5.2", "4.2"] and outside[-1] > outside[0]
    late = curve("6 layers, post-norm", "train_loss", "depth")
    assert late[3] > 2 and late[-1] < 1.4  # 2,000 steps
    batch, attention = curve("BatchNorm", "train_loss"), curve("attention only", "train_loss")
    for i in range(3, 8):  # the part shown close by
        assert healthy[i] < batch[i] < healthy[i] + 0.02 < attention[i] < 1.16
    assert curve("BatchNorm", "loss")[-1] > 1.3 * healthy_outside[-1]
    L.says(f"({curve('attention only', 'loss')[-1]:.3f} and {healthy_outside[-1]:.3f})")


@torch.no_grad()
def test_batch_norm_peeks_in_training_and_is_alone_in_use():
    sizes = {"vocab_size": 20, "max_len": 12, "d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32}
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(**sizes, norm="batch", dropout=0.0))
    src, lengths, tgt = torch.randint(4, 20, (3, 5)), torch.tensor([5, 5, 5]), torch.randint(4, 20, (3, 6))
    other = tgt.clone()
    other[0, -1] = 4 + (other[0, -1] - 3) % 16  # the last word of the first sentence

    def first_place(words):
        return model.decode(model.encode(src, lengths), words)[0][0, 0]

    assert (first_place(tgt) - first_place(other)).abs().max() > 1e-3
    model.eval()
    assert torch.equal(first_place(tgt), first_place(other))
    block = Block(d_model=16, n_heads=2, d_ff=32, norm="batch").eval()
    x = torch.randn(3, 5, 16)
    filled = torch.cat([x, torch.randn(3, 2, 16)], dim=1)
    mask = torch.arange(7)[None, None, None] < 5
    torch.testing.assert_close(block(x)[0][:1], block(x[:1])[0])  # alone as in company
    torch.testing.assert_close(block(filled, may_look=mask)[0][:, :5], block(x)[0])
    assert (block(filled)[0][:, :5] - block(x)[0]).abs().max() > 1e-2  # padding without a mask


def test_the_feed_forward_layer_is_the_larger_half():
    block = Block(d_model=64, n_heads=4, d_ff=256)
    assert sum(p.numel() for p in block.feed_forward.parameters()) == 33_088
    assert sum(p.numel() for p in block.attention.parameters()) == 16_384


def test_gradients_through_24_blocks():
    def back(seed: int, **options) -> tuple[float, float]:
        """At the start, and of what asks in the middle."""
        torch.manual_seed(seed)
        start = torch.randn(2, 8, 64, requires_grad=True)
        blocks = [Block(d_model=64, n_heads=4, d_ff=256, **options) for _ in range(24)]
        x = start
        for block in blocks:
            x = block(x)[0]
        (x * torch.randn_like(x)).sum().backward()
        found = start.grad, blocks[11].attention.w_query.grad
        return tuple(gradient.square().mean().sqrt().item() for gradient in found)

    for seed in range(3):
        at_start, asks = back(seed)
        assert 1 < at_start < 10 and asks > 0.1
        at_start, asks = back(seed, residual=False)
        assert 0.05 < at_start < 20 and asks < 1e-5
        bare = back(seed, norm="none")[0]
        assert bare > 1e11 and (seed or 3e13 < bare < 3e14)  # "a 1 with about 14 zeros"
        assert back(seed, norm="none", residual=False)[0] < 1e-4

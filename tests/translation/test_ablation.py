"""Heads are gone while they are ablated, one by one or row by row, and no trace is left."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.translation.ablation import (
    ablate_each,
    ablated,
    ablated_by_row,
    greedy_by_row,
    multi_heads,
)
from course_lib.translation.search import greedy

BATCH = make_batch([[5, 6, 7, 8], [9, 5]], [[6, 7, 8], [9, 9, 9, 9]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build("transformer", make_config("transformer", scale="tiny", vocab_size=20)).eval()


@torch.no_grad()
def logits(model):
    return model(BATCH.src, BATCH.src_lengths, BATCH.tgt_in)


def test_ablated_heads_are_gone_and_come_back(model):
    before = logits(model)
    use, layer, heads = next(iter(multi_heads(model)))
    assert (use, layer) == ("encoder", 0)
    with pytest.raises(KeyError), ablated(model, ["encoder 0.1", "cross 1.0", "encoder 0.1"]):
        width = heads.w_output.shape[1] // heads.n_heads
        assert heads.w_output[:, width : 2 * width].eq(0).all() and not heads.w_output[:, :width].eq(0).any()
        assert not torch.allclose(logits(model), before)
        raise KeyError
    assert torch.equal(logits(model), before)


def test_each_row_has_heads_and_widths_of_its_own(model):
    """The first row is whole; in the second a head of the first attention is gone, or all queries are 0."""
    whole = logits(model)
    n_heads, looks = model.config.n_heads, [heads for _, _, heads in multi_heads(model)]
    kept = torch.ones(2, len(looks), n_heads, dtype=torch.bool)
    kept[1, 0, 1] = False
    with ablated_by_row(model, kept):
        found = logits(model)
    with ablated(model, ["encoder 0.1"]):
        torch.testing.assert_close(found[1], logits(model)[1])
    torch.testing.assert_close(found[0], whole[0])
    wide = torch.ones(2, looks[0].w_query.shape[0] // n_heads, dtype=torch.bool)
    wide[1] = False
    with ablated_by_row(model, torch.ones_like(kept), wide=wide):
        found = logits(model)
    torch.testing.assert_close(found[0], whole[0])
    with torch.no_grad():
        for heads in looks:
            heads.w_query.zero_()
    torch.testing.assert_close(found[1], logits(model)[1])


@torch.no_grad()
def test_greedy_by_row_is_greedy(model):
    memory = model.encode(BATCH.src, BATCH.src_lengths)
    expected = greedy(model, memory, max_len=8).ids
    said = greedy_by_row(model, memory, max_len=8)
    real = expected != PAD
    assert torch.equal(said[:, : expected.shape[1]][real], expected[real]) and real.any()


def test_every_head_is_ablated_once(model):
    found = ablate_each(model, lambda: float(logits(model).sum()))
    assert len(found) == 3 * model.config.n_layers * model.config.n_heads
    assert len({one["measured"] for one in found}) == len(found)  # each makes a difference of its own
    assert len({(one["use"], one["layer"], one["head"]) for one in found}) == len(found)

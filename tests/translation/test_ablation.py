"""Ablated heads have no effect, by name or by row, and the weights are restored afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.translation.ablation import ablated, ablated_by_row, head_names, multi_heads

BATCH = make_batch([[5, 6, 7, 8], [9, 5]], [[6, 7, 8], [9, 9, 9, 9]])


@pytest.fixture
def model():
    """Its values are wider than its keys."""
    torch.manual_seed(0)
    config = make_config("transformer", scale="tiny", vocab_size=20)
    return build("transformer", replace(config, d_v=config.d_model)).eval()


@torch.no_grad()
def logits(model):
    return model(BATCH.src, BATCH.src_lengths, BATCH.tgt_in)


def test_ablated_heads_are_zero_and_restored_even_after_an_error(model):
    before = logits(model)
    use, layer, heads = next(iter(multi_heads(model)))
    assert (use, layer) == ("encoder", 0)
    with pytest.raises(KeyError), ablated(model, ["encoder 0.1", "cross 1.0", "encoder 0.1"]):
        width = heads.w_output.shape[1] // heads.n_heads
        assert heads.w_output[:, width : 2 * width].eq(0).all() and not heads.w_output[:, :width].eq(0).any()
        assert not torch.allclose(logits(model), before)
        raise KeyError
    assert torch.equal(logits(model), before)


def test_each_row_can_keep_different_heads_and_query_features(model):
    """The first row is unchanged; the second loses a head of the first attention, or all query features."""
    unchanged = logits(model)
    n_heads, attentions = model.config.n_heads, [heads for _, _, heads in multi_heads(model)]
    kept = torch.ones(2, len(attentions), n_heads, dtype=torch.bool)
    kept[1, 0, 1] = False
    with ablated_by_row(model, kept):
        by_row = logits(model)
    with pytest.raises(KeyError), ablated_by_row(model, kept):
        raise KeyError
    assert torch.equal(logits(model), unchanged)
    with ablated(model, ["encoder 0.1"]):
        torch.testing.assert_close(by_row[1], logits(model)[1])
    torch.testing.assert_close(by_row[0], unchanged[0])
    features = torch.ones(2, attentions[0].w_query.shape[0] // n_heads, dtype=torch.bool)
    features[1] = False
    with ablated_by_row(model, torch.ones_like(kept), features_kept=features):
        by_row = logits(model)
    torch.testing.assert_close(by_row[0], unchanged[0])
    with torch.no_grad():
        for heads in attentions:
            heads.w_query.zero_()
    torch.testing.assert_close(by_row[1], logits(model)[1])


def test_every_head_has_a_name_and_an_effect_of_its_own(model):
    sums = {}
    for name in head_names(model):
        with ablated(model, [name]):
            sums[name] = float(logits(model).sum())
    assert len(sums) == 3 * model.config.n_layers * model.config.n_heads
    assert len(set(sums.values())) == len(sums)

"""W15: the ledger's numbers are those of widgets that anybody can count again."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.explore.parameter_ledger import (
    BASE,
    BATCH,
    BIG,
    CROSS,
    N_SRC,
    N_TGT,
    ONE,
    OURS,
    SIZES,
    STAGES,
    THREE,
    compute,
    counts,
    n_in,
    shapes,
)  # fmt: skip
from course_lib.models.registry import make_config
from course_lib.models.transformer import Transformer
from course_lib.translation.shipped import load_shipped


def total(model: str, tables: str = ONE) -> int:
    return compute(model=model, place=0, tables=tables)["total"]


def test_the_base_model_part_by_part():
    found = counts(BASE)
    assert found["encoder: attention"] == found["cross-attention"] == 6 * 1_050_624
    assert found["feed-forward"] == 12 * 2_099_712
    encoder = 1_050_624 + 2_099_712 + 2 * 2 * 512
    decoder = 2 * 1_050_624 + 2_099_712 + 3 * 2 * 512
    assert (encoder, decoder) == (3_152_384, 4_204_032)
    assert sum(found.values()) - found["word tables"] == 6 * (encoder + decoder) == 44_138_496
    assert total(BASE) == 63_082_496


def test_against_torchs_own():
    with torch.device("meta"):
        assert (
            n_in(nn.Transformer(batch_first=True))
            == 44_140_544
            == total(BASE) - counts(BASE)["word tables"] + 2 * 1024
        )
        assert n_in(nn.TransformerEncoderLayer(512, 8, 2048)) == 3_152_384
        assert n_in(nn.TransformerDecoderLayer(512, 8, 2048)) == 4_204_032


def test_ours_is_the_shipped_one():
    assert total(OURS) == sum(p.numel() for p in load_shipped("transformer").model.parameters()) == 392_360


def test_what_tying_saves():
    assert total(BASE, THREE) - total(BASE) == 37_888_000
    assert compute(model=BASE, place=0, tables=THREE)["tables_share"] > 0.5
    assert compute(model=BIG, place=0, tables=THREE)["tables_share"] < 0.5
    assert total(BIG) == 214_245_376


def test_cross_scores_have_target_rows_and_source_columns():
    facts = compute(model=BASE, place=CROSS, tables=ONE)
    assert facts["shape"] == (BATCH, 8, N_TGT, N_SRC) and facts["name"] == "cross: scores"


@pytest.mark.parametrize("name", SIZES)
def test_shapes_are_those_of_a_live_model(name):
    """On the meta device: shapes without numbers."""
    width, n_heads, d_ff, n_layers, words = SIZES[name]
    config = make_config("transformer", scale="toy", vocab_size=words)
    sizes = {"d_model": width, "n_heads": n_heads, "d_ff": d_ff, "n_layers": n_layers}
    with torch.device("meta"):
        model = Transformer(type(config)(**{**vars(config), **sizes})).eval()
        source, target = (
            torch.zeros(BATCH, N_SRC, dtype=torch.long),
            torch.zeros(BATCH, N_TGT, dtype=torch.long),
        )
        x, _, looked = model.encoder(model.words.source(source), with_weights=True)
        memory = {
            **model.decoder.read_source(x),
            "may_look": torch.ones(BATCH, 1, 1, N_SRC, dtype=torch.bool),
        }
        y, _, weights = model.decoder(
            model.words.target(target), causal=True, source=memory, with_weights=True
        )
        widened = model.encoder.blocks[0].feed_forward.inner(x)
    found = shapes(name)
    assert tuple(found) == STAGES
    assert found["source words"] == found["memory"] == tuple(x.shape)
    assert found["encoder: scores"] == tuple(looked["own"][:, 0].shape)
    assert found["decoder: scores"] == tuple(weights["own"][:, 0].shape)
    assert found["cross: scores"] == tuple(weights["cross"][:, 0].shape)
    assert found["cross: keys"] == tuple(memory["keys"][:, 0].shape)
    assert found["encoder: widened"] == tuple(widened.shape)
    assert found["target words"] == tuple(y.shape)
    assert found["logits"] == tuple(model.words.logits(y).shape)

"""The facts that the explorables of lesson 14 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.models.registry import make_config, n_parameters
from course_lib.models.transformer import Transformer
from course_lib.translation.ablation import multi_heads
from course_lib.translation.shipped import shared
from lessons.l09_self_attention.interventions import translate_isolated
from lessons.l09_self_attention.pronoun import masked_translation
from lessons.l14_the_transformer import ParameterLedger, ThreeUses, parameter_ledger, three_uses
from lessons.l14_the_transformer.parameter_ledger import BASE, BATCH, BIG, N_SRC, N_TGT, ONE, OURS, THREE
from tests.explore.settings import open_question


def uses(width: int = 16, heads: str = three_uses.ALL, mask: str = three_uses.AS_TRAINED) -> dict:
    return three_uses.compute(width=width, heads=heads, mask=mask)


def test_masks_do_what_the_interventions_do():
    system = shared("transformer")
    for i, pair in enumerate(three_uses.PAIR):
        hidden = masked_translation(system, pair.src_text, masked=[8], to="decoder").french
        expected = {three_uses.AS_TRAINED: system(pair.src_text).target, three_uses.HIDDEN: hidden}
        expected[three_uses.ALONE] = translate_isolated(system, [pair.src_text])[0]
        assert {mask: " ".join(uses(mask=mask)["translations"][i]) for mask in expected} == expected
    assert uses()["is_right"] == (True, True)


def endings(translations: tuple[tuple[str, ...], ...], n_words: int = 3) -> list[str]:
    return [" ".join(words[-n_words:]) for words in translations]


def test_source_words_that_see_only_themselves_lose_cold():
    facts = uses(mask=three_uses.ALONE)
    assert facts["is_right"] == (True, False) and endings(facts["translations"])[1] == "il avait froid"


def test_narrower_keys():
    assert uses(width=10)["is_right"] == (True, True)
    assert endings(uses(width=8)["translations"])[1] == "elle était froid", "the gender is lost"
    assert not any("chat" in words for words in uses(width=6)["translations"]), "the cat is lost"


def test_which_heads_the_pair_needs():
    n_right = {"1 2 3": 2, "0 2 3": 1, "0 1 3": 2, "0 1 2": 0, "1 3": 2}
    assert {heads: sum(uses(heads=heads)["is_right"]) for heads in n_right} == n_right
    assert uses(heads="0 2 3")["is_right"] == (True, False), "without head 1, cold is wrong"


def test_the_prediction_of_one_head_less():
    asked, _, _, after = open_question("14", "full-one-head-less", ThreeUses)
    assert after["heads"] == "0 1 2" and after["is_right"] == (False, False) and asked.right == [2]
    assert endings(after["translations"])[0] == "elle avait soif"


def test_flat_weights_alone_break_less_than_lost_numbers():
    """With scores divided by 4 the weights are flatter than at d_k 4; only the gender of cold is lost."""
    attentions = [attention for _, _, attention in multi_heads(shared("transformer").model)]
    with torch.no_grad():
        for attention in attentions:
            attention.w_query.mul_(0.25)
    try:
        flat = three_uses.outcomes.__wrapped__()[16, three_uses.ALL, three_uses.AS_TRAINED]
    finally:
        with torch.no_grad():
            for attention in attentions:
                attention.w_query.mul_(4.0)
    narrow = uses(width=4)
    assert (flat["entropy"] > narrow["entropy"]).all() and narrow["is_right"] == (False, False)
    assert flat["translations"][0] == three_uses.PAIR[0].tgt
    assert endings(flat["translations"])[1] == "il était froid"


def test_the_maps_are_of_kept_heads_sum_to_one_and_obey_the_masks():
    assert not any(table.any() for table in uses(heads="none")["weights"].values())
    maps = [uses(heads=heads)["weights"]["cross"] for heads in three_uses.KEPT_HEADS[1:5]]
    assert np.abs(maps[0] - maps[3]).max() > 0.1
    for width, mask in ((16, three_uses.AS_TRAINED), (4, three_uses.HIDDEN), (0, three_uses.ALONE)):
        maps += uses(width=width, mask=mask)["weights"].values()
    assert all(np.allclose(table.sum(axis=1), 1, atol=1e-5) for table in maps)
    assert np.allclose(np.triu(uses()["weights"]["decoder"], 1), 0)
    assert np.allclose(uses(mask=three_uses.HIDDEN)["weights"]["cross"][:, 8], 0)
    assert np.allclose(uses(mask=three_uses.ALONE)["weights"]["encoder"], np.eye(10))
    bits = np.array([uses(width=width)["entropy"] for width in reversed(three_uses.WIDTHS)])
    assert (np.diff(bits, axis=0) > 0).all(), "narrower keys give more uniform attention"
    assert bits[0, 2] < 1 and abs(bits[-1, 2] - np.log2(10)) < 1e-3


def total(model: str, tables: str = ONE) -> int:
    return parameter_ledger.compute(model=model, stage=0, tables=tables)["total"]


def test_the_ledger_counts_as_torch_counts():
    by_part = parameter_ledger.counts(BASE)
    assert by_part["encoder: attention"] == by_part["cross-attention"] == 6 * 1_050_624
    assert by_part["feed-forward"] == 12 * 2_099_712
    with torch.device("meta"):
        layers = nn.TransformerEncoderLayer(512, 8, 2048), nn.TransformerDecoderLayer(512, 8, 2048)
        assert [n_parameters(layer) for layer in layers] == [3_152_384, 4_204_032]
        assert (
            n_parameters(nn.Transformer(batch_first=True)) == total(BASE) - by_part["embeddings"] + 2 * 1024
        )
    assert total(BASE) == 63_082_496 and total(BIG) == 214_245_376
    assert total(OURS) == n_parameters(shared("transformer").model) == 392_360
    assert total(BASE, THREE) - total(BASE) == 37_888_000
    fractions = [
        parameter_ledger.compute(model=m, stage=0, tables=THREE)["tables_fraction"] for m in (BASE, BIG)
    ]
    assert fractions[0] > 0.5 > fractions[1]


def test_the_shape_of_the_cross_scores():
    facts = parameter_ledger.compute(model=BASE, stage=parameter_ledger.CROSS, tables=ONE)
    assert facts["shape"] == (BATCH, 8, N_TGT, N_SRC)


def test_the_prediction_of_the_largest_part():
    asked, _, _, after = open_question("14", "full-largest-part", ParameterLedger)
    attention = sum(n for part, n in after["counts"].items() if "attention" in part)
    in_order = [attention, *(after["counts"][part] for part in ("feed-forward", "embeddings", "norms"))]
    assert after["model"] == BASE and asked.right == [in_order.index(max(in_order))]


@pytest.mark.parametrize("name", parameter_ledger.SIZES)
def test_shapes_are_those_of_a_live_model(name):
    """On the meta device, which computes shapes and no numbers."""
    sizes = zip(("d_model", "n_heads", "d_ff", "n_layers"), parameter_ledger.SIZES[name], strict=False)
    config = make_config("transformer", scale="toy", vocab_size=parameter_ledger.SIZES[name][-1])
    with torch.device("meta"):
        model = Transformer(type(config)(**{**vars(config), **dict(sizes)})).eval()
        source, target = (torch.zeros(BATCH, n, dtype=torch.long) for n in (N_SRC, N_TGT))
        x, _, of_encoder = model.encoder(model.words.source(source), with_weights=True)
        memory = model.decoder.project_source(x)
        memory |= {"mask": torch.ones(BATCH, 1, 1, N_SRC, dtype=torch.bool)}
        words = model.words.target(target)
        y, _, of_decoder = model.decoder(words, causal=True, source=memory, with_weights=True)
        states = {
            "source embeddings": x,
            "memory": x,
            "encoder: scores": of_encoder["own"][:, 0],
            "decoder: scores": of_decoder["own"][:, 0],
            "cross: scores": of_decoder["cross"][:, 0],
            "cross: keys": memory["keys"][:, 0],
            "encoder: FFN hidden layer": model.encoder.blocks[0].feed_forward.inner(x),
            "target embeddings": y,
            "logits": model.words.logits(y),
        }
    shapes = parameter_ledger.shapes(name)
    assert tuple(shapes) == parameter_ledger.STAGES
    assert {stage: shapes[stage] for stage in states} == {
        stage: tuple(x.shape) for stage, x in states.items()
    }

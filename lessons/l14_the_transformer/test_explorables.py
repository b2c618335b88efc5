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
from lessons.l09_self_attention.interventions import listen_alone
from lessons.l09_self_attention.pronoun import listen
from lessons.l14_the_transformer import parameter_ledger, three_uses
from lessons.l14_the_transformer.parameter_ledger import BASE, BATCH, BIG, N_SRC, N_TGT, ONE, OURS, THREE


def uses(width: int = 16, heads: str = three_uses.ALL, mask: str = three_uses.AS_TRAINED) -> dict:
    return three_uses.compute(width=width, heads=heads, mask=mask)


def test_masks_do_what_the_interventions_do():
    system = shared("transformer")
    for place, pair in enumerate(three_uses.PAIR):
        hidden = listen(system, pair.src_text, closed=[8], to="decoder").french
        expected = {three_uses.AS_TRAINED: system(pair.src_text).target, three_uses.HIDDEN: hidden}
        expected[three_uses.ALONE] = listen_alone(system, pair.src_text).french
        assert {mask: " ".join(uses(mask=mask)["said"][place]) for mask in expected} == expected
    assert uses()["right"] == (True, True)


def test_what_lesson_14_tells():
    alone = uses(mask=three_uses.ALONE)
    assert alone["right"] == (True, False) and " ".join(alone["said"][1]).endswith("il avait froid")
    assert uses(width=10)["right"] == (True, True) and uses(heads="1 3 4")["right"] == (True, False)
    assert " ".join(uses(width=8)["said"][1]).endswith("elle était froid")
    assert not any("chat" in words for words in uses(width=6)["said"])
    survive = {"2 3 4": 2, "1 3 4": 1, "1 2 4": 2, "1 2 3": 0, "2 4": 2}
    assert {heads: sum(uses(heads=heads)["right"]) for heads in survive} == survive
    assert " ".join(uses(heads="1 2 3")["said"][0]).endswith("elle avait soif")
    source, target, following = three_uses.SOURCE, three_uses.TARGET, three_uses.NEXT
    for use, word, looked, share in [
        ("encoder", "it", "water", "0.21"),
        ("encoder", "it", "was", "0.21"),
        ("decoder", "soif", "parce", "0.43"),
        ("cross", "chat", "cat", "1.00"),
        ("cross", "il", "it", "0.42"),
        ("cross", "il", "because", "0.38"),
    ]:
        rows = {"encoder": source, "decoder": target, "cross": following}[use]
        columns = target if use == "decoder" else source
        weights = uses()["weights"][use][rows.index(word)]
        assert f"{weights[columns.index(looked)]:.2f}" == share, (use, word, looked)
    assert f"{uses()['weights']['encoder'][source.index('it')].max():.2f}" == "0.21"


def test_flat_weights_alone_break_less_than_lost_numbers():
    """All scores a quarter as large: flatter than at d_k 4, and only the gender of cold is lost."""
    looks = [look for _, _, look in multi_heads(shared("transformer").model)]
    with torch.no_grad():
        for look in looks:
            look.w_query.mul_(0.25)
    try:
        flat = three_uses.outcomes.__wrapped__()[16, three_uses.ALL, three_uses.AS_TRAINED]
    finally:
        with torch.no_grad():
            for look in looks:
                look.w_query.mul_(4.0)
    narrow = uses(width=4)
    assert (flat["entropy"] > narrow["entropy"]).all() and narrow["right"] == (False, False)
    assert flat["said"][0] == three_uses.PAIR[0].tgt
    assert " ".join(flat["said"][1]).endswith("parce qu' il était froid")


def test_the_maps_are_of_heads_that_are_heard_sum_to_one_and_never_look_ahead():
    assert not any(table.any() for table in uses(heads="none")["weights"].values())
    maps = [uses(heads=heads)["weights"]["cross"] for heads in three_uses.HEARD[1:5]]
    assert np.abs(maps[0] - maps[3]).max() > 0.1
    for width, mask in ((16, three_uses.AS_TRAINED), (4, three_uses.HIDDEN), (0, three_uses.ALONE)):
        maps += uses(width=width, mask=mask)["weights"].values()
    assert all(np.allclose(table.sum(axis=1), 1, atol=1e-5) for table in maps)
    assert np.allclose(np.triu(uses()["weights"]["decoder"], 1), 0)
    assert np.allclose(uses(mask=three_uses.HIDDEN)["weights"]["cross"][:, 8], 0)
    assert np.allclose(uses(mask=three_uses.ALONE)["weights"]["encoder"], np.eye(10))
    bits = np.array([uses(width=width)["entropy"] for width in reversed(three_uses.WIDTHS)])
    assert (np.diff(bits, axis=0) > 0).all(), "narrower keys share out more evenly"
    assert bits[0, 2] < 1 and abs(bits[-1, 2] - np.log2(10)) < 1e-3


def total(model: str, tables: str = ONE) -> int:
    return parameter_ledger.compute(model=model, place=0, tables=tables)["total"]


def test_the_ledger_counts_as_torch_counts():
    found = parameter_ledger.counts(BASE)
    assert found["encoder: attention"] == found["cross-attention"] == 6 * 1_050_624
    assert found["feed-forward"] == 12 * 2_099_712
    with torch.device("meta"):
        layers = nn.TransformerEncoderLayer(512, 8, 2048), nn.TransformerDecoderLayer(512, 8, 2048)
        assert [n_parameters(layer) for layer in layers] == [3_152_384, 4_204_032]
        assert n_parameters(nn.Transformer(batch_first=True)) == total(BASE) - found["word tables"] + 2 * 1024
    assert total(BASE) == 63_082_496 and total(BIG) == 214_245_376
    assert total(OURS) == n_parameters(shared("transformer").model) == 392_360
    assert total(BASE, THREE) - total(BASE) == 37_888_000
    shares = [parameter_ledger.compute(model=m, place=0, tables=THREE)["tables_share"] for m in (BASE, BIG)]
    assert shares[0] > 0.5 > shares[1]
    facts = parameter_ledger.compute(model=BASE, place=parameter_ledger.CROSS, tables=ONE)
    assert facts["shape"] == (BATCH, 8, N_TGT, N_SRC) and facts["name"] == "cross: scores"


@pytest.mark.parametrize("name", parameter_ledger.SIZES)
def test_shapes_are_those_of_a_live_model(name):
    """On the meta device: shapes without numbers."""
    sizes = zip(("d_model", "n_heads", "d_ff", "n_layers"), parameter_ledger.SIZES[name], strict=False)
    config = make_config("transformer", scale="toy", vocab_size=parameter_ledger.SIZES[name][-1])
    with torch.device("meta"):
        model = Transformer(type(config)(**{**vars(config), **dict(sizes)})).eval()
        source, target = (torch.zeros(BATCH, n, dtype=torch.long) for n in (N_SRC, N_TGT))
        x, _, looked = model.encoder(model.words.source(source), with_weights=True)
        memory = model.decoder.read_source(x)
        memory |= {"may_look": torch.ones(BATCH, 1, 1, N_SRC, dtype=torch.bool)}
        words = model.words.target(target)
        y, _, weights = model.decoder(words, causal=True, source=memory, with_weights=True)
        live_ones = {
            "source words": x,
            "memory": x,
            "encoder: scores": looked["own"][:, 0],
            "decoder: scores": weights["own"][:, 0],
            "cross: scores": weights["cross"][:, 0],
            "cross: keys": memory["keys"][:, 0],
            "encoder: widened": model.encoder.blocks[0].feed_forward.inner(x),
            "target words": y,
            "logits": model.words.logits(y),
        }
    found = parameter_ledger.shapes(name)
    assert tuple(found) == parameter_ledger.STAGES
    assert {stage: found[stage] for stage in live_ones} == {s: tuple(v.shape) for s, v in live_ones.items()}

"""The Transformer from plain functions is the course's, and torch's; its patients are sick as told."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import torch
from torch.nn import functional as F

from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import PAD, spoken
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
from lessons.l14_the_transformer.by_parts import (
    PATIENTS,
    RIGHT,
    as_torchs,
    decoder_stages,
    embed,
    encoder_stages,
    parts_of,
    say,
    stages,
)

SIZES = {"n_heads": 4, "n_layers": 3}
FIRST = ["encoder 0", "memory", "source words", "logits", "target words", "encoder 0"]


@pytest.fixture(scope="module")
def pairs():
    return splits(seed=0, sizes={"test": 20}).test


@pytest.fixture(scope="module")
def rows(pairs) -> Batch:
    encode = shared("transformer").tokenizer.encode
    return make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    return {name: w.detach() for name, w in shared("transformer").model.state_dict().items()}


@pytest.fixture(scope="module")
def given(rows) -> dict:
    return {**SIZES, "may_look": (rows.src != PAD)[:, None, None]}


@pytest.fixture(scope="module")
def healthy(rows, weights, given) -> dict[str, torch.Tensor]:
    return stages(rows.src, rows.tgt_in, weights, **given)


@torch.no_grad()
def test_it_computes_and_says_what_the_model_does(rows, weights, given, healthy, pairs):
    system, close = shared("transformer"), {"atol": 1e-4, "rtol": 0}
    theirs = system.model(rows.src, rows.src_lengths, rows.tgt_in)
    torch.testing.assert_close(healthy["logits"][rows.counts], theirs[rows.counts], **close)
    looked = system.model.all_weights(rows.src, rows.src_lengths, rows.tgt_in)
    _, own = encoder_stages(rows.src, weights, **given)
    torch.testing.assert_close(own[2][0], looked["encoder"][:, 2], **close)
    _, both = decoder_stages(rows.tgt_in, healthy["memory"], weights, **given)
    torch.testing.assert_close(both[1][1], looked["cross"][:, 1], **close)
    said = [list(spoken(row, 680)) for row in say(rows.src, weights, **given, max_len=30).tolist()]
    assert [system.tokenizer.decode(ids) for ids in said] == [system(pair.src_text).target for pair in pairs]


@torch.no_grad()
def test_torchs_own_says_the_same(rows, weights, healthy):
    table, n, hidden = weights["words.output.weight"], rows.tgt_in.shape[1], rows.src == PAD
    out = as_torchs(weights, **SIZES)(
        embed(rows.src, table),
        embed(rows.tgt_in, table),
        tgt_mask=torch.ones(n, n, dtype=torch.bool).triu(1),
        src_key_padding_mask=hidden,
        memory_key_padding_mask=hidden,
    )
    logits = F.linear(out, table, weights["words.output.bias"])
    torch.testing.assert_close(logits, healthy["logits"], atol=1e-3, rtol=0)


@pytest.mark.parametrize(("patient", "first"), [*zip("ABCDEF", FIRST, strict=True)])
@torch.no_grad()
def test_each_patient_has_one_mistake_and_parts_there(rows, weights, given, healthy, patient, first):
    assert len(asdict(PATIENTS[patient]).items() - asdict(RIGHT).items()) == 1
    sick = stages(rows.src, rows.tgt_in, weights, **given, wiring=PATIENTS[patient])
    assert next(name for name, right in healthy.items() if (sick[name] - right).abs().max() > 1e-3) == first


def test_parts_by_prefix(weights):
    assert parts_of({"a.1.w": 1, "a.10.w": 2}, "a.1") == {"w": 1}
    assert len(parts_of(weights, "decoder.blocks.2")) == 18

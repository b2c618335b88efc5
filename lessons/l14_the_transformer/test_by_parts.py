"""The Transformer from plain functions equals the course's and torch's."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import torch
from torch.nn import functional as F

from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import PAD, until_eos
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
from lessons.l14_the_transformer.by_parts import (
    FAULTY,
    RIGHT,
    decoder_stages,
    embed,
    encoder_stages,
    parts_of,
    stages,
    to_torch,
    translate,
)

SIZES = {"n_heads": 4, "n_layers": 3}


@pytest.fixture(scope="module")
def pairs():
    return splits(seed=0, sizes={"test": 20}).test


@pytest.fixture(scope="module")
def batch(pairs) -> Batch:
    encode = shared("transformer").tokenizer.encode
    return make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    return {name: w.detach() for name, w in shared("transformer").model.state_dict().items()}


@pytest.fixture(scope="module")
def inputs(batch) -> dict:
    return {**SIZES, "mask": (batch.src != PAD)[:, None, None]}


@pytest.fixture(scope="module")
def states(batch, weights, inputs) -> dict[str, torch.Tensor]:
    return stages(batch.src, batch.tgt_in, weights, **inputs)


@torch.no_grad()
def test_states_weights_and_translations_are_those_of_the_model(batch, weights, inputs, states, pairs):
    system, close = shared("transformer"), {"atol": 1e-4, "rtol": 0}
    logits = system.model(batch.src, batch.src_lengths, batch.tgt_in)
    torch.testing.assert_close(states["logits"][batch.loss_mask], logits[batch.loss_mask], **close)
    expected = system.model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)
    _, of_encoder = encoder_stages(batch.src, weights, **inputs)
    torch.testing.assert_close(of_encoder[2][0], expected["encoder"][:, 2], **close)
    _, of_decoder = decoder_stages(batch.tgt_in, states["memory"], weights, **inputs)
    torch.testing.assert_close(of_decoder[1][1], expected["cross"][:, 1], **close)
    ids = [list(until_eos(row, 680)) for row in translate(batch.src, weights, **inputs, max_len=30).tolist()]
    assert [system.tokenizer.decode(row) for row in ids] == [system(pair.src_text).target for pair in pairs]


@torch.no_grad()
def test_the_logits_are_those_of_torch(batch, weights, states):
    table, n, padding = weights["words.output.weight"], batch.tgt_in.shape[1], batch.src == PAD
    out = to_torch(weights, **SIZES)(
        embed(batch.src, table),
        embed(batch.tgt_in, table),
        tgt_mask=torch.ones(n, n, dtype=torch.bool).triu(1),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    logits = F.linear(out, table, weights["words.output.bias"])
    torch.testing.assert_close(logits, states["logits"], atol=1e-3, rtol=0)


@pytest.mark.parametrize("wiring", FAULTY.values(), ids=FAULTY)
def test_each_faulty_one_has_one_mistake(wiring):
    assert len(asdict(wiring).items() - asdict(RIGHT).items()) == 1


def test_parts_by_prefix(weights):
    assert parts_of({"a.1.w": 1, "a.10.w": 2}, "a.1") == {"w": 1}
    assert len(parts_of(weights, "decoder.blocks.2")) == 18

"""The Transformer from plain functions is the course's, and torch's; its patients are sick as told."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch
from torch.nn import functional as F

from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import PAD, spoken
from course_lib.text.toy.splits import splits
from course_lib.translation.by_parts import (
    PATIENTS,
    RIGHT,
    Habits,
    as_torchs,
    decoder_stages,
    embed,
    encoder_stages,
    parts_of,
    say,
    stages,
)  # fmt: skip
from course_lib.translation.shipped import Shipped, load_shipped

SIZES = {"n_heads": 4, "n_layers": 3}


@cache
def shipped() -> Shipped:
    found = load_shipped("transformer")
    found.model.eval()
    return found


@cache
def weights() -> dict[str, torch.Tensor]:
    return {name: w.detach() for name, w in shipped().model.state_dict().items()}


@cache
def batch() -> Batch:
    pairs, encode = splits(seed=0, sizes={"test": 20}).test, shipped().tokenizer.encode
    return make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])


def may_look() -> torch.Tensor:
    return (batch().src != PAD)[:, None, None]


@torch.no_grad()
def test_it_computes_what_the_model_does():
    rows, model = batch(), shipped().model
    found = stages(rows.src, rows.tgt_in, weights(), **SIZES, may_look=may_look())
    theirs = model(rows.src, rows.src_lengths, rows.tgt_in)
    torch.testing.assert_close(found["logits"][rows.counts], theirs[rows.counts], atol=1e-4, rtol=0)
    looked = model.all_weights(rows.src, rows.src_lengths, rows.tgt_in)
    _, own = encoder_stages(rows.src, weights(), **SIZES, may_look=may_look())
    torch.testing.assert_close(own[2], looked["encoder"][:, 2], atol=1e-4, rtol=0)
    _, both = decoder_stages(rows.tgt_in, found["memory"], weights(), **SIZES, may_look=may_look())
    torch.testing.assert_close(both[1][1], looked["cross"][:, 1], atol=1e-4, rtol=0)


@torch.no_grad()
def test_it_says_what_the_shipped_system_says():
    rows = batch()
    said = say(rows.src, weights(), **SIZES, max_len=30, may_look=may_look())
    for row, pair in zip(said.tolist(), splits(seed=0, sizes={"test": 20}).test, strict=True):
        assert shipped().tokenizer.decode(list(spoken(row, 680))) == shipped()(pair.src_text).target


@torch.no_grad()
def test_torchs_own_says_the_same():
    rows, table = batch(), weights()["words.output.weight"]
    n = rows.tgt_in.shape[1]
    hidden = rows.src == PAD
    out = as_torchs(weights(), **SIZES)(
        embed(rows.src, table),
        embed(rows.tgt_in, table),
        tgt_mask=torch.ones(n, n, dtype=torch.bool).triu(1),
        src_key_padding_mask=hidden,
        memory_key_padding_mask=hidden,
    )
    logits = F.linear(out, table, weights()["words.output.bias"])
    ours = stages(rows.src, rows.tgt_in, weights(), **SIZES, may_look=may_look())["logits"]
    torch.testing.assert_close(logits, ours, atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    ("patient", "first"),
    [
        ("A", "encoder 0"),
        ("B", "memory"),
        ("C", "source words"),
        ("D", "logits"),
        ("E", "target words"),
        ("F", "encoder 0"),
    ],
)
@torch.no_grad()
def test_each_patient_parts_where_its_mistake_is(patient, first):
    given = (batch().src, batch().tgt_in, weights())
    right = stages(*given, **SIZES, may_look=may_look())
    sick = stages(*given, **SIZES, may_look=may_look(), habits=PATIENTS[patient])
    assert next(name for name in right if (sick[name] - right[name]).abs().max() > 1e-3) == first


def test_each_patient_has_one_mistake():
    for habits in PATIENTS.values():
        changed = [
            name for name in Habits.__dataclass_fields__ if getattr(habits, name) != getattr(RIGHT, name)
        ]
        assert len(changed) == 1
        assert replace(habits, **{changed[0]: getattr(RIGHT, changed[0])}) == RIGHT


def test_parts_by_prefix():
    assert parts_of({"a.1.w": 1, "a.10.w": 2}, "a.1") == {"w": 1}
    assert len(parts_of(weights(), "decoder.blocks.2")) == 18

"""Each mask affects only its own attention; with nothing masked, the memory is the model's own."""

from __future__ import annotations

import dataclasses

import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.translation.masking import mask_self_only, mask_without, masked_memory

BATCH = make_batch([[5, 6, 7], [8, 9, 10]], [[6, 7], [9, 9]])
N = 4  # source length with EOS


def test_each_mask_affects_only_its_own_attention():
    torch.manual_seed(0)
    model = build("transformer", make_config("transformer", scale="tiny", vocab_size=20)).train()
    every, hidden = mask_without([], N), mask_without([1, 3], N)
    assert hidden.flatten().tolist() == [True, False, True, False] and mask_self_only(N).sum() == N
    for own, cross in [(every, every), (hidden, every), (every, hidden), (mask_self_only(N), hidden)]:
        memory, weights = masked_memory(model, BATCH.src, own, cross, with_weights=True)
        assert model.training and not memory["keys"].requires_grad
        attended = weights["encoder"] > 0
        assert torch.equal(attended, own.unsqueeze(1).expand_as(attended))
        with torch.no_grad():
            attended = model.eval().decode(memory, BATCH.tgt_in, with_weights=True)[1] > 0
        assert torch.equal(attended, cross.unsqueeze(1).expand_as(attended))
        model.train()


def test_without_masked_words_the_memory_equals_encode_without_dropout():
    config = make_config("transformer", scale="tiny", vocab_size=20)
    model = build("transformer", dataclasses.replace(config, dropout=0.5)).train()
    memory, weights = masked_memory(model, BATCH.src, mask_without([], N), mask_without([], N))
    with torch.no_grad():
        usual = model.eval().encode(BATCH.src, BATCH.src_lengths)
    assert not weights and memory.keys() == usual.keys() and usual["mask"].all()
    torch.testing.assert_close([memory["keys"], memory["values"]], [usual["keys"], usual["values"]])

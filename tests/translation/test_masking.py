"""A mask hides from those it is for and from nobody else; without one, the memory is the model's own."""

from __future__ import annotations

import dataclasses

import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.translation.masking import alone, masked_memory, without

BATCH = make_batch([[5, 6, 7], [8, 9, 10]], [[6, 7], [9, 9]])
N = 4  # with the end


def test_each_mask_hides_from_those_it_is_for():
    torch.manual_seed(0)
    model = build("transformer", make_config("transformer", scale="tiny", vocab_size=20)).train()
    every, hidden = without([], N), without([1, 3], N)
    assert hidden.flatten().tolist() == [True, False, True, False] and alone(N).sum() == N
    for own, cross in [(every, every), (hidden, every), (every, hidden), (alone(N), hidden)]:
        memory, weights = masked_memory(model, BATCH.src, own, cross, with_weights=True)
        assert model.training and not memory["keys"].requires_grad
        looked = weights["encoder"] > 0
        assert torch.equal(looked, own.unsqueeze(1).expand_as(looked))
        with torch.no_grad():
            looked = model.eval().decode(memory, BATCH.tgt_in, with_weights=True)[1] > 0
        assert torch.equal(looked, cross.unsqueeze(1).expand_as(looked))
        model.train()


def test_unmasked_it_is_what_the_model_reads_without_dropout():
    config = make_config("transformer", scale="tiny", vocab_size=20)
    model = build("transformer", dataclasses.replace(config, dropout=0.5)).train()
    memory, weights = masked_memory(model, BATCH.src, without([], N), without([], N))
    with torch.no_grad():
        usual = model.eval().encode(BATCH.src, BATCH.src_lengths)
    assert not weights and memory.keys() == usual.keys() and usual["may_look"].all()
    torch.testing.assert_close([memory["keys"], memory["values"]], [usual["keys"], usual["values"]])

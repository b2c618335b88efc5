"""The data and the model of the live training run."""

from __future__ import annotations

import torch

from course_lib.text.special import EOS, PAD
from lessons.l04_encoder_decoder.live_training import (
    LENGTHS,
    held_out_pairs,
    short_batches,
    small_seq2seq,
    training_pairs,
)

UNSEEN = ("the cat sleeps", "the soup is hot")


def test_no_held_out_or_excluded_sentence_is_trained_on():
    trained = {pair.src_text for pair in training_pairs(UNSEEN)}
    assert not trained & {*UNSEEN, *(pair.src_text for pair in held_out_pairs())}
    assert 6000 < len(trained) < 6500, "about 6,000 sentences"
    assert {pair.length for pair in held_out_pairs()} == set(range(LENGTHS[0], LENGTHS[1] + 1))


def test_a_few_steps_lower_the_loss():
    model, losses = small_seq2seq(seed=1), []
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for batch in short_batches(n_steps=12, without=UNSEEN):
        assert (batch.tgt_out == EOS).any(dim=1).all()
        logits, _ = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert len(losses) == 12 and losses[-1] < losses[0] - 1


def test_the_same_seed_gives_the_same_model():
    first, again, other = (small_seq2seq(seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)

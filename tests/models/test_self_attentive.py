"""The self-attentive sentence encoder: its formula, its penalty, and learning."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from course_lib.models.self_attentive import SelfAttentive, SelfAttentiveConfig, redundancy

TOKENS = torch.tensor([[5, 6, 7, 8, 3], [9, 4, 3, 0, 0], [3, 0, 0, 0, 0]])
LENGTHS = torch.tensor([5, 3, 1])
SIZES = {"vocab_size": 12, "embed": 5, "hidden": 4, "attn_dim": 6, "n_hops": 3, "n_classes": 2, "max_len": 9}


def small(seed: int = 0, **changes) -> SelfAttentive:
    torch.manual_seed(seed)
    return SelfAttentive(SelfAttentiveConfig(**(SIZES | changes))).double().eval()


# ---- the formula


def test_equals_the_formula_sentence_by_sentence():
    """A = softmax(W_s2 tanh(W_s1 Hᵀ)), M = A H, for each sentence without padding."""
    model = small()
    embedding, weights = model.encode(TOKENS, LENGTHS)
    assert embedding.shape == (3, 3, 8) and weights.shape == (3, 3, 5)
    first, _, second = model.score
    for row, length in enumerate(LENGTHS.tolist()):
        states, _ = model.lstm(model.words(TOKENS[row : row + 1, :length]))
        expected = (second.weight @ torch.tanh(first.weight @ states[0].T)).softmax(dim=-1)
        torch.testing.assert_close(weights[row, :, :length], expected)
        assert weights[row, :, length:].eq(0).all()
        torch.testing.assert_close(embedding[row], expected @ states[0])


def test_the_classifier_uses_all_hops():
    model = small()
    embedding, _ = model.encode(TOKENS, LENGTHS)
    logits = model(TOKENS, LENGTHS)
    torch.testing.assert_close(logits, model.classify(embedding))
    assert logits.shape == (3, 2)
    for hop in range(3):
        changed = embedding.clone()
        changed[:, hop] += 1.0
        assert not torch.allclose(model.classify(changed), logits)


# ---- the penalty


def test_penalty_equals_a_loop():
    weights = torch.rand(2, 3, 5, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)
    for row, penalty in enumerate(redundancy(weights).tolist()):
        expected = 0.0
        for i in range(3):
            for j in range(3):
                overlap = sum(float(a * b) for a, b in zip(weights[row, i], weights[row, j], strict=True))
                expected += (overlap - (i == j)) ** 2
        assert penalty == pytest.approx(expected)


# ---- learning


@pytest.mark.slow
def test_it_learns_to_detect_a_word():
    """Class 1 if a sentence contains word 7: all 32 correct after 60 steps, with the penalty in the loss."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(8, 12, (32, 6), generator=generator)
    labels = torch.arange(32) % 2
    positions = torch.randint(0, 6, (32,), generator=generator)
    rows = torch.arange(32)
    tokens[rows, positions] = torch.where(labels == 1, 7, tokens[rows, positions])
    lengths = torch.full((32,), 6)
    model = small(hidden=8).float().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        embedding, weights = model.encode(tokens, lengths)
        loss = F.cross_entropy(model.classify(embedding), labels) + 0.1 * redundancy(weights).mean()
        loss.backward()
        optimizer.step()
    assert model(tokens, lengths).argmax(dim=-1).equal(labels)

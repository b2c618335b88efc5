"""The tables at both ends of a system: tied they are one, untied they are three."""

from __future__ import annotations

import math

import pytest
import torch

from course_lib.models.words import Words

TOKENS = torch.tensor([[5, 3, 0], [4, 4, 3]])


@pytest.mark.parametrize(
    ("tied", "reads_source", "tables"),
    [(True, True, 1), (True, False, 1), (False, True, 3), (False, False, 2)],
)
def test_how_many_tables_there_are(tied, reads_source, tables):
    words = Words(vocab_size=11, embed=6, tied=tied, reads_source=reads_source)
    assert sum(p.numel() for p in words.parameters()) == tables * 11 * 6 + 11


def test_tied_one_table_reads_and_scores():
    words = Words(vocab_size=11, embed=6, tied=True)
    table = words.output.weight
    assert torch.equal(words.source(TOKENS), words.target(TOKENS))
    torch.testing.assert_close(words.source(TOKENS), table[TOKENS] * math.sqrt(6))
    torch.testing.assert_close(words.logits(torch.eye(6)), table.T + words.output.bias)


def test_untied_each_has_its_own():
    words = Words(vocab_size=11, embed=6, tied=False)
    source, target = words.source(TOKENS), words.target(TOKENS)
    assert not torch.equal(source, target)
    (words.logits(target).sum() + source.sum()).backward()
    assert all(p.grad is not None for p in words.parameters())


def test_a_word_as_input_has_size_one_and_as_scorer_is_small():
    torch.manual_seed(0)
    words = Words(vocab_size=400, embed=64, tied=True)
    assert words.target(torch.arange(400)).std().item() == pytest.approx(1, rel=0.02)
    assert words.logits(torch.randn(500, 64)).std().item() == pytest.approx(1, rel=0.05)


def test_dropout_acts_in_training_only():
    torch.manual_seed(0)
    words = Words(vocab_size=11, embed=64, tied=True, dropout=0.5)
    assert words.target(TOKENS).eq(0).float().mean().item() == pytest.approx(0.5, abs=0.1)
    words.eval()
    assert words.target(TOKENS).ne(0).all()


def test_any_axes_in_front():
    words = Words(vocab_size=11, embed=6, tied=True)
    assert words.target(torch.tensor([4])).shape == (1, 6)
    assert words.logits(torch.zeros(6)).shape == (11,)
    assert words.logits(torch.zeros(2, 3, 6)).shape == (2, 3, 11)

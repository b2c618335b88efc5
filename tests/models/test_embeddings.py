"""The tables at both ends of a system: tied they are one, untied they are three."""

from __future__ import annotations

import math

import pytest
import torch

from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings

TOKENS = torch.tensor([[5, 3, 0], [4, 4, 3]])


def tables(*, embed: int = 6, reads_source: bool = True, **settings) -> Embeddings:
    torch.manual_seed(0)
    config = Config(**{"vocab_size": 11} | settings)
    return Embeddings(config, embed=embed, reads_source=reads_source)


@pytest.mark.parametrize(
    ("tied", "reads_source", "n_tables"),
    [(True, True, 1), (True, False, 1), (False, True, 3), (False, False, 2)],
)
def test_how_many_tables_there_are(tied, reads_source, n_tables):
    words = tables(tied=tied, reads_source=reads_source)
    assert sum(p.numel() for p in words.parameters()) == n_tables * 11 * 6 + 11


def test_tied_one_table_reads_and_scores():
    words = tables()
    table = words.output.weight
    assert torch.equal(words.source(TOKENS), words.target(TOKENS))
    torch.testing.assert_close(words.source(TOKENS), table[TOKENS] * math.sqrt(6))
    torch.testing.assert_close(words.logits(torch.eye(6)), table.T + words.output.bias)
    assert not torch.equal(tables(tied=False).source(TOKENS), tables(tied=False).target(TOKENS))


def test_a_word_as_input_has_size_one_and_as_scorer_is_small():
    words = tables(vocab_size=400, embed=64)
    assert words.target(torch.arange(400)).std().item() == pytest.approx(1, rel=0.02)
    assert words.logits(torch.randn(500, 64)).std().item() == pytest.approx(1, rel=0.05)


def test_dropout_is_the_configurations_unless_said_otherwise():
    words = tables(embed=64, dropout=0.5)
    assert words.target(TOKENS).eq(0).float().mean().item() == pytest.approx(0.5, abs=0.1)
    own = Embeddings(Config(vocab_size=11, dropout=0.5), embed=64, dropout=0.0)
    assert own.target(TOKENS).ne(0).all() and words.eval().target(TOKENS).ne(0).all()

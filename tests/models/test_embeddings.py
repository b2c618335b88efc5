"""Embeddings and output layer: one shared matrix if tied, three otherwise."""

from __future__ import annotations

import math

import pytest
import torch

from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings

TOKENS = torch.tensor([[5, 3, 0], [4, 4, 3]])


def make_embeddings(*, embed: int = 6, reads_source: bool = True, **settings) -> Embeddings:
    torch.manual_seed(0)
    config = Config(**{"vocab_size": 11} | settings)
    return Embeddings(config, embed=embed, reads_source=reads_source)


@pytest.mark.parametrize(
    ("tied", "reads_source", "n_matrices"),
    [(True, True, 1), (True, False, 1), (False, True, 3), (False, False, 2)],
)
def test_the_number_of_matrices(tied, reads_source, n_matrices):
    words = make_embeddings(tied=tied, reads_source=reads_source)
    assert sum(p.numel() for p in words.parameters()) == n_matrices * 11 * 6 + 11


def test_tied_embeddings_and_output_layer_share_one_matrix():
    words = make_embeddings()
    table = words.output.weight
    assert torch.equal(words.source(TOKENS), words.target(TOKENS))
    torch.testing.assert_close(words.source(TOKENS), table[TOKENS] * math.sqrt(6))
    torch.testing.assert_close(words.logits(torch.eye(6)), table.T + words.output.bias)
    assert not torch.equal(
        make_embeddings(tied=False).source(TOKENS), make_embeddings(tied=False).target(TOKENS)
    )


@pytest.mark.parametrize("tied", [True, False])
def test_initial_embeddings_and_logits_have_a_standard_deviation_of_one(tied):
    words = make_embeddings(vocab_size=400, embed=64, tied=tied)
    for embed in (words.source, words.target):
        assert embed(torch.arange(400)).std().item() == pytest.approx(1, rel=0.02)
    assert words.logits(torch.randn(500, 64)).std().item() == pytest.approx(1, rel=0.05)
    assert words.output.bias.eq(0).all()


def test_dropout_defaults_to_the_configurations():
    words = make_embeddings(embed=64, dropout=0.5)
    assert words.target(TOKENS).eq(0).float().mean().item() == pytest.approx(0.5, abs=0.1)
    without_dropout = Embeddings(Config(vocab_size=11, dropout=0.5), embed=64, dropout=0.0)
    assert without_dropout.target(TOKENS).ne(0).all() and words.eval().target(TOKENS).ne(0).all()

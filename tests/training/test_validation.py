"""The validation loss is a mean over tokens, however they are batched, and leaves the model as it was."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from course_lib.text.batch import make_batch
from course_lib.text.encoded import encode_ids
from course_lib.training.objective import objective_for
from course_lib.training.processes import Processes
from course_lib.training.validation import mean_loss

SOURCES = [[5, 6], [7], [8, 9, 10, 11], [4]]
TARGETS = [[4], [5, 6, 7, 8], [9], [10, 11]]


@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_it_is_the_mean_over_all_tokens(make, name):
    model = make(name).eval()
    losses = []
    for src, tgt in zip(SOURCES, TARGETS, strict=True):  # one by one, without any padding
        batch = make_batch([src], [tgt])
        inputs = (batch.tgt_in,) if name == "gru_lm" else (batch.src, batch.src_lengths, batch.tgt_in)
        losses += F.cross_entropy(model(*inputs)[0], batch.tgt_out[0], reduction="none").tolist()
    corpus = encode_ids(SOURCES, TARGETS)
    for tokens_per_batch in (1, 6, 10, 1000):  # also one that no sentence fits into
        loss = mean_loss(model, corpus, objective_for(model, 0.0), tokens_per_batch=tokens_per_batch)
        assert loss == pytest.approx(sum(losses) / len(losses), rel=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_the_model_stays_in_the_mode_it_was_in(make, training):
    model = make(dropout=0.5).train(training)
    corpus, objective = encode_ids(SOURCES, TARGETS), objective_for(model, 0.0)
    state = torch.get_rng_state()
    first = mean_loss(model, corpus, objective, tokens_per_batch=10)
    assert first == mean_loss(model, corpus, objective, tokens_per_batch=10)  # no dropout
    assert model.training is training
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("n", [2, 3])
def test_processes_share_the_sentences(make, n):
    """Each is read by one of them; a mean would be the same if all of them read all."""

    class Apart(Processes):
        def add_up(self, tensor):
            return tensor

    model, read = make(), []
    usual = objective_for(model, 0.0)

    def noting(model, batch):
        read.append((rank, batch.pairs.tolist()))
        return usual(model, batch)

    for rank in range(n):
        mean_loss(
            model, encode_ids(SOURCES, TARGETS), noting, tokens_per_batch=5, processes=Apart(n=n, rank=rank)
        )
    assert {rank for rank, _ in read} == set(range(n))
    assert sorted(pair for _, pairs in read for pair in pairs) == [*range(len(SOURCES))]


def test_also_after_an_error(make):
    def fails(model, batch):
        raise RuntimeError("no")

    model = make().train()
    with pytest.raises(RuntimeError):
        mean_loss(model, encode_ids(SOURCES, TARGETS), fails, tokens_per_batch=10)
    assert model.training

"""The validation loss is a mean over tokens, however they are batched; records know the best of them."""

from __future__ import annotations

import json
import math

import pytest
import torch
from torch.nn import functional as F

from course_lib.text.batch import make_batch
from course_lib.text.encoded import encode_ids
from course_lib.training.objective import objective_for
from course_lib.training.processes import Processes
from course_lib.training.validation import History, Record, mean_loss

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
def test_the_model_stays_in_the_mode_it_was_in_also_after_an_error(make, training):
    def fails(model, batch):
        raise RuntimeError("no")

    model = make(dropout=0.5).train(training)
    corpus, objective = encode_ids(SOURCES, TARGETS), objective_for(model, 0.0)
    state = torch.get_rng_state()
    first = mean_loss(model, corpus, objective, tokens_per_batch=10)
    assert first == mean_loss(model, corpus, objective, tokens_per_batch=10)  # no dropout
    with pytest.raises(RuntimeError):
        mean_loss(model, corpus, fails, tokens_per_batch=10)
    assert model.training is training
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("n", [2, 3])
def test_processes_share_the_sentences(make, n):
    """Each is read by one of them; a mean would be the same if all of them read all."""

    class Apart(Processes):
        def add_up(self, tensor):
            return tensor

    model, read, corpus = make(), [], encode_ids(SOURCES, TARGETS)
    usual = objective_for(model, 0.0)

    def noting(model, batch):
        read.append((rank, batch.pairs.tolist()))
        return usual(model, batch)

    for rank in range(n):
        mean_loss(model, corpus, noting, tokens_per_batch=5, processes=Apart(n=n, rank=rank))
    assert {rank for rank, _ in read} == set(range(n))
    assert sorted(pair for _, pairs in read for pair in pairs) == [*range(len(SOURCES))]


def record(step, loss):
    return Record(step=step, epoch=0, rate=1e-3, train_loss=2.0, loss=loss, seconds=1.5)


def test_the_best_is_the_lowest_of_equals_the_first_and_always_a_number():
    history, seen = History(), []
    assert history.best is None and history.validations_since_best == 0
    for step, loss in enumerate([math.nan, 3.0, 2.0, 2.5, 2.0, math.nan, 1.0]):
        history.add(record(step, loss))
        seen.append((history.best and history.best.step, history.validations_since_best))
    assert seen == [(None, 0), (1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (6, 0)]
    history = History([record(1, 1 / 3), record(2, 0.1 + 0.2)])
    assert History.from_json(json.loads(json.dumps(history.to_json()))).records == history.records

"""Epochs of batches: every pair once, at most so many tokens, an order that depends on the seed alone."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text.batch import Batch, make_batch
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.text.encoded import EncodedCorpus, encode_ids

TENSORS = ("src", "src_lengths", "tgt_in", "tgt_out", "tgt_lengths", "pairs")

properties = settings(derandomize=True, deadline=None, max_examples=60, database=None)
sentences = st.lists(st.integers(4, 50), max_size=11)
some_pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=40)
settings_of_epochs = st.tuples(
    st.sampled_from([12, 13, 30, 64]), st.sampled_from([None, (12,), (3, 5, 8, 12)])
)
free_and_fixed_shapes = pytest.mark.parametrize("lengths", [None, (8, 16, 32)])


def corpus_of(n_pairs: int, *, max_len: int = 30) -> EncodedCorpus:
    """Lengths as in a real corpus: mostly medium, few long, similar on both sides."""
    rng = random.Random(0)
    sources = [[4] * min(max(1, round(rng.gauss(14, 5))), max_len) for _ in range(n_pairs)]
    targets = [[5] * min(max(1, len(words) + rng.randint(-2, 2)), max_len) for words in sources]
    return encode_ids(sources, targets)


def same(batch: Batch, other: Batch) -> bool:
    return all(torch.equal(getattr(batch, name), getattr(other, name)) for name in TENSORS)


def order(epochs: Epochs, epoch: int) -> list[tuple[int, ...]]:
    return [planned.pairs for planned in epochs.plan(epoch)]


@pytest.mark.slow
@properties
@given(some_pairs, settings_of_epochs, st.integers(0, 5), st.integers(0, 3))
def test_every_pair_occurs_once_and_no_batch_exceeds_its_tokens(pairs, chosen, seed, epoch):
    (tokens_per_batch, lengths), (sources, targets) = chosen, zip(*pairs, strict=True)
    corpus = encode_ids(sources, targets)
    epochs = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=seed, lengths=lengths)
    batches = list(epochs.batches(epoch))
    assert len(batches) == epochs.n_batches
    assert sorted(pair for planned in order(epochs, epoch) for pair in planned) == list(range(len(pairs)))
    for batch, (shape, members) in zip(batches, epochs.plan(epoch), strict=True):
        (rows, src_len), tgt_len = batch.src.shape, batch.tgt_in.shape[1]
        assert rows * max(src_len, tgt_len) <= tokens_per_batch and shape == (rows, src_len, tgt_len)
        if lengths:
            assert src_len == tgt_len and src_len in lengths and rows == tokens_per_batch // src_len
        else:
            assert src_len == batch.src_lengths.max() and tgt_len == batch.tgt_lengths.max()
        words = [sources[pair] for pair in members], [targets[pair] for pair in members]
        expected = make_batch(*words, src_len=src_len, tgt_len=tgt_len)
        n_pairs, expected = len(members), replace(expected, pairs=torch.tensor(members))
        assert same(batch.map(lambda rows, n_pairs=n_pairs: rows[:n_pairs]), expected)
        assert batch.pairs[n_pairs:].eq(-1).all()
    with_blank_rows = [batch for batch in batches if (batch.pairs < 0).any()]
    assert len(with_blank_rows) <= (lengths is not None)


@free_and_fixed_shapes
def test_the_seed_and_the_epoch_decide_the_order(lengths):
    epochs, again, other = (
        Epochs(corpus_of(300), tokens_per_batch=128, seed=seed, lengths=lengths) for seed in (5, 5, 6)
    )
    assert order(epochs, 2) == order(again, 2)
    for different in (order(epochs, 3), order(other, 2)):
        assert sorted(different) != sorted(order(epochs, 2)), "other pairs share a batch"
        assert len(different) == epochs.n_batches
    lengths = [planned.shape.src_len for planned in epochs.plan(0)]
    assert lengths != sorted(lengths) and lengths != sorted(lengths, reverse=True), "not sorted by length"


def test_the_order_is_the_same_on_every_machine():
    """One epoch, recorded when this test was written."""
    corpus = encode_ids([[4] * (pair % 5) for pair in range(12)], [[4] * (pair % 3) for pair in range(12)])
    free = Epochs(corpus, tokens_per_batch=12, seed=5)
    fixed = Epochs(corpus, tokens_per_batch=12, seed=5, lengths=(3, 6))
    assert order(free, 2) == [(8, 3, 7), (1, 10, 0), (2, 11, 5, 6), (4, 9)]
    assert order(fixed, 2) == [(3, 9), (11, 5, 7, 2), (10, 6, 0, 1), (4, 8)]


@free_and_fixed_shapes
def test_training_resumes_from_any_step_with_identical_batches(lengths):
    corpus, chosen = corpus_of(60), {"tokens_per_batch": 160, "seed": 3, "lengths": lengths}
    epochs, positions, batches = Epochs(corpus, **chosen), [], []
    for _ in range(2 * epochs.n_batches + 1):
        positions.append(epochs.position)
        batches.append(next(epochs))
    assert positions[0] == (0, 0) and positions[epochs.n_batches] == (1, 0) and positions[-1] == (2, 0)
    for step, position in enumerate(positions):
        resumed = Epochs(corpus, **chosen)
        list(resumed.batches(4))  # reading another epoch does not move the position
        resumed.seek(*position)
        assert resumed.position == position
        assert all(map(same, islice(resumed, 3), batches[step:]))


@pytest.mark.parametrize(("lengths", "max_fraction"), [(None, 0.08), (FIXED_LENGTHS, 0.15)])
def test_only_a_small_fraction_is_padding(lengths, max_fraction):
    epochs = Epochs(corpus_of(5000, max_len=60), tokens_per_batch=2048, seed=0, lengths=lengths)
    n_positions = sum(rows * (src_len + tgt_len) for (rows, src_len, tgt_len), _ in epochs.plan(0))
    assert 0 < 1 - sum(map(sum, epochs.corpus.lengths)) / n_positions <= max_fraction


@pytest.mark.parametrize(("tokens_per_batch", "lengths"), [(9, None), (64, (4, 9))])
def test_over_long_pairs_are_refused_or_left_out(tokens_per_batch, lengths):
    corpus = encode_ids([[4] * 3, [4] * 20, [4] * 8], [[4] * 9, [4] * 2, [4] * 8])
    with pytest.raises(ValueError, match=r"at most 9 tokens.*2 of 3.*21"):
        Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0, lengths=lengths)
    epochs = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0, lengths=lengths, over_long="leave out")
    assert epochs.pairs == (2,) and epochs.n_left_out == 2 and order(epochs, 0) == [(2,)]
    with pytest.raises(ValueError, match=r"at most 2 tokens.*3 of 3"):
        Epochs(corpus, tokens_per_batch=2, seed=0, over_long="leave out")


def test_the_plan_of_an_epoch_is_cached_until_another_epoch_is_planned(monkeypatch):
    drawn, draw_plan = [], Epochs.draw_plan

    def recording(epochs, epoch):
        drawn.append(epoch)
        return draw_plan(epochs, epoch)

    monkeypatch.setattr(Epochs, "draw_plan", recording)
    epochs = Epochs(encode_ids([[5]] * 9, [[6]] * 9), tokens_per_batch=4, seed=7)
    first = epochs.plan(0)
    next(epochs)
    assert drawn == [0]
    assert epochs.plan(1) != first and epochs.plan(0) == first and drawn == [0, 1, 0]

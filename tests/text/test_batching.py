"""Epochs of batches: nothing lost, nothing doubled, the size kept, the order a matter of the seed alone."""

from __future__ import annotations

import random
from itertools import islice

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text import batching
from course_lib.text.batch import Batch, make_batch
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.text.encoded import EncodedCorpus, encode_ids

TENSORS = ("src", "src_lengths", "tgt_in", "tgt_out", "tgt_lengths", "pairs")

properties = settings(derandomize=True, deadline=None, max_examples=60, database=None)
sentences = st.lists(st.integers(4, 50), max_size=11)
some_pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=40)
wishes = st.tuples(st.sampled_from([12, 13, 30, 64]), st.sampled_from([None, (12,), (3, 5, 8, 12)]))
both_ways = pytest.mark.parametrize("lengths", [None, (8, 16, 32)])


def corpus_of(n_pairs: int, *, most: int = 30) -> EncodedCorpus:
    """Lengths as in a real corpus: most middling, few long, both sides alike."""
    draw = random.Random(0)
    sources = [[4] * min(max(1, round(draw.gauss(14, 5))), most) for _ in range(n_pairs)]
    targets = [[5] * min(max(1, len(words) + draw.randint(-2, 2)), most) for words in sources]
    return encode_ids(sources, targets)


def same(batch: Batch, other: Batch) -> bool:
    return all(torch.equal(getattr(batch, name), getattr(other, name)) for name in TENSORS)


def order(epochs: Epochs, epoch: int) -> list[tuple[int, ...]]:
    return [planned.pairs for planned in epochs.plan(epoch)]


@pytest.mark.slow
@properties
@given(some_pairs, wishes, st.integers(0, 5), st.integers(0, 3))
def test_no_pair_is_lost_or_doubled_and_the_size_is_kept(pairs, wish, seed, epoch):
    (tokens_per_batch, lengths), (sources, targets) = wish, zip(*pairs, strict=True)
    corpus = encode_ids(sources, targets)
    epochs = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=seed, lengths=lengths)
    batches = list(epochs.one(epoch))
    assert len(batches) == epochs.n_batches
    assert sorted(pair for planned in order(epochs, epoch) for pair in planned) == list(range(len(pairs)))
    for batch, (shape, chosen) in zip(batches, epochs.plan(epoch), strict=True):
        (rows, src_len), tgt_len = batch.src.shape, batch.tgt_in.shape[1]
        assert rows * max(src_len, tgt_len) <= tokens_per_batch and shape == (rows, src_len, tgt_len)
        if lengths:
            assert src_len == tgt_len and src_len in lengths and rows == tokens_per_batch // src_len
        else:
            assert src_len == batch.src_lengths.max() and tgt_len == batch.tgt_lengths.max()
        words = [sources[pair] for pair in chosen], [targets[pair] for pair in chosen]
        ordinary = make_batch(*words, pairs=chosen, src_len=src_len, tgt_len=tgt_len, n_rows=rows)
        assert same(batch, ordinary)
    spare = [batch for batch in batches if (batch.pairs < 0).any()]
    assert len(spare) <= (lengths is not None), "only one batch has rows to spare"


@both_ways
def test_the_seed_and_the_epoch_decide_the_order(lengths):
    epochs, again, other = (
        Epochs(corpus_of(300), tokens_per_batch=128, seed=seed, lengths=lengths) for seed in (5, 5, 6)
    )
    assert order(epochs, 2) == order(again, 2)
    for different in (order(epochs, 3), order(other, 2)):
        assert sorted(different) != sorted(order(epochs, 2)), "other pairs lie together"
        assert len(different) == epochs.n_batches
    sizes = [planned.shape.src_len for planned in epochs.plan(0)]
    assert sizes != sorted(sizes) and sizes != sorted(sizes, reverse=True), "long and short batches alternate"


def test_the_order_is_the_same_on_every_machine():
    """One epoch, written down when this test was made."""
    corpus = encode_ids([[4] * (pair % 5) for pair in range(12)], [[4] * (pair % 3) for pair in range(12)])
    free = Epochs(corpus, tokens_per_batch=12, seed=5)
    fixed = Epochs(corpus, tokens_per_batch=12, seed=5, lengths=(3, 6))
    assert order(free, 2) == [(8, 3, 7), (1, 10, 0), (2, 11, 5, 6), (4, 9)]
    assert order(fixed, 2) == [(3, 9), (11, 5, 7, 2), (10, 6, 0, 1), (4, 8)]


@both_ways
def test_it_goes_on_from_any_step_bit_for_bit(lengths):
    corpus, wish = corpus_of(60), {"tokens_per_batch": 160, "seed": 3, "lengths": lengths}
    epochs, positions, batches = Epochs(corpus, **wish), [], []
    for _ in range(2 * epochs.n_batches + 1):
        positions.append(epochs.position)
        batches.append(next(epochs))
    assert positions[0] == (0, 0) and positions[epochs.n_batches] == (1, 0) and positions[-1] == (2, 0)
    for place, position in enumerate(positions):
        resumed = Epochs(corpus, **wish)
        list(resumed.one(4))  # looking at an epoch does not move the position
        resumed.seek(*position)
        assert resumed.position == position
        assert all(map(same, islice(resumed, 3), batches[place:]))


@pytest.mark.parametrize(("lengths", "most"), [(None, 0.08), (FIXED_LENGTHS, 0.15)])
def test_little_is_padding(lengths, most):
    epochs = Epochs(corpus_of(5000, most=60), tokens_per_batch=2048, seed=0, lengths=lengths)
    places = sum(rows * (src_len + tgt_len) for (rows, src_len, tgt_len), _ in epochs.plan(0))
    assert 0 < 1 - sum(map(sum, epochs.corpus.lengths)) / places <= most


@pytest.mark.parametrize(("tokens_per_batch", "lengths"), [(9, None), (64, (4, 9))])
def test_over_long_pairs_are_refused_or_left_out(tokens_per_batch, lengths):
    corpus = encode_ids([[4] * 3, [4] * 20, [4] * 8], [[4] * 9, [4] * 2, [4] * 8])
    with pytest.raises(ValueError, match=r"at most 9 tokens a side.*2 of 3 are longer.*longest has 21"):
        Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0, lengths=lengths)
    epochs = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0, lengths=lengths, over_long="leave out")
    assert epochs.kept == (2,) and order(epochs, 0) == [(2,)]
    with pytest.raises(ValueError, match=r"at most 2 tokens.*3 of 3 are longer"):
        Epochs(corpus, tokens_per_batch=2, seed=0, over_long="leave out")


def test_a_plan_is_made_once_and_another_epoch_has_its_own(monkeypatch):
    made, real = [], batching.plan_epoch
    monkeypatch.setattr(batching, "plan_epoch", lambda *words: made.append(words[-1]) or real(*words))
    epochs = Epochs(encode_ids([[5]] * 9, [[6]] * 9), tokens_per_batch=4, seed=7)
    first = epochs.plan(0)
    next(epochs)
    assert made == ["7 0"]
    assert epochs.plan(1) != first and epochs.plan(0) == first and made == ["7 0", "7 1", "7 0"]

"""Epochs of batches: nothing lost, nothing doubled, the size kept, the order a matter of the seed alone."""

from __future__ import annotations

import doctest
import os
import random
from itertools import islice
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.runtime import PROJECT_ROOT
from course_lib.text import batching
from course_lib.text.batch import Batch, make_batch
from course_lib.text.batching import FIXED_LENGTHS, Epochs, Position
from course_lib.text.encoded import EncodedCorpus, encode_ids

MULTI30K = Path(os.environ.get("COURSE_MULTI30K") or PROJECT_ROOT.parent / "shared" / "data" / "multi30k")
TENSORS = ("src", "src_lengths", "tgt_in", "tgt_out", "tgt_lengths", "pairs")

properties = settings(derandomize=True, deadline=None, max_examples=60, database=None)
sentences = st.lists(st.integers(4, 50), max_size=11)
some_pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=40)
wishes = st.tuples(st.sampled_from([12, 13, 30, 64]), st.sampled_from([None, (12,), (3, 5, 8, 12)]))


def corpus_of(n_pairs: int, *, seed: int = 0, most: int = 30) -> tuple[EncodedCorpus, list, list]:
    """Lengths as in a real corpus: most middling, few long, both sides alike."""
    draw = random.Random(seed)
    sources, targets = [], []
    for _ in range(n_pairs):
        length = min(max(1, round(draw.gauss(14, 5))), most)
        other = min(max(1, length + draw.randint(-2, 2)), most)
        sources.append([draw.randint(4, 99) for _ in range(length)])
        targets.append([draw.randint(4, 99) for _ in range(other)])
    return encode_ids(sources, targets), sources, targets


def same(batch: Batch, other: Batch) -> bool:
    return all(torch.equal(getattr(batch, name), getattr(other, name)) for name in TENSORS)


def order(epochs: Epochs, epoch: int) -> list[tuple[int, ...]]:
    return [planned.pairs for planned in epochs.plan(epoch)]


def test_examples_in_docstrings():
    outcome = doctest.testmod(batching, extraglobs={"torch": torch})
    assert outcome.attempted > 0 and outcome.failed == 0


# ---- what an epoch promises


@pytest.mark.slow
@properties
@given(some_pairs, wishes, st.integers(0, 5), st.integers(0, 3))
def test_no_pair_is_lost_or_doubled_and_the_budget_is_kept(pairs, wish, seed, epoch):
    tokens_per_batch, lengths = wish
    sources, targets = [src for src, _ in pairs], [tgt for _, tgt in pairs]
    epochs = Epochs(
        encode_ids(sources, targets), tokens_per_batch=tokens_per_batch, seed=seed, lengths=lengths
    )
    batches = list(epochs.one(epoch))
    met = [pair for batch in batches for pair in batch.pairs.tolist() if pair >= 0]
    assert sorted(met) == list(range(len(pairs)))
    assert len(batches) == epochs.n_batches == epochs.report(epoch).n_batches
    for batch, planned in zip(batches, epochs.plan(epoch), strict=True):
        rows, src_len = batch.src.shape
        tgt_len = batch.tgt_in.shape[1]
        assert rows * max(src_len, tgt_len) <= tokens_per_batch and planned.shape == (rows, src_len, tgt_len)
        if lengths:
            assert src_len == tgt_len and src_len in lengths and rows == tokens_per_batch // src_len
        else:
            assert batch.pairs.ge(0).all()
            assert src_len == batch.src_lengths.max() and tgt_len == batch.tgt_lengths.max()
        chosen = [pair for pair in batch.pairs.tolist() if pair >= 0]
        chosen_words = [sources[pair] for pair in chosen], [targets[pair] for pair in chosen]
        shape = {"src_len": src_len, "tgt_len": tgt_len, "n_rows": rows}
        assert same(batch, make_batch(*chosen_words, pairs=chosen, **shape))
    n_blank = sum(int((batch.pairs < 0).sum()) for batch in batches)
    assert sum(bool((batch.pairs < 0).any()) for batch in batches) <= 1, "only one batch has rows to spare"
    places = sum(batch.src.numel() + batch.tgt_in.numel() for batch in batches)
    full = sum(int((batch.src != 0).sum() + (batch.tgt_out != 0).sum()) for batch in batches) - n_blank
    report = epochs.report(epoch)
    assert (report.n_places, report.n_padding) == (places, places - full)  # a blank row's EOS is padding too
    assert report.shapes == {planned.shape for planned in epochs.plan(epoch)}


@pytest.mark.parametrize("lengths", [None, (8, 16, 32)])
def test_the_seed_and_the_epoch_decide_the_order(lengths):
    corpus, *_ = corpus_of(300)
    epochs = Epochs(corpus, tokens_per_batch=128, seed=5, lengths=lengths)
    again = Epochs(corpus, tokens_per_batch=128, seed=5, lengths=lengths)
    other = Epochs(corpus, tokens_per_batch=128, seed=6, lengths=lengths)
    assert order(epochs, 2) == order(again, 2)
    for different in (order(epochs, 3), order(other, 2)):
        assert sorted(different) != sorted(order(epochs, 2)), "other pairs lie together"
        assert len(different) == epochs.n_batches
    sizes = [planned.shape.src_len for planned in epochs.plan(0)]
    assert sizes != sorted(sizes) and sizes != sorted(sizes, reverse=True), "long and short batches alternate"


def test_the_order_is_the_same_on_every_machine():
    """One epoch, written down when this test was made."""
    corpus = encode_ids([[4] * (pair % 5) for pair in range(12)], [[4] * (pair % 3) for pair in range(12)])
    fixed = Epochs(corpus, tokens_per_batch=12, seed=5, lengths=(3, 6))
    assert order(Epochs(corpus, tokens_per_batch=12, seed=5), 2) == [
        (8, 3, 7),
        (1, 10, 0),
        (2, 11, 5, 6),
        (4, 9),
    ]
    assert order(fixed, 2) == [(3, 9), (11, 5, 7, 2), (10, 6, 0, 1), (4, 8)]


@pytest.mark.parametrize("lengths", [None, (8, 16, 32)])
def test_it_goes_on_from_any_step_bit_for_bit(lengths):
    corpus, *_ = corpus_of(60)
    wish = {"tokens_per_batch": 160, "seed": 3, "lengths": lengths}
    epochs = Epochs(corpus, **wish)
    positions, batches = [], []
    for _ in range(2 * epochs.n_batches + 1):
        positions.append(epochs.position)
        batches.append(next(epochs))
    assert positions[0] == (0, 0) and positions[epochs.n_batches] == (1, 0) and positions[-1] == (2, 0)
    for place, position in enumerate(positions):
        resumed = Epochs(corpus, **wish, start=tuple(position))
        assert resumed.position == Position(*position)
        assert all(map(same, islice(resumed, 3), batches[place:]))
    epochs.seek(1, 2)
    assert same(next(epochs), batches[epochs.n_batches + 2])


def test_looking_at_an_epoch_does_not_move_the_position():
    epochs = Epochs(corpus_of(60)[0], tokens_per_batch=160, seed=3)
    expected = [batch.pairs for batch in epochs.one(0)]
    next(epochs)
    ahead = list(epochs.one(4))
    epochs.report(7)
    assert epochs.position == (0, 1) and torch.equal(next(epochs).pairs, expected[1])
    assert len(ahead) == epochs.n_batches


# ---- padding


@pytest.mark.parametrize(("lengths", "most"), [(None, 0.08), (FIXED_LENGTHS, 0.15)])
def test_little_is_padding(lengths, most):
    corpus, *_ = corpus_of(5000, most=60)
    report = Epochs(corpus, tokens_per_batch=2048, seed=0, lengths=lengths).report()
    assert 0 < report.waste <= most
    assert f"5,000 pairs in {report.n_batches:,} batches, 0 left out" in str(report)
    assert lengths is None or len(report.shapes) <= len(FIXED_LENGTHS)


# ---- pairs that are too long


@pytest.mark.parametrize(("tokens_per_batch", "lengths"), [(9, None), (64, (4, 9))])
def test_over_long_pairs_are_refused_or_left_out_and_counted(tokens_per_batch, lengths):
    corpus = encode_ids([[4] * 3, [4] * 20, [4] * 8], [[4] * 9, [4] * 2, [4] * 8])
    with pytest.raises(ValueError, match=r"at most 9 tokens a side.*2 of 3 are longer.*longest has 21"):
        Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0, lengths=lengths)
    epochs = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0, lengths=lengths, over_long="leave out")
    assert epochs.kept == (2,) and (epochs.report().n_pairs, epochs.report().n_left_out) == (1, 2)
    assert "1 pairs in 1 batches, 2 left out" in str(epochs.report())
    assert [pair for batch in epochs.one(0) for pair in batch.pairs.tolist() if pair >= 0] == [2]
    with pytest.raises(ValueError, match=r"at most 2 tokens.*3 of 3 are longer"):
        Epochs(corpus, tokens_per_batch=2, seed=0, over_long="leave out")


# ---- wrong input


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"tokens_per_batch": 0}, "tokens_per_batch to be a whole number of 1 or more, got 0"),
        ({"tokens_per_batch": 2.5}, "tokens_per_batch to be a whole number"),
        ({"lengths": ()}, "lengths that go up"),
        ({"lengths": (8, 4)}, r"lengths that go up, such as .* but got \(8, 4\)"),
        ({"lengths": (4, 4)}, "lengths that go up"),
        ({"lengths": (-4, 4)}, "lengths that go up"),
        ({"lengths": (4, 99)}, "tokens_per_batch of at least 99, one row of the longest shape, but got 64"),
        ({"over_long": "drop"}, '"refuse" or "leave out", but got \'drop\''),
        ({"start": (-1, 0)}, "epoch of 0 or more and a step from 0 to 0, but got -1 and 0"),
        ({"start": (0, 5)}, "step from 0 to 0, but got 0 and 5.*another corpus"),
    ],
)
def test_wrong_wishes_are_refused(wish, message):
    corpus = encode_ids([[4]], [[5]])
    with pytest.raises(ValueError, match=message):
        Epochs(corpus, **{"tokens_per_batch": 64, "seed": 0, **wish})


def test_a_plan_is_made_once_and_another_epoch_has_its_own(monkeypatch):
    made = []
    real = batching.plan_epoch
    monkeypatch.setattr(batching, "plan_epoch", lambda *words: made.append(words[-1]) or real(*words))
    epochs = Epochs(encode_ids([[5]] * 9, [[6]] * 9), tokens_per_batch=4, seed=7)
    first = epochs.plan(0)
    next(epochs)
    assert made == ["7 0"]
    assert epochs.plan(1) != first and epochs.plan(0) == first and made == ["7 0", "7 1", "7 0"]

"""Batches (shifted targets, masks, blank rows) and the corpus as one tensor."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text.batch import Batch, make_batch
from course_lib.text.encoded import encode_corpus, encode_ids
from course_lib.text.special import BOS, EOS, PAD, UNK
from course_lib.text.word_tokenizer import WordTokenizer

SOURCES = [[7, 8, 9], [10], [], [UNK, 5]]
TARGETS = [[11], [12, 13, 14, 15], [6], []]

properties = settings(derandomize=True, deadline=None, max_examples=50, database=None)
sentences = st.lists(st.integers(4, 50), max_size=7)
corpora = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=9).map(
    lambda pairs: ([src for src, _ in pairs], [tgt for _, tgt in pairs])
)


def tensors(batch: Batch) -> dict[str, torch.Tensor]:
    return {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}


def assert_same(batch: Batch, other: Batch) -> None:
    for name, tensor in tensors(batch).items():
        expected = getattr(other, name)
        assert tensor.dtype == expected.dtype == torch.int64 and torch.equal(tensor, expected), name


# ---- batches


def test_overwriting_a_batch_keeps_its_memory():
    batch, other = make_batch(SOURCES, TARGETS), make_batch(SOURCES[::-1], TARGETS[::-1])
    addresses = [tensor.data_ptr() for tensor in tensors(batch).values()]
    batch.overwrite(other)
    assert_same(batch, other)
    assert addresses == [tensor.data_ptr() for tensor in tensors(batch).values()]


@properties
@given(corpora, st.integers(0, 3), st.integers(0, 3), st.integers(0, 2))
def test_every_batch_has_its_shape_shifted_targets_and_uncounted_blank_rows(
    corpus, src_extra, tgt_extra, n_blank
):
    sources, targets = corpus
    src_len, tgt_len = (max(map(len, side)) + 1 for side in corpus)
    shape = {"src_len": src_len + src_extra, "tgt_len": tgt_len + tgt_extra}
    n_rows, batch = len(sources) + n_blank, make_batch(sources, targets, **shape)
    if n_blank:
        batch = encode_ids(sources, targets).batch(torch.tensor([*batch.pairs, *[-1] * n_blank]), **shape)
    assert batch.src.shape == (n_rows, shape["src_len"])
    assert batch.tgt_in.shape == batch.tgt_out.shape == (n_rows, shape["tgt_len"])
    # exactly the positions beyond the lengths are padding
    for ids, lengths in ((batch.src, batch.src_lengths), (batch.tgt_in, batch.tgt_lengths)):
        assert torch.equal(ids != PAD, torch.arange(ids.shape[1]) < lengths[:, None])
    # shifted by one
    for row, words in enumerate(targets):
        inputs, outputs = batch.tgt_in[row].tolist(), batch.tgt_out[row].tolist()
        assert inputs[0] == BOS and inputs[1 : len(words) + 1] == outputs[: len(words)] == words
        assert outputs[len(words)] == EOS
    # blank rows don't count
    assert int(batch.n_tokens) == sum(len(words) + 1 for words in targets) == int(batch.loss_mask.sum())
    assert batch.pairs.tolist() == [*range(len(sources)), *[-1] * n_blank]
    blank = batch.pairs == -1
    assert not batch.loss_mask[blank].any() and batch.tgt_out[blank].eq(PAD).all()
    assert batch.src_lengths.ge(1).all() and batch.tgt_lengths.ge(1).all()


def test_all_tensors_of_batches_and_corpora_move_to_a_device():
    batch, corpus = make_batch(SOURCES, TARGETS), encode_ids(SOURCES, TARGETS).to("meta")
    assert {tensor.device.type for tensor in tensors(batch.to("meta")).values()} == {"meta"}
    assert_same(batch.map(lambda rows: rows[:2]), make_batch(SOURCES[:2], TARGETS[:2], tgt_len=5))
    corpus_tensors = (corpus.ids, corpus.src_start, corpus.src_len, corpus.tgt_start, corpus.tgt_len)
    assert {tensor.device.type for tensor in corpus_tensors} == {corpus.device.type} == {"meta"}


# ---- the corpus as one tensor


NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_GPU)])
@properties
@given(corpora, st.data())
def test_batches_from_the_corpus_tensor_equal_those_of_make_batch(device, corpus, data):
    sources, targets = corpus
    chosen = data.draw(st.lists(st.integers(0, len(sources) - 1), min_size=1, max_size=9))
    src_extra, tgt_extra = (data.draw(st.integers(0, 3)) for _ in range(2))
    shape = {
        "src_len": max(map(len, sources)) + 1 + src_extra,
        "tgt_len": max(map(len, targets)) + 1 + tgt_extra,
    }
    expected = make_batch([sources[pair] for pair in chosen], [targets[pair] for pair in chosen], **shape)
    pairs = torch.tensor(chosen, device=device)
    batch = encode_ids(sources, targets).to(device).batch(pairs, **shape)
    assert {tensor.device.type for tensor in tensors(batch).values()} == {device}
    assert_same(batch.to("cpu"), dataclasses.replace(expected, pairs=torch.tensor(chosen)))


def test_a_corpus_is_tokenised_and_unknown_words_become_unk():
    corpus = encode_corpus(["a b", "b"], ["le chat", "chat !"], WordTokenizer(["chat", "le"]))
    assert len(corpus) == 2 and corpus.lengths == ((3, 3), (2, 3))
    assert encode_ids([[5]], [[6, 7]]).longest == encode_ids([[6, 7]], [[5]]).longest == 3
    batch = corpus.batch(torch.tensor([0, 1]), src_len=3, tgt_len=3)
    assert batch.tgt_out.tolist() == [[5, 4, 3], [4, UNK, 3]]

"""What a system says of sentences it cannot read: what was expected, what came, what to do."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.checks import check_sentences, check_target, check_tokens

SIZES = {"vocab_size": 10, "max_len": 4}
SRC, LENGTHS = torch.tensor([[5, 6, 3], [7, 3, 0]]), torch.tensor([3, 2])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_sound_sentences_pass(dtype):
    check_sentences(SRC.to(dtype), LENGTHS, **SIZES)
    check_target(SRC.to(dtype), **SIZES)
    check_tokens(SRC[:, 0].to(dtype), vocab_size=10)


@pytest.mark.parametrize("wrong", [-1, 10, 99])
def test_an_id_outside_the_vocabulary(wrong):
    message = rf"ids from 0 to 9, but got {wrong}\. Was the text tokenised with another vocabulary"
    ids = torch.tensor([[5, wrong]])
    with pytest.raises(ValueError, match=message):
        check_sentences(ids, torch.tensor([2]), **SIZES)
    with pytest.raises(ValueError, match=message):
        check_target(ids, **SIZES)
    with pytest.raises(ValueError, match=message):
        check_tokens(ids[0], vocab_size=10)


@pytest.mark.parametrize(
    "ids", [SRC.float(), SRC.bool(), SRC[0], SRC[None]], ids=["float", "bool", "one axis", "three axes"]
)
def test_ids_are_whole_numbers_with_two_axes(ids):
    message = (
        r"sentences to be whole numbers of shape \(batch, len\), but got torch\.\w+ \([\d, ]+\).*make_batch"
    )
    with pytest.raises(ValueError, match=message):
        check_sentences(ids, LENGTHS, **SIZES)
    with pytest.raises(ValueError, match=r"tgt_in to be whole numbers of shape \(batch, tgt\)"):
        check_target(ids, **SIZES)


def test_a_step_takes_one_word_a_sentence():
    with pytest.raises(ValueError, match=r"tokens to be whole numbers of shape \(batch,\).*\(2, 3\)"):
        check_tokens(SRC, vocab_size=10)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_an_empty_batch(shape):
    ids = torch.zeros(shape, dtype=torch.int64)
    message = rf"at least one sentence of at least one token, but got \({shape[0]}, {shape[1]}\).*Leave empty"
    with pytest.raises(ValueError, match=message):
        check_sentences(ids, torch.ones(shape[0], dtype=torch.int64), **SIZES)
    with pytest.raises(ValueError, match=message):
        check_target(ids, **SIZES)


@pytest.mark.parametrize("lengths", [LENGTHS[:1], LENGTHS[:, None], LENGTHS.float(), LENGTHS.int()], ids=str)
def test_one_whole_number_a_sentence(lengths):
    with pytest.raises(ValueError, match=r"whole number \(int64\) a sentence as lengths.*\(2,\), but got"):
        check_sentences(SRC, lengths, **SIZES)


@pytest.mark.parametrize("wrong", [0, -1, 4])
def test_a_length_outside_the_batch(wrong):
    with pytest.raises(ValueError, match=rf"lengths from 1 to 3.*but got {wrong}\. A source counts its EOS"):
        check_sentences(SRC, torch.tensor([3, wrong]), **SIZES)


def test_too_long():
    long = torch.full((1, 5), 7)
    message = r"{} of at most 4 tokens.*\(max_len\), but got 5\. Cut the sentence, or build"
    with pytest.raises(ValueError, match=message.format("sentences")):
        check_sentences(long, torch.tensor([5]), **SIZES)
    with pytest.raises(ValueError, match=message.format("tgt_in")):
        check_target(long, **SIZES)


def test_numbers_are_not_read_off_the_cpu():
    """On a GPU that would make every step wait; the meta device, which has no numbers, stands in for it."""
    meta = torch.empty(2, 3, dtype=torch.int64, device="meta")
    check_sentences(meta, meta[:, 0], **SIZES)
    check_target(meta, **SIZES)
    check_tokens(meta[:, 0], vocab_size=10)
    with pytest.raises(ValueError, match="at most 2 tokens"):
        check_target(meta, vocab_size=10, max_len=2)

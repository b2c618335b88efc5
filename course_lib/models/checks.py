"""What systems insist on about the sentences they are given, and what they say when it is not so.

    >>> check_sentences(torch.tensor([[5, 3]]), torch.tensor([3]), vocab_size=10, max_len=8)
    Traceback (most recent call last):
    ValueError: Expected lengths from 1 to 2, the width of the batch, but got 3. ...

Shapes are always checked. Numbers are read only on the CPU: on a GPU, reading one would make the whole
machine wait for it. A model that is being compiled has no numbers yet.
"""

from __future__ import annotations

import torch
from torch import Tensor


def check_sentences(sentences: Tensor, lengths: Tensor, *, vocab_size: int, max_len: int) -> None:
    """A batch of sentences: ids (batch, len), each with its length, none of them empty or too long."""
    _check_ids("sentences", sentences, axes="(batch, len)", n_axes=2, vocab_size=vocab_size)
    _check_width("sentences", sentences, max_len)
    if lengths.shape != sentences.shape[:1] or lengths.dtype != torch.int64:
        raise ValueError(
            f"Expected one whole number (int64) a sentence as lengths, so a shape of ({len(sentences)},), "
            f"but got {tuple(lengths.shape)} of {lengths.dtype}."
        )
    if _can_be_read(lengths):
        for wrong in lengths[(lengths < 1) | (lengths > sentences.shape[1])].tolist()[:1]:
            raise ValueError(
                f"Expected lengths from 1 to {sentences.shape[1]}, the width of the batch, but got {wrong}. "
                "A source counts its EOS, so even an empty one has length 1."
            )


def check_target(tgt_in: Tensor, *, vocab_size: int, max_len: int) -> None:
    """What a decoder reads: ids (batch, tgt) that open with BOS."""
    _check_ids("tgt_in", tgt_in, axes="(batch, tgt)", n_axes=2, vocab_size=vocab_size)
    _check_width("tgt_in", tgt_in, max_len)


def check_tokens(tokens: Tensor, *, vocab_size: int) -> None:
    """One word for each sentence of the batch."""
    _check_ids("tokens", tokens, axes="(batch,)", n_axes=1, vocab_size=vocab_size)


def _check_ids(name: str, ids: Tensor, *, axes: str, n_axes: int, vocab_size: int) -> None:
    if ids.ndim != n_axes or ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"Expected {name} to be whole numbers of shape {axes}, but got {ids.dtype} {tuple(ids.shape)}. "
            "Make them with a tokenizer and `make_batch`."
        )
    if ids.numel() == 0:
        raise ValueError(
            f"Expected {name} with at least one sentence of at least one token, but got {tuple(ids.shape)}. "
            "Leave empty batches out."
        )
    if _can_be_read(ids):
        low, high = (int(bound) for bound in torch.aminmax(ids))
        if low < 0 or high >= vocab_size:
            wrong = low if low < 0 else high
            raise ValueError(
                f"Expected {name} to hold ids from 0 to {vocab_size - 1}, but got {wrong}. "
                "Was the text tokenised with another vocabulary than the system was built for?"
            )


def _check_width(name: str, ids: Tensor, max_len: int) -> None:
    if ids.shape[1] > max_len:
        raise ValueError(
            f"Expected {name} of at most {max_len} tokens, for which this system was built (max_len), "
            f"but got {ids.shape[1]}. Cut the sentence, or build the system with a larger max_len."
        )


def _can_be_read(numbers: Tensor) -> bool:
    return numbers.device.type == "cpu" and not torch.compiler.is_compiling()

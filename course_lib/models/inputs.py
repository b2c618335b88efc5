"""Checks of the sentences passed to a system.

    >>> config = Config(vocab_size=10, max_len=8)
    >>> check_sentences(torch.tensor([[5, 3]]), torch.tensor([3]), config)
    Traceback (most recent call last):
    ValueError: Expected lengths from 1 to 2, the width of the batch, but got 3. ...

Shapes are always checked. Values are checked only on the CPU: on a GPU, reading a value would synchronise the
device. While a model is being compiled there are no values yet.
"""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.layers.rows import Rows
from course_lib.models.config import Config


def check_sentences(sentences: Tensor, lengths: Tensor, config: Config) -> None:
    """Check a batch of sentences: ids (batch, len) and lengths, none of them empty or too long."""
    check_ids("sentences", sentences, ("batch", "len"), config)
    if lengths.shape != sentences.shape[:1] or lengths.dtype != torch.int64:
        raise ValueError(
            f"Expected lengths to be one int64 per sentence, so a shape of ({len(sentences)},), "
            f"but got {tuple(lengths.shape)} of {lengths.dtype}."
        )
    if can_inspect(lengths):
        for wrong in lengths[(lengths < 1) | (lengths > sentences.shape[1])].tolist()[:1]:
            raise ValueError(
                f"Expected lengths from 1 to {sentences.shape[1]}, the width of the batch, but got {wrong}. "
                "A length includes EOS, so even an empty source has length 1."
            )


def check_rows(tokens: Tensor, *groups: Rows) -> None:
    """Check that there are as many rows of tokens as sentences in the memory and the state."""
    for name, tensor in (item for rows in groups for item in rows.items()):
        if len(tensor) not in (1, len(tokens)):  # one row is broadcast
            raise ValueError(
                f"Expected tokens for {len(tensor)} sentences, as in the memory or state ({name!r}), but got "
                f"tokens for {len(tokens)}. Encode the same sentences again, or use the state of this memory."
            )


def can_inspect(tensor: Tensor) -> bool:
    """Whether values can be read cheaply: on the CPU, and not while a model is being compiled."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def check_ids(name: str, ids: Tensor, axes: tuple[str, ...], config: Config) -> None:
    """Check token ids: as many axes as named, not empty, not too long, all in the vocabulary."""
    if ids.ndim != len(axes) or ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"Expected {name} to be integers of shape ({', '.join(axes)}), but got {ids.dtype} "
            f"{tuple(ids.shape)}. Make them with a tokenizer and `make_batch`."
        )
    if ids.numel() == 0:
        raise ValueError(
            f"Expected {name} with at least one sentence of at least one token, but got {tuple(ids.shape)}. "
            "Leave out empty batches."
        )
    if ids.ndim == 2 and ids.shape[1] > config.max_len:
        raise ValueError(
            f"Expected {name} of at most {config.max_len} tokens, the limit this system was built for "
            f"(max_len), but got {ids.shape[1]}. Shorten the sentence, or build the system with a larger "
            "max_len."
        )
    if can_inspect(ids):
        low, high = (int(bound) for bound in torch.aminmax(ids))
        if low < 0 or high >= config.vocab_size:
            raise ValueError(
                f"Expected {name} to contain ids from 0 to {config.vocab_size - 1}, but got "
                f"{low if low < 0 else high}. Was the text tokenised with a vocabulary other than the one "
                "the system was built for?"
            )

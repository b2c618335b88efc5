"""Activation patching for attention weights: run a Transformer with the attention weights of another run."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as F

from course_lib.layers.multi_head import MultiHead, join_heads
from course_lib.models.transformer import Transformer
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import Batch
from course_lib.text.special import PAD


def attend_with(layer: MultiHead, weights: Float[Tensor, "batch heads queries keys"]) -> Callable:
    """A replacement for `layer.attend` that uses these attention weights instead of computing its own.

    Assign it to `layer.attend`; `del layer.attend` restores the layer's own method.
    """

    def attend(query: Tensor, keys: Tensor, values: Tensor, **options: object) -> tuple[Tensor, Tensor]:
        return F.linear(join_heads(weights @ values), layer.w_output), weights

    return attend


@torch.no_grad()
def count_right(model: Transformer, batch: Batch) -> int:
    """The number of sentences in which every next word is right, given the correct words before it."""
    memory = model.encode(batch.src, batch.src_lengths)
    predicted = model.decode(memory, batch.tgt_in)[0].argmax(dim=-1)
    right = (predicted == batch.tgt_out) | (batch.tgt_out == PAD)
    return int(right.all(dim=-1).sum())

"""Key and value heads of the trained translator, averaged in pairs: what becomes of its predictions.

>>> average_pairs(torch.tensor([[[1.0]], [[3.0]], [[10.0]], [[20.0]]]).movedim(0, 1))[0, :, 0].tolist()
[2.0, 2.0, 15.0, 15.0]
"""

from __future__ import annotations

from collections.abc import Collection
from unittest.mock import patch

import torch

from course_lib.layers import multi_head as library
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared

N_SENTENCES = 200


def average_pairs(heads: Float[Tensor, "batch heads len width"]) -> Float[Tensor, "batch heads len width"]:
    """Heads 0 and 1 both become their mean, and so do heads 2 and 3."""
    return heads.unflatten(1, (-1, 2)).mean(dim=2).repeat_interleave(2, dim=1)


@torch.no_grad()
def fraction_correct(averaged: Collection[str], *, scale: float = 1.0) -> float:
    """The fraction of test sentences in which the decoder predicts every word, given the words before it.

    `averaged` may contain "keys" and "values": these are averaged in pairs of heads in every attention layer
    of the decoder, and multiplied by `scale`.
    """
    model, encode = shared("transformer").model.eval(), shared("transformer").tokenizer.encode
    pairs = splits(seed=0, sizes={"test": N_SENTENCES}).test
    batch = make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])
    memory, attend_unchanged = model.encode(batch.src, batch.src_lengths), library.multi_head

    def attend_changed(query: Tensor, keys: Tensor, values: Tensor, **options: object) -> object:
        keys = scale * average_pairs(keys) if "keys" in averaged else keys
        values = scale * average_pairs(values) if "values" in averaged else values
        return attend_unchanged(query, keys, values, **options)

    with patch.multiple("course_lib.layers.multi_head", multi_head=attend_changed):
        predicted = model.decode(memory, batch.tgt_in)[0].argmax(dim=-1)
    correct = (predicted == batch.tgt_out) | (batch.tgt_out == PAD)
    return correct.all(dim=1).float().mean().item()

"""The standard deviation of the scores in a trained Transformer, by attention, layer and head.

>>> from course_lib.text.batch import make_batch
>>> from course_lib.translation.shipped import shared
>>> model, encode = shared("transformer").model, shared("transformer").tokenizer.encode
>>> batch = make_batch([encode("the cat sleeps")], [encode("le chat dort")])
>>> [len(heads) for heads in spreads(model, [batch])["encoder"]]        # a number for each of four heads
[4, 4, 4]
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from course_lib.models.transformer import ATTENTIONS, Transformer
from course_lib.shapes import Tensor
from course_lib.text.batch import Batch
from course_lib.text.special import PAD


@torch.no_grad()
def spreads(model: Transformer, batches: Iterable[Batch]) -> dict[str, list[list[float]]]:
    """For each use, by layer and head: the standard deviation of a query's scores over its keys, on average.

    Scores are recovered from the weights: the logarithms of a softmax differ from its inputs by one constant
    for each query, so their standard deviation is the same. Queries with fewer than three keys are left out.
    """
    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = dict.fromkeys(ATTENTIONS, 0)
    for batch in batches:
        for use, weights in model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in).items():
            query_ids = batch.src if use == "encoder" else batch.tgt_in
            real = (query_ids != PAD)[:, None, None, :, None] & (
                weights > 0
            )  # (…, layers, heads, queries, keys)
            n_keys = real.sum(dim=-1)
            logs = torch.where(real, weights.clamp(min=1e-30).log(), 0.0).double()
            mean = logs.sum(dim=-1) / n_keys.clamp(min=1)
            squares = torch.where(real, (logs - mean[..., None]).square(), 0.0).sum(dim=-1)
            deviations = (squares / n_keys.clamp(min=1)).sqrt()
            counted = n_keys >= 3
            sums[use] = sums.get(use, 0) + torch.where(counted, deviations, 0.0).sum(dim=(0, 3))
            counts[use] += int(counted[:, 0, 0].sum())
    return {use: (total / counts[use]).tolist() for use, total in sums.items()}

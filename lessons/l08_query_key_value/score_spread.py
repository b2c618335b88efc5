"""How far the scores of a trained Transformer spread, by attention, layer and head.

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

from course_lib.models.transformer import USES, Transformer
from course_lib.shapes import Tensor
from course_lib.text.batch import Batch
from course_lib.text.special import PAD


@torch.no_grad()
def spreads(model: Transformer, batches: Iterable[Batch]) -> dict[str, list[list[float]]]:
    """For each use, by layer and head: the standard deviation of a query's scores over its keys, on average.

    Scores are read off the weights: the softmax adds one number to all scores of a query, so the logarithms
    of its weights spread as the scores did. Queries with fewer than three keys are left out.
    """
    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = dict.fromkeys(USES, 0)
    for batch in batches:
        for use, weights in model.all_weights(batch.src, batch.src_lengths, batch.tgt_in).items():
            asked = batch.src if use == "encoder" else batch.tgt_in
            real = (asked != PAD)[:, None, None, :, None] & (weights > 0)  # (…, layers, heads, queries, keys)
            n = real.sum(dim=-1)
            logs = torch.where(real, weights.clamp(min=1e-30).log(), 0.0).double()
            mean = logs.sum(dim=-1) / n.clamp(min=1)
            squares = torch.where(real, (logs - mean[..., None]).square(), 0.0).sum(dim=-1) / n.clamp(min=1)
            counted = n >= 3
            spread = torch.where(counted, squares.sqrt(), 0.0).sum(dim=(0, 3))
            sums[use] = sums.get(use, 0) + spread
            counts[use] += int(counted[:, 0, 0].sum())
    return {use: (total / counts[use]).tolist() for use, total in sums.items()}

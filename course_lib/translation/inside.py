"""What can be read off a trained Transformer: how far scores spread, how alike words get.

>>> from course_lib.text.batch import make_batch
>>> from course_lib.translation.shipped import shared
>>> model, encode = shared("transformer").model, shared("transformer").tokenizer.encode
>>> batch = make_batch([encode("the cat sleeps")], [encode("le chat dort")])
>>> [round(alike, 1) for alike in likeness(model, [batch])]    # as they come in, then layer by layer
[0.2, 0.3, 0.3, 0.3]
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.nn import functional as F

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


@torch.no_grad()
def likeness(model: Transformer, batches: Iterable[Batch]) -> list[float]:
    """The mean cosine between two words of a sentence: as they enter the encoder, then after each layer."""
    states: list[Tensor] = []
    hooks = [
        model.encoder.blocks[0].register_forward_pre_hook(lambda block, given: states.append(given[0])),
        *(
            block.register_forward_hook(lambda block, given, out: states.append(out[0]))
            for block in model.encoder.blocks
        ),
    ]
    total, n_pairs = torch.zeros(len(hooks), dtype=torch.float64), 0
    try:
        for batch in batches:
            states.clear()
            model.encode(batch.src, batch.src_lengths)
            real = batch.src != PAD
            others = ~torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
            two = real[:, :, None] & real[:, None, :] & others
            n_pairs += int(two.sum())
            for place, state in enumerate(states):
                unit = F.normalize(state.float(), dim=-1)
                total[place] += (unit @ unit.mT)[two].sum().double().cpu()
    finally:
        for hook in hooks:
            hook.remove()
    return (total / n_pairs).tolist()

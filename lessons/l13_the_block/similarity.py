"""How similar the representations of the words of a sentence get from layer to layer.

>>> from course_lib.text.batch import make_batch
>>> from course_lib.translation.shipped import shared
>>> model, encode = shared("transformer").model, shared("transformer").tokenizer.encode
>>> batch = make_batch([encode("the cat sleeps")], [encode("le chat dort")])
>>> [round(cosine, 1) for cosine in likeness(model, [batch])]    # the embeddings, then each layer
[0.2, 0.3, 0.3, 0.3]
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.nn import functional as F

from course_lib.models.transformer import Transformer
from course_lib.shapes import Tensor
from course_lib.text.batch import Batch
from course_lib.text.special import PAD


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

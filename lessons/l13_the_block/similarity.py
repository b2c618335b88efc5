"""How similar the words of a sentence are to each other, and how that changes from block to block.

>>> word_similarity(torch.tensor([[3.0, 4.0], [6.0, 8.0], [4.0, -3.0]]))    # cosines 1, 0 and 0
tensor(0.3333)

>>> from course_lib.text.batch import make_batch
>>> from course_lib.translation.shipped import shared
>>> model, encode = shared("transformer").model, shared("transformer").tokenizer.encode
>>> batch = make_batch([encode("the cat sleeps")], [encode("le chat dort")])
>>> [round(cosine, 1) for cosine in similarity_by_layer(model, [batch])]    # the embeddings, then each layer
[0.2, 0.3, 0.3, 0.3]
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.nn import functional as F

from course_lib.models.transformer import Transformer
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import Batch
from course_lib.text.special import PAD


def word_similarity(x: Float[Tensor, "*batch words model"]) -> Float[Tensor, ""]:
    """The mean cosine of two different words of the same sentence."""
    unit = F.normalize(x, dim=-1)
    different = ~torch.eye(x.shape[-2], dtype=torch.bool, device=x.device)
    return (unit @ unit.mT)[..., different].mean()


@torch.no_grad()
def similarity_by_layer(model: Transformer, batches: Iterable[Batch]) -> list[float]:
    """The mean cosine of two words of a sentence, before the encoder's first layer and after each layer."""
    states: list[Tensor] = []
    hooks = [
        model.encoder.blocks[0].register_forward_pre_hook(lambda block, inputs: states.append(inputs[0])),
        *(
            block.register_forward_hook(lambda block, inputs, outputs: states.append(outputs[0]))
            for block in model.encoder.blocks
        ),
    ]
    total, n_pairs = torch.zeros(len(hooks), dtype=torch.float64), 0
    try:
        for batch in batches:
            states.clear()
            model.encode(batch.src, batch.src_lengths)
            is_word = batch.src != PAD
            different = ~torch.eye(is_word.shape[1], dtype=torch.bool, device=is_word.device)
            pairs = is_word[:, :, None] & is_word[:, None, :] & different
            n_pairs += int(pairs.sum())
            for layer, state in enumerate(states):
                unit = F.normalize(state.float(), dim=-1)
                total[layer] += (unit @ unit.mT)[pairs].sum().double().cpu()
    finally:
        for hook in hooks:
            hook.remove()
    return (total / n_pairs).tolist()

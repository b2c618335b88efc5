"""Interventions on the Transformer: isolated source words, swapped states, heads with uniform attention.

with equal_weights(transformer, "encoder", ["1.1"]):    # uniform attention in head encoder 1.1
    result = listen(transformer, text)                  # `pronoun.py`
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import torch

from course_lib.layers.masks import padding_mask
from course_lib.models.inference import eval_mode
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.translation.ablation import multi_heads, of_head, zeroed
from course_lib.translation.masking import mask_self_only, mask_without, masked_memory
from course_lib.translation.search import greedy
from course_lib.translation.shipped import Shipped
from lessons.l09_self_attention.pronoun import (
    HEADS,
    PronounTranslation,
    from_memory,
    translate_masked,
)


def listen_alone(shipped: Shipped, text: str) -> PronounTranslation:
    """The translation when every source word attends to itself alone."""
    n = len(text.split()) + 1
    return translate_masked(shipped, text, own=mask_self_only(n), cross=mask_without([], n))


def translate_alone(shipped: Shipped, texts: Sequence[str]) -> list[str]:
    """Translations when every source word attends to itself alone."""
    encode = shipped.tokenizer.encode
    batch = make_batch([encode(text) for text in texts], [[]] * len(texts))
    n = batch.src.shape[1]
    real = padding_mask(batch.src_lengths, n).unsqueeze(1)
    memory, _ = masked_memory(shipped.model, batch.src, mask_self_only(n), real)
    generated = greedy(shipped.model, memory, max_len=2 * n + 10).ids
    return [shipped.tokenizer.decode(ids) for ids in generated.tolist()]


@torch.no_grad()
def source_states(
    shipped: Shipped, text: str
) -> tuple[Float[Tensor, "1 src model"], Float[Tensor, "layers heads src src"]]:
    """The encoder's last states, one for each word and one for `</s>`; and its attention weights."""
    src = make_batch([shipped.tokenizer.encode(text)], [[]]).src
    with eval_mode(shipped.model):
        states, weights = shipped.model.run_encoder(src, mask_without([], src.shape[1]), with_weights=True)
    return states, weights["encoder"][0]


@torch.no_grad()
def decode_states(
    shipped: Shipped,
    text: str,
    states: Float[Tensor, "1 src model"],
    *,
    values: Float[Tensor, "1 src model"] | None = None,
) -> PronounTranslation:
    """The translation decoded from these states.

    If `values` is given, the values of cross-attention are made from those states, and only its keys from
    `states`.
    """
    memory = shipped.model.make_memory(states, mask_without([], states.shape[1]))
    if values is not None:
        memory["values"] = shipped.model.decoder.project_source(values)["values"]
    return from_memory(shipped, text, memory)


def indices_of(name: str) -> tuple[int, int]:
    """The layer and the head of a name, both from 0.

    >>> indices_of("1.1")
    (1, 1)
    """
    if name not in HEADS:
        raise ValueError(f"Expected a head from 0.0 to 2.3, but got {name!r}.")
    return int(name[0]), int(name[2])


@torch.no_grad()
def take_apart(
    shipped: Shipped, text: str, name: str
) -> tuple[Float[Tensor, "src model"], Float[Tensor, "model d_k"], Float[Tensor, "model d_k"], Tensor]:
    """The input of one head of the encoder, and its three matrices: x, w_q, w_k, w_v."""
    layer, head = indices_of(name)
    model, src = shipped.model, make_batch([shipped.tokenizer.encode(text)], [[]]).src
    blocks = model.encoder.blocks
    with eval_mode(model):
        x = model.source_positions.add(model.words.source(src))
        for block in blocks[:layer]:
            x, _, _ = block(x)
        x = blocks[layer].around_attention.before(x)[0]
    heads = blocks[layer].attention
    matrices = (heads.w_query, heads.w_key, heads.w_value)
    return x, *(matrix[of_head(heads, head, len(matrix))].detach().T for matrix in matrices)


def equal_weights(shipped: Shipped, use: str, names: Sequence[str]) -> AbstractContextManager[None]:
    """Inside the block, the attention of these heads is uniform: their queries are 0, hence all their scores.

    `use` is "encoder", for self-attention in the encoder, or "cross", for cross-attention.
    """
    layers = [heads for layer_use, _, heads in multi_heads(shipped.model) if layer_use == use]
    chosen = [(layers[layer], head) for layer, head in map(indices_of, names)]
    return zeroed([heads.w_query[of_head(heads, head, len(heads.w_query))] for heads, head in chosen])

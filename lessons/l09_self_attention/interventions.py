"""What lesson 09 does to the Transformer: words left alone, states swapped, a head taken apart or made even.

with equal_weights(transformer, "source", ["2b"]):      # while it lasts, head 2b shares out evenly
    heard = listen(transformer, text)                   # `explore/pronoun.py`
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import torch

from course_lib.layers.masks import padding_mask
from course_lib.models.in_use import eval_mode
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.translation.ablation import multi_heads, of_head, zeroed
from course_lib.translation.masking import alone, masked_memory, without
from course_lib.translation.search import greedy
from course_lib.translation.shipped import Shipped
from lessons.l09_self_attention.pronoun import ATTENTIONS, PronounTranslation, from_memory, under_masks


def listen_alone(shipped: Shipped, text: str) -> PronounTranslation:
    """The translation when every source word sees itself alone: no word knows its sentence."""
    n = len(text.split()) + 1
    return under_masks(shipped, text, alone(n), without([], n))


def translate_alone(shipped: Shipped, texts: Sequence[str]) -> list[str]:
    """Many translations, where every source word sees itself alone."""
    encode = shipped.tokenizer.encode
    batch = make_batch([encode(text) for text in texts], [[]] * len(texts))
    n = batch.src.shape[1]
    real = padding_mask(batch.src_lengths, n).unsqueeze(1)
    memory, _ = masked_memory(shipped.model, batch.src, alone(n), real)
    found = greedy(shipped.model, memory, max_len=2 * n + 10)
    return [shipped.tokenizer.decode(ids) for ids in found.ids.tolist()]


@torch.no_grad()
def source_states(
    shipped: Shipped, text: str
) -> tuple[Float[Tensor, "1 src model"], Float[Tensor, "layers heads src src"]]:
    """The encoder's last states, one a word and one for `</s>`; and where each word looked."""
    src = make_batch([shipped.tokenizer.encode(text)], [[]]).src
    with eval_mode(shipped.model):
        states, weights = shipped.model.run_encoder(src, without([], src.shape[1]), with_weights=True)
    return states, weights["encoder"][0]


@torch.no_grad()
def speak(
    shipped: Shipped,
    text: str,
    states: Float[Tensor, "1 src model"],
    *,
    values: Float[Tensor, "1 src model"] | None = None,
) -> PronounTranslation:
    """What the decoder makes of these states.

    Where `values` is given, the decoder's values are made from those states, and only its keys from `states`.
    """
    memory = shipped.model.memory_of(states, without([], states.shape[1]))
    if values is not None:
        memory["values"] = shipped.model.decoder.read_source(values)["values"]
    return from_memory(shipped, text, memory)


def place_of(attention: str) -> tuple[int, int]:
    """Layer and place in it, both from 0.

    >>> place_of("2b")
    (1, 1)
    """
    if attention not in ATTENTIONS:
        raise ValueError(f"Expected an attention from 1a to 3d, but got {attention!r}.")
    return int(attention[0]) - 1, "abcd".index(attention[1])


@torch.no_grad()
def taken_apart(
    shipped: Shipped, text: str, attention: str
) -> tuple[Float[Tensor, "src model"], Float[Tensor, "model d_k"], Float[Tensor, "model d_k"], Tensor]:
    """What one attention of the encoder is given, and its three matrices: x, w_q, w_k, w_v."""
    layer, which = place_of(attention)
    model, src = shipped.model, make_batch([shipped.tokenizer.encode(text)], [[]]).src
    blocks = model.encoder.blocks
    with eval_mode(model):
        x = model.source_positions.add(model.words.source(src))
        for block in blocks[:layer]:
            x, _, _ = block(x)
        x = blocks[layer].around_attention.before(x)[0]
    heads = blocks[layer].attention
    matrices = (heads.w_query, heads.w_key, heads.w_value)
    return x, *(matrix[of_head(heads, which, len(matrix))].detach().T for matrix in matrices)


def equal_weights(shipped: Shipped, side: str, attentions: Sequence[str]) -> AbstractContextManager[None]:
    """For a while these attentions share out evenly: their queries are 0, hence all their scores.

    `side` is "source", for source words that look at one another, or "decoder", for its look at the source.
    """
    use = {"source": "encoder", "decoder": "cross"}[side]
    layers = [heads for found, _, heads in multi_heads(shipped.model) if found == use]
    places = [(layers[layer], which) for layer, which in map(place_of, attentions)]
    return zeroed([heads.w_query[of_head(heads, which, len(heads.w_query))] for heads, which in places])

"""Interventions on the Transformer: isolated source words, patched states, heads with uniform attention.

with uniform_attention(transformer, "encoder", ["1.1"]):    # in head encoder 1.1
    result = masked_translation(transformer, text)          # `pronoun.py`
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import torch

from course_lib.layers.masks import padding_mask
from course_lib.models.inference import eval_mode
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.twins import twins
from course_lib.translation.ablation import multi_heads, of_head, zeroed
from course_lib.translation.masking import mask_self_only, mask_without, masked_memory
from course_lib.translation.search import greedy
from course_lib.translation.shipped import Shipped
from lessons.l09_self_attention.pronoun import HEADS, PronounTranslation, from_memory


def minimal_pairs(n: int) -> list[tuple[Pair, Pair]]:
    """Test sentences in pairs: only the last word differs, and with it the noun that the pronoun refers to.

    >>> [pair.src_text.split()[-1] for pair in minimal_pairs(1)[0]]
    ['thirsty', 'cold']
    """
    sentences = twins(n)
    return list(zip(sentences[::2], sentences[1::2], strict=True))


def translate_isolated(shipped: Shipped, texts: Sequence[str]) -> list[str]:
    """Translations when every source word attends only to itself."""
    encode = shipped.tokenizer.encode
    batch = make_batch([encode(text) for text in texts], [[]] * len(texts))
    n = batch.src.shape[1]
    real = padding_mask(batch.src_lengths, n).unsqueeze(1)
    memory, _ = masked_memory(shipped.model, batch.src, mask_self_only(n), real)
    generated = greedy(shipped.model, memory, max_len=2 * n + 10).ids
    return [shipped.tokenizer.decode(ids) for ids in generated.tolist()]


@torch.no_grad()
def source_states(shipped: Shipped, text: str) -> Float[Tensor, "src model"]:
    """The encoder's outputs, one for each word and one for `</s>`."""
    src = make_batch([shipped.tokenizer.encode(text)], [[]]).src
    with eval_mode(shipped.model):
        states, _ = shipped.model.run_encoder(src, mask_without([], src.shape[1]), with_weights=False)
    return states[0]


@torch.no_grad()
def decode_states(shipped: Shipped, text: str, states: Float[Tensor, "src model"]) -> PronounTranslation:
    """The translation decoded from these encoder outputs instead of those of the text."""
    return from_memory(shipped, text, shipped.model.make_memory(states[None], mask_without([], len(states))))


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
) -> tuple[Float[Tensor, "src model"], Float[Tensor, "d_k model"], Float[Tensor, "d_k model"], Tensor]:
    """The input of one head of the encoder, and its three weight matrices (out, in): x, w_q, w_k, w_v."""
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
    return x, *(matrix[of_head(heads, head, len(matrix))].detach() for matrix in matrices)


def uniform_attention(shipped: Shipped, use: str, names: Sequence[str]) -> AbstractContextManager[None]:
    """Inside the block, the attention of these heads is uniform: their queries are 0, hence all their scores.

    `use` is "encoder", for self-attention in the encoder, or "cross", for cross-attention.
    """
    layers = [heads for layer_use, _, heads in multi_heads(shipped.model) if layer_use == use]
    chosen = [(layers[layer], head) for layer, head in map(indices_of, names)]
    return zeroed([heads.w_query[of_head(heads, head, len(heads.w_query))] for heads, head in chosen])

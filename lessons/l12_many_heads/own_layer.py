"""Translate with the learner's own multi-head attention in every attention layer of a trained Transformer.

    >>> from course_lib.translation import load_shipped
    >>> from lessons.l12_many_heads.solutions import many_heads
    >>> translate_with(load_shipped("transformer"), many_heads, "the cat sleeps")
    'le chat dort'

Everything else is the library's: embeddings, positional encodings, norms, residual connections and
feed-forward layers. There is no key-value cache, so the decoder processes all words again at every step.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.layers.block import Block
from course_lib.layers.multi_head import MultiHead
from course_lib.shapes import Bool, Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import Shipped

ManyHeads = Callable[..., tuple[Tensor, Tensor]]
States = Float[Tensor, "batch len model"]
MAX_LENGTH = 30  # words of a translation


def run_block(
    block: Block,
    x: States,
    many_heads: ManyHeads,
    mask: Bool[Tensor, "..."] | None,
    memory: States | None = None,
) -> States:
    """One block of the encoder, or of the decoder if there is a memory to attend to."""

    def attend(heads: MultiHead, x: States, source: States, mask: Tensor | None) -> States:
        matrices = (heads.w_query, heads.w_key, heads.w_value, heads.w_output)
        return many_heads(x, source, *matrices, heads.n_heads, mask)[0]

    x = block.around_attention(x, lambda x: attend(block.attention, x, x, mask))
    if memory is not None:
        x = block.around_cross(x, lambda x: attend(block.cross, x, memory, None))
    return block.around_feed_forward(x, block.feed_forward)


@torch.no_grad()
def translate_with(shipped: Shipped, many_heads: ManyHeads, text: str) -> str:
    """The greedy translation of a sentence, with `many_heads` as the model's attention."""
    model, tokenizer = shipped.model.eval(), shipped.tokenizer
    src = make_batch([tokenizer.encode(text)], [[]]).src
    memory = model.source_positions.add(model.words.source(src))
    for block in model.encoder.blocks:
        memory = run_block(block, memory, many_heads, None)
    memory = model.encoder.last_norm(memory)

    ids = [BOS]
    while ids[-1] != EOS and len(ids) <= MAX_LENGTH:
        x = model.target_positions.add(model.words.target(torch.tensor([ids])))
        causal = torch.ones(len(ids), len(ids)).tril() == 1
        for block in model.decoder.blocks:
            x = run_block(block, x, many_heads, causal, memory)
        ids.append(model.words.logits(model.decoder.last_norm(x[:, -1:]))[0, 0].argmax().item())
    return tokenizer.decode(ids[1:])

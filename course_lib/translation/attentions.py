"""Every attention behind a translation, named: a target word's at the source, and words' at their own side.

    for one in every_attention(system, tokenizer, translation):
        print(one.name, one.weights.shape)          # encoder self-attention (3, 4, 6, 6), ...

All translators that attend look at the source. The Transformer and the LSTMN also have self-attention, on
both sides.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional as F

from course_lib.layers.tape import TapeCell
from course_lib.models.transformer import Transformer
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import EOS, SPECIAL
from course_lib.text.tokenizer import Tokenizer
from course_lib.translation.notes import plainly
from course_lib.translation.translate import Translation, device_of

ENCODER, DECODER, CROSS = "encoder self-attention", "decoder self-attention", "cross-attention"


class Attention(NamedTuple):
    """One attention: what it is called, its weights, and the words of its rows and its columns."""

    name: str
    weights: Float[Tensor, "layers heads rows columns"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def every_attention(system: Translator, tokenizer: Tokenizer, translation: Translation) -> list[Attention]:
    """Of a translation that was made `with_weights`. The decoder's rows are the words that it has read."""
    cross = Attention(CROSS, translation.weights, translation.target_tokens, translation.source_labels)
    source = tokenizer.encode(plainly(translation.source, tokenizer))[: system.config.max_len - 1]
    said = tokenizer.encode(translation.target)[: system.config.max_len - 1]
    batch = make_batch([source], [said]).to(device_of(system))
    with torch.inference_mode():
        own = _own(system, batch)
    if not own:
        return [cross]
    read = tuple(tokenizer.tokens(batch.tgt_in[0].tolist()))
    encoder, decoder = (weights.float().cpu() for weights in own)
    before = (f"{SPECIAL[EOS]} of the source",) if decoder.shape[-1] > len(read) else ()
    return [
        Attention(ENCODER, encoder, translation.source_labels, translation.source_labels),
        Attention(DECODER, decoder, read, (*before, *read)),
        cross,
    ]


def _own(system: Translator, batch: Batch) -> list[Tensor]:
    """The weights of encoder and decoder at their own words; nothing where they have no self-attention."""
    if isinstance(system, Transformer):
        found = system.all_weights(batch.src, batch.src_lengths, batch.tgt_in)
        return [found["encoder"][0], found["decoder"][0]]
    tapes = [getattr(system, "encoder", None), getattr(system, "decoder", None)]
    if not all(isinstance(tape, TapeCell) for tape in tapes):
        return []
    rows: list[list[Tensor]] = [[], []]
    hooks = [
        tape.register_forward_hook(lambda *call, kept=kept: kept.append(call[-1][2][0]))
        for tape, kept in zip(tapes, rows, strict=True)
    ]
    try:
        system(batch.src, batch.src_lengths, batch.tgt_in)
    finally:
        for hook in hooks:
            hook.remove()
    # The decoder's tape opens with what the source ended in; a word sees what is on the tape before it.
    widths = batch.src.shape[1], batch.tgt_in.shape[1] + 1
    return [
        torch.stack([F.pad(row, (0, width - len(row))) for row in kept])[None, None]
        for kept, width in zip(rows, widths, strict=True)
    ]

"""Activation patching of attention heads: copy the output of a head from one run of the model into another.

    >>> model = shared("transformer").model
    >>> sentences, partners = minimal_batches(1)         # ... it was thirsty / cold, and the other way round
    >>> output = head_outputs(model, partners)["cross 1.3"]
    >>> before = predict_pronouns(model, sentences)
    >>> after = predict_pronouns(model, sentences, {"cross 1.3": output})
    >>> (before == sentences.pronouns).all(), (after == partners.pronouns).all()
    (tensor(True), tensor(True))

The output of a head is its context vectors before the output projection: (sentences, queries, d_v). All
target words before the pronoun are given and are the same in both runs (teacher forcing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from course_lib.layers.multi_head import join_heads, multi_head
from course_lib.models.transformer import Transformer
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import Batch, make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.twins import pronoun_step, twins
from course_lib.translation.ablation import head_name, multi_heads
from course_lib.translation.shipped import shared

Outputs = dict[str, Float[Tensor, "sentences queries value_dim"]]


@dataclass(frozen=True)
class PronounBatch:
    """Sentences with their correct pronouns, and the positions at which the decoder predicts them."""

    pairs: tuple[Pair, ...]
    batch: Batch
    positions: Int[Tensor, " sentences"]
    pronouns: Int[Tensor, " sentences"]


def minimal_batches(n: int, first: int = 0) -> tuple[PronounBatch, PronounBatch]:
    """The sentences of n minimal pairs, and for each of them the other sentence of its pair.

    Both batches have the target words of the first as the decoder's input: they are the same up to the
    pronoun, and later words can't change its prediction.
    """
    sentences = twins(n, first)
    partners = tuple(sentences[i ^ 1] for i in range(len(sentences)))
    encode = shared("transformer").tokenizer.encode
    positions = torch.tensor([pronoun_step(pair) for pair in sentences])

    def batch_of(pairs: tuple[Pair, ...]) -> PronounBatch:
        sources = [encode(pair.src_text) for pair in pairs]
        batch = make_batch(sources, [encode(pair.tgt_text) for pair in sentences])
        pronouns = [encode(pair.tgt[i])[0] for pair, i in zip(pairs, positions.tolist(), strict=True)]
        return PronounBatch(pairs, batch, positions, torch.tensor(pronouns))

    return batch_of(sentences), batch_of(partners)


def noun_positions(sentences: PronounBatch) -> Int[Tensor, " sentences"]:
    """The positions at which the decoder predicts the nouns that the pronouns refer to."""
    nouns = [pair.antecedents[0][1] for pair in sentences.pairs]
    links = [dict(pair.links) for pair in sentences.pairs]
    return torch.tensor([targets[noun] for targets, noun in zip(links, nouns, strict=True)])


@contextmanager
def changed_heads(model: Transformer, change: Callable[[str, Tensor], Tensor | None]) -> Iterator[None]:
    """Pass the output of every head to `change`, and replace it by what this returns, unless it is None."""
    attentions = list(multi_heads(model))

    def attend_with(use, layer, heads):
        def attend(query, keys, values, **options):
            context, weights = multi_head(query, keys, values, **options)
            outputs = []
            for head, output in enumerate(context.unbind(dim=1)):
                changed = change(head_name(use, layer, head), output)
                outputs.append(output if changed is None else changed)
            return F.linear(join_heads(torch.stack(outputs, dim=1)), heads.w_output), weights

        return attend

    for use, layer, heads in attentions:
        heads.attend = attend_with(use, layer, heads)
    try:
        yield
    finally:
        for _, _, heads in attentions:
            del heads.attend


@torch.no_grad()
def head_outputs(model: Transformer, sentences: PronounBatch) -> Outputs:
    """The output of every head, by its name."""
    outputs: Outputs = {}
    with changed_heads(model, outputs.__setitem__):
        _logits(model, sentences)
    return outputs


@torch.no_grad()
def predict_pronouns(
    model: Transformer, sentences: PronounBatch, patches: Mapping[str, Tensor] | None = None
) -> Int[Tensor, " sentences"]:
    """The most probable word at the position of the pronoun, with the outputs of some heads replaced."""
    with changed_heads(model, lambda name, _: (patches or {}).get(name)):
        return _logits(model, sentences).argmax(dim=-1)


def _logits(model: Transformer, sentences: PronounBatch) -> Tensor:
    batch = sentences.batch
    logits, _ = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)
    return logits[torch.arange(len(logits)), sentences.positions]

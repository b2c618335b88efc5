"""Heads of a Transformer ablated: what a head finds is multiplied by 0, and nobody gets it.

head_names(model)                           # encoder 0.0 to cross 2.3: use, layer and number in the layer
with ablated(model, names): ...             # several at once, by their names
ablate_each(model, measure)                 # the measure without each head in turn
with ablated_by_row(model, kept): ...       # each row of a batch has heads of its own: many models in one run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import torch
from torch.nn import functional as F

from course_lib.layers.multi_head import MultiHead, join_heads, multi_head
from course_lib.layers.rows import Rows
from course_lib.models.transformer import USES, Transformer
from course_lib.shapes import Tensor
from course_lib.text.special import BOS
from course_lib.translation.search import next_words


def multi_heads(model: Transformer) -> Iterator[tuple[str, int, MultiHead]]:
    """Every attention, use by use: its use, its layer, itself."""
    encoder, decoder = model.encoder.blocks, model.decoder.blocks
    looks = ([b.attention for b in encoder], [b.attention for b in decoder], [b.cross for b in decoder])
    for use, layers in zip(USES, looks, strict=True):
        for layer, heads in enumerate(layers):
            yield use, layer, heads


def head_name(use: str, layer: int, head: int) -> str:
    """How a head is called: by its use, its layer and its number there, both from 0.

    >>> head_name("cross", 1, 3)
    'cross 1.3'
    """
    return f"{use} {layer}.{head}"


def head_names(model: Transformer) -> list[str]:
    """The name of every head, use by use: encoder 0.0 to cross 2.3."""
    return [
        head_name(use, layer, head)
        for use, layer, heads in multi_heads(model)
        for head in range(heads.n_heads)
    ]


def of_head(heads: MultiHead, head: int, n: int) -> slice:
    """Where a head stands among n numbers: those of all heads lie side by side."""
    width = n // heads.n_heads
    return slice(head * width, (head + 1) * width)


@contextmanager
def zeroed(parts: Sequence[Tensor]) -> Iterator[None]:
    """For a while these parts of weights are 0.

    >>> matrix = torch.ones(2, 2)
    >>> with zeroed([matrix[0]]):
    ...     print(matrix.tolist())
    [[0.0, 0.0], [1.0, 1.0]]
    >>> matrix.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    parts = [part.detach() for part in parts]
    kept = [part.clone() for part in parts]
    try:
        for part in parts:
            part.zero_()
        yield
    finally:
        for part, before in zip(parts, kept, strict=True):
            part.copy_(before)


def ablated(model: Transformer, names: Iterable[str]) -> AbstractContextManager[None]:
    """For a while the model is without the heads of these names: their columns of W_O are 0."""
    columns = {
        head_name(use, layer, head): heads.w_output[:, of_head(heads, head, heads.w_output.shape[1])]
        for use, layer, heads in multi_heads(model)
        for head in range(heads.n_heads)
    }
    return zeroed([columns[name] for name in names])


@contextmanager
def ablated_by_row(model: Transformer, kept: Tensor, *, wide: Tensor | None = None) -> Iterator[None]:
    """For a while each row of a batch has a model of its own, so that hundreds are tried in one run.

    It has those heads which `kept` (rows, attentions, heads) says, attentions in the order of
    `multi_heads`; of each query's numbers those count which `wide` (rows, d_k) says.
    """
    found = [heads for _, _, heads in multi_heads(model)]
    for heads, own in zip(found, kept.unbind(dim=1), strict=True):
        heads.look = partial(_look_ablated, heads, own[..., None, None], wide)
    try:
        yield
    finally:
        for heads in found:
            del heads.look


def _look_ablated(
    heads: MultiHead, kept: Tensor, wide: Tensor | None, query: Tensor, *source: Tensor, **options
):
    query = query if wide is None else query * wide[:, None, None]
    context, weights = multi_head(query, *source, **options)
    return F.linear(join_heads(context * kept), heads.w_output), weights


def greedy_by_row(model: Transformer, memory: Rows, *, max_len: int) -> Tensor:
    """As `greedy`, which sets finished sentences aside: here every row keeps its place, (rows, max_len)."""
    state, token, ids = model.start(memory), torch.full((len(memory["may_look"]),), BOS), []
    for _ in range(max_len):
        logits, state, _ = model.step(memory, state, token)
        token = next_words(logits).argmax(dim=1)
        ids.append(token)
    return torch.stack(ids, dim=1)


def ablate_each(model: Transformer, measure: Callable[[], float]) -> list[dict]:
    """What is measured without one head, for each head in turn."""
    found = []
    for use, layer, heads in multi_heads(model):
        for head in range(heads.n_heads):
            with ablated(model, [head_name(use, layer, head)]):
                found.append({"use": use, "layer": layer, "head": head, "measured": measure()})
    return found

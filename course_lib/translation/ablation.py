"""Ablate heads of a Transformer: multiply the output of a head by 0.

head_names(model)                           # encoder 0.0 to cross 2.3: use, layer and index in the layer
with ablated(model, names): ...             # without these heads
with ablated_by_row(model, heads_kept): ... # different heads in each row: many ablations in one batch
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from torch.nn import functional as F

from course_lib.layers.multi_head import MultiHead, join_heads, multi_head
from course_lib.models.transformer import ATTENTIONS, Transformer
from course_lib.shapes import Tensor


def multi_heads(model: Transformer) -> Iterator[tuple[str, int, MultiHead]]:
    """Every attention module with its use and its layer, in the order of ATTENTIONS."""
    encoder, decoder = model.encoder.blocks, model.decoder.blocks
    attentions = ([b.attention for b in encoder], [b.attention for b in decoder], [b.cross for b in decoder])
    for use, layers in zip(ATTENTIONS, attentions, strict=True):
        for layer, heads in enumerate(layers):
            yield use, layer, heads


def head_name(use: str, layer: int, head: int) -> str:
    """The name of a head: its use, its layer and its index in the layer, both counted from 0.

    >>> head_name("cross", 1, 3)
    'cross 1.3'
    """
    return f"{use} {layer}.{head}"


def head_names(model: Transformer) -> list[str]:
    """The names of all heads in the order of ATTENTIONS: encoder 0.0 to cross 2.3."""
    return list(_output_columns(model))


def of_head(heads: MultiHead, head: int, n: int) -> slice:
    """The slice of n concatenated features that belongs to a head."""
    width = n // heads.n_heads
    return slice(head * width, (head + 1) * width)


@contextmanager
def zeroed(parts: Sequence[Tensor]) -> Iterator[None]:
    """Set these views of weights to 0 inside the `with` block and restore them afterwards.

    >>> matrix = torch.ones(2, 2)
    >>> with zeroed([matrix[0]]):
    ...     print(matrix.tolist())
    [[0.0, 0.0], [1.0, 1.0]]
    >>> matrix.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    parts = [part.detach() for part in parts]
    originals = [part.clone() for part in parts]
    try:
        for part in parts:
            part.zero_()
        yield
    finally:
        for part, original in zip(parts, originals, strict=True):
            part.copy_(original)


def ablated(model: Transformer, names: Iterable[str]) -> AbstractContextManager[None]:
    """Remove the heads with these names inside the `with` block: their columns of W_O are 0."""
    columns = _output_columns(model)
    return zeroed([columns[name] for name in names])


def _output_columns(model: Transformer) -> dict[str, Tensor]:
    """The columns of W_O that belong to each head, by its name."""
    return {
        head_name(use, layer, head): heads.w_output[:, of_head(heads, head, heads.w_output.shape[1])]
        for use, layer, heads in multi_heads(model)
        for head in range(heads.n_heads)
    }


@contextmanager
def ablated_by_row(
    model: Transformer, heads_kept: Tensor, *, features_kept: Tensor | None = None
) -> Iterator[None]:
    """Ablate different heads in each row of a batch, so that one pass tries hundreds of ablations.

    `heads_kept` (rows, attentions, heads) is True for the heads to keep, with attentions in the order of
    `multi_heads`. `features_kept` (rows, d_k) is True for the query features to keep; the others become 0.
    """
    attentions = [heads for _, _, heads in multi_heads(model)]
    for heads, kept in zip(attentions, heads_kept.unbind(dim=1), strict=True):
        heads.attend = partial(_attend_ablated, heads, kept[..., None, None], features_kept)
    try:
        yield
    finally:
        for heads in attentions:
            del heads.attend


def _attend_ablated(
    heads: MultiHead, kept: Tensor, features: Tensor | None, query: Tensor, *source: Tensor, **options
):
    query = query if features is None else query * features[:, None, None]
    context, weights = multi_head(query, *source, **options)
    return F.linear(join_heads(context * kept), heads.w_output), weights

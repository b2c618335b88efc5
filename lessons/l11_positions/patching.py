"""Activation patching for attention weights: run a Transformer with the attention weights of another run.

    layer.attend = attend_with(layer, weights)

The layer then uses these attention weights until `del layer.attend`.
"""

from __future__ import annotations

from collections.abc import Callable

from torch.nn import functional as F

from course_lib.layers.multi_head import MultiHead, join_heads
from course_lib.models.transformer import Transformer
from course_lib.shapes import Float, Tensor


def attend_with(layer: MultiHead, weights: Float[Tensor, "batch heads queries keys"]) -> Callable:
    """A replacement for `layer.attend` that uses these attention weights."""

    def attend(query: Tensor, keys: Tensor, values: Tensor, **options: object) -> tuple[Tensor, Tensor]:
        return F.linear(join_heads(weights @ values), layer.w_output), weights

    return attend


def attention_layers(model: Transformer, kind: str) -> list[MultiHead]:
    """The attention layers of one kind: "encoder" or "decoder" self-attention, or "cross"."""
    if kind == "cross":
        return [block.cross for block in model.decoder.blocks]
    return [block.attention for block in getattr(model, kind).blocks]

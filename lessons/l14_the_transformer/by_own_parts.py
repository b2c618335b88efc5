"""The library's versions of the exercises of this lesson, made of the learner's own parts."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout

from torch import Tensor

from course_lib.teaching import yours
from lessons.l14_the_transformer import by_parts as library


def own_parts(*names: str) -> list[Callable]:
    """The learner's functions, or the library's, without a message."""
    with redirect_stdout(io.StringIO()):
        return [yours(name) for name in names]


def encode_source(source, weights, n_heads, n_layers, mask=None):
    embed, block, norm = own_parts("embed", "encoder_block", "layer_norm")
    x = embed(source, weights["words.output.weight"])
    for layer in range(n_layers):
        x = block(x, library.parts_of(weights, f"encoder.blocks.{layer}"), n_heads, mask)
    last = library.parts_of(weights, "encoder.last_norm")
    return norm(x, weight=last["weight"], bias=last["bias"])


def decode_logits(target, memory, weights, n_heads, n_layers, mask=None):
    embed, block, norm = own_parts("embed", "decoder_block", "layer_norm")
    x = embed(target, weights["words.output.weight"])
    for layer in range(n_layers):
        x = block(x, memory, library.parts_of(weights, f"decoder.blocks.{layer}"), n_heads, mask)
    last = library.parts_of(weights, "decoder.last_norm")
    x = norm(x, weight=last["weight"], bias=last["bias"])
    return x @ weights["words.output.weight"].T + weights["words.output.bias"]


def decoder_block(x, memory, parts, n_heads, mask=None):
    many_heads, feed_forward, norm = own_parts("many_heads", "feed_forward", "layer_norm")

    def normed(x: Tensor, name: str) -> Tensor:
        weight, bias = (parts[f"around_{name}.norm.{kind}"] for kind in ("weight", "bias"))
        return norm(x, weight=weight, bias=bias)

    def attend(x: Tensor, source: Tensor, name: str, mask: Tensor | None) -> Tensor:
        matrices = [parts[f"{name}.w_{kind}"] for kind in ("query", "key", "value", "output")]
        return many_heads(x, source, *matrices, n_heads, mask)[0]

    queries = normed(x, "attention")
    x = x + attend(queries, queries, "attention", library.causal(x.shape[1]))
    x = x + attend(normed(x, "cross"), memory, "cross", mask)
    return x + feed_forward(normed(x, "feed_forward"), **library.feed_forward_weights(parts))

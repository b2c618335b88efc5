"""A trained Transformer from plain functions and a table of weights, with access to every stage.

    >>> from course_lib.translation.shipped import load_shipped
    >>> model = load_shipped("transformer").model
    >>> sizes = {"n_heads": 4, "n_layers": 3}
    >>> states = stages(torch.tensor([[9, 3]]), torch.tensor([[2]]), model.state_dict(), **sizes)
    >>> list(states)[:3], states["logits"].shape
    (['source embeddings', 'encoder 0', 'encoder 1'], torch.Size([1, 1, 680]))

Lesson 14 assembles it. It computes the same as `models/transformer.py`; a test compares the two. A `Wiring`
can contain a usual mistake, none of which raises an error.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.feed_forward import feed_forward
from course_lib.layers.multi_head import join_heads, split_heads
from course_lib.layers.norms import layer_norm
from course_lib.layers.positions import sinusoids
from course_lib.shapes import Bool, Float, Int, Tensor
from course_lib.text.special import BOS, EOS
from course_lib.training.step import parts_of

Weights = dict[str, Tensor]  # by name, as in a checkpoint


@dataclass(frozen=True)
class Wiring:
    """How a Transformer is put together. The defaults are right; every other value is a mistake."""

    scaled: bool = True  # words times √d_model
    eps: float = 1e-5
    last_norm: bool = True
    masked: bool = True  # padding of the source is hidden
    starts_with_bos: bool = True  # the decoder's first input is BOS, not EOS
    bias: bool = True  # at the output


RIGHT = Wiring()
FAULTY = {
    "A": Wiring(masked=False),
    "B": Wiring(last_norm=False),
    "C": Wiring(scaled=False),
    "D": Wiring(bias=False),
    "E": Wiring(starts_with_bos=False),
    "F": Wiring(eps=1e-3),
}


def embed(
    tokens: Int[Tensor, "batch n"], table: Float[Tensor, "vocab model"], *, scaled: bool = True
) -> Float[Tensor, "batch n model"]:
    """The rows of the words times √d_model, plus their positions."""
    width = table.shape[1]
    words = F.embedding(tokens, table) * (math.sqrt(width) if scaled else 1.0)
    return words + sinusoids(tokens.shape[1], width)


def multi_head_attention(
    x: Float[Tensor, "batch m model"],
    source: Float[Tensor, "batch n model"],
    parts: Weights,
    name: str,
    *,
    n_heads: int,
    mask: Bool[Tensor, "..."] | None,
) -> tuple[Float[Tensor, "batch m model"], Float[Tensor, "batch heads m n"]]:
    """The output of the attention of that name, and its weights."""
    inputs = {"query": x, "key": source, "value": source}
    query, keys, values = (
        split_heads(F.linear(states, parts[f"{name}.w_{kind}"]), n_heads=n_heads)
        for kind, states in inputs.items()
    )
    context, weights = attend(query, keys, values, mask=mask)
    return F.linear(join_heads(context), parts[f"{name}.w_output"]), weights


def norm(x: Tensor, parts: Weights, name: str, eps: float = RIGHT.eps) -> Tensor:
    """Layer normalisation with the weights of that name."""
    return layer_norm(x, weight=parts[f"{name}.weight"], bias=parts[f"{name}.bias"], eps=eps)


def block(
    x: Float[Tensor, "batch m model"],
    parts: Weights,
    *,
    n_heads: int,
    self_mask: Bool[Tensor, "..."] | None,
    memory: Float[Tensor, "batch n model"] | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    eps: float = RIGHT.eps,
) -> tuple[Float[Tensor, "batch m model"], list[Tensor]]:
    """One block, with cross-attention if there is a memory; and the weights of each attention."""
    all_weights = []
    for name in ("attention",) if memory is None else ("attention", "cross"):
        normed = norm(x, parts, f"around_{name}.norm", eps)
        source, attention_mask = (normed, self_mask) if name == "attention" else (memory, mask)
        output, weights = multi_head_attention(
            normed, source, parts, name, n_heads=n_heads, mask=attention_mask
        )
        x = x + output
        all_weights.append(weights)
    normed = norm(x, parts, "around_feed_forward.norm", eps)
    return x + feed_forward(normed, **feed_forward_weights(parts)), all_weights


def feed_forward_weights(parts: Weights) -> Weights:
    """The weights of a block's feed-forward layer, by the names of the function's parameters."""
    names = {"w_in": "inner.weight", "b_in": "inner.bias", "w_out": "outer.weight", "b_out": "outer.bias"}
    return {parameter: parts[f"feed_forward.{name}"] for parameter, name in names.items()}


def causal(n: int) -> Bool[Tensor, "n n"]:
    """Each word attends to itself and the words before it."""
    return torch.ones(n, n, dtype=torch.bool).tril()


def _stack(
    x: Tensor, weights: Weights, side: str, n_heads: int, n_layers: int, wiring: Wiring, **inputs: Tensor
) -> tuple[dict[str, Tensor], Tensor, list[list[Tensor]]]:
    """All blocks of the encoder or the decoder: the state after each, the last one normed, all weights."""
    states, all_weights = {}, []
    for layer in range(n_layers):
        parts = parts_of(weights, f"{side}.blocks.{layer}")
        x, of_block = block(x, parts, n_heads=n_heads, eps=wiring.eps, **inputs)
        states[f"{side} {layer}"] = x
        all_weights.append(of_block)
    return states, norm(x, weights, f"{side}.last_norm", wiring.eps) if wiring.last_norm else x, all_weights


def encoder_stages(
    source: Int[Tensor, "batch src"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    mask: Bool[Tensor, "..."] | None = None,
    wiring: Wiring = RIGHT,
) -> tuple[dict[str, Tensor], list[list[Tensor]]]:
    """All states from the source words to the memory, and the attention weights of each layer."""
    words = embed(source, weights["words.output.weight"], scaled=wiring.scaled)
    mask = mask if wiring.masked else None
    states, memory, all_weights = _stack(words, weights, "encoder", n_heads, n_layers, wiring, self_mask=mask)
    return {"source embeddings": words, **states, "memory": memory}, all_weights


def decoder_stages(
    target: Int[Tensor, "batch tgt"],
    memory: Float[Tensor, "batch src model"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    mask: Bool[Tensor, "..."] | None = None,
    wiring: Wiring = RIGHT,
) -> tuple[dict[str, Tensor], list[list[Tensor]]]:
    """All states from the target words to the logits, and each layer's attention weights: self, cross."""
    if not wiring.starts_with_bos:
        target = torch.cat([torch.full_like(target[:, :1], EOS), target[:, 1:]], dim=1)
    table, bias = weights["words.output.weight"], weights["words.output.bias"]
    words = embed(target, table, scaled=wiring.scaled)
    mask = mask if wiring.masked else None
    inputs = {"self_mask": causal(target.shape[1]), "memory": memory, "mask": mask}
    states, last, all_weights = _stack(words, weights, "decoder", n_heads, n_layers, wiring, **inputs)
    logits = F.linear(last, table, bias if wiring.bias else None)
    return {"target embeddings": words, **states, "last norm": last, "logits": logits}, all_weights


def stages(
    source: Int[Tensor, "batch src"],
    target: Int[Tensor, "batch tgt"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    mask: Bool[Tensor, "..."] | None = None,
    wiring: Wiring = RIGHT,
) -> dict[str, Tensor]:
    """Every state from the source words to the logits, by name and in order."""
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "mask": mask, "wiring": wiring}
    of_encoder, _ = encoder_stages(source, weights, **sizes)
    return of_encoder | decoder_stages(target, of_encoder["memory"], weights, **sizes)[0]


def translate(
    source: Int[Tensor, "batch src"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    max_len: int,
    mask: Bool[Tensor, "..."] | None = None,
    wiring: Wiring = RIGHT,
) -> Int[Tensor, "batch tgt"]:
    """Greedy decoding of a batch of sentences; see `likeliest`."""
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "mask": mask, "wiring": wiring}
    memory = encoder_stages(source, weights, **sizes)[0]["memory"]
    return likeliest(
        lambda target: decoder_stages(target, memory, weights, **sizes)[0]["logits"], len(source), max_len
    )


@torch.no_grad()
def likeliest(
    logits_of: Callable[[Int[Tensor, "batch n"]], Float[Tensor, "batch n vocab"]], n_rows: int, max_len: int
) -> Int[Tensor, "batch tgt"]:
    """The likeliest word at each step, at most `max_len` of them, until all rows have an EOS."""
    target = torch.full((n_rows, 1), BOS)
    for _ in range(max_len):
        target = torch.cat([target, logits_of(target)[:, -1:].argmax(dim=-1)], dim=1)
        if (target == EOS).any(dim=1).all():
            break
    return target[:, 1:]


@torch.no_grad()
def to_torch(weights: Weights, *, n_heads: int, n_layers: int) -> nn.Transformer:
    """Torch's Transformer with these weights: it takes embedded words and returns the decoder's last states.

    Torch keeps the matrices for queries, keys and values in one. It has biases there, which are 0 here.
    """
    d_ff, width = weights["encoder.blocks.0.feed_forward.inner.weight"].shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that its fast path needs post-norm
        model = nn.Transformer(
            width, n_heads, n_layers, n_layers, d_ff, dropout=0.0, batch_first=True, norm_first=True
        )
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for number, layer in enumerate(stack.layers):
            _fill(layer, parts_of(weights, f"{side}.blocks.{number}"))
        stack.norm.load_state_dict(parts_of(weights, f"{side}.last_norm"))
    return model.eval()


def _fill(layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer, parts: Weights) -> None:
    attentions, norms = {"attention": layer.self_attn}, ["attention", "feed_forward"]
    if isinstance(layer, nn.TransformerDecoderLayer):
        attentions["cross"] = layer.multihead_attn
        norms.insert(1, "cross")
    for name, attention in attentions.items():
        matrices = [parts[f"{name}.w_{kind}"] for kind in ("query", "key", "value")]
        attention.in_proj_weight.copy_(torch.cat(matrices))
        attention.out_proj.weight.copy_(parts[f"{name}.w_output"])
    for number, name in enumerate(norms, start=1):
        getattr(layer, f"norm{number}").load_state_dict(parts_of(parts, f"around_{name}.norm"))
    layer.linear1.load_state_dict(parts_of(parts, "feed_forward.inner"))
    layer.linear2.load_state_dict(parts_of(parts, "feed_forward.outer"))

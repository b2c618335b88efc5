"""A trained Transformer from plain functions and a table of weights: every stage can be looked at.

    >>> from course_lib.translation.shipped import load_shipped
    >>> model = load_shipped("transformer").model
    >>> found = stages(torch.tensor([[9, 3]]), torch.tensor([[2]]), model.state_dict(), n_heads=4, n_layers=3)
    >>> list(found)[:3], found["logits"].shape
    (['source words', 'encoder 0', 'encoder 1'], torch.Size([1, 1, 680]))

It is what lesson 14 assembles, and computes what `models/transformer.py` does (tests hold the two together).
`Wiring` holds the usual mistakes, for its clinic: each runs without an error.
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
from course_lib.training.by_hand import Weights
from course_lib.training.step import parts_of


@dataclass(frozen=True)
class Wiring:
    """How a Transformer is put together; every other value than the first is a mistake."""

    scaled: bool = True  # words times √d_model
    eps: float = 1e-5
    last_norm: bool = True
    masked: bool = True  # padding of the source is hidden
    starts: bool = True  # the decoder reads BOS first, not EOS
    bias: bool = True  # at the output


RIGHT = Wiring()
PATIENTS = {
    "A": Wiring(masked=False),
    "B": Wiring(last_norm=False),
    "C": Wiring(scaled=False),
    "D": Wiring(bias=False),
    "E": Wiring(starts=False),
    "F": Wiring(eps=1e-3),
}


def embed(
    tokens: Int[Tensor, "batch n"], table: Float[Tensor, "vocab model"], *, scaled: bool = True
) -> Float[Tensor, "batch n model"]:
    """Words times √d_model, plus their positions."""
    width = table.shape[1]
    words = F.embedding(tokens, table) * (math.sqrt(width) if scaled else 1.0)
    return words + sinusoids(tokens.shape[1], width)


def look(
    x: Float[Tensor, "batch m model"],
    source: Float[Tensor, "batch n model"],
    parts: Weights,
    which: str,
    *,
    n_heads: int,
    may_look: Bool[Tensor, "..."] | None,
) -> tuple[Float[Tensor, "batch m model"], Float[Tensor, "batch heads m n"]]:
    """Multi-head attention by the four matrices of one part, and its weights."""
    made = ((x, "w_query"), (source, "w_key"), (source, "w_value"))
    q, k, v = (split_heads(F.linear(a, parts[f"{which}.{name}"]), n_heads=n_heads) for a, name in made)
    context, weights = attend(q, k, v, may_look=may_look)
    return F.linear(join_heads(context), parts[f"{which}.w_output"]), weights


def norm(x: Tensor, parts: Weights, name: str, eps: float = RIGHT.eps) -> Tensor:
    """Layer normalisation by the weights of that name."""
    return layer_norm(x, weight=parts[f"{name}.weight"], bias=parts[f"{name}.bias"], eps=eps)


def block(
    x: Float[Tensor, "batch m model"],
    parts: Weights,
    *,
    n_heads: int,
    own: Bool[Tensor, "..."] | None,
    memory: Float[Tensor, "batch n model"] | None = None,
    may_look: Bool[Tensor, "..."] | None = None,
    eps: float = RIGHT.eps,
) -> tuple[Float[Tensor, "batch m model"], list[Tensor]]:
    """One block, with a look at the memory if there is one; and the weights of its looks."""
    looked = []
    for name in ("attention",) if memory is None else ("attention", "cross"):
        seen = norm(x, parts, f"around_{name}.norm", eps)
        source, allowed = (seen, own) if name == "attention" else (memory, may_look)
        heard, weights = look(seen, source, parts, name, n_heads=n_heads, may_look=allowed)
        x = x + heard
        looked.append(weights)
    names = {"w_in": "inner.weight", "b_in": "inner.bias", "w_out": "outer.weight", "b_out": "outer.bias"}
    inside = {own: parts[f"feed_forward.{name}"] for own, name in names.items()}
    return x + feed_forward(norm(x, parts, "around_feed_forward.norm", eps), **inside), looked


def causal(n: int, ahead: int = 0) -> Bool[Tensor, "n n"]:
    """Each word sees itself and what came before; a mistaken one some words ahead, too."""
    return torch.ones(n, n, dtype=torch.bool).tril(ahead)


def _stack(
    x: Tensor, weights: Weights, side: str, n_heads: int, n_layers: int, wiring: Wiring, **looks: Tensor
) -> tuple[dict[str, Tensor], Tensor, list[list[Tensor]]]:
    """All blocks of the encoder or the decoder: the state after each, the last one normed, all weights."""
    found, looked = {}, []
    for layer in range(n_layers):
        parts = parts_of(weights, f"{side}.blocks.{layer}")
        x, seen = block(x, parts, n_heads=n_heads, eps=wiring.eps, **looks)
        found[f"{side} {layer}"] = x
        looked.append(seen)
    return found, norm(x, weights, f"{side}.last_norm", wiring.eps) if wiring.last_norm else x, looked


def encoder_stages(
    source: Int[Tensor, "batch src"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    may_look: Bool[Tensor, "..."] | None = None,
    wiring: Wiring = RIGHT,
) -> tuple[dict[str, Tensor], list[list[Tensor]]]:
    """All states on the way to the memory, and where each layer looked."""
    words = embed(source, weights["words.output.weight"], scaled=wiring.scaled)
    seen = may_look if wiring.masked else None
    found, memory, looked = _stack(words, weights, "encoder", n_heads, n_layers, wiring, own=seen)
    return {"source words": words, **found, "memory": memory}, looked


def decoder_stages(
    target: Int[Tensor, "batch tgt"],
    memory: Float[Tensor, "batch src model"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    may_look: Bool[Tensor, "..."] | None = None,
    wiring: Wiring = RIGHT,
) -> tuple[dict[str, Tensor], list[list[Tensor]]]:
    """All states on the way to the logits, and where each layer looked: at its own words, at the memory."""
    if not wiring.starts:
        target = torch.cat([torch.full_like(target[:, :1], EOS), target[:, 1:]], dim=1)
    table, bias = weights["words.output.weight"], weights["words.output.bias"]
    words = embed(target, table, scaled=wiring.scaled)
    seen = may_look if wiring.masked else None
    looks = {"own": causal(target.shape[1]), "memory": memory, "may_look": seen}
    found, last, looked = _stack(words, weights, "decoder", n_heads, n_layers, wiring, **looks)
    logits = F.linear(last, table, bias if wiring.bias else None)
    return {"target words": words, **found, "last norm": last, "logits": logits}, looked


def stages(
    source: Int[Tensor, "batch src"],
    target: Int[Tensor, "batch tgt"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    may_look: Bool[Tensor, "..."] | None = None,
    wiring: Wiring = RIGHT,
) -> dict[str, Tensor]:
    """Every state from the source words to the logits, by name and in order."""
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "may_look": may_look, "wiring": wiring}
    read, _ = encoder_stages(source, weights, **sizes)
    return read | decoder_stages(target, read["memory"], weights, **sizes)[0]


def say(
    source: Int[Tensor, "batch src"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    max_len: int,
    may_look: Bool[Tensor, "..."] | None = None,
    wiring: Wiring = RIGHT,
) -> Int[Tensor, "batch tgt"]:
    """Greedy decoding, whole sentence for whole sentence: see `likeliest`."""
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "may_look": may_look, "wiring": wiring}
    memory = encoder_stages(source, weights, **sizes)[0]["memory"]
    return likeliest(
        lambda said: decoder_stages(said, memory, weights, **sizes)[0]["logits"], len(source), max_len
    )


@torch.no_grad()
def likeliest(
    logits_of: Callable[[Int[Tensor, "batch n"]], Float[Tensor, "batch n vocab"]], n_rows: int, max_len: int
) -> Int[Tensor, "batch tgt"]:
    """The likeliest word each time, at most `max_len`, until all rows have an EOS; readers stop there."""
    said = torch.full((n_rows, 1), BOS)
    for _ in range(max_len):
        said = torch.cat([said, logits_of(said)[:, -1:].argmax(dim=-1)], dim=1)
        if (said == EOS).any(dim=1).all():
            break
    return said[:, 1:]


@torch.no_grad()
def as_torchs(weights: Weights, *, n_heads: int, n_layers: int) -> nn.Transformer:
    """Torch's own Transformer with these weights in it: words with positions in, words' last states out.

    It keeps the three matrices of a look in one, and its biases, which ours has not, are 0.
    """
    d_ff, width = weights["encoder.blocks.0.feed_forward.inner.weight"].shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fast path of torch's wants the norms behind
        made = nn.Transformer(
            width, n_heads, n_layers, n_layers, d_ff, dropout=0.0, batch_first=True, norm_first=True
        )
    for side, stack in (("encoder", made.encoder), ("decoder", made.decoder)):
        for number, layer in enumerate(stack.layers):
            _fill(layer, parts_of(weights, f"{side}.blocks.{number}"))
        stack.norm.load_state_dict(parts_of(weights, f"{side}.last_norm"))
    return made.eval()


def _fill(layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer, parts: Weights) -> None:
    looks, norms = {"attention": layer.self_attn}, ["attention", "feed_forward"]
    if isinstance(layer, nn.TransformerDecoderLayer):
        looks["cross"] = layer.multihead_attn
        norms.insert(1, "cross")
    for name, look_of in looks.items():
        three = [parts[f"{name}.w_{kind}"] for kind in ("query", "key", "value")]
        look_of.in_proj_weight.copy_(torch.cat(three))
        look_of.out_proj.weight.copy_(parts[f"{name}.w_output"])
    for number, name in enumerate(norms, start=1):
        getattr(layer, f"norm{number}").load_state_dict(parts_of(parts, f"around_{name}.norm"))
    layer.linear1.load_state_dict(parts_of(parts, "feed_forward.inner"))
    layer.linear2.load_state_dict(parts_of(parts, "feed_forward.outer"))

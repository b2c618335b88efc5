"""A trained Transformer from plain functions and a table of weights: every stage can be looked at.

    >>> from course_lib.translation.shipped import load_shipped
    >>> model = load_shipped("transformer").model
    >>> found = stages(torch.tensor([[9, 3]]), torch.tensor([[2]]), model.state_dict(), n_heads=4, n_layers=3)
    >>> list(found)[:3], found["logits"].shape
    (['source words', 'encoder 0', 'encoder 1'], torch.Size([1, 1, 680]))

It is what lesson 14 assembles, and computes what `models/transformer.py` does (tests hold the two together).
`Habits` are the usual mistakes, for its clinic: each runs without an error.
"""

from __future__ import annotations

import math
import warnings
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

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Habits:
    """How a Transformer is put together; every other value than the first is a mistake."""

    scaled: bool = True  # words times √d_model
    eps: float = 1e-5
    pre_norm: bool = True
    last_norm: bool = True
    masked: bool = True  # padding of the source is hidden
    starts: bool = True  # the decoder reads BOS first, not EOS
    ahead: int = 0  # how many words ahead the decoder may look
    cross: str = "memory"  # or "itself": keys and values from the decoder's own words
    cross_causal: bool = False
    bias: bool = True  # at the output


RIGHT = Habits()
PATIENTS = {
    "A": Habits(masked=False),
    "B": Habits(last_norm=False),
    "C": Habits(scaled=False),
    "D": Habits(bias=False),
    "E": Habits(starts=False),
    "F": Habits(eps=1e-3),
}


def parts_of(weights: Weights, prefix: str) -> Weights:
    """The weights of one part, under the names that they have within it.

    >>> parts_of({"a.b": 1, "ab": 2}, "a")
    {'b': 1}
    """
    return {
        name.removeprefix(f"{prefix}."): w for name, w in weights.items() if name.startswith(f"{prefix}.")
    }


def embed(
    tokens: Int[Tensor, "batch n"], table: Float[Tensor, "vocab model"], *, habits: Habits = RIGHT
) -> Float[Tensor, "batch n model"]:
    """Words times √d_model, plus their positions."""
    width = table.shape[1]
    words = F.embedding(tokens, table) * (math.sqrt(width) if habits.scaled else 1.0)
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


def norm(x: Tensor, parts: Weights, name: str, habits: Habits = RIGHT) -> Tensor:
    return layer_norm(x, weight=parts[f"{name}.weight"], bias=parts[f"{name}.bias"], eps=habits.eps)


def block(
    x: Float[Tensor, "batch m model"],
    parts: Weights,
    *,
    n_heads: int,
    own: Bool[Tensor, "..."] | None,
    memory: Float[Tensor, "batch n model"] | None = None,
    may_look: Bool[Tensor, "..."] | None = None,
    habits: Habits = RIGHT,
) -> tuple[Float[Tensor, "batch m model"], list[Tensor]]:
    """One block, with a look at the memory if there is one; and the weights of its looks."""
    looked = []

    def around(x: Tensor, name: str, layer) -> Tensor:
        if habits.pre_norm:
            return x + layer(norm(x, parts, f"around_{name}.norm", habits))
        return norm(x + layer(x), parts, f"around_{name}.norm", habits)

    def self_attention(seen: Tensor) -> Tensor:
        out, weights = look(seen, seen, parts, "attention", n_heads=n_heads, may_look=own)
        looked.append(weights)
        return out

    def cross_attention(seen: Tensor) -> Tensor:
        source = memory if habits.cross == "memory" else seen
        allowed = may_look if habits.cross == "memory" else None
        if habits.cross_causal:
            allowed = torch.ones(x.shape[1], source.shape[1], dtype=torch.bool).tril()
        out, weights = look(seen, source, parts, "cross", n_heads=n_heads, may_look=allowed)
        looked.append(weights)
        return out

    def think(seen: Tensor) -> Tensor:
        names = (("w_in", "inner.weight"), ("b_in", "inner.bias"))
        names += (("w_out", "outer.weight"), ("b_out", "outer.bias"))
        return feed_forward(seen, **{own: parts[f"feed_forward.{name}"] for own, name in names})

    x = around(x, "attention", self_attention)
    if memory is not None:
        x = around(x, "cross", cross_attention)
    return around(x, "feed_forward", think), looked


def causal(n: int, ahead: int = 0) -> Bool[Tensor, "n n"]:
    """Each word sees itself and what came before; a mistaken one some words ahead, too."""
    return torch.ones(n, n, dtype=torch.bool).tril(ahead)


def encoder_stages(
    source: Int[Tensor, "batch src"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    may_look: Bool[Tensor, "..."] | None = None,
    habits: Habits = RIGHT,
) -> tuple[dict[str, Tensor], list[Tensor]]:
    """All states on the way to the memory, and where each layer looked."""
    seen = may_look if habits.masked else None
    x = embed(source, weights["words.output.weight"], habits=habits)
    found, looked = {"source words": x}, []
    for layer in range(n_layers):
        parts = parts_of(weights, f"encoder.blocks.{layer}")
        x, [own] = block(x, parts, n_heads=n_heads, own=seen, habits=habits)
        found[f"encoder {layer}"] = x
        looked.append(own)
    found["memory"] = norm(x, weights, "encoder.last_norm", habits) if habits.last_norm else x
    return found, looked


def decoder_stages(
    target: Int[Tensor, "batch tgt"],
    memory: Float[Tensor, "batch src model"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    may_look: Bool[Tensor, "..."] | None = None,
    habits: Habits = RIGHT,
) -> tuple[dict[str, Tensor], list[list[Tensor]]]:
    """All states on the way to the logits, and where each layer looked: at its own words, at the memory."""
    seen = may_look if habits.masked else None
    if not habits.starts:
        target = torch.cat([torch.full_like(target[:, :1], EOS), target[:, 1:]], dim=1)
    own = causal(target.shape[1], habits.ahead)
    x = embed(target, weights["words.output.weight"], habits=habits)
    found, looked = {"target words": x}, []
    for layer in range(n_layers):
        parts = parts_of(weights, f"decoder.blocks.{layer}")
        x, both = block(x, parts, n_heads=n_heads, own=own, memory=memory, may_look=seen, habits=habits)
        found[f"decoder {layer}"] = x
        looked.append(both)
    found["last norm"] = norm(x, weights, "decoder.last_norm", habits) if habits.last_norm else x
    bias = weights["words.output.bias"] if habits.bias else None
    found["logits"] = F.linear(found["last norm"], weights["words.output.weight"], bias)
    return found, looked


def stages(
    source: Int[Tensor, "batch src"],
    target: Int[Tensor, "batch tgt"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    may_look: Bool[Tensor, "..."] | None = None,
    habits: Habits = RIGHT,
) -> dict[str, Tensor]:
    """Every state from the source words to the logits, by name and in order."""
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "may_look": may_look, "habits": habits}
    read, _ = encoder_stages(source, weights, **sizes)
    said, _ = decoder_stages(target, read["memory"], weights, **sizes)
    return read | said


@torch.no_grad()
def say(
    source: Int[Tensor, "batch src"],
    weights: Weights,
    *,
    n_heads: int,
    n_layers: int,
    max_len: int,
    may_look: Bool[Tensor, "..."] | None = None,
    habits: Habits = RIGHT,
) -> Int[Tensor, "batch tgt"]:
    """Greedy: the likeliest word each time, at most `max_len`, until all have an EOS; readers stop there."""
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "may_look": may_look, "habits": habits}
    memory = encoder_stages(source, weights, **sizes)[0]["memory"]
    said = torch.full((len(source), 1), BOS)
    for _ in range(max_len):
        logits = decoder_stages(said, memory, weights, **sizes)[0]["logits"]
        said = torch.cat([said, logits[:, -1:].argmax(dim=-1)], dim=1)
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

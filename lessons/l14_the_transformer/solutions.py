"""The solutions of lesson 14: its notebook shows them, and the checks compare answers with them."""

import torch

from course_lib.training.step import parts_of
from lessons.l12_many_heads.solutions import many_heads
from lessons.l13_the_block.solutions import encoder_block, feed_forward, layer_norm
from lessons.l14_the_transformer.by_parts import embed


def encode_source(source, weights, n_heads, n_layers, mask=None):
    """source (batch, n) token ids, mask (batch, 1, 1, n) or None

    ->  memory (batch, n, d_model)
    """
    # solution
    x = embed(source, weights["words.output.weight"])
    for i in range(n_layers):
        parts = parts_of(weights, f"encoder.blocks.{i}")
        x = encoder_block(x, parts, n_heads, mask)
    last = parts_of(weights, "encoder.last_norm")
    return layer_norm(x, last["weight"], last["bias"])
    # end solution


# fmt: off
def decoder_block(x, memory, parts, n_heads, mask=None):
    """x (batch, m, d_model), memory (batch, n, d_model),
    mask (batch, 1, 1, n) or None: which source tokens may be attended to

    ->  (batch, m, d_model)
    """
    def normed(x, name):
        w, b = (parts[f"around_{name}.norm.{kind}"] for kind in ("weight", "bias"))
        return layer_norm(x, w, b)

    def attend(x, source, name, mask):
        kinds = ("query", "key", "value", "output")
        matrices = [parts[f"{name}.w_{kind}"] for kind in kinds]
        return many_heads(x, source, *matrices, n_heads, mask)[0]

    # solution
    m = x.shape[1]
    causal = torch.ones(m, m, dtype=torch.bool, device=x.device).tril()
    queries = normed(x, "attention")
    x = x + attend(queries, queries, "attention", causal)
    x = x + attend(normed(x, "cross"), memory, "cross", mask)
    names = ("inner.weight", "inner.bias", "outer.weight", "outer.bias")
    inner_and_outer = [parts[f"feed_forward.{name}"] for name in names]
    return x + feed_forward(normed(x, "feed_forward"), *inner_and_outer)
    # end solution
# fmt: on


def first_difference(mine, theirs, tolerance):
    """{stage: tensor}, {stage: tensor}, a number  ->  name of a stage, or "nowhere" """
    # solution
    for stage in theirs:
        gap = (mine[stage] - theirs[stage]).abs().max()
        if not gap <= tolerance:
            return stage
    return "nowhere"
    # end solution

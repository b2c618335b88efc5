"""Wrong and right answers to the exercises of lesson 14, as learners write them.

A row of WRONG: the answer and what its verdict must name, a slip or an input; None if it may name no slip.
"""

import torch
import torch.nn.functional as F

from course_lib.layers.feed_forward import feed_forward
from course_lib.layers.positions import sinusoids
from lessons.l14_the_transformer import by_parts

# ---- what the answers share

TABLE, BIAS = "words.output.weight", "words.output.bias"


def words(source, weights):
    return by_parts.embed(source, weights[TABLE])


def blocks(x, weights, n_heads, mask, layers, side="encoder"):
    for i in layers:
        parts = by_parts.parts_of(weights, f"{side}.blocks.{i}")
        x, _ = by_parts.block(x, parts, n_heads=n_heads, self_mask=mask)
    return x


def last(x, weights, side="encoder"):
    return by_parts.norm(x, weights, f"{side}.last_norm")


def normed(x, parts, name):
    return by_parts.norm(x, parts, f"around_{name}.norm")


def attended(x, source, parts, name, n_heads, mask):
    return by_parts.multi_head_attention(x, source, parts, name, n_heads=n_heads, mask=mask)[0]


def fed(x, parts):
    return feed_forward(x, **by_parts.feed_forward_weights(parts))


def triangle(x, diagonal=0):
    return torch.ones(x.shape[1], x.shape[1]).tril(diagonal) == 1


def past(x, parts, n_heads, mask="causal"):
    mask = triangle(x) if isinstance(mask, str) else mask
    h = normed(x, parts, "attention")
    return x + attended(h, h, parts, "attention", n_heads, mask)


def across(x, memory, parts, n_heads, mask):
    return x + attended(normed(x, parts, "cross"), memory, parts, "cross", n_heads, mask)


def think(x, parts):
    return x + fed(normed(x, parts, "feed_forward"), parts)


def decode_block(x, memory, parts, n_heads, mask=None, own="causal"):
    return think(across(past(x, parts, n_heads, own), memory, parts, n_heads, mask), parts)


def states(target, memory, weights, n_heads, n_layers, mask, start=by_parts.embed):
    x = start(target, weights[TABLE])
    for i in range(n_layers):
        x = decode_block(x, memory, by_parts.parts_of(weights, f"decoder.blocks.{i}"), n_heads, mask)
    return x


# ---- embed


def embed_frozen(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    return torch.nn.Embedding.from_pretrained(table)(tokens) * d**0.5 + sinusoids(n, d)


def embed_up_to_100(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    return table[tokens] * d**0.5 + sinusoids(100, d)[:n]


def embed_by_f(tokens, table):
    d = table.shape[1]
    return F.embedding(tokens, table) * d**0.5 + sinusoids(tokens.shape[1], d)


def embed_by_one_hot(tokens, table):
    picked = F.one_hot(tokens, len(table)).float() @ table
    return torch.tensor(table.shape[1]).sqrt() * picked + sinusoids(tokens.shape[1], table.shape[1])[None]


def embed_table_first(tokens, table):
    larger = table * table.shape[1] ** 0.5
    return sinusoids(tokens.shape[1], table.shape[1]) + larger[tokens]


# ---- encode_source


def encode_sizes_swapped(source, weights, n_heads, n_layers, mask=None):
    return encode_plain(source, weights, n_layers, n_heads, mask)


def encode_without_gradient(source, weights, n_heads, n_layers, mask=None):
    with torch.no_grad():
        return encode_plain(source, weights, n_heads, n_layers, mask)


def encode_plain(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, range(n_layers)), weights)


def encode_recursive(source, weights, n_heads, n_layers, mask=None):
    def upto(i):
        if i == 0:
            return words(source, weights)
        return blocks(upto(i - 1), weights, n_heads, mask, [i - 1])

    return last(upto(n_layers), weights)


def encode_by_stages(source, weights, n_heads, n_layers, mask=None):
    stages, _ = by_parts.encoder_stages(source, weights, n_heads=n_heads, n_layers=n_layers, mask=mask)
    return stages["memory"]


# ---- decoder_block: the masks


def dec_causal_across(x, memory, parts, n_heads, mask=None):
    see = torch.ones(x.shape[1], memory.shape[1]).tril() == 1
    return decode_block(x, memory, parts, n_heads, see)


def dec_causal_across_square(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, triangle(x))


def dec_causal_and_padding(x, memory, parts, n_heads, mask=None):
    see = torch.ones(x.shape[1], memory.shape[1]).tril() == 1
    return decode_block(x, memory, parts, n_heads, see if mask is None else see & mask)


# ---- decoder_block: what attends to what


def dec_from_itself(x, memory, parts, n_heads, mask=None):
    x = past(x, parts, n_heads)
    return think(across(x, normed(x, parts, "cross"), parts, n_heads, None), parts)


def dec_from_itself_masked(x, memory, parts, n_heads, mask=None):
    x = past(x, parts, n_heads)
    return think(across(x, normed(x, parts, "cross"), parts, n_heads, mask), parts)


def dec_from_itself_causal(x, memory, parts, n_heads, mask=None):
    x = past(x, parts, n_heads)
    return think(across(x, normed(x, parts, "cross"), parts, n_heads, triangle(x)), parts)


def dec_memory_detached(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory.detach(), parts, n_heads, mask)


# ---- decoder_block: the steps


def dec_in_place(x, memory, parts, n_heads, mask=None):
    x.copy_(decode_block(x, memory, parts, n_heads, mask))
    return x


# ---- decoder_block: right


def dec_plain(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, mask)


def dec_arange(x, memory, parts, n_heads, mask=None):
    position = torch.arange(x.shape[1])
    return decode_block(x, memory, parts, n_heads, mask, own=position[:, None] >= position)


def dec_four_axes(x, memory, parts, n_heads, mask=None):
    m = x.shape[1]
    own = ~torch.ones(m, m, dtype=torch.bool).triu(1)[None, None]
    return decode_block(x, memory, parts, n_heads, mask, own=own)


# ---- decode_logits


def logits_softmax(target, memory, weights, n_heads, n_layers, mask=None):
    return torch.softmax(logits_plain(target, memory, weights, n_heads, n_layers, mask), dim=-1)


def logits_states(target, memory, weights, n_heads, n_layers, mask=None):
    return last(states(target, memory, weights, n_heads, n_layers, mask), weights, "decoder")


def logits_bias_twice(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_plain(target, memory, weights, n_heads, n_layers, mask) + weights[BIAS]


def logits_with_memory(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask) + memory.mean(dim=1, keepdim=True)
    return F.linear(last(x, weights, "decoder"), weights[TABLE], weights[BIAS])


def logits_table_detached(target, memory, weights, n_heads, n_layers, mask=None):
    x = logits_states(target, memory, weights, n_heads, n_layers, mask)
    return x @ weights[TABLE].detach().T + weights[BIAS]


def logits_plain(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask)
    return last(x, weights, "decoder") @ weights[TABLE].T + weights[BIAS]


def logits_by_linear(target, memory, weights, n_heads, n_layers, mask=None):
    x = last(states(target, memory, weights, n_heads, n_layers, mask), weights, "decoder")
    return F.linear(x, weights[TABLE], weights[BIAS])


def logits_by_einsum(target, memory, weights, n_heads, n_layers, mask=None):
    x = last(states(target, memory, weights, n_heads, n_layers, mask), weights, "decoder")
    return torch.einsum("bmd,vd->bmv", x, weights[TABLE]) + weights[BIAS]


# ---- first_difference


def diff_ten_thousandth(mine, theirs, tolerance):
    return diff_by_allclose(mine, theirs, 1e-4)


def diff_none(mine, theirs, tolerance):
    for name in theirs:
        if not (mine[name] - theirs[name]).abs().max() <= tolerance:
            return name


def diff_by_allclose(mine, theirs, tolerance):
    for name, right in theirs.items():
        if not torch.allclose(mine[name], right, rtol=0, atol=tolerance):
            return name
    return "nowhere"


def diff_by_next(mine, theirs, tolerance):
    wrong = (n for n in theirs if not ((mine[n] - theirs[n]).abs() <= tolerance).all())
    return next(wrong, "nowhere")


def diff_by_isnan(mine, theirs, tolerance):
    for name in mine:
        gap = (mine[name] - theirs[name]).abs()
        if gap.isnan().any() or gap.max() > tolerance:
            return name
    return "nowhere"


WRONG = {
    "embed": [
        (embed_frozen, "no-gradient"),
        (embed_up_to_100, "raises"),
    ],
    "encode_source": [
        (encode_sizes_swapped, "`n_heads` and `n_layers`"),
        (encode_without_gradient, "no-gradient"),
    ],
    "decoder_block": [
        (dec_causal_across, "causal-across"),
        (dec_causal_across_square, "causal-across"),
        (dec_causal_and_padding, "causal-across-masked"),
        (dec_from_itself, "cross-from-itself"),
        (dec_from_itself_masked, "cross-from-itself-masked"),
        (dec_from_itself_causal, "cross-from-itself-causal"),
        (dec_memory_detached, "no-gradient"),
        (dec_in_place, "in-place"),
    ],
    "decode_logits": [
        (logits_bias_twice, "words.output.bias"),
        (logits_softmax, "softmax"),
        (logits_with_memory, None),
        (logits_table_detached, "wrong-gradient"),
    ],
    "first_difference": [
        (diff_ten_thousandth, None),
        (diff_none, "returns-none"),
    ],
}
RIGHT = {
    "embed": [embed_by_f, embed_by_one_hot, embed_table_first],
    "encode_source": [encode_plain, encode_recursive, encode_by_stages],
    "decoder_block": [dec_plain, dec_arange, dec_four_axes],
    "decode_logits": [logits_plain, logits_by_linear, logits_by_einsum],
    "first_difference": [diff_by_allclose, diff_by_next, diff_by_isnan],
}

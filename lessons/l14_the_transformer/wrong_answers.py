"""Wrong and right answers to the exercises of lesson 14, as learners write them.

A row of WRONG: the answer and what its verdict must name, a slip or an input; None if it may name no slip.
"""

import math
import re

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


def embed_together(tokens, table):
    width = table.shape[1]
    x = table[tokens] + sinusoids(tokens.shape[1], width)
    return x * width**0.5


def embed_plain(tokens, table):
    return table[tokens] + sinusoids(tokens.shape[1], table.shape[1])


def embed_times_d(tokens, table):
    return table[tokens] * table.shape[1] + sinusoids(tokens.shape[1], table.shape[1])


def embed_divides(tokens, table):
    return table[tokens] / table.shape[1] ** 0.5 + sinusoids(tokens.shape[1], table.shape[1])


def embed_nowhere(tokens, table):
    return table[tokens] * table.shape[1] ** 0.5


def embed_root_of_n(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    return table[tokens] * n**0.5 + sinusoids(n, d)


def embed_rows(tokens, table):
    return F.embedding(tokens, table)


def embed_root_of_vocabulary(tokens, table):
    return table[tokens] * len(table) ** 0.5 + sinusoids(tokens.shape[1], table.shape[1])


def embed_root_of_64(tokens, table):
    return table[tokens] * 8 + sinusoids(tokens.shape[1], table.shape[1])


def embed_whole_root(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    return table[tokens] * int(math.sqrt(d)) + sinusoids(n, d)


def embed_large_positions(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    return table[tokens] + sinusoids(n, d) * d**0.5


def embed_divides_all(tokens, table):
    return embed_plain(tokens, table) / table.shape[1] ** 0.5


def embed_small_positions(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    return table[tokens] + sinusoids(n, d) / d**0.5


def embed_minus(tokens, table):
    return embed_nowhere(tokens, table) - sinusoids(tokens.shape[1], table.shape[1])


def embed_from_1(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    return table[tokens] * d**0.5 + sinusoids(n + 1, d)[1:]


def embed_position_of_token(tokens, table):
    d = table.shape[1]
    return (table * d**0.5 + sinusoids(len(table), d))[tokens]


def embed_position_of_sentence(tokens, table):
    d = table.shape[1]
    return table[tokens] * d**0.5 + sinusoids(tokens.shape[0], d).unsqueeze(1)


def embed_no_padding(tokens, table):
    x = embed_by_f(tokens, table)
    return x.masked_fill((tokens == 0)[..., None], 0.0)


def embed_padding_rows(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    rows = table[tokens].masked_fill((tokens == 0)[..., None], 0.0)
    return rows * d**0.5 + sinusoids(n, d)


def embed_one_sentence(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    x = table[tokens[0]] * d**0.5 + sinusoids(n, d)
    return torch.stack([x] * len(tokens))


def embed_unit_rows(tokens, table):
    n, d = tokens.shape[1], table.shape[1]
    return (table / table.norm(dim=1, keepdim=True).clamp(min=1e-9))[tokens] * d**0.5 + sinusoids(n, d)


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


def encode_no_norm(source, weights, n_heads, n_layers, mask=None):
    return blocks(words(source, weights), weights, n_heads, mask, range(n_layers))


def encode_norm_before(source, weights, n_heads, n_layers, mask=None):
    x = last(words(source, weights), weights)
    return blocks(x, weights, n_heads, mask, range(n_layers))


def encode_no_mask(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, None, range(n_layers)), weights)


def encode_mask_once(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    for i in range(n_layers):
        x = blocks(x, weights, n_heads, mask, [i])
        mask = None
    return last(x, weights)


def encode_mask_at_the_end(source, weights, n_heads, n_layers, mask=None):
    x = blocks(words(source, weights), weights, n_heads, None, range(n_layers - 1))
    return last(blocks(x, weights, n_heads, mask, [n_layers - 1]), weights)


def encode_mask_inverted(source, weights, n_heads, n_layers, mask=None):
    mask = None if mask is None else mask == 0
    return last(blocks(words(source, weights), weights, n_heads, mask, range(n_layers)), weights)


def encode_own_mask(source, weights, n_heads, n_layers, mask=None):
    mask = source.ne(0)[:, None, None, :]
    return last(blocks(words(source, weights), weights, n_heads, mask, range(n_layers)), weights)


def encode_causal(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, triangle(source), range(n_layers)), weights)


def encode_no_root(source, weights, n_heads, n_layers, mask=None):
    x = embed_plain(source, weights[TABLE])
    return last(blocks(x, weights, n_heads, mask, range(n_layers)), weights)


def encode_root_again(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x * x.shape[-1] ** 0.5, weights, n_heads, mask, range(n_layers)), weights)


def encode_no_positions(source, weights, n_heads, n_layers, mask=None):
    x = embed_nowhere(source, weights[TABLE])
    return last(blocks(x, weights, n_heads, mask, range(n_layers)), weights)


def encode_rows(source, weights, n_heads, n_layers, mask=None):
    x = weights[TABLE][source]
    return last(blocks(x, weights, n_heads, mask, range(n_layers)), weights)


def encode_one_block(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, range(1)), weights)


def encode_too_few(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, range(n_layers - 1)), weights)


def encode_from_1(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, range(1, n_layers + 1)), weights)


def encode_without_0(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, range(1, n_layers)), weights)


def encode_always_3(source, weights, n_heads, n_layers, mask=None):
    return last(blocks(words(source, weights), weights, n_heads, mask, range(3)), weights)


def encode_all_in_the_file(source, weights, n_heads, n_layers, mask=None):
    numbers = {int(name.split(".")[2]) for name in weights if name.startswith("encoder.blocks.")}
    return last(blocks(words(source, weights), weights, n_heads, mask, sorted(numbers)), weights)


def encode_first_weights(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, [0] * n_layers), weights)


def encode_norm_each(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    for i in range(n_layers):
        x = last(blocks(x, weights, n_heads, mask, [i]), weights)
    return x


def encode_decoders_norm(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, range(n_layers)), weights, "decoder")


def encode_plain_norm(source, weights, n_heads, n_layers, mask=None):
    x = encode_no_norm(source, weights, n_heads, n_layers, mask)
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()


def encode_norm_without_bias(source, weights, n_heads, n_layers, mask=None):
    x = encode_plain(source, weights, n_heads, n_layers, mask)
    return x - weights["encoder.last_norm.bias"]


def encode_from_behind(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, reversed(range(n_layers))), weights)


def encode_always_from_the_words(source, weights, n_heads, n_layers, mask=None):
    start = words(source, weights)
    for i in range(n_layers):
        x = blocks(start, weights, n_heads, mask, [i])
    return last(x, weights)


def encode_decoders_blocks(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, range(n_layers), "decoder"), weights)


def encode_four_heads(source, weights, n_heads, n_layers, mask=None):
    return encode_plain(source, weights, 4, n_layers, mask)


def encode_one_head(source, weights, n_heads, n_layers, mask=None):
    return encode_plain(source, weights, 1, n_layers, mask)


def encode_sizes_swapped(source, weights, n_heads, n_layers, mask=None):
    return encode_plain(source, weights, n_layers, n_heads, mask)


def encode_norm_each_and_last(source, weights, n_heads, n_layers, mask=None):
    return last(encode_norm_each(source, weights, n_heads, n_layers, mask), weights)


def encode_norm_swapped(source, weights, n_heads, n_layers, mask=None):
    x = encode_no_norm(source, weights, n_heads, n_layers, mask)
    bias, weight = by_parts.parts_of(weights, "encoder.last_norm").values()
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def encode_nothing(source, weights, n_heads, n_layers, mask=None):
    return last(words(source, weights), weights)


def encode_last_weights(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, [n_layers - 1] * n_layers), weights)


def encode_too_many(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, range(n_layers + 1)), weights)


def encode_adds_blocks(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    for i in range(n_layers):
        x = x + blocks(x, weights, n_heads, mask, [i])
    return last(x, weights)


def encode_no_padding(source, weights, n_heads, n_layers, mask=None):
    x = encode_plain(source, weights, n_heads, n_layers, mask)
    return x if mask is None else x.masked_fill(~mask[:, 0, 0, :, None], 0.0)


def encode_every_state(source, weights, n_heads, n_layers, mask=None):
    found = [words(source, weights)]
    for i in range(n_layers):
        found.append(blocks(found[-1], weights, n_heads, mask, [i]))
    return [*found[:-1], last(found[-1], weights)]


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


def dec_open(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, mask, own=None)


def dec_next(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, mask, own=triangle(x, 1))


def dec_triu(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, mask, own=triangle(x).T)


def dec_strictly_before(x, memory, parts, n_heads, mask=None):
    position = torch.arange(x.shape[1])
    return decode_block(x, memory, parts, n_heads, mask, own=position[:, None] > position)


def dec_true_is_hidden(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, mask, own=torch.ones(2 * x.shape[1:2]).triu(1).bool())


def dec_one_mask_for_both(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, mask, own=mask)


def dec_padding_of_the_target(x, memory, parts, n_heads, mask=None):
    own = triangle(x) if mask is None else triangle(x) & mask
    return decode_block(x, memory, parts, n_heads, mask, own=own)


def dec_masks_swapped(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, triangle(x), own=mask)


def dec_causal_across(x, memory, parts, n_heads, mask=None):
    see = torch.ones(x.shape[1], memory.shape[1]).tril() == 1
    return decode_block(x, memory, parts, n_heads, see)


def dec_causal_across_square(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, triangle(x))


def dec_causal_and_padding(x, memory, parts, n_heads, mask=None):
    see = torch.ones(x.shape[1], memory.shape[1]).tril() == 1
    return decode_block(x, memory, parts, n_heads, see if mask is None else see & mask)


def dec_unmasked(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads)


def dec_mask_inverted(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, None if mask is None else mask.logical_not())


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


def dec_memory_asks(x, memory, parts, n_heads, mask=None):
    x = past(x, parts, n_heads)
    x = x + attended(memory, normed(x, parts, "cross"), parts, "cross", n_heads, mask)
    return think(x, parts)


def dec_memory_normed(x, memory, parts, n_heads, mask=None):
    return decode_block(x, normed(memory, parts, "cross"), parts, n_heads, mask)


def dec_memory_detached(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory.detach(), parts, n_heads, mask)


def dec_memory_everywhere(x, memory, parts, n_heads, mask=None):
    x = x + attended(normed(x, parts, "attention"), memory, parts, "attention", n_heads, mask)
    return think(across(x, memory, parts, n_heads, mask), parts)


def dec_keys_as_they_are(x, memory, parts, n_heads, mask=None):
    x = x + attended(normed(x, parts, "attention"), x, parts, "attention", n_heads, triangle(x))
    return think(across(x, memory, parts, n_heads, mask), parts)


def dec_no_masks(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, None, own=None)


# ---- decoder_block: weights


def dec_not_turned(x, memory, parts, n_heads, mask=None):
    turned = {name: w.T if ".w_" in name else w for name, w in parts.items()}
    return decode_block(x, memory, turned, n_heads, mask)


def dec_output_not_turned(x, memory, parts, n_heads, mask=None):
    turned = {name: w.T if name.endswith("w_output") else w for name, w in parts.items()}
    return decode_block(x, memory, turned, n_heads, mask)


def dec_cross_not_turned(x, memory, parts, n_heads, mask=None):
    turned = {name: w.T if name.startswith("cross.") else w for name, w in parts.items()}
    return decode_block(x, memory, turned, n_heads, mask)


def dec_self_not_turned(x, memory, parts, n_heads, mask=None):
    turned = {name: w.T if name.startswith("attention.") else w for name, w in parts.items()}
    return decode_block(x, memory, turned, n_heads, mask)


def dec_cross_for_both(x, memory, parts, n_heads, mask=None):
    h = normed(x, parts, "attention")
    x = x + attended(h, h, parts, "cross", n_heads, triangle(x))
    return think(across(x, memory, parts, n_heads, mask), parts)


def dec_keys_for_values(x, memory, parts, n_heads, mask=None):
    swapped = {"cross.w_key": parts["cross.w_value"], "cross.w_value": parts["cross.w_key"]}
    return decode_block(x, memory, parts | swapped, n_heads, mask)


def renamed(parts, old, new):
    """The matrices of these two kinds, swapped in both attentions."""
    names = {f".w_{old}": f".w_{new}", f".w_{new}": f".w_{old}"}
    return {re.sub(r"\.w_\w+", lambda m: names.get(m[0], m[0]), name): w for name, w in parts.items()}


def dec_values_first(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, renamed(parts, "key", "value"), n_heads, mask)


def dec_keys_first(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, renamed(parts, "query", "key"), n_heads, mask)


def dec_one_set(x, memory, parts, n_heads, mask=None):
    shared = {
        name.replace("attention.", "cross.", 1): w
        for name, w in parts.items()
        if name.startswith("attention.")
    }
    return decode_block(x, memory, parts | shared, n_heads, mask)


def dec_one_norm(x, memory, parts, n_heads, mask=None):
    x = past(x, parts, n_heads)
    x = x + attended(normed(x, parts, "attention"), memory, parts, "cross", n_heads, mask)
    return think(x, parts)


def dec_norm_of_cross_at_the_end(x, memory, parts, n_heads, mask=None):
    x = across(past(x, parts, n_heads), memory, parts, n_heads, mask)
    return x + fed(normed(x, parts, "cross"), parts)


def dec_four_heads(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, 4, mask)


def dec_one_head(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, 1, mask)


# ---- decoder_block: the steps


def dec_not_to_itself(x, memory, parts, n_heads, mask=None):
    return think(across(x, memory, parts, n_heads, mask), parts)


def dec_not_across(x, memory, parts, n_heads, mask=None):
    return think(past(x, parts, n_heads), parts)


def dec_no_thinking(x, memory, parts, n_heads, mask=None):
    return across(past(x, parts, n_heads), memory, parts, n_heads, mask)


def dec_swapped_order(x, memory, parts, n_heads, mask=None):
    return think(past(across(x, memory, parts, n_heads, mask), parts, n_heads), parts)


def dec_thinks_too_early(x, memory, parts, n_heads, mask=None):
    return across(think(past(x, parts, n_heads), parts), memory, parts, n_heads, mask)


def dec_norms_last(x, memory, parts, n_heads, mask=None):
    x = normed(x + attended(x, x, parts, "attention", n_heads, triangle(x)), parts, "attention")
    x = normed(x + attended(x, memory, parts, "cross", n_heads, mask), parts, "cross")
    return normed(x + fed(x, parts), parts, "feed_forward")


def dec_no_norms(x, memory, parts, n_heads, mask=None):
    x = x + attended(x, x, parts, "attention", n_heads, triangle(x))
    x = x + attended(x, memory, parts, "cross", n_heads, mask)
    return x + fed(x, parts)


def dec_no_norm_in_the_past(x, memory, parts, n_heads, mask=None):
    x = x + attended(x, x, parts, "attention", n_heads, triangle(x))
    return think(across(x, memory, parts, n_heads, mask), parts)


def dec_no_norm_across(x, memory, parts, n_heads, mask=None):
    x = past(x, parts, n_heads)
    return think(x + attended(x, memory, parts, "cross", n_heads, mask), parts)


def dec_no_norm_at_the_end(x, memory, parts, n_heads, mask=None):
    x = across(past(x, parts, n_heads), memory, parts, n_heads, mask)
    return x + fed(x, parts)


def dec_no_residuals(x, memory, parts, n_heads, mask=None):
    h = normed(x, parts, "attention")
    x = attended(h, h, parts, "attention", n_heads, triangle(x))
    x = attended(normed(x, parts, "cross"), memory, parts, "cross", n_heads, mask)
    return fed(normed(x, parts, "feed_forward"), parts)


def dec_no_residual_in_the_past(x, memory, parts, n_heads, mask=None):
    x = past(x, parts, n_heads) - x
    return think(across(x, memory, parts, n_heads, mask), parts)


def dec_no_residual_across(x, memory, parts, n_heads, mask=None):
    x = past(x, parts, n_heads)
    return think(attended(normed(x, parts, "cross"), memory, parts, "cross", n_heads, mask), parts)


def dec_no_residual_at_the_end(x, memory, parts, n_heads, mask=None):
    x = across(past(x, parts, n_heads), memory, parts, n_heads, mask)
    return fed(normed(x, parts, "feed_forward"), parts)


def dec_path_normed(x, memory, parts, n_heads, mask=None):
    x = normed(x, parts, "attention")
    x = x + attended(x, x, parts, "attention", n_heads, triangle(x))
    x = normed(x, parts, "cross")
    x = x + attended(x, memory, parts, "cross", n_heads, mask)
    x = normed(x, parts, "feed_forward")
    return x + fed(x, parts)


def dec_adds_to_the_input(x, memory, parts, n_heads, mask=None):
    first = past(x, parts, n_heads)
    second = x + attended(normed(first, parts, "cross"), memory, parts, "cross", n_heads, mask)
    return x + fed(normed(second, parts, "feed_forward"), parts)


def dec_side_by_side(x, memory, parts, n_heads, mask=None):
    return past(x, parts, n_heads) + across(x, memory, parts, n_heads, mask) + think(x, parts) - 2 * x


def dec_asks_with_the_input(x, memory, parts, n_heads, mask=None):
    seen = past(x, parts, n_heads)
    return think(seen + across(x, memory, parts, n_heads, mask) - x, parts)


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


def logits_no_bias(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask)
    return last(x, weights, "decoder") @ weights[TABLE].T


def logits_no_norm(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask)
    return x @ weights[TABLE].T + weights[BIAS]


def logits_neither(target, memory, weights, n_heads, n_layers, mask=None):
    return F.linear(states(target, memory, weights, n_heads, n_layers, mask), weights[TABLE])


def logits_other_norm(target, memory, weights, n_heads, n_layers, mask=None):
    x = last(states(target, memory, weights, n_heads, n_layers, mask), weights, "encoder")
    return x @ weights[TABLE].T + weights[BIAS]


def logits_plain_norm(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask)
    return F.linear(F.layer_norm(x, (x.shape[-1],)), weights[TABLE], weights[BIAS])


def logits_norm_without_bias(target, memory, weights, n_heads, n_layers, mask=None):
    x = last(states(target, memory, weights, n_heads, n_layers, mask), weights, "decoder")
    return F.linear(x - weights["decoder.last_norm.bias"], weights[TABLE], weights[BIAS])


def logits_norm_in_the_loop(target, memory, weights, n_heads, n_layers, mask=None):
    x = words(target, weights)
    for i in range(n_layers):
        x = decode_block(x, memory, by_parts.parts_of(weights, f"decoder.blocks.{i}"), n_heads, mask)
        x = last(x, weights, "decoder")
    return F.linear(x, weights[TABLE], weights[BIAS])


def logits_norm_too_late(target, memory, weights, n_heads, n_layers, mask=None):
    return last(logits_no_norm(target, memory, weights, n_heads, n_layers, mask), weights, "decoder")


def logits_no_mask(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_plain(target, memory, weights, n_heads, n_layers)


def logits_softmax(target, memory, weights, n_heads, n_layers, mask=None):
    return torch.softmax(logits_plain(target, memory, weights, n_heads, n_layers, mask), dim=-1)


def logits_log_softmax(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_softmax(target, memory, weights, n_heads, n_layers, mask).log()


def logits_below_0(target, memory, weights, n_heads, n_layers, mask=None):
    logits = logits_plain(target, memory, weights, n_heads, n_layers, mask)
    return logits - logits.max(dim=-1, keepdim=True).values


def logits_no_padding(target, memory, weights, n_heads, n_layers, mask=None):
    logits = logits_plain(target, memory, weights, n_heads, n_layers, mask)
    return torch.cat([torch.full_like(logits[..., :1], -torch.inf), logits[..., 1:]], dim=-1)


def logits_argmax(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_plain(target, memory, weights, n_heads, n_layers, mask).max(dim=-1).indices


def logits_no_root(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask, start=embed_plain)
    return last(x, weights, "decoder") @ weights[TABLE].T + weights[BIAS]


def logits_last_word(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_plain(target, memory, weights, n_heads, n_layers, mask)[:, -1]


def logits_last_word_kept(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_last_word(target, memory, weights, n_heads, n_layers, mask).unsqueeze(1)


def logits_states(target, memory, weights, n_heads, n_layers, mask=None):
    return last(states(target, memory, weights, n_heads, n_layers, mask), weights, "decoder")


def logits_not_turned(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_states(target, memory, weights, n_heads, n_layers, mask) @ weights[TABLE] + weights[BIAS]


def logits_nothing(target, memory, weights, n_heads, n_layers, mask=None):
    return states(target, memory, weights, n_heads, n_layers, mask)


def logits_norm_swapped(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask)
    bias, weight = by_parts.parts_of(weights, "decoder.last_norm").values()
    return F.linear(F.layer_norm(x, x.shape[-1:], weight, bias), weights[TABLE], weights[BIAS])


def logits_softmax_of_positions(target, memory, weights, n_heads, n_layers, mask=None):
    return F.softmax(logits_plain(target, memory, weights, n_heads, n_layers, mask), dim=-2)


def logits_bias_twice(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_plain(target, memory, weights, n_heads, n_layers, mask) + weights[BIAS]


def logits_cosine(target, memory, weights, n_heads, n_layers, mask=None):
    x = logits_states(target, memory, weights, n_heads, n_layers, mask)
    return F.cosine_similarity(x[:, :, None], weights[TABLE], dim=-1) + weights[BIAS]


def logits_with_root(target, memory, weights, n_heads, n_layers, mask=None):
    x = last(states(target, memory, weights, n_heads, n_layers, mask), weights, "decoder")
    return x.shape[-1] ** 0.5 * x @ weights[TABLE].T + weights[BIAS]


def logits_divided(target, memory, weights, n_heads, n_layers, mask=None):
    x = logits_states(target, memory, weights, n_heads, n_layers, mask)
    return x @ weights[TABLE].T / x.shape[-1] ** 0.5 + weights[BIAS]


def logits_positions(target, memory, weights, n_heads, n_layers, mask=None):
    x = logits_states(target, memory, weights, n_heads, n_layers, mask)
    return F.linear(x + sinusoids(x.shape[1], x.shape[2]), weights[TABLE], weights[BIAS])


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


def diff_last(mine, theirs, tolerance):
    found = "nowhere"
    for name in theirs:
        if not (mine[name] - theirs[name]).abs().max() <= tolerance:
            found = name
    return found


def diff_nan(mine, theirs, tolerance):
    for name in theirs:
        if (mine[name] - theirs[name]).abs().max() > tolerance:
            return name
    return "nowhere"


def diff_any(mine, theirs, tolerance):
    for name in theirs:
        if ((mine[name] - theirs[name]).abs() > tolerance).any():
            return name
    return "nowhere"


def diff_nan_is_0(mine, theirs, tolerance):
    for name in theirs:
        if (mine[name].nan_to_num() - theirs[name].nan_to_num()).abs().max() > tolerance:
            return name
    return "nowhere"


def diff_nan_in_mine(mine, theirs, tolerance):
    for name in mine:
        if mine[name].isnan().any() or (mine[name] - theirs[name]).abs().max() > tolerance:
            return name
    return "nowhere"


def diff_agrees(mine, theirs, tolerance):
    for name in mine:
        if (mine[name] - theirs[name]).abs().max() <= tolerance:
            return name
    return "nowhere"


def diff_ten_thousandth(mine, theirs, tolerance):
    return diff_by_allclose(mine, theirs, 1e-4)


def diff_equal_nan(mine, theirs, tolerance):
    for name in theirs:
        if not torch.allclose(mine[name], theirs[name], rtol=0, atol=tolerance, equal_nan=True):
            return name
    return "nowhere"


def finder(measure, sees_nan=True):
    """The loop that most answers have; only the number differs that they compare with the tolerance."""

    def diff(mine, theirs, tolerance):
        for name in mine:
            gap = measure(mine[name], theirs[name])
            if not gap <= tolerance if sees_nan else gap > tolerance:
                return name
        return "nowhere"

    return diff


def signed(a, b):
    return torch.max(a - b)


def size_of_largest(a, b):
    return abs(torch.max(a - b))


def without_signs(a, b):
    return abs(abs(a) - abs(b)).max()


def mean(a, b):
    return (a - b).abs().sum() / a.numel()


def total(a, b):
    return torch.sum(torch.abs(a - b))


def length(a, b):
    return torch.linalg.vector_norm(a - b)


def square(a, b):
    return ((a - b) ** 2).amax()


def relative(a, b):
    return ((a - b).abs() / b.abs().clamp(min=1e-12)).max()


def in_first(a, b):
    return (a[0] - b[0]).abs().max()


def in_last(a, b):
    return (a[-1] - b[-1]).abs().max()


def diff_all(mine, theirs, tolerance):
    for name in mine:
        if (~((mine[name] - theirs[name]).abs() <= tolerance)).all():
            return name
    return "nowhere"


def diff_at_the_limit(mine, theirs, tolerance):
    for name in mine:
        gap = (mine[name] - theirs[name]).abs()
        if gap.isnan().any() or (gap >= tolerance).any():
            return name
    return "nowhere"


def diff_at_the_limit_nan(mine, theirs, tolerance):
    for name in mine:
        if ((mine[name] - theirs[name]).abs() >= tolerance).any():
            return name
    return "nowhere"


def diff_bits(mine, theirs, tolerance):
    for name in theirs:
        if not (mine[name] == theirs[name]).all():
            return name
    return "nowhere"


def diff_thousandth(mine, theirs, tolerance):
    for name in theirs:
        if not torch.allclose(mine[name], theirs[name], rtol=0, atol=1e-3):
            return name
    return "nowhere"


def diff_none(mine, theirs, tolerance):
    for name in theirs:
        if not (mine[name] - theirs[name]).abs().max() <= tolerance:
            return name


def diff_rtol(mine, theirs, tolerance):
    for name in theirs:
        if not torch.allclose(mine[name], theirs[name], atol=tolerance):
            return name
    return "nowhere"


def diff_both_tolerances(mine, theirs, tolerance):
    for name in theirs:
        if not torch.allclose(mine[name], theirs[name], atol=tolerance, rtol=tolerance):
            return name
    return "nowhere"


def diff_only_rtol(mine, theirs, tolerance):
    for name in theirs:
        if not torch.isclose(mine[name], theirs[name], rtol=tolerance).all():
            return name
    return "nowhere"


def diff_sorted(mine, theirs, tolerance):
    for name in sorted(theirs):
        if not (mine[name] - theirs[name]).abs().max() <= tolerance:
            return name
    return "nowhere"


def diff_gives_up(mine, theirs, tolerance):
    for name in theirs:
        if not (mine[name] - theirs[name]).abs().max() <= tolerance:
            return name
        return "nowhere"


def diff_at_the_end(mine, theirs, tolerance):
    name = list(mine)[-1]
    return "nowhere" if (mine[name] - theirs[name]).abs().max() <= tolerance else name


def diff_number(mine, theirs, tolerance):
    for i, name in enumerate(mine):
        if not (mine[name] - theirs[name]).abs().max() <= tolerance:
            return i
    return "nowhere"


def diff_names(mine, theirs, tolerance):
    found = []
    for name in mine:
        if not (mine[name] - theirs[name]).abs().max() <= tolerance:
            found.append(name)
    return found if found else "nowhere"


def diff_largest(mine, theirs, tolerance):
    gaps = {name: (mine[name] - theirs[name]).abs().max().item() for name in mine}
    worst = max(gaps, key=gaps.get)
    return worst if gaps[worst] > tolerance else "nowhere"


def diff_largest_nan(mine, theirs, tolerance):
    gaps = [((mine[name] - theirs[name]).abs().nan_to_num(math.inf).max(), name) for name in mine]
    gap, name = max(gaps, key=lambda pair: pair[0])
    return name if gap > tolerance else "nowhere"


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
        (embed_together, "root-of-sum"),
        (embed_plain, "no-root"),
        (embed_times_d, "times-d-model"),
        (embed_divides, "divided"),
        (embed_nowhere, "no-positions"),
        (embed_rows, "rows-only"),
        (embed_large_positions, "root-on-positions"),
        (embed_divides_all, "all-divided"),
        (embed_small_positions, "positions-divided"),
        (embed_minus, "positions-subtracted"),
        (embed_root_of_64, "root-of-64"),
        (embed_root_of_n, "root-of-length"),
        (embed_root_of_vocabulary, "root-of-vocabulary"),
        (embed_whole_root, "rounded-root"),
        (
            lambda tokens, table: (
                F.embedding(tokens, table) * table.shape[1] ** 0.5 + sinusoids(len(tokens), table.shape[1])[0]
            ),
            "one-position",
        ),
        (embed_from_1, "positions-from-1"),
        (embed_position_of_token, "positions-by-token"),
        (embed_position_of_sentence, "positions-by-sentence"),
        (embed_no_padding, "padding-zeroed"),
        (embed_padding_rows, "padding-rows-zeroed"),
        (embed_one_sentence, "first-sentence"),
        (embed_unit_rows, "rows-normalised"),
        (embed_frozen, "no-gradient"),
        (embed_up_to_100, "raises"),
    ],
    "encode_source": [
        (encode_no_norm, "no-last-norm"),
        (encode_norm_before, "norm-first"),
        (encode_norm_each, "norm-in-between"),
        (encode_decoders_norm, "decoders-norm"),
        (encode_plain_norm, "norm-without-weights"),
        (encode_norm_without_bias, "norm-without-bias"),
        (encode_norm_each_and_last, "norm-after-each-and-last"),
        (encode_norm_swapped, "norm-swapped"),
        (encode_nothing, "no-blocks"),
        (encode_last_weights, "last-block-again"),
        (encode_too_many, "one-block-too-many"),
        (encode_adds_blocks, "residual-around-blocks"),
        (encode_one_head, "one-head"),
        (encode_sizes_swapped, "`n_heads` and `n_layers`"),
        (encode_no_padding, "padding-zeroed"),
        (encode_no_mask, "ignores-mask"),
        (encode_mask_once, "mask-in-the-first-block"),
        (encode_mask_at_the_end, "mask-in-the-last-block"),
        (encode_mask_inverted, "mask-inverted"),
        (encode_own_mask, "own-mask"),
        (encode_causal, "causal"),
        (encode_no_root, "no-root"),
        (encode_root_again, "scaled-again"),
        (encode_no_positions, "no-positions"),
        (encode_rows, "rows-only"),
        (encode_one_block, "first-block-only"),
        (encode_too_few, "last-block-missing"),
        (encode_from_1, "starts-at-1"),
        (encode_without_0, "first-block-missing"),
        (encode_always_3, "n-layers-ignored"),
        (encode_all_in_the_file, "n-layers-ignored"),
        (encode_first_weights, "one-block-again"),
        (encode_from_behind, "layers-reversed"),
        (encode_always_from_the_words, "from-the-words"),
        (encode_decoders_blocks, "decoders-blocks"),
        (encode_four_heads, "four-heads"),
        (encode_every_state, "all-states"),
        (encode_without_gradient, "no-gradient"),
    ],
    "decoder_block": [
        (dec_open, "no-causal-mask"),
        (dec_no_masks, "no-masks"),
        (dec_memory_everywhere, "memory-twice"),
        (dec_keys_as_they_are, "keys-not-normed"),
        (dec_cross_for_both, "cross-matrices-twice"),
        (dec_cross_not_turned, "cross-not-turned"),
        (dec_self_not_turned, "self-not-turned"),
        (dec_next, "sees-the-next"),
        (dec_triu, "looks-ahead-only"),
        (dec_strictly_before, "diagonal-closed"),
        (dec_true_is_hidden, "causal-inverted"),
        (dec_one_mask_for_both, "source-mask-only"),
        (dec_padding_of_the_target, "source-mask-too"),
        (dec_masks_swapped, "masks-swapped"),
        (dec_causal_across, "causal-across"),
        (dec_causal_across_square, "causal-across"),
        (dec_causal_and_padding, "causal-across-masked"),
        (dec_unmasked, "ignores-mask"),
        (dec_mask_inverted, "mask-inverted"),
        (dec_from_itself, "cross-from-itself"),
        (dec_from_itself_masked, "cross-from-itself-masked"),
        (dec_from_itself_causal, "cross-from-itself-causal"),
        (dec_memory_asks, "queries-from-memory"),
        (dec_memory_normed, "memory-normed"),
        (dec_memory_detached, "no-gradient"),
        (dec_not_turned, "not-turned"),
        (dec_output_not_turned, "output-not-turned"),
        (dec_keys_for_values, "keys-for-values"),
        (dec_values_first, "keys-for-values-twice"),
        (dec_keys_first, "keys-for-queries"),
        (dec_one_set, "same-matrices"),
        (dec_one_norm, "norm-of-self-attention"),
        (dec_norm_of_cross_at_the_end, "norm-of-cross-attention"),
        (dec_four_heads, "four-heads"),
        (dec_one_head, "one-head"),
        (dec_not_to_itself, "no-self-attention"),
        (dec_not_across, "no-cross-attention"),
        (dec_no_thinking, "no-feed-forward"),
        (dec_swapped_order, "cross-first"),
        (dec_thinks_too_early, "feed-forward-early"),
        (dec_norms_last, "post-norm"),
        (dec_no_norms, "no-norms"),
        (dec_no_norm_in_the_past, "no-norm-attention"),
        (dec_no_norm_across, "no-norm-cross"),
        (dec_no_norm_at_the_end, "no-norm-feed-forward"),
        (dec_no_residuals, "no-residuals"),
        (dec_no_residual_in_the_past, "no-residual-attention"),
        (dec_no_residual_across, "no-residual-cross"),
        (dec_no_residual_at_the_end, "no-residual-feed-forward"),
        (dec_path_normed, "path-normed"),
        (dec_adds_to_the_input, "adds-to-the-input"),
        (dec_side_by_side, "in-parallel"),
        (dec_asks_with_the_input, "cross-reads-the-input"),
        (dec_in_place, "in-place"),
    ],
    "decode_logits": [
        (logits_no_bias, "no-bias"),
        (logits_no_norm, "no-last-norm"),
        (logits_neither, "no-norm-no-bias"),
        (logits_other_norm, "encoders-norm"),
        (logits_plain_norm, "norm-without-weights"),
        (logits_norm_without_bias, "norm-without-bias"),
        (logits_norm_in_the_loop, "norm-in-between"),
        (logits_norm_too_late, "norm-after-the-scores"),
        (logits_nothing, "no-end"),
        (logits_norm_swapped, "norm-swapped"),
        (logits_softmax_of_positions, "softmax-over-positions"),
        (logits_bias_twice, "words.output.bias"),
        (logits_no_mask, "ignores-mask"),
        (logits_softmax, "softmax"),
        (logits_log_softmax, "log-softmax"),
        (logits_below_0, "largest-subtracted"),
        (logits_no_padding, "padding-forbidden"),
        (logits_argmax, "argmax"),
        (logits_last_word, "last-position"),
        (logits_last_word_kept, "last-position-kept"),
        (logits_states, "no-scores"),
        (logits_not_turned, "table-not-transposed"),
        (logits_cosine, "cosine"),
        (logits_with_root, "scaled-at-the-end"),
        (logits_divided, "divided-at-the-end"),
        (logits_positions, "positions-again"),
        (logits_no_root, "no-root"),
        (logits_with_memory, None),
        (logits_table_detached, "wrong-gradient"),
    ],
    "first_difference": [
        (diff_last, "last-one"),
        (diff_largest_nan, "largest"),
        (diff_largest, "largest-without-nan"),
        (diff_nan, "nan-passes"),
        (diff_any, "nan-passes"),
        (diff_nan_is_0, "nan-passes"),
        (diff_equal_nan, "nan-in-both"),
        (finder(signed), "sign-forgotten"),
        (finder(signed, sees_nan=False), "sign-forgotten-and-nan"),
        (finder(size_of_largest), "sign-forgotten"),
        (finder(without_signs), "signs-lost"),
        (finder(without_signs, sees_nan=False), "signs-lost-and-nan"),
        (diff_nan_in_mine, "nan-in-mine-only"),
        (diff_agrees, "first-equal"),
        (diff_ten_thousandth, None),
        (finder(mean), "in-the-mean"),
        (finder(mean, sees_nan=False), "in-the-mean-and-nan"),
        (finder(total), "combined"),
        (finder(length), "combined"),
        (finder(total, sees_nan=False), "combined-and-nan"),
        (finder(square), "squared"),
        (finder(square, sees_nan=False), "squared-and-nan"),
        (finder(relative), "relative"),
        (finder(relative, sees_nan=False), "relative-and-nan"),
        (finder(in_first), "first-sentence"),
        (finder(in_last), "last-sentence"),
        (finder(in_last, sees_nan=False), "last-sentence-and-nan"),
        (diff_all, "every-number"),
        (diff_at_the_limit, "limit"),
        (diff_at_the_limit_nan, "limit-and-nan"),
        (diff_rtol, "relative-too"),
        (diff_both_tolerances, "relative-too"),
        (diff_only_rtol, "relative"),
        (diff_bits, "bit-by-bit"),
        (diff_thousandth, "always-a-thousandth"),
        (diff_none, "returns-none"),
        (diff_sorted, "alphabetical"),
        (diff_gives_up, "first-stage-only"),
        (diff_at_the_end, "last-stage-only"),
        (diff_number, "number-of-stage"),
        (diff_names, "all-names"),
    ],
}
RIGHT = {
    "embed": [embed_by_f, embed_by_one_hot, embed_table_first],
    "encode_source": [encode_plain, encode_recursive, encode_by_stages],
    "decoder_block": [dec_plain, dec_arange, dec_four_axes],
    "decode_logits": [logits_plain, logits_by_linear, logits_by_einsum],
    "first_difference": [diff_by_allclose, diff_by_next, diff_by_isnan],
}

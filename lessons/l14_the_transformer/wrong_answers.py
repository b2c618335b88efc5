"""Wrong and right answers to the exercises of lesson 14, as learners write them.

A row of WRONG: the answer and what its verdict must contain, the name of a slip or a part of the text; None
if the verdict may name no slip.
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


def blocks(x, weights, n_heads, mask, layers):
    for i in layers:
        parts = by_parts.parts_of(weights, f"encoder.blocks.{i}")
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


def decode_block(x, memory, parts, n_heads, *, mask=None, across=None, source=None):
    mask = triangle(x) if mask is None else mask
    seen = normed(x, parts, "attention")
    x = x + attended(seen, seen, parts, "attention", n_heads, mask)
    seen = normed(x, parts, "cross")
    x = x + attended(seen, memory if source is None else source(seen), parts, "cross", n_heads, across)
    return x + fed(normed(x, parts, "feed_forward"), parts)


def states(target, memory, weights, n_heads, n_layers, mask, start=by_parts.embed):
    x = start(target, weights[TABLE])
    for i in range(n_layers):
        x = dec_plain(x, memory, by_parts.parts_of(weights, f"decoder.blocks.{i}"), n_heads, mask)
    return x


def random_words():
    return torch.randn(1, 4, 8), torch.randn(1, 5, 8)


def changed(tensor, position, by=None):
    tensor = tensor.clone()
    tensor[:, position] = torch.randn(8) if by is None else tensor[:, position] + by
    return tensor


# ---- parts_of


def parts_no_dot(weights, prefix):
    return {n[len(prefix) + 1 :]: w for n, w in weights.items() if n.startswith(prefix)}


def parts_long(weights, prefix):
    return {n: w for n, w in weights.items() if n.startswith(prefix + ".")}


def parts_dot_left(weights, prefix):
    found = {}
    for n in weights:
        if n.startswith(prefix + "."):
            found[n.removeprefix(prefix)] = weights[n]
    return found


def parts_last(weights, prefix):
    return {n.rsplit(".", 1)[1]: w for n, w in weights.items() if n.startswith(prefix + ".")}


def parts_list(weights, prefix):
    return [w for n, w in weights.items() if n.startswith(prefix + ".")]


def parts_anywhere(weights, prefix):
    return {n.replace(prefix + ".", ""): w for n, w in weights.items() if prefix in n}


def parts_no_dot_replaced(weights, prefix):
    return {n.replace(prefix + ".", ""): w for n, w in weights.items() if n.startswith(prefix)}


def parts_anywhere_with_dot(weights, prefix):
    found = {}
    for n, w in weights.items():
        if prefix + "." in n:
            found[n.replace(prefix + ".", "")] = w
    return found


def parts_by_split(weights, prefix):
    return {n.split(prefix + ".", 1)[1]: w for n, w in weights.items() if prefix + "." in n}


def parts_replaced(weights, prefix):
    return {n.replace(prefix + ".", ""): w for n, w in weights.items() if n.startswith(prefix + ".")}


def parts_by_loop(weights, prefix):
    found = {}
    for n, w in weights.items():
        before, dot, after = n.partition(prefix + ".")
        if before == "" and dot:
            found[after] = w
    return found


def parts_by_slice(weights, prefix):
    cut = len(prefix) + 1
    return {n[cut:]: w for n, w in weights.items() if n[:cut] == prefix + "."}


def parts_by_pieces(weights, prefix):
    pieces = prefix.split(".")
    k = len(pieces)
    return {".".join(n.split(".")[k:]): w for n, w in weights.items() if n.split(".")[:k] == pieces}


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


def encode_no_mask(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, None, range(n_layers)), weights)


def encode_no_root(source, weights, n_heads, n_layers, mask=None):
    x = embed_plain(source, weights[TABLE])
    return last(blocks(x, weights, n_heads, mask, range(n_layers)), weights)


def encode_one_block(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, range(1)), weights)


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


def encode_from_behind(source, weights, n_heads, n_layers, mask=None):
    x = words(source, weights)
    return last(blocks(x, weights, n_heads, mask, reversed(range(n_layers))), weights)


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


# ---- decoder_block


def dec_open(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, mask=triangle(x, x.shape[1]), across=mask)


def dec_next(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, mask=triangle(x, 1), across=mask)


def dec_triu(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, mask=triangle(x).T, across=mask)


def dec_from_itself(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, source=lambda seen: seen)


def dec_causal_across(x, memory, parts, n_heads, mask=None):
    across = torch.ones(x.shape[1], memory.shape[1]).tril() == 1
    return decode_block(x, memory, parts, n_heads, across=across)


def dec_unmasked(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads)


def dec_memory_normed(x, memory, parts, n_heads, mask=None):
    return decode_block(x, normed(memory, parts, "cross"), parts, n_heads, across=mask)


def dec_swapped_order(x, memory, parts, n_heads, mask=None):
    x = x + attended(normed(x, parts, "cross"), memory, parts, "cross", n_heads, mask)
    seen = normed(x, parts, "attention")
    x = x + attended(seen, seen, parts, "attention", n_heads, triangle(x))
    return x + fed(normed(x, parts, "feed_forward"), parts)


def dec_not_turned(x, memory, parts, n_heads, mask=None):
    turned = {name: w.T if ".w_" in name else w for name, w in parts.items()}
    return decode_block(x, memory, turned, n_heads, across=mask)


def dec_strictly_before(x, memory, parts, n_heads, mask=None):
    position = torch.arange(x.shape[1])
    return decode_block(x, memory, parts, n_heads, mask=position[:, None] > position, across=mask)


def dec_path_normed(x, memory, parts, n_heads, mask=None):
    x = normed(x, parts, "attention")
    x = x + attended(x, x, parts, "attention", n_heads, triangle(x))
    x = normed(x, parts, "cross")
    x = x + attended(x, memory, parts, "cross", n_heads, mask)
    x = normed(x, parts, "feed_forward")
    return x + fed(x, parts)


def dec_keys_for_values(x, memory, parts, n_heads, mask=None):
    swapped = {"cross.w_key": parts["cross.w_value"], "cross.w_value": parts["cross.w_key"]}
    return decode_block(x, memory, parts | swapped, n_heads, across=mask)


def dec_one_norm(x, memory, parts, n_heads, mask=None):
    seen = normed(x, parts, "attention")
    x = x + attended(seen, seen, parts, "attention", n_heads, triangle(x))
    x = x + attended(normed(x, parts, "attention"), memory, parts, "cross", n_heads, mask)
    return x + fed(normed(x, parts, "feed_forward"), parts)


def dec_plain(x, memory, parts, n_heads, mask=None):
    return decode_block(x, memory, parts, n_heads, across=mask)


def dec_arange(x, memory, parts, n_heads, mask=None):
    position = torch.arange(x.shape[1])
    return decode_block(x, memory, parts, n_heads, mask=position[:, None] >= position, across=mask)


def dec_four_axes(x, memory, parts, n_heads, mask=None):
    m = x.shape[1]
    past = ~torch.ones(m, m, dtype=torch.bool).triu(1)[None, None]
    return decode_block(x, memory, parts, n_heads, mask=past, across=mask)


# ---- test_decoder


def test_shape_only(block):
    x = torch.randn(1, 4, 8)
    assert block(x, torch.randn(1, 5, 8)).shape == x.shape


def test_never(block):
    assert True


def test_last_only(block):
    x, memory = random_words()
    y = changed(x, -1)
    assert torch.allclose(block(x, memory)[:, 0], block(y, memory)[:, 0], atol=1e-5)


def test_no_memory(block):
    x, memory = random_words()
    for position in range(1, 4):
        y = changed(x, position)
        assert torch.allclose(block(x, memory)[:, :position], block(y, memory)[:, :position], atol=1e-5)


def test_by_a_constant(block):
    x, memory = random_words()
    for position in range(1, 4):
        y = changed(x, position, by=1)
        assert torch.allclose(block(x, memory)[:, :position], block(y, memory)[:, :position], atol=1e-5)
    other = changed(memory, -1, by=1)
    assert not torch.allclose(block(x, memory)[:, 0], block(x, other)[:, 0], atol=1e-5)


def test_memory_only(block):
    x, memory = random_words()
    other = changed(memory, -1, by=1)
    assert not torch.allclose(block(x, memory)[:, 0], block(x, other)[:, 0], atol=1e-5)


def test_too_strict(block):
    x, memory = random_words()
    y = changed(x, -1)
    assert torch.allclose(block(x, memory), block(y, memory))


def test_by_prefix(block):
    x, memory = torch.randn(1, 5, 8), torch.randn(1, 5, 8)
    whole = block(x, memory)
    for n in range(1, 5):
        assert torch.allclose(block(x[:, :n], memory), whole[:, :n], atol=1e-5)
    other = changed(memory, 4, by=1)
    assert (block(x, other)[:, 0] - whole[:, 0]).abs().max() > 1e-5


def test_by_gradient(block):
    x, memory = torch.randn(1, 4, 8, requires_grad=True), torch.randn(1, 5, 8, requires_grad=True)
    for position in range(4):
        to_x, to_memory = torch.autograd.grad(
            block(x, memory)[0, position].square().sum(), (x, memory), materialize_grads=True
        )
        assert to_x[0, position + 1 :].abs().sum() == 0
        assert (to_memory[0].abs().sum(-1) > 0).all()


def test_all_positions(block):
    x, memory = torch.randn(2, 4, 8), torch.randn(2, 6, 8)
    before = block(x, memory)
    for position in range(6):
        other = changed(memory, position, by=-2)
        assert not torch.allclose(before[:, 0], block(x, other)[:, 0], atol=1e-4)
    for position in range(1, 4):
        other = x.clone()
        other[:, position:] = 0
        torch.testing.assert_close(
            block(other, memory)[:, :position], before[:, :position], atol=1e-4, rtol=0
        )


# ---- decode_logits


def logits_no_bias(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask)
    return last(x, weights, "decoder") @ weights[TABLE].T


def logits_no_norm(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask)
    return x @ weights[TABLE].T + weights[BIAS]


def logits_other_norm(target, memory, weights, n_heads, n_layers, mask=None):
    x = last(states(target, memory, weights, n_heads, n_layers, mask), weights, "encoder")
    return x @ weights[TABLE].T + weights[BIAS]


def logits_no_mask(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_plain(target, memory, weights, n_heads, n_layers)


def logits_softmax(target, memory, weights, n_heads, n_layers, mask=None):
    return torch.softmax(logits_plain(target, memory, weights, n_heads, n_layers, mask), dim=-1)


def logits_no_root(target, memory, weights, n_heads, n_layers, mask=None):
    x = states(target, memory, weights, n_heads, n_layers, mask, start=embed_plain)
    return last(x, weights, "decoder") @ weights[TABLE].T + weights[BIAS]


def logits_last_word(target, memory, weights, n_heads, n_layers, mask=None):
    return logits_plain(target, memory, weights, n_heads, n_layers, mask)[:, -1]


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


def diff_sign(mine, theirs, tolerance):
    for name in theirs:
        if (mine[name] - theirs[name]).max() > tolerance:
            return name
    return "nowhere"


def diff_mean(mine, theirs, tolerance):
    for name in theirs:
        if not (mine[name] - theirs[name]).abs().mean() <= tolerance:
            return name
    return "nowhere"


def diff_bits(mine, theirs, tolerance):
    for name in theirs:
        if not (mine[name] == theirs[name]).all():
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


def diff_sum(mine, theirs, tolerance):
    for name in theirs:
        if not (mine[name] - theirs[name]).abs().sum() <= tolerance:
            return name
    return "nowhere"


def diff_last_sentence(mine, theirs, tolerance):
    for name in theirs:
        if not (mine[name][-1] - theirs[name][-1]).abs().max() <= tolerance:
            return name
    return "nowhere"


def diff_sorted(mine, theirs, tolerance):
    for name in sorted(theirs):
        if not (mine[name] - theirs[name]).abs().max() <= tolerance:
            return name
    return "nowhere"


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


# ---- a slip each, without the helpers of the exercises


def dec_one_set(x, memory, parts, n_heads, mask=None):
    shared = {
        name.replace("attention.", "cross.", 1): w
        for name, w in parts.items()
        if name.startswith("attention.")
    }
    return decode_block(x, memory, parts | shared, n_heads, across=mask)


def dec_not_to_itself(x, memory, parts, n_heads, mask=None):
    x = x + attended(normed(x, parts, "cross"), memory, parts, "cross", n_heads, mask)
    return x + fed(normed(x, parts, "feed_forward"), parts)


def dec_not_across(x, memory, parts, n_heads, mask=None):
    seen = normed(x, parts, "attention")
    x = x + attended(seen, seen, parts, "attention", n_heads, triangle(x))
    return x + fed(normed(x, parts, "feed_forward"), parts)


def dec_norms_last(x, memory, parts, n_heads, mask=None):
    x = normed(x + attended(x, x, parts, "attention", n_heads, triangle(x)), parts, "attention")
    x = normed(x + attended(x, memory, parts, "cross", n_heads, mask), parts, "cross")
    return normed(x + fed(x, parts), parts, "feed_forward")


def logits_with_root(target, memory, weights, n_heads, n_layers, mask=None):
    x = last(states(target, memory, weights, n_heads, n_layers, mask), weights, "decoder")
    return x.shape[-1] ** 0.5 * x @ weights[TABLE].T + weights[BIAS]


def diff_largest(mine, theirs, tolerance):
    gaps = {name: (mine[name] - theirs[name]).abs().max().item() for name in mine}
    worst = max(gaps, key=gaps.get)
    return worst if gaps[worst] > tolerance else "nowhere"


WRONG = {
    "parts_of": [
        (parts_no_dot, "dot-forgotten"),
        (parts_long, "whole-names"),
        (parts_dot_left, "leading-dot"),
        (parts_last, "last-piece-only"),
        (parts_anywhere, "everywhere-in-the-name"),
        (parts_no_dot_replaced, "dot-forgotten-replaced"),
        (parts_anywhere_with_dot, "anywhere-with-its-dot"),
        (parts_by_split, "anywhere-by-split"),
        (parts_replaced, "replaced-everywhere"),
        (parts_list, "Expected a dict"),
    ],
    "embed": [
        (embed_together, "unrepaired"),
        (embed_plain, "no-root"),
        (embed_times_d, "times-d-model"),
        (embed_divides, "divided"),
        (embed_nowhere, "no-positions"),
        (embed_root_of_n, None),
        (
            lambda tokens, table: (
                F.embedding(tokens, table) * table.shape[1] ** 0.5 + sinusoids(len(tokens), table.shape[1])[0]
            ),
            "one-position",
        ),
    ],
    "encode_source": [
        (encode_no_norm, "no-last-norm"),
        (encode_no_mask, "ignores-mask"),
        (encode_no_root, "no-root"),
        (encode_one_block, "first-block-only"),
        (encode_first_weights, "one-block-again"),
        (encode_norm_each, "norm-in-between"),
        (encode_decoders_norm, "decoders-norm"),
        (encode_from_behind, "layers-reversed"),
    ],
    "decoder_block": [
        (dec_open, "no-causal-mask"),
        (dec_next, "sees-the-next"),
        (dec_triu, "looks-ahead-only"),
        (dec_from_itself, "cross-from-itself"),
        (dec_causal_across, "causal-across"),
        (dec_unmasked, "ignores-mask"),
        (dec_memory_normed, "memory-normed"),
        (dec_swapped_order, "cross-first"),
        (dec_not_turned, "not-turned"),
        (dec_strictly_before, "diagonal-closed"),
        (dec_path_normed, "path-normed"),
        (dec_keys_for_values, "keys-for-values"),
        (dec_one_norm, "norm-of-the-first-look"),
        (dec_one_set, "same-matrices"),
        (dec_not_to_itself, "no-self-attention"),
        (dec_not_across, "no-cross-attention"),
        (dec_norms_last, "post-norm"),
    ],
    "test_decoder": [
        (test_shape_only, "lets-through"),
        (test_never, "never calls"),
        (test_last_only, "lets-through"),
        (test_no_memory, "lets-through"),
        (test_memory_only, "lets-through"),
        (test_by_a_constant, "lets-through"),
        (test_too_strict, "rejects-the-right-one"),
    ],
    "decode_logits": [
        (logits_no_bias, "no-bias"),
        (logits_no_norm, "no-last-norm"),
        (logits_other_norm, "encoders-norm"),
        (logits_no_mask, "ignores-mask"),
        (logits_softmax, "softmax"),
        (logits_no_root, "no-root"),
        (logits_last_word, None),
        (logits_with_root, "scaled-at-the-end"),
    ],
    "first_difference": [
        (diff_last, "last-one"),
        (diff_nan, "nan-passes"),
        (diff_sign, "sign-forgotten"),
        (diff_mean, "in-the-mean"),
        (diff_bits, "bit-by-bit"),
        (diff_none, "returns-none"),
        (diff_rtol, "relative-too"),
        (diff_sum, None),
        (diff_last_sentence, None),
        (diff_sorted, None),
        (diff_largest, "largest"),
    ],
}
RIGHT = {
    "parts_of": [parts_by_loop, parts_by_slice, parts_by_pieces],
    "embed": [embed_by_f, embed_by_one_hot, embed_table_first],
    "encode_source": [encode_plain, encode_recursive, encode_by_stages],
    "decoder_block": [dec_plain, dec_arange, dec_four_axes],
    "test_decoder": [test_by_prefix, test_by_gradient, test_all_positions],
    "decode_logits": [logits_plain, logits_by_linear, logits_by_einsum],
    "first_difference": [diff_by_allclose, diff_by_next, diff_by_isnan],
}

"""Answers to the exercises of lesson 14, as learners write them: wrong, with what must be said, and right.

After each come the slip that must be named, or a part of the text; None where no slip may be named.
"""

import torch
import torch.nn.functional as F

from course_lib.layers.positions import sinusoids
from lessons.l14_the_transformer import by_parts

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


def blocks(x, weights, n_heads, n_layers, may_look):
    for i in range(n_layers):
        parts = by_parts.parts_of(weights, f"encoder.blocks.{i}")
        x, _ = by_parts.block(x, parts, n_heads=n_heads, own=may_look)
    return x


def last(x, weights, side="encoder"):
    w, b = (weights[f"{side}.last_norm.{kind}"] for kind in ("weight", "bias"))
    return F.layer_norm(x, w.shape, w, b)


def encode_no_norm(source, weights, n_heads, n_layers, may_look=None):
    return blocks(
        by_parts.embed(source, weights["words.output.weight"]), weights, n_heads, n_layers, may_look
    )


def encode_no_mask(source, weights, n_heads, n_layers, may_look=None):
    x = by_parts.embed(source, weights["words.output.weight"])
    return last(blocks(x, weights, n_heads, n_layers, None), weights)


def encode_no_root(source, weights, n_heads, n_layers, may_look=None):
    x = embed_plain(source, weights["words.output.weight"])
    return last(blocks(x, weights, n_heads, n_layers, may_look), weights)


def encode_one_block(source, weights, n_heads, n_layers, may_look=None):
    x = by_parts.embed(source, weights["words.output.weight"])
    return last(blocks(x, weights, n_heads, 1, may_look), weights)


def encode_first_weights(source, weights, n_heads, n_layers, may_look=None):
    x = by_parts.embed(source, weights["words.output.weight"])
    parts = by_parts.parts_of(weights, "encoder.blocks.0")
    for _ in range(n_layers):
        x, _ = by_parts.block(x, parts, n_heads=n_heads, own=may_look)
    return last(x, weights)


def encode_norm_each(source, weights, n_heads, n_layers, may_look=None):
    x = by_parts.embed(source, weights["words.output.weight"])
    for i in range(n_layers):
        x, _ = by_parts.block(
            x, by_parts.parts_of(weights, f"encoder.blocks.{i}"), n_heads=n_heads, own=may_look
        )
        x = last(x, weights)
    return x


def encode_decoders_norm(source, weights, n_heads, n_layers, may_look=None):
    x = by_parts.embed(source, weights["words.output.weight"])
    return last(blocks(x, weights, n_heads, n_layers, may_look), weights, "decoder")


def encode_from_behind(source, weights, n_heads, n_layers, may_look=None):
    x = by_parts.embed(source, weights["words.output.weight"])
    for i in reversed(range(n_layers)):
        parts = by_parts.parts_of(weights, f"encoder.blocks.{i}")
        x, _ = by_parts.block(x, parts, n_heads=n_heads, own=may_look)
    return last(x, weights)


def encode_plain(source, weights, n_heads, n_layers, may_look=None):
    x = by_parts.embed(source, weights["words.output.weight"])
    return last(blocks(x, weights, n_heads, n_layers, may_look), weights)


def encode_recursive(source, weights, n_heads, n_layers, may_look=None):
    def upto(i):
        if i == 0:
            return by_parts.embed(source, weights["words.output.weight"])
        parts = by_parts.parts_of(weights, f"encoder.blocks.{i - 1}")
        return by_parts.block(upto(i - 1), parts, n_heads=n_heads, own=may_look)[0]

    return last(upto(n_layers), weights)


def encode_by_stages(source, weights, n_heads, n_layers, may_look=None):
    found, _ = by_parts.encoder_stages(source, weights, n_heads=n_heads, n_layers=n_layers, may_look=may_look)
    return found["memory"]


# ---- decoder_block


def normal(x, parts, name):
    w, b = (parts[f"around_{name}.norm.{kind}"] for kind in ("weight", "bias"))
    return F.layer_norm(x, w.shape, w, b)


def look(x, source, parts, name, n_heads, mask):
    return by_parts.look(x, source, parts, name, n_heads=n_heads, may_look=mask)[0]


def think(x, parts):
    wide = F.relu(F.linear(x, parts["feed_forward.inner.weight"], parts["feed_forward.inner.bias"]))
    return F.linear(wide, parts["feed_forward.outer.weight"], parts["feed_forward.outer.bias"])


def decode_block(x, memory, parts, n_heads, may_look, *, mask=None, across=None, source=None):
    m = x.shape[1]
    mask = torch.ones(m, m).tril() == 1 if mask is None else mask
    seen = normal(x, parts, "attention")
    x = x + look(seen, seen, parts, "attention", n_heads, mask)
    seen = normal(x, parts, "cross")
    x = x + look(seen, memory if source is None else source(seen), parts, "cross", n_heads, across)
    return x + think(normal(x, parts, "feed_forward"), parts)


def dec_open(x, memory, parts, n_heads, may_look=None):
    m = x.shape[1]
    return decode_block(x, memory, parts, n_heads, may_look, mask=torch.ones(m, m) == 1, across=may_look)


def dec_next(x, memory, parts, n_heads, may_look=None):
    m = x.shape[1]
    mask = torch.ones(m, m).tril(1) == 1
    return decode_block(x, memory, parts, n_heads, may_look, mask=mask, across=may_look)


def dec_triu(x, memory, parts, n_heads, may_look=None):
    m = x.shape[1]
    mask = torch.ones(m, m).triu() == 1
    return decode_block(x, memory, parts, n_heads, may_look, mask=mask, across=may_look)


def dec_from_itself(x, memory, parts, n_heads, may_look=None):
    return decode_block(x, memory, parts, n_heads, may_look, source=lambda seen: seen)


def dec_causal_across(x, memory, parts, n_heads, may_look=None):
    across = torch.ones(x.shape[1], memory.shape[1]).tril() == 1
    return decode_block(x, memory, parts, n_heads, may_look, across=across)


def dec_unmasked(x, memory, parts, n_heads, may_look=None):
    return decode_block(x, memory, parts, n_heads, may_look)


def dec_memory_normed(x, memory, parts, n_heads, may_look=None):
    return decode_block(x, normal(memory, parts, "cross"), parts, n_heads, may_look, across=may_look)


def dec_swapped_order(x, memory, parts, n_heads, may_look=None):
    m = x.shape[1]
    x = x + look(normal(x, parts, "cross"), memory, parts, "cross", n_heads, may_look)
    seen = normal(x, parts, "attention")
    x = x + look(seen, seen, parts, "attention", n_heads, torch.ones(m, m).tril() == 1)
    return x + think(normal(x, parts, "feed_forward"), parts)


def dec_not_turned(x, memory, parts, n_heads, may_look=None):
    turned = {name: w.T if ".w_" in name else w for name, w in parts.items()}
    return decode_block(x, memory, turned, n_heads, may_look, across=may_look)


def dec_strictly_before(x, memory, parts, n_heads, may_look=None):
    place = torch.arange(x.shape[1])
    return decode_block(x, memory, parts, n_heads, may_look, mask=place[:, None] > place, across=may_look)


def dec_path_normed(x, memory, parts, n_heads, may_look=None):
    m = x.shape[1]
    x = normal(x, parts, "attention")
    x = x + look(x, x, parts, "attention", n_heads, torch.ones(m, m).tril() == 1)
    x = normal(x, parts, "cross")
    x = x + look(x, memory, parts, "cross", n_heads, may_look)
    x = normal(x, parts, "feed_forward")
    return x + think(x, parts)


def dec_keys_for_values(x, memory, parts, n_heads, may_look=None):
    swapped = {"cross.w_key": parts["cross.w_value"], "cross.w_value": parts["cross.w_key"]}
    return decode_block(x, memory, parts | swapped, n_heads, may_look, across=may_look)


def dec_one_norm(x, memory, parts, n_heads, may_look=None):
    m = x.shape[1]
    seen = normal(x, parts, "attention")
    x = x + look(seen, seen, parts, "attention", n_heads, torch.ones(m, m).tril() == 1)
    x = x + look(normal(x, parts, "attention"), memory, parts, "cross", n_heads, may_look)
    return x + think(normal(x, parts, "feed_forward"), parts)


def dec_plain(x, memory, parts, n_heads, may_look=None):
    return decode_block(x, memory, parts, n_heads, may_look, across=may_look)


def dec_arange(x, memory, parts, n_heads, may_look=None):
    place = torch.arange(x.shape[1])
    return decode_block(x, memory, parts, n_heads, may_look, mask=place[:, None] >= place, across=may_look)


def dec_four_axes(x, memory, parts, n_heads, may_look=None):
    m = x.shape[1]
    mask = ~torch.ones(m, m, dtype=torch.bool).triu(1)[None, None]
    return decode_block(x, memory, parts, n_heads, may_look, mask=mask, across=may_look)


# ---- test_decoder


def test_shape_only(block):
    x = torch.randn(1, 4, 8)
    assert block(x, torch.randn(1, 5, 8)).shape == x.shape


def test_never(block):
    assert True


def test_last_only(block):
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    y = x.clone()
    y[:, -1] = torch.randn(8)
    assert torch.allclose(block(x, memory)[:, 0], block(y, memory)[:, 0], atol=1e-5)


def test_no_memory(block):
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    for place in range(1, 4):
        y = x.clone()
        y[:, place] = torch.randn(8)
        assert torch.allclose(block(x, memory)[:, :place], block(y, memory)[:, :place], atol=1e-5)


def test_by_a_constant(block):
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    for place in range(1, 4):
        y = x.clone()
        y[:, place] += 1
        assert torch.allclose(block(x, memory)[:, :place], block(y, memory)[:, :place], atol=1e-5)
    other = memory.clone()
    other[:, -1] += 1
    assert not torch.allclose(block(x, memory)[:, 0], block(x, other)[:, 0], atol=1e-5)


def test_memory_only(block):
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    other = memory.clone()
    other[:, -1] += 1
    assert not torch.allclose(block(x, memory)[:, 0], block(x, other)[:, 0], atol=1e-5)


def test_too_strict(block):
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    y = x.clone()
    y[:, -1] = torch.randn(8)
    assert torch.allclose(block(x, memory), block(y, memory))


def test_by_prefix(block):
    x, memory = torch.randn(1, 5, 8), torch.randn(1, 5, 8)
    whole = block(x, memory)
    for n in range(1, 5):
        assert torch.allclose(block(x[:, :n], memory), whole[:, :n], atol=1e-5)
    other = memory.clone()
    other[:, 4] += 1
    assert (block(x, other)[:, 0] - whole[:, 0]).abs().max() > 1e-5


def test_by_gradient(block):
    x, memory = torch.randn(1, 4, 8, requires_grad=True), torch.randn(1, 5, 8, requires_grad=True)
    for place in range(4):
        to_x, to_memory = torch.autograd.grad(
            block(x, memory)[0, place].square().sum(), (x, memory), materialize_grads=True
        )
        assert to_x[0, place + 1 :].abs().sum() == 0
        assert (to_memory[0].abs().sum(-1) > 0).all()


def test_all_places(block):
    x, memory = torch.randn(2, 4, 8), torch.randn(2, 6, 8)
    before = block(x, memory)
    for place in range(6):
        other = memory.clone()
        other[:, place] -= 2
        assert not torch.allclose(before[:, 0], block(x, other)[:, 0], atol=1e-4)
    for place in range(1, 4):
        other = x.clone()
        other[:, place:] = 0
        torch.testing.assert_close(block(other, memory)[:, :place], before[:, :place], atol=1e-4, rtol=0)


# ---- decode_logits


def states(target, memory, weights, n_heads, n_layers, may_look, start=by_parts.embed):
    x = start(target, weights["words.output.weight"])
    for i in range(n_layers):
        x = dec_plain(x, memory, by_parts.parts_of(weights, f"decoder.blocks.{i}"), n_heads, may_look)
    return x


def logits_no_bias(target, memory, weights, n_heads, n_layers, may_look=None):
    x = states(target, memory, weights, n_heads, n_layers, may_look)
    return last(x, weights, "decoder") @ weights["words.output.weight"].T


def logits_no_norm(target, memory, weights, n_heads, n_layers, may_look=None):
    x = states(target, memory, weights, n_heads, n_layers, may_look)
    return x @ weights["words.output.weight"].T + weights["words.output.bias"]


def logits_other_norm(target, memory, weights, n_heads, n_layers, may_look=None):
    x = last(states(target, memory, weights, n_heads, n_layers, may_look), weights, "encoder")
    return x @ weights["words.output.weight"].T + weights["words.output.bias"]


def logits_no_mask(target, memory, weights, n_heads, n_layers, may_look=None):
    return logits_plain(target, memory, weights, n_heads, n_layers)


def logits_softmax(target, memory, weights, n_heads, n_layers, may_look=None):
    return torch.softmax(logits_plain(target, memory, weights, n_heads, n_layers, may_look), dim=-1)


def logits_no_root(target, memory, weights, n_heads, n_layers, may_look=None):
    x = states(target, memory, weights, n_heads, n_layers, may_look, start=embed_plain)
    return last(x, weights, "decoder") @ weights["words.output.weight"].T + weights["words.output.bias"]


def logits_last_word(target, memory, weights, n_heads, n_layers, may_look=None):
    return logits_plain(target, memory, weights, n_heads, n_layers, may_look)[:, -1]


def logits_plain(target, memory, weights, n_heads, n_layers, may_look=None):
    x = states(target, memory, weights, n_heads, n_layers, may_look)
    return last(x, weights, "decoder") @ weights["words.output.weight"].T + weights["words.output.bias"]


def logits_by_linear(target, memory, weights, n_heads, n_layers, may_look=None):
    x = last(states(target, memory, weights, n_heads, n_layers, may_look), weights, "decoder")
    return F.linear(x, weights["words.output.weight"], weights["words.output.bias"])


def logits_by_einsum(target, memory, weights, n_heads, n_layers, may_look=None):
    x = last(states(target, memory, weights, n_heads, n_layers, may_look), weights, "decoder")
    return torch.einsum("bmd,vd->bmv", x, weights["words.output.weight"]) + weights["words.output.bias"]


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
        (parts_list, "a dict is wanted"),
    ],
    "embed": [
        (embed_together, "what the first version did"),
        (embed_plain, "no-root"),
        (embed_times_d, "times-d-model"),
        (embed_divides, "divided"),
        (embed_nowhere, "no-positions"),
        (embed_root_of_n, None),
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
    ],
    "test_decoder": [
        (test_shape_only, "let"),
        (test_never, "never calls"),
        (test_last_only, "let"),
        (test_no_memory, "let"),
        (test_memory_only, "let"),
        (test_by_a_constant, "let"),
        (test_too_strict, "It rejects the right"),
    ],
    "decode_logits": [
        (logits_no_bias, "no-bias"),
        (logits_no_norm, "no-last-norm"),
        (logits_other_norm, "encoders-norm"),
        (logits_no_mask, "ignores-mask"),
        (logits_softmax, "softmax"),
        (logits_no_root, "no-root"),
        (logits_last_word, None),
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
    ],
}
RIGHT = {
    "parts_of": [parts_by_loop, parts_by_slice, parts_by_pieces],
    "embed": [embed_by_f, embed_by_one_hot, embed_table_first],
    "encode_source": [encode_plain, encode_recursive, encode_by_stages],
    "decoder_block": [dec_plain, dec_arange, dec_four_axes],
    "test_decoder": [test_by_prefix, test_by_gradient, test_all_places],
    "decode_logits": [logits_plain, logits_by_linear, logits_by_einsum],
    "first_difference": [diff_by_allclose, diff_by_next, diff_by_isnan],
}

"""The Transformer's layers, compared with torch: heads, blocks, norms, residual connections, positions."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.block import Block, KeysAndValues, Stack
from course_lib.layers.feed_forward import (
    FeedForward,
    Maxout,
    SwiGLU,
    feed_forward,
    make_feed_forward,
    maxout,
)
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.multi_head import MultiHead, join_heads, multi_head, split_heads
from course_lib.layers.norms import BatchNorm, batch_norm, layer_norm, make_norm
from course_lib.layers.positions import RotaryPositions, angles, make_positions, rotate, sinusoids
from course_lib.layers.residual import Residual, post_norm, pre_norm

# All sizes differ, so that mistakes show.
BATCH, QUERIES, KEYS, N_HEADS, HEAD_DIM, D_FF = 3, 4, 7, 6, 2, 20
D_MODEL = N_HEADS * HEAD_DIM
LENGTHS = torch.tensor([7, 1, 4])
RAGGED = padding_mask(LENGTHS, KEYS).unsqueeze(1)


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def words(length: int = KEYS, seed: int = 0) -> torch.Tensor:
    return draw(BATCH, length, D_MODEL, seed=seed)


def with_random_vectors(module: nn.Module) -> nn.Module:
    """Replace scales and shifts of 1 and 0, where mistakes would not show, by random numbers."""
    with torch.no_grad():
        for seed, parameter in enumerate(module.parameters(), start=5):
            if parameter.ndim == 1:
                parameter.copy_(draw(*parameter.shape, seed=seed))
    return module.double()


def with_gradients(run, x, *weights):
    leaf = x.clone().requires_grad_()
    output = run(leaf)
    return [output, *torch.autograd.grad(output, [leaf, *weights], draw(*output.shape, seed=1))]


# ---- heads


def make_heads(**sizes) -> MultiHead:
    torch.manual_seed(0)
    return MultiHead(**{"d_model": D_MODEL, "n_heads": N_HEADS, **sizes}).double()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("use", ["self", "cross", "causal"])
def test_heads_equal_torch_with_gradients(use, bias):
    """Torch's biases are initialised to 0, so with and without bias the outputs are the same."""
    heads = make_heads()
    theirs = nn.MultiheadAttention(D_MODEL, N_HEADS, bias=bias, batch_first=True, dtype=torch.float64)
    copy_heads(heads, theirs)
    inputs, source = words(QUERIES if use == "cross" else KEYS), words(seed=1)
    source = source if use == "cross" else inputs
    our_mask = {"causal": True} if use == "causal" else {"mask": RAGGED}
    their_mask = (
        {"attn_mask": ~causal_mask(KEYS)} if use == "causal" else {"key_padding_mask": ~RAGGED[:, 0, 0]}
    )
    outputs, weights = heads(inputs, source if use == "cross" else None, **our_mask, with_weights=True)
    expected = theirs(inputs, source, source, average_attn_weights=False, **their_mask)
    torch.testing.assert_close((outputs, weights), expected)
    outputs.backward(draw(*outputs.shape))
    expected[0].backward(draw(*outputs.shape))
    grads = torch.cat([heads.w_query.grad, heads.w_key.grad, heads.w_value.grad])
    torch.testing.assert_close(grads, theirs.in_proj_weight.grad)
    torch.testing.assert_close(heads.w_output.grad, theirs.out_proj.weight.grad)
    if bias:  # the softmax cancels a bias on the keys
        d_query, d_key, d_value = theirs.in_proj_bias.grad.chunk(3)
        assert d_key.abs().max() < 1e-12 < min(d_query.abs().max(), d_value.abs().max())


def copy_heads(ours: MultiHead, theirs: nn.MultiheadAttention) -> None:
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.w_query, ours.w_key, ours.w_value]))
        theirs.out_proj.weight.copy_(ours.w_output)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize(("d_k", "d_v"), [(None, None), (3, 5)])
def test_heads_equal_a_loop_over_heads(n_kv_heads, d_k, d_v):
    """Head h has its own rows of W_Q and columns of W_O, and may share its rows of W_K and W_V."""
    heads, x, expected = (
        make_heads(n_kv_heads=n_kv_heads, d_k=d_k, d_v=d_v),
        words(),
        torch.zeros_like(words()),
    )
    for head in range(N_HEADS):
        kv_head = head * n_kv_heads // N_HEADS
        query = x @ heads.w_query.unflatten(0, (N_HEADS, -1))[head].mT
        keys = x @ heads.w_key.unflatten(0, (n_kv_heads, -1))[kv_head].mT
        values = x @ heads.w_value.unflatten(0, (n_kv_heads, -1))[kv_head].mT
        expected += attend(query, keys, values)[0] @ heads.w_output.unflatten(1, (N_HEADS, -1))[:, head].mT
    for with_weights in (False, True):
        torch.testing.assert_close(heads(x, with_weights=with_weights)[0], expected)
    torch.testing.assert_close(heads(x, x)[0], expected)  # with itself as source


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("mask", ["none", "padding", "causal", "same for all rows"])
def test_the_fused_path_equals_the_explicit_one(n_kv_heads, mask):
    queries = KEYS if mask == "causal" else QUERIES
    masks = {"padding": {"mask": RAGGED}, "same for all rows": {"mask": causal_mask(KEYS)[-QUERIES:]}}
    arguments, outcomes = masks.get(mask, {"causal": mask == "causal"}), []
    shapes = [(N_HEADS, queries), (n_kv_heads, KEYS), (n_kv_heads, KEYS)]
    for with_weights in (False, True):
        leaves = [draw(BATCH, *s, HEAD_DIM, seed=i).requires_grad_() for i, s in enumerate(shapes)]
        context, weights = multi_head(*leaves, with_weights=with_weights, **arguments)
        assert (weights is not None) == with_weights
        outcomes.append([context, *torch.autograd.grad(context, leaves, draw(*context.shape, seed=9))])
    torch.testing.assert_close(*outcomes)


def test_split_heads_gives_each_head_a_slice_of_every_word():
    split = split_heads(words(), n_heads=N_HEADS)
    for head in range(N_HEADS):
        assert torch.equal(split[:, head], words()[..., head * HEAD_DIM : (head + 1) * HEAD_DIM])
    assert torch.equal(join_heads(split), words())
    assert torch.equal(split_heads(words()[1], n_heads=N_HEADS), split[1])  # a single sentence


@settings(derandomize=True, deadline=None, max_examples=25, database=None)
@given(st.permutations(range(KEYS)), st.sampled_from([1, 2, 3, 4, 6, 12]))
def test_attention_is_permutation_equivariant_and_its_size_does_not_depend_on_heads(order, n_heads):
    heads = make_heads(n_heads=n_heads)
    torch.testing.assert_close(heads(words()[:, order])[0], heads(words())[0][:, order])
    assert torch.equal(join_heads(split_heads(words(), n_heads=n_heads)), words())
    assert sum(weight.numel() for weight in heads.parameters()) == 4 * D_MODEL**2


# ---- blocks


def stack(**more) -> Stack:
    torch.manual_seed(0)
    blocks = [Block(d_model=D_MODEL, n_heads=N_HEADS, d_ff=D_FF, **more) for _ in range(2)]
    return Stack(blocks, last_norm=nn.LayerNorm(D_MODEL) if more.get("pre_norm", True) else None).double()


@pytest.mark.parametrize("kind", ["relu", "swiglu"])
def test_the_matrices_of_a_new_block_are_uniform_within_xaviers_bound(kind):
    """The bound is √(6 / (inputs + outputs)), and thousands of numbers come close to it. Biases are 0."""
    torch.manual_seed(0)
    block = Block(d_model=60, n_heads=4, n_kv_heads=2, d_ff=200, cross_attention=True, feed_forward=kind)
    for name, weight in block.named_parameters():
        if weight.ndim == 2:
            bound = math.sqrt(6 / sum(weight.shape))
            assert 0.98 * bound < weight.abs().max() <= bound, name
        assert not name.endswith("bias") or weight.eq(0).all(), name


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("has_cross", [False, True])
def test_a_block_equals_torchs_layer(pre_norm, has_cross):
    """Torch's attention biases are initialised to 0."""
    ours = with_random_vectors(stack(cross_attention=has_cross, pre_norm=pre_norm).blocks[0])
    kind = nn.TransformerDecoderLayer if has_cross else nn.TransformerEncoderLayer
    theirs = kind(D_MODEL, N_HEADS, D_FF, 0.0, norm_first=pre_norm, batch_first=True, dtype=torch.float64)
    copy_heads(ours.attention, theirs.self_attn)
    residuals = [ours.around_attention, *([ours.around_cross] if has_cross else []), ours.around_feed_forward]
    for number, residual in enumerate(residuals, start=1):
        getattr(theirs, f"norm{number}").load_state_dict(residual.norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    padding = ~RAGGED[:, 0, 0]
    if not has_cross:
        expected = theirs(words(), src_key_padding_mask=padding)
        torch.testing.assert_close(ours(words(), mask=RAGGED)[0], expected)
        return
    copy_heads(ours.cross, theirs.multihead_attn)
    source = KeysAndValues(*ours.cross.project_source(words(seed=1)))
    x, _, _ = ours(words(QUERIES), causal=True, source=source, source_mask=RAGGED)
    future = ~causal_mask(QUERIES)
    expected = theirs(words(QUERIES), words(seed=1), tgt_mask=future, memory_key_padding_mask=padding)
    torch.testing.assert_close(x, expected)


@pytest.mark.parametrize("pre_norm", [True, False])
def test_a_decoder_returns_weights_and_projects_the_source_in_each_layer(pre_norm):
    decoder = stack(cross_attention=True, pre_norm=pre_norm)
    source = {**decoder.project_source(words(seed=1)), "mask": RAGGED}
    assert source["keys"].shape == (BATCH, 2, N_HEADS, KEYS, HEAD_DIM)
    assert not torch.allclose(source["keys"][:, 0], source["keys"][:, 1])
    output, no_past, no_weights = decoder(words(QUERIES), causal=True, source=source)
    same_output, _, weights = decoder(words(QUERIES), causal=True, source=source, with_weights=True)
    torch.testing.assert_close(output, same_output)
    assert no_past == no_weights == {} and set(weights) == {"own", "cross"}
    assert weights["cross"].shape == (BATCH, 2, N_HEADS, QUERIES, KEYS)
    assert weights["cross"][1, ..., 1:].eq(0).all()


@pytest.mark.parametrize("has_cross", [False, True])
def test_incremental_decoding_with_rotary_positions_equals_decoding_at_once(has_cross):
    decoder, positions = (
        stack(cross_attention=has_cross),
        RotaryPositions(max_len=20, head_dim=HEAD_DIM).double(),
    )
    source = {**decoder.project_source(words(seed=1)), "mask": RAGGED} if has_cross else None

    def rotate_from(first):
        return lambda features: positions.rotate(features, first=first)

    more = {"source": source, "with_weights": True}
    expected, _, expected_weights = decoder(words(), rotate=rotate_from(0), causal=True, **more)
    past = dict.fromkeys(("keys", "values"), torch.zeros(BATCH, 2, N_HEADS, 0, HEAD_DIM, dtype=torch.float64))
    for i in range(KEYS):
        x, past, weights = decoder(words()[:, i : i + 1], rotate=rotate_from(i), past=past, **more)
        torch.testing.assert_close(x[:, 0], expected[:, i])
        torch.testing.assert_close(weights["own"][..., 0, :], expected_weights["own"][..., i, : i + 1])
    shifted, _, _ = decoder(words(), rotate=rotate_from(9), causal=True, source=source)
    torch.testing.assert_close(shifted, expected, atol=1e-5, rtol=0)  # only offsets matter; float32 tables
    assert (decoder(words(), causal=True, source=source)[0] - expected).abs().max() > 0.01


# ---- norms


def rms_norm(x, *, weight):
    return x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() * weight


FUNCTIONS = {"layer": layer_norm, "rms": rms_norm, "batch": batch_norm}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_norms_equal_torchs_modules_with_gradients(kind):
    module = with_random_vectors(make_norm(kind, d_model=D_MODEL))
    function = partial(FUNCTIONS[kind], **dict(module.named_parameters()))
    expected = with_gradients(module, words(), *module.parameters())
    torch.testing.assert_close(with_gradients(function, words(), *module.parameters()), expected)
    assert module(torch.zeros_like(words())).isfinite().all()  # no division by 0


def test_layer_norm_takes_another_epsilon():
    weight, bias = torch.rand(2, D_MODEL, dtype=torch.float64)
    expected = F.layer_norm(words(), (D_MODEL,), weight, bias, eps=0.5)
    torch.testing.assert_close(layer_norm(words(), weight=weight, bias=bias, eps=0.5), expected)


def test_batch_norm_depends_on_the_rest_of_the_batch_in_training():
    norm = with_random_vectors(BatchNorm(D_MODEL))
    assert not torch.allclose(norm(words()[:1])[0, 0], norm(words())[0, 0])
    norm.eval()  # with the running averages
    torch.testing.assert_close(norm(words()[:1])[0, 0], norm(words())[0, 0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_large_16_bit_numbers_are_normalised_without_overflow_and_rounded_once(dtype):
    """300² overflows in float16. At most the last bit may differ from the exact result."""
    x, weight, bias = (
        (words() * 300).to(dtype),
        torch.ones(D_MODEL, dtype=dtype),
        torch.zeros(D_MODEL, dtype=dtype),
    )
    exact = x.double()
    over_words = (exact - exact.mean(dim=(0, 1))) / exact.std(dim=(0, 1), correction=0)
    for actual, expected in (
        (layer_norm(x, weight=weight, bias=bias), F.layer_norm(exact, (D_MODEL,))),
        (batch_norm(x, weight=weight, bias=bias), over_words),
    ):
        assert actual.dtype == dtype
        torch.testing.assert_close(actual, expected.to(dtype), atol=1e-4, rtol=torch.finfo(dtype).eps)


# ---- residual connections, feed-forward layers, maxout


@pytest.mark.parametrize("use_pre_norm", [True, False])
def test_a_residual_module_equals_pre_norm_or_post_norm(use_pre_norm):
    torch.manual_seed(0)
    residual = with_random_vectors(Residual(d_model=D_MODEL, pre_norm=use_pre_norm))
    layer = nn.Linear(D_MODEL, D_MODEL).double()
    function, other = (pre_norm, post_norm) if use_pre_norm else (post_norm, pre_norm)
    torch.testing.assert_close(residual(words(), layer), function(words(), layer, norm=residual.norm))
    assert not torch.allclose(residual(words(), layer), other(words(), layer, norm=residual.norm))
    no_residual = Residual(d_model=D_MODEL, pre_norm=use_pre_norm, norm="none", residual=False)
    assert torch.equal(no_residual(words(), layer), layer(words()))


def test_dropout_is_applied_to_the_layers_output():
    torch.manual_seed(0)
    residual = Residual(d_model=D_MODEL, pre_norm=True, dropout=0.5)
    change = residual(words().float(), torch.ones_like) - words().float()
    assert sorted(set(change.flatten().round(decimals=4).tolist())) == [0.0, 2.0]


def test_feed_forward_layers_equal_torch():
    """F.glu multiplies one half by the sigmoid of the other, and silu(z) is z · sigmoid(z)."""
    torch.manual_seed(0)
    plain, gated = (
        with_random_vectors(FeedForward(d_model=D_MODEL, d_ff=D_FF)),
        SwiGLU(d_model=D_MODEL, d_ff=D_FF).double(),
    )
    expected = nn.Sequential(plain.inner, nn.ReLU(), plain.outer)(words())
    inner, outer = plain.inner, plain.outer
    by_name = {"w_in": inner.weight, "b_in": inner.bias, "w_out": outer.weight, "b_out": outer.bias}
    torch.testing.assert_close([plain(words()), feed_forward(words(), **by_name)], [expected] * 2)
    z = gated.gate(words())
    expected = gated.outer(F.glu(torch.cat([z * gated.inner(words()), z], dim=-1)))
    torch.testing.assert_close(gated(words()), expected)
    plain, gated = (
        make_feed_forward(kind, d_model=60, d_ff=n) for kind, n in (("relu", 240), ("swiglu", 160))
    )
    n_plain, n_gated = (sum(p.numel() for p in module.parameters()) for module in (plain, gated))
    assert n_gated == 3 * 60 * 160 == n_plain - 240 - 60  # two thirds of the width: as many weights


def test_maxout_equals_a_loop():
    x = draw(2, 4, 6).requires_grad_()
    expected = [[[max(row[i : i + 2]) for i in range(0, 6, 2)] for row in rows] for rows in x.tolist()]
    torch.testing.assert_close(maxout(x), torch.tensor(expected, dtype=x.dtype))
    maxout(x).sum().backward()
    assert x.grad.sum() == maxout(x).numel() and set(x.grad.flatten().tolist()) <= {0.0, 1.0}
    layer = Maxout(input_size=6, output_size=4).double()  # output i is the larger of two units
    torch.testing.assert_close(layer(x), layer.candidates(x).unflatten(-1, (4, 2)).amax(dim=-1))


# ---- positions


def test_sinusoids_equal_the_papers_formula_and_depend_on_distance():
    table = sinusoids(40, 32)
    for position in range(40):
        for i in range(16):
            angle = position / 10000 ** (2 * i / 32)
            assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-5)
    products = table @ table.mT  # a Toeplitz matrix
    torch.testing.assert_close(products[1:, 1:], products[:-1, :-1], atol=1e-4, rtol=0)
    cos_and_sin = table.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)  # pairs as (cos, sin)
    rotated = rotate(cos_and_sin[:-5], angles(40, 32)[5].expand(35, -1))
    torch.testing.assert_close(rotated, cos_and_sin[5:], atol=1e-5, rtol=0)  # an offset is one rotation


def test_rotation_equals_multiplication_by_a_complex_number_of_modulus_one():
    x, theta = draw(2, 3, 11, 8).float(), angles(11, 8)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    expected = torch.view_as_real(pairs * torch.polar(torch.ones_like(theta), theta)).flatten(-2)
    torch.testing.assert_close(rotate(x, theta), expected)
    torch.testing.assert_close(RotaryPositions(max_len=11, head_dim=8).rotate(x), expected)


KINDS = {"sinusoidal": (0, []), "learned": (88, ["table"]), "rotary": (0, []), "none": (0, [])}


@pytest.mark.parametrize("kind", KINDS)
def test_each_encoding_uses_at_most_one_of_add_and_turn(kind):
    torch.manual_seed(0)
    positions = make_positions(kind, max_len=11, d_model=8, head_dim=8)
    words, heads = draw(2, 11, 8).float(), draw(2, 3, 11, 8).float()
    n_weights, saved = KINDS[kind]  # computed tables are not saved
    assert (
        sum(p.numel() for p in positions.parameters()) == n_weights and list(positions.state_dict()) == saved
    )
    assert torch.equal(positions.add(words), words) == (kind in ("rotary", "none"))
    assert torch.equal(positions.rotate(heads), heads) == (kind != "rotary")
    assert positions.rotate(heads.bfloat16()).dtype == torch.bfloat16  # although the tables are float32
    if kind == "learned":  # the same variance as sinusoids
        large = make_positions(kind, max_len=100, d_model=64, head_dim=8).table
        torch.testing.assert_close(
            large.square().mean(), sinusoids(100, 64).square().mean(), atol=0.05, rtol=0
        )

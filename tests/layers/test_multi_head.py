"""Multi-head attention against torch's own, against a loop over heads, and by what must hold of it."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from course_lib.layers.attention import attend
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.multi_head import MultiHead, join_heads, multi_head, split_heads

# All sizes differ: inputs that no slip survives.
BATCH, QUERIES, KEYS, N_HEADS, HEAD_DIM = 3, 4, 7, 6, 2
D_MODEL = N_HEADS * HEAD_DIM


def draw(seed: int = 0, dtype: torch.dtype = torch.float64):
    return partial(torch.randn, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def made(*, n_kv_heads: int | None = None, seed: int = 0) -> MultiHead:
    torch.manual_seed(seed)
    return MultiHead(d_model=D_MODEL, n_heads=N_HEADS, n_kv_heads=n_kv_heads).double()


def projected(n_kv_heads: int, queries: int = QUERIES):
    normal = draw()
    keys = normal(BATCH, n_kv_heads, KEYS, HEAD_DIM), normal(BATCH, n_kv_heads, KEYS, HEAD_DIM)
    return normal(BATCH, N_HEADS, queries, HEAD_DIM), *keys


def ragged():
    return padding_mask(torch.tensor([7, 1, 4]), KEYS).unsqueeze(1)


# ---- equal to other implementations


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("use", ["self", "cross", "causal"])
def test_equals_torch_with_gradients(use, bias):
    """Torch's fresh biases are 0, so a fresh module of either kind has the same numbers to give."""
    heads = made()
    theirs = nn.MultiheadAttention(D_MODEL, N_HEADS, bias=bias, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([heads.w_query, heads.w_key, heads.w_value]))
        theirs.out_proj.weight.copy_(heads.w_output)
    normal = draw()
    if use == "cross":
        inputs, source, may_look = normal(BATCH, QUERIES, D_MODEL), normal(BATCH, KEYS, D_MODEL), ragged()
        hidden = {"key_padding_mask": ~may_look[:, 0, 0]}
        outputs, weights = heads(inputs, source, may_look=may_look, with_weights=True)
    elif use == "self":
        inputs = source = normal(BATCH, KEYS, D_MODEL)
        hidden = {"key_padding_mask": ~ragged()[:, 0, 0]}
        outputs, weights = heads(inputs, may_look=ragged(), with_weights=True)
    else:
        inputs = source = normal(BATCH, KEYS, D_MODEL)
        hidden = {"attn_mask": ~causal_mask(KEYS)}
        outputs, weights = heads(inputs, causal=True, with_weights=True)
    expected = theirs(inputs, source, source, average_attn_weights=False, **hidden)
    torch.testing.assert_close((outputs, weights), expected)

    upstream = normal(outputs.shape)
    outputs.backward(upstream)
    expected[0].backward(upstream)
    ours = torch.cat([heads.w_query.grad, heads.w_key.grad, heads.w_value.grad])
    torch.testing.assert_close(ours, theirs.in_proj_weight.grad)
    torch.testing.assert_close(heads.w_output.grad, theirs.out_proj.weight.grad)
    if bias:  # why there is none here: softmax cancels a bias on the keys
        d_query, d_key, d_value = theirs.in_proj_bias.grad.chunk(3)
        assert d_key.abs().max() < 1e-12 < min(d_query.abs().max(), d_value.abs().max())


def test_equals_a_loop_over_heads():
    """Head h uses its own rows of W_Q, W_K, W_V and its own columns of W_O; the heads' shares add up."""
    heads, x = made(), draw()(BATCH, KEYS, D_MODEL)
    expected = torch.zeros_like(x)
    for head in range(N_HEADS):
        own = slice(head * HEAD_DIM, (head + 1) * HEAD_DIM)
        query, keys, values = (x @ w[own].mT for w in (heads.w_query, heads.w_key, heads.w_value))
        context, _ = attend(query, keys, values)
        expected += context @ heads.w_output[:, own].mT
    torch.testing.assert_close(heads(x)[0], expected)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("mask", ["none", "padding", "causal", "one query"])
def test_the_fused_path_equals_the_explicit_one(n_kv_heads, mask):
    queries = {"causal": KEYS, "one query": 1}.get(mask, QUERIES)
    chosen = {"may_look": ragged()} if mask == "padding" else {"causal": mask == "causal"}
    outcomes = []
    for with_weights in (False, True):
        leaves = [tensor.requires_grad_() for tensor in projected(n_kv_heads, queries)]
        context, weights = multi_head(*leaves, with_weights=with_weights, **chosen)
        assert (weights is not None) == with_weights
        context.backward(draw(1)(context.shape))
        outcomes.append([context, *(leaf.grad for leaf in leaves)])
    torch.testing.assert_close(*outcomes)
    assert all(tensor.isfinite().all() for tensor in outcomes[0])


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3])
def test_shared_keys_are_keys_given_to_each_head_of_the_group(n_kv_heads):
    """Grouped-query attention equals full multi-head attention with the shared matrices written out."""
    few, many = made(n_kv_heads=n_kv_heads), made(seed=1)
    with torch.no_grad():
        for name in ("w_key", "w_value"):
            each = getattr(few, name).unflatten(0, (n_kv_heads, HEAD_DIM))
            getattr(many, name).copy_(each.repeat_interleave(N_HEADS // n_kv_heads, dim=0).flatten(0, 1))
        many.w_query.copy_(few.w_query)
        many.w_output.copy_(few.w_output)
    x = draw()(BATCH, KEYS, D_MODEL)
    for with_weights in (False, True):
        torch.testing.assert_close(few(x, with_weights=with_weights), many(x, with_weights=with_weights))
    assert few.w_key.numel() * N_HEADS == many.w_key.numel() * n_kv_heads


def test_self_attention_is_cross_attention_with_oneself_as_source():
    heads, x = made(n_kv_heads=2), draw()(BATCH, KEYS, D_MODEL)
    torch.testing.assert_close(heads(x, with_weights=True), heads(x, x, with_weights=True))


def test_with_a_cache_word_by_word_equals_all_at_once():
    heads, x = made(n_kv_heads=3), draw()(BATCH, KEYS, D_MODEL)
    expected, looked = heads(x, causal=True, with_weights=True)
    past = []
    for position in range(KEYS):
        query, *new = heads.project(x[:, position : position + 1])
        past = [torch.cat(pair, dim=2) for pair in zip(past, new, strict=True)] if past else new
        output, weights = heads.look(query, *past, with_weights=True)
        torch.testing.assert_close(output[:, 0], expected[:, position])
        torch.testing.assert_close(weights[:, :, 0], looked[:, :, position, : position + 1])


# ---- properties


def test_splitting_gives_each_head_a_slice_of_every_word():
    x = draw()(BATCH, KEYS, D_MODEL)
    split = split_heads(x, n_heads=N_HEADS)
    for head in range(N_HEADS):
        assert torch.equal(split[:, head], x[..., head * HEAD_DIM : (head + 1) * HEAD_DIM])
    assert torch.equal(join_heads(split), x)


def test_the_width_stays_whatever_the_number_of_heads():
    sizes = {sum(p.numel() for p in MultiHead(d_model=24, n_heads=n).parameters()) for n in (1, 2, 8, 24)}
    assert sizes == {4 * 24 * 24}


def test_a_single_sentence_is_split_like_one_of_a_batch():
    x = draw()(BATCH, KEYS, D_MODEL)
    alone = split_heads(x[1], n_heads=N_HEADS)
    assert torch.equal(alone, split_heads(x, n_heads=N_HEADS)[1])
    assert torch.equal(join_heads(alone), x[1])
    with pytest.raises(ValueError, match=r"multiple of n_heads, but got \(3, 7, 12\) and n_heads=5"):
        split_heads(x, n_heads=5)


@pytest.mark.parametrize("n_kv_heads", [2, 6])
def test_keys_and_values_may_have_widths_of_their_own(n_kv_heads):
    """The paper's d_k and d_v: against a loop over heads, by both paths."""
    torch.manual_seed(0)
    heads = MultiHead(d_model=10, n_heads=N_HEADS, n_kv_heads=n_kv_heads, d_k=3, d_v=5).double()
    x, expected = draw()(BATCH, KEYS, 10), torch.zeros(BATCH, KEYS, 10, dtype=torch.float64)
    for head in range(N_HEADS):
        served_by = head * n_kv_heads // N_HEADS
        query = x @ heads.w_query.unflatten(0, (-1, 3))[head].mT
        keys = x @ heads.w_key.unflatten(0, (-1, 3))[served_by].mT
        values = x @ heads.w_value.unflatten(0, (-1, 5))[served_by].mT
        expected += attend(query, keys, values)[0] @ heads.w_output.unflatten(1, (-1, 5))[:, head].mT
    for with_weights in (False, True):
        torch.testing.assert_close(heads(x, with_weights=with_weights)[0], expected)


def test_words_moved_about_give_outputs_moved_about():
    """Equivariance: without positions, attention sees a bag of words."""
    heads, x = made(), draw()(BATCH, KEYS, D_MODEL)
    order = torch.randperm(KEYS, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(heads(x[:, order])[0], heads(x)[0][:, order])


def test_every_parameter_gets_a_gradient():
    heads = made(n_kv_heads=2)
    heads(draw()(BATCH, KEYS, D_MODEL), may_look=ragged())[0].square().sum().backward()
    assert all(parameter.grad.abs().max() > 1e-6 for parameter in heads.parameters())


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a CPU without bf16: slower, no less right
def test_bfloat16_stays_bfloat16_and_near():
    heads, x = made(), draw()(BATCH, KEYS, D_MODEL)
    expected = heads(x, may_look=ragged())[0]
    coarse = heads.to(torch.bfloat16)
    for with_weights in (False, True):
        outputs, _ = coarse(x.bfloat16(), may_look=ragged(), with_weights=with_weights)
        assert outputs.dtype == torch.bfloat16
        torch.testing.assert_close(outputs.double(), expected, atol=0.1, rtol=0)


# ---- errors


@pytest.mark.parametrize(
    "sizes",
    [
        {"d_model": 10, "n_heads": 4},
        {"d_model": 12, "n_heads": 4, "n_kv_heads": 3},
        {"d_model": 12, "n_heads": 2, "n_kv_heads": 4},
    ],
    ids=str,
)
def test_sizes_that_do_not_divide_are_refused(sizes):
    with pytest.raises(ValueError, match=r"Expected d_model to be a multiple of n_heads.*shared out evenly"):
        MultiHead(**sizes)


def test_wrong_heads_are_refused():
    query, keys, values = projected(3)
    for wrong in [(query[0], keys, values), (query[:2], keys, values), (query[:, :4], keys, values)]:
        with pytest.raises(ValueError, match=r"heads a multiple of kv_heads, but got query .*split_heads"):
            multi_head(*wrong)
    with pytest.raises(ValueError, match=r"one value for each key.*come in pairs"):
        multi_head(query, keys, values[:, :, :2])
    with pytest.raises(ValueError, match=r"expects one width.*query is 1 wide"):
        multi_head(query[..., :1], keys, values)


@pytest.mark.parametrize("with_weights", [False, True], ids=["fused", "explicit"])
def test_both_paths_take_the_same_masks(with_weights):
    """torch's fused attention reads (batch, 1, keys) as (heads, 1, keys), and adds a mask of 0 and 1."""
    query, keys, values = (tensor[:, :BATCH] for tensor in projected(6))  # as many heads as sentences
    sentences = ragged()[:, 0]  # (batch, 1, keys)
    with pytest.raises(ValueError, match=r"\(batch, 1, 1, keys\) every head too"):
        multi_head(query, keys, values, may_look=sentences, with_weights=with_weights)
    with pytest.raises(TypeError, match=r"boolean.*got torch\.float64"):
        multi_head(query, keys, values, may_look=ragged().double(), with_weights=with_weights)
    with pytest.raises(ValueError, match=r"fit scores of shape \(3, 3, 4, 7\)"):
        multi_head(query, keys, values, may_look=ragged()[..., :-1], with_weights=with_weights)
    square = causal_mask(KEYS)[-QUERIES:]  # two axes serve every sentence and head
    expected = attend(query, keys, values, may_look=square)[0]
    given = multi_head(query, keys, values, may_look=square, with_weights=with_weights)[0]
    torch.testing.assert_close(given, expected)


def test_two_masks_are_refused():
    with pytest.raises(ValueError, match=r"either causal=True or a may_look mask.*Join them"):
        multi_head(*projected(6, KEYS), may_look=ragged(), causal=True)


def test_more_keys_than_a_causal_square_is_refused_by_both_paths():
    """torch would line the triangle up with the first key; a cache needs it at the last."""
    for with_weights in (False, True):
        with pytest.raises(ValueError, match=r"as many queries as keys"):
            multi_head(*projected(6), causal=True, with_weights=with_weights)

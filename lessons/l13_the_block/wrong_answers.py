"""Wrong and right answers to the exercises of lesson 13, as learners write them.

A row of WRONG: the answer and what its verdict must contain, the name of a slip or a part of the text; None
if the verdict may name no slip.
"""

import torch
import torch.nn.functional as F

from lessons.l13_the_block.exercises import (
    FIRST,
    SECOND,
    attention,
    cosines,
    feed_forward_part,
    normalised,
)

# ---- what the answers share

ONES, ZEROS = torch.ones(4), torch.zeros(4)


def deviations(x):
    return x - x.mean(-1, keepdim=True)


def torch_norm(x, weight=None, bias=None):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


# ---- likeness


def like_with_diagonal(x):
    unit = x / x.norm(dim=-1, keepdim=True)
    return (unit @ unit.transpose(-1, -2)).mean(dim=(-1, -2))


def like_dots(x):
    n = x.shape[-2]
    dots = x @ x.transpose(-1, -2)
    return (dots.sum((-1, -2)) - dots.diagonal(dim1=-2, dim2=-1).sum(-1)) / (n * (n - 1))


def like_added(x):
    return cosines(x).sum((-1, -2)) - x.shape[-2]


def like_over_n_squared(x):
    return (cosines(x).sum((-1, -2)) - x.shape[-2]) / x.shape[-2] ** 2


def like_of_the_batch(x):
    n = x.shape[-2]
    return cosines(x)[..., ~torch.eye(n, dtype=torch.bool)].mean()


def like_by_mask(x):
    n = x.shape[-2]
    others = ~torch.eye(n, dtype=torch.bool)
    return cosines(x)[..., others].mean(-1)


def like_by_loop(x):
    n = x.shape[-2]
    pairs = [
        F.cosine_similarity(x[..., i, :], x[..., j, :], dim=-1) for i in range(n) for j in range(n) if i != j
    ]
    return torch.stack(pairs).mean(0)


def like_by_sum_vector(x):
    n = x.shape[-2]
    total = F.normalize(x, dim=-1).sum(-2)
    return (total.square().sum(-1) - n) / (n * (n - 1))


# ---- layer_norm


def norm_torch_var(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(x.var(-1, keepdim=True) + eps) * weight + bias


def norm_words(x, weight, bias, eps=1e-5):
    mean = x.mean(dim=-2, keepdim=True)
    return (x - mean) / torch.sqrt(((x - mean) ** 2).mean(dim=-2, keepdim=True) + eps) * weight + bias


def norm_all(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[-2:], eps=eps) * weight + bias


def norm_bare(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], eps=eps)


def norm_by_variance(x, weight, bias, eps=1e-5):
    away = deviations(x)
    return away / ((away**2).mean(-1, keepdim=True) + eps) * weight + bias


def norm_no_mean(x, weight, bias, eps=1e-5):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight + bias


def norm_eps_outside(x, weight, bias, eps=1e-5):
    away = deviations(x)
    return away / ((away**2).mean(-1, keepdim=True).sqrt() + eps) * weight + bias


def norm_own_eps(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, weight.shape, weight, bias)


def norm_of_all_there_is(x, weight, bias, eps=1e-5):
    away = x - x.mean()
    return away / torch.sqrt((away**2).mean() + eps) * weight + bias


def norm_axis_0(x, weight, bias, eps=1e-5):
    away = x - x.mean(0)
    return away / torch.sqrt((away**2).mean(0) + eps) * weight + bias


def norm_without_eps(x, weight, bias, eps=1e-5):
    away = deviations(x)
    return away / (away**2).mean(-1, keepdim=True).sqrt() * weight + bias


def norm_without_bias(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, weight.shape, weight, None, eps)


def norm_without_weight(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, weight.shape, None, bias, eps)


def norm_torchs(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, weight.shape, weight, bias, eps)


def norm_in_steps(x, weight, bias, eps=1e-5):
    away = deviations(x)
    return away * ((away**2).mean(-1, keepdim=True) + eps) ** -0.5 * weight + bias


def norm_by_moments(x, weight, bias, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return weight * (x - mean) / torch.sqrt(variance + eps) + bias


# ---- test_norm


def test_shape(norm):
    x = torch.randn(2, 3, 4)
    assert norm(x, ONES, ZEROS, 1e-5).shape == x.shape


def test_nothing(norm):
    norm(torch.randn(2, 3, 4), ONES, ZEROS, 1e-5)


def test_mean_only(norm):
    out = norm(torch.randn(2, 3, 4), ONES, ZEROS, 1e-5)
    assert out.mean(-1).abs().max() < 1e-4


def test_no_weight(norm):
    x = torch.randn(2, 3, 4) + 3
    assert torch.allclose(norm(x, ONES, ZEROS, 1e-5), torch_norm(x), atol=1e-4)


def test_one_word(norm):
    x, w, b = torch.arange(4.0), torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 0.0, 2.0, 0.0])
    assert torch.allclose(norm(x, w, b, 1e-5), torch_norm(x, w, b), atol=1e-4)


def test_weight_of_ones(norm):
    x, w, b = torch.randn(2, 3, 4) + 3, torch.ones(4), torch.randn(4)
    assert torch.allclose(norm(x, w, b, 1e-5), torch_norm(x, w, b), atol=1e-4)


def test_returns(norm):
    x = torch.randn(2, 3, 4)
    return torch.allclose(norm(x, ONES, ZEROS, 1e-5), torch_norm(x))


def test_too_exact(norm):
    x = torch.arange(4.0)
    assert norm(x[None], ONES, ZEROS, 1e-5).tolist() == [[-1.34, -0.45, 0.45, 1.34]]


def test_against_torch(norm):
    x, w, b = torch.randn(2, 5, 8) + 2, torch.randn(8), torch.randn(8)
    assert torch.allclose(norm(x, w, b, 1e-5), torch_norm(x, w, b), atol=1e-4)


def test_by_hand(norm):
    out = norm(
        torch.tensor([[1.0, 3.0], [10.0, 50.0]]), torch.tensor([1.0, 2.0]), torch.tensor([0.0, 5.0]), 0.0
    )
    assert torch.allclose(out, torch.tensor([[-1.0, 7.0], [-1.0, 7.0]]), atol=1e-4)


def test_mean_and_spread(norm):
    x, w, b = torch.randn(3, 4, 6) * 5 + 2, torch.full((6,), 3.0), torch.full((6,), 7.0)
    out = norm(x, w, b, 1e-5)
    assert torch.allclose(out.mean(-1), torch.tensor(7.0), atol=1e-2)
    assert torch.allclose(out.std(-1, unbiased=False), torch.tensor(3.0), atol=1e-2)


# ---- feed_forward


def feed_straight(x, w_in, b_in, w_out, b_out):
    return (x @ w_in.T + b_in) @ w_out.T + b_out


def feed_bent_twice(x, w_in, b_in, w_out, b_out):
    return torch.relu(torch.relu(x @ w_in.T + b_in) @ w_out.T + b_out)


def feed_bent_late(x, w_in, b_in, w_out, b_out):
    return torch.relu((x @ w_in.T + b_in) @ w_out.T + b_out)


def feed_no_b_in(x, w_in, b_in, w_out, b_out):
    return torch.relu(x @ w_in.T) @ w_out.T + b_out


def feed_no_b_out(x, w_in, b_in, w_out, b_out):
    return torch.relu(x @ w_in.T + b_in) @ w_out.T


def feed_bias_late(x, w_in, b_in, w_out, b_out):
    return (torch.relu(x @ w_in.T) + b_in) @ w_out.T + b_out


def feed_with_path(x, w_in, b_in, w_out, b_out):
    return x + torch.relu(x @ w_in.T + b_in) @ w_out.T + b_out


def feed_by_products(x, w_in, b_in, w_out, b_out):
    return torch.relu(x @ w_in.T + b_in) @ w_out.T + b_out


def feed_by_clamp(x, w_in, b_in, w_out, b_out):
    return F.linear(F.linear(x, w_in, b_in).clamp(min=0), w_out, b_out)


def feed_by_where(x, w_in, b_in, w_out, b_out):
    wide = x @ w_in.mT + b_in
    return torch.where(wide > 0, wide, 0.0) @ w_out.mT + b_out


# ---- pre_norm


def path_added_twice(x, layer, norm):
    return 2 * x + layer(norm(x))


def path_post(x, layer, norm):
    return norm(layer(x) + x)


def path_missing(x, layer, norm):
    return layer(norm(x))


def path_without_norm(x, layer, norm):
    return x + layer(x)


def path_norm_late(x, layer, norm):
    return x + norm(layer(x))


def path_minus(x, layer, norm):
    return x - layer(norm(x))


def path_in_steps(x, layer, norm):
    change = layer(norm(x))
    return x + change


def path_by_add(x, layer, norm):
    return torch.add(layer(norm(x)), x)


def path_with_copy(x, layer, norm):
    went_past = x.clone()
    x = norm(x)
    return went_past + layer(x)


# ---- encoder_block


def block_post(x, parts, n_heads, mask=None):
    x = normalised(x + attention(x, parts, n_heads, mask), parts, FIRST)
    return normalised(x + feed_forward_part(x, parts), parts, SECOND)


def block_no_path(x, parts, n_heads, mask=None):
    x = attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return feed_forward_part(normalised(x, parts, SECOND), parts)


def block_on_path(x, parts, n_heads, mask=None):
    x = normalised(x, parts, FIRST)
    x = x + attention(x, parts, n_heads, mask)
    x = normalised(x, parts, SECOND)
    return x + feed_forward_part(x, parts)


def block_old_x(x, parts, n_heads, mask=None):
    return (
        x
        + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
        + feed_forward_part(normalised(x, parts, SECOND), parts)
    )


def block_same_norm(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, FIRST), parts)


def block_norms_swapped(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, SECOND), parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, FIRST), parts)


def block_feed_first(x, parts, n_heads, mask=None):
    x = x + feed_forward_part(normalised(x, parts, SECOND), parts)
    return x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)


def block_one_path(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return feed_forward_part(normalised(x, parts, SECOND), parts)


def block_unmasked(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, None)
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def block_only_attention(x, parts, n_heads, mask=None):
    return x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)


def block_plain(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def block_in_steps(x, parts, n_heads, mask=None):
    attended = attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    middle = x + attended
    fed = feed_forward_part(normalised(middle, parts, SECOND), parts)
    return middle + fed


def block_backwards(x, parts, n_heads, mask=None):
    new = attention(normalised(x, parts, FIRST), parts, n_heads, mask).add(x)
    return feed_forward_part(normalised(new, parts, SECOND), parts).add(new)


# ---- a slip each, without the helpers of the exercises


def block_sees_plain_words(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask, source=x)
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def block_turned(x, parts, n_heads, mask=None):
    turned = {name: w.T if name.startswith("attention") else w for name, w in parts.items()}
    return block_plain(x, turned, n_heads, mask)


WRONG = {
    "likeness": [
        (like_with_diagonal, "with-itself"),
        (like_dots, "not-divided-by-lengths"),
        (like_added, "sum-of-pairs"),
        (like_over_n_squared, "divided-by-all"),
        (like_of_the_batch, "shape ()", "shape (3,)"),
    ],
    "layer_norm": [
        (norm_torch_var, "n-minus-1"),
        (norm_words, "over-the-words"),
        (norm_all, "over-everything"),
        (norm_bare, "no-scale-and-shift"),
        (norm_by_variance, "root-forgotten"),
        (norm_no_mean, "no-mean"),
        (norm_eps_outside, "eps-outside"),
        (norm_own_eps, "eps-fixed"),
        (norm_of_all_there_is, "whole-tensor"),
        (norm_axis_0, "first-axis"),
        (norm_without_eps, "no-eps"),
        (norm_without_bias, "no-shift"),
        (norm_without_weight, "no-scale"),
    ],
    "test_norm": [
        (test_shape, "lets-through"),
        (test_nothing, "lets-through"),
        (test_mean_only, "lets-through"),
        (test_no_weight, "lets-through"),
        (test_one_word, "one that averages over all numbers", "one that averages over the first axis"),
        (test_weight_of_ones, "one that has no scale"),
        (test_returns, "returns-instead"),
        (test_too_exact, "rejects-the-right-one"),
    ],
    "feed_forward": [
        (feed_straight, "no-bend"),
        (feed_bent_twice, "bent-at-the-end"),
        (feed_bent_late, "bent-only-at-the-end"),
        (feed_no_b_in, "no-first-bias"),
        (feed_no_b_out, "no-last-bias"),
        (feed_bias_late, "bias-after-bend"),
        (feed_with_path, "adds-x"),
    ],
    "pre_norm": [
        (path_added_twice, None),
        (path_post, "after-the-sum"),
        (path_missing, "no-path"),
        (path_without_norm, "no-norm"),
        (path_norm_late, "norm-after-layer"),
        (path_minus, None),
    ],
    "encoder_block": [
        (block_post, "post-norm"),
        (block_no_path, "no-path"),
        (block_on_path, "norm-on-the-path"),
        (block_old_x, "side-by-side"),
        (block_same_norm, "one-norm-twice"),
        (block_norms_swapped, "norms-swapped"),
        (block_feed_first, "feed-first"),
        (block_one_path, "second-path-missing"),
        (block_unmasked, "ignores-mask"),
        (block_only_attention, "attention-alone"),
        (block_turned, "matrices-as-they-are"),
        (block_sees_plain_words, "plain-source"),
    ],
}
RIGHT = {
    "likeness": [like_by_mask, like_by_loop, like_by_sum_vector],
    "layer_norm": [norm_torchs, norm_in_steps, norm_by_moments],
    "test_norm": [test_against_torch, test_by_hand, test_mean_and_spread],
    "feed_forward": [feed_by_products, feed_by_clamp, feed_by_where],
    "pre_norm": [path_in_steps, path_by_add, path_with_copy],
    "encoder_block": [block_plain, block_in_steps, block_backwards],
}

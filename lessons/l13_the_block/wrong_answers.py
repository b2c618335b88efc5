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


def norm_std(x, weight, bias, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) * weight + bias


def norm_shape_1(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[1:], eps=eps) * weight + bias


def norm_axis_1(x, weight, bias, eps=1e-5):
    away = x - x.mean(1, keepdim=True)
    return away / torch.sqrt((away**2).mean(1, keepdim=True) + eps) * weight + bias


def norm_axis_2(x, weight, bias, eps=1e-5):
    away = x - x.mean(2, keepdim=True)
    return away / torch.sqrt((away**2).mean(2, keepdim=True) + eps) * weight + bias


def norm_sentence_of_a_batch(x, weight, bias, eps=1e-5):
    axes = -1 if x.ndim == 2 else (-1, -2)
    away = x - x.mean(axes, keepdim=True)
    return away / torch.sqrt((away**2).mean(axes, keepdim=True) + eps) * weight + bias


def norm_bare_std(x, weight, bias, eps=1e-5):
    return weight * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) + bias


def norm_scaled_first(x, weight, bias, eps=1e-5):
    x = x * weight + bias
    away = deviations(x)
    return away / torch.sqrt((away**2).mean(-1, keepdim=True) + eps)


def norm_without_parentheses(x, weight, bias, eps=1e-5):
    root = torch.sqrt((deviations(x) ** 2).mean(-1, keepdim=True) + eps)
    return x - x.mean(-1, keepdim=True) / root * weight + bias


def norm_one_mean(x, weight, bias, eps=1e-5):
    root = torch.sqrt((deviations(x) ** 2).mean(-1, keepdim=True) + eps)
    return (x - x.mean()) / root * weight + bias


def norm_one_variance(x, weight, bias, eps=1e-5):
    away = deviations(x)
    return away / torch.sqrt((away**2).mean() + eps) * weight + bias


def norm_multiplied(x, weight, bias, eps=1e-5):
    away = deviations(x)
    return away * torch.sqrt((away**2).mean(-1, keepdim=True) + eps) * weight + bias


def norm_to_length_1(x, weight, bias, eps=1e-5):
    return F.normalize(deviations(x), dim=-1) * weight + bias


def norm_centred_only(x, weight, bias, eps=1e-5):
    return deviations(x) * weight + bias


def norm_by_length(x, weight, bias, eps=1e-5):
    away = deviations(x)
    return away / torch.sqrt((away**2).sum(-1, keepdim=True) + eps) * weight + bias


def norm_by_absolute(x, weight, bias, eps=1e-5):
    away = deviations(x)
    return away / (away.abs().mean(-1, keepdim=True) + eps) * weight + bias


def norm_square_of_x(x, weight, bias, eps=1e-5):
    return deviations(x) / ((x**2).mean(-1, keepdim=True) + eps).sqrt() * weight + bias


def norm_two_means(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = (x * x).mean(-1, keepdim=True) - mean * mean
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


def norm_two_means_clamped(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


def norm_eps_max(x, weight, bias, eps=1e-5):
    away = deviations(x)
    variance = (away**2).mean(-1, keepdim=True)
    return away / torch.maximum(variance, torch.tensor(eps)).sqrt() * weight + bias


def norm_shift_first(x, weight, bias, eps=1e-5):
    return (F.layer_norm(x, x.shape[-1:], eps=eps) + bias) * weight


def norm_no_keepdim(x, weight, bias, eps=1e-5):
    away = x - x.mean(-1)
    return away / torch.sqrt((away**2).mean(-1) + eps) * weight + bias


def norm_no_keepdim_in_mean(x, weight, bias, eps=1e-5):
    away = x - x.mean(-1)
    return away / torch.sqrt((away**2).mean(-1, keepdim=True) + eps) * weight + bias


def norm_no_keepdim_in_variance(x, weight, bias, eps=1e-5):
    away = deviations(x)
    return away / torch.sqrt((away**2).mean(-1) + eps) * weight + bias


def norm_detached(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True).detach()
    return (x - mean) / ((x - mean) ** 2).mean(-1, keepdim=True).add(eps).sqrt().detach() * weight + bias


def norm_in_place(x, weight, bias, eps=1e-5):
    with torch.no_grad():
        x -= x.mean(-1, keepdim=True)
    return x / ((x**2).mean(-1, keepdim=True) + eps).sqrt() * weight + bias


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


def test_without_a_batch(norm):
    x, w, b = torch.randn(5, 4), torch.randn(4), torch.randn(4)
    assert torch.allclose(norm(x, w, b, 0.1), F.layer_norm(x, (4,), w, b, 0.1), atol=1e-5)


def test_eps_hardly_matters(norm):
    x, w, b = 10 * torch.randn(2, 3, 4), torch.randn(4), torch.randn(4)
    assert torch.allclose(norm(x, w, b, 1e-5), torch_norm(x, w, b), atol=1e-3)


def test_first_sentence(norm):
    x, w, b = torch.randn(2, 3, 4), torch.randn(4), torch.randn(4)
    assert torch.allclose(norm(x, w, b, 0.5)[0], F.layer_norm(x, (4,), w, b, 0.5)[0], atol=1e-4)


def test_first_words(norm):
    x, w, b = torch.randn(2, 3, 4), torch.randn(4), torch.randn(4)
    assert torch.allclose(norm(x, w, b, 0.5)[:, :2], F.layer_norm(x, (4,), w, b, 0.5)[:, :2], atol=1e-4)


def test_against_torch(norm):
    x, w, b = torch.randn(2, 5, 8) + 2, torch.randn(8), torch.randn(8)
    assert torch.allclose(norm(x, w, b, 0.5), F.layer_norm(x, (8,), w, b, 0.5), atol=1e-4)


def test_by_hand(norm):
    x = torch.tensor([[[1.0, 3.0], [10.0, 50.0]], [[6.0, 4.0], [7.0, 7.0]]])
    out = norm(x, torch.tensor([1.0, 2.0]), torch.tensor([0.0, 5.0]), 1e-5)
    expected = torch.tensor([[[-1.0, 7.0], [-1.0, 7.0]], [[1.0, 3.0], [0.0, 5.0]]])
    assert torch.allclose(out, expected, atol=1e-3)


def test_mean_and_spread(norm):
    x, w, b = torch.randn(3, 4, 6) * 5 + 2, torch.full((6,), 3.0), torch.full((6,), 7.0)
    out = norm(x, w, b, 1e-5)
    assert torch.allclose(out.mean(-1), torch.tensor(7.0), atol=1e-2)
    assert torch.allclose(out.std(-1, unbiased=False), torch.tensor(3.0), atol=1e-2)
    assert torch.equal(norm(torch.ones(1, 2, 6), w, b, 1e-5), torch.full((1, 2, 6), 7.0))


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


def feed_no_biases(x, w_in, b_in, w_out, b_out):
    return torch.relu(x @ w_in.T) @ w_out.T


def feed_bias_late(x, w_in, b_in, w_out, b_out):
    return (torch.relu(x @ w_in.T) + b_in) @ w_out.T + b_out


def feed_with_path(x, w_in, b_in, w_out, b_out):
    return x + torch.relu(x @ w_in.T + b_in) @ w_out.T + b_out


def feed_bent_first(x, w_in, b_in, w_out, b_out):
    return (torch.relu(x) @ w_in.T + b_in) @ w_out.T + b_out


def feed_sign_too_early(x, w_in, b_in, w_out, b_out):
    hidden = x @ w_in.T
    return torch.where(hidden > 0, hidden + b_in, 0.0) @ w_out.T + b_out


def feed_by(activation):
    """With another activation function."""
    return lambda x, w_in, b_in, w_out, b_out: activation(x @ w_in.T + b_in) @ w_out.T + b_out


def feed_largest(x, w_in, b_in, w_out, b_out):
    hidden = x @ w_in.T + b_in
    largest = hidden.max(dim=-1, keepdim=True).values.clamp(min=0)
    return largest.expand_as(hidden) @ w_out.T + b_out


def feed_untransposed(x, w_in, b_in, w_out, b_out):
    return torch.relu(x @ w_in + b_in) @ w_out + b_out


def feed_shapes_fit(x, w_in, b_in, w_out, b_out):
    return torch.relu(x @ w_out + b_in) @ w_in + b_out


def feed_columns(x, w_in, b_in, w_out, b_out):
    def turn(tensor):
        return tensor.permute(*range(tensor.ndim - 1, -1, -1))  # what `.T` does, without its warning

    return turn(w_out @ torch.relu(w_in @ turn(x) + b_in[:, None]) + b_out[:, None])


def feed_hidden_detached(x, w_in, b_in, w_out, b_out):
    return F.linear(F.relu(F.linear(x, w_in, b_in)).detach(), w_out, b_out)


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


def path_norm_on_top(x, layer, norm):
    return norm(path_in_steps(x, layer, norm))


def path_no_layer(x, layer, norm):
    return x + norm(x)


def path_norm_around(x, layer, norm):
    out = norm(x)
    out = norm(layer(out))
    return x + out


def path_normalised(x, layer, norm):
    return norm(x) + layer(x)


def path_norm_of_layer(x, layer, norm):
    return norm(layer(x))


def path_adds_both(x, layer, norm):
    normed = norm(x)
    return x + normed + layer(normed)


def path_torchs_norm(x, layer, norm):
    return x + layer(torch_norm(x))


def path_sum_first(x, layer, norm):
    x = x + norm(x)
    return layer(x)


def path_layer_twice(x, layer, norm):
    out = layer(norm(x))
    return x + layer(out)


def path_by_words(x, layer, norm):
    words = x.reshape(-1, 1, x.shape[-1])
    return torch.cat([word + layer(norm(word[None]))[0] for word in words]).reshape(x.shape)


def path_times(x, layer, norm):
    return layer(norm(x)) * x


def path_mean(x, layer, norm):
    return torch.stack([x, layer(norm(x))]).mean(0)


def path_detached(x, layer, norm):
    return x.detach() + layer(norm(x))


def path_in_place(x, layer, norm):
    x += layer(norm(x))
    return x


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


def block_no_first_path(x, parts, n_heads, mask=None):
    x = attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def block_first_norm_kept(x, parts, n_heads, mask=None):
    x = normalised(x, parts, FIRST)
    x = x + attention(x, parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def block_second_norm_kept(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    x = normalised(x, parts, SECOND)
    return x + feed_forward_part(x, parts)


def block_adds_input(x, parts, n_heads, mask=None):
    middle = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return x + feed_forward_part(normalised(middle, parts, SECOND), parts)


def block_feeds_heard(x, parts, n_heads, mask=None):
    heard = attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    x = x + heard
    return x + feed_forward_part(normalised(heard, parts, SECOND), parts)


def block_only_feed(x, parts, n_heads, mask=None):
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def block_second_norm_twice(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, SECOND), parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def block_no_norms(x, parts, n_heads, mask=None):
    x = x + attention(x, parts, n_heads, mask)
    return x + feed_forward_part(x, parts)


def block_no_first_norm(x, parts, n_heads, mask=None):
    x = x + attention(x, parts, n_heads, mask)
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def block_no_second_norm(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    return x + feed_forward_part(x, parts)


def block_last_norm(x, parts, n_heads, mask=None):
    return normalised(block_plain(x, parts, n_heads, mask), parts, SECOND)


def block_asks_plainly(x, parts, n_heads, mask=None):
    x = x + attention(x, parts, n_heads, mask, source=normalised(x, parts, FIRST))
    return x + feed_forward_part(normalised(x, parts, SECOND), parts)


def block_linear(x, parts, n_heads, mask=None):
    x = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    hidden = normalised(x, parts, SECOND) @ parts["feed_forward.inner.weight"].T
    hidden = hidden + parts["feed_forward.inner.bias"]
    return x + hidden @ parts["feed_forward.outer.weight"].T + parts["feed_forward.outer.bias"]


def block_masked_wrongly(x, parts, n_heads, mask=None):
    return block_plain(x, parts, n_heads, mask if mask is None else mask.logical_not())


def block_four_heads(x, parts, n_heads, mask=None):
    return block_plain(x, parts, 4, mask)


def block_one_head(x, parts, n_heads, mask=None):
    return block_plain(x, parts, 1, mask)


def block_swapped(one, other):
    """With two of the matrices of attention swapped."""

    def block_with_swapped(x, parts, n_heads, mask=None):
        one_name, other_name = f"attention.w_{one}", f"attention.w_{other}"
        swapped = dict(parts)
        swapped[one_name], swapped[other_name] = parts[other_name], parts[one_name]
        return block_plain(x, swapped, n_heads, mask)

    return block_with_swapped


def block_copied(used, unused):
    """With one of the matrices of attention in the place of another: a line copied and not changed."""

    def block_with_copied(x, parts, n_heads, mask=None):
        copied = {**parts, f"attention.w_{unused}": parts[f"attention.w_{used}"]}
        return block_plain(x, copied, n_heads, mask)

    return block_with_copied


def block_adds_x_again(x, parts, n_heads, mask=None):
    x = x + path_in_steps(
        x, lambda x: attention(x, parts, n_heads, mask), lambda x: normalised(x, parts, FIRST)
    )
    return x + path_in_steps(x, lambda x: feed_forward_part(x, parts), lambda x: normalised(x, parts, SECOND))


def block_normalises_again(x, parts, n_heads, mask=None):
    def attend(x):
        return attention(normalised(x, parts, FIRST), parts, n_heads, mask)

    def feed(x):
        return feed_forward_part(normalised(x, parts, SECOND), parts)

    x = path_in_steps(x, attend, lambda x: normalised(x, parts, FIRST))
    return path_in_steps(x, feed, lambda x: normalised(x, parts, SECOND))


def block_norm_late(x, parts, n_heads, mask=None):
    x = x + normalised(attention(x, parts, n_heads, mask), parts, FIRST)
    return x + normalised(feed_forward_part(x, parts), parts, SECOND)


def block_normed_once(x, parts, n_heads, mask=None):
    normed = normalised(x, parts, FIRST)
    x = x + attention(normed, parts, n_heads, mask)
    return x + feed_forward_part(normed, parts)


def block_torch_norms(x, parts, n_heads, mask=None):
    x = x + attention(torch_norm(x), parts, n_heads, mask)
    return x + feed_forward_part(torch_norm(x), parts)


def block_zero(*names):
    """Without these parts."""

    def block_without(x, parts, n_heads, mask=None):
        zeros = {name: 0 * parts[name] for name in names}
        return block_plain(x, {**parts, **zeros}, n_heads, mask)

    return block_without


def block_bias_first(x, parts, n_heads, mask=None):
    def norm(x, around):
        return torch_norm(x, parts[f"{around}.norm.bias"], parts[f"{around}.norm.weight"])

    x = x + attention(norm(x, FIRST), parts, n_heads, mask)
    return x + feed_forward_part(norm(x, SECOND), parts)


def block_causal(x, parts, n_heads, mask=None):
    lower = torch.tril(torch.ones(x.shape[1], x.shape[1])).bool()
    return block_plain(x, parts, n_heads, lower if mask is None else mask & lower)


def block_without_output(x, parts, n_heads, mask=None):
    return block_plain(x, {**parts, "attention.w_output": torch.eye(x.shape[-1])}, n_heads, mask)


def block_pops(x, parts, n_heads, mask=None):
    weight = parts.pop(f"{FIRST}.norm.weight")
    return block_plain(x, {**parts, f"{FIRST}.norm.weight": weight}, n_heads, mask)


def block_detached(x, parts, n_heads, mask=None):
    return block_plain(x, {name: part.detach() for name, part in parts.items()}, n_heads, mask)


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
        (norm_std, "torch-std"),
        (norm_words, "over-the-words"),
        (norm_all, "over-everything"),
        (norm_shape_1, "all-but-first-axis"),
        (norm_axis_1, "second-axis"),
        (norm_axis_2, "third-axis"),
        (norm_sentence_of_a_batch, "over-a-sentence-of-a-batch"),
        (norm_bare_std, "torch-std-no-eps"),
        (norm_scaled_first, "scaled-first"),
        (norm_without_parentheses, "parentheses"),
        (norm_one_mean, "one-mean"),
        (norm_one_variance, "one-variance"),
        (norm_multiplied, "multiplied"),
        (norm_to_length_1, "unit-length"),
        (norm_bare, "no-scale-and-shift"),
        (norm_by_variance, "root-forgotten"),
        (norm_centred_only, "not-divided"),
        (norm_by_length, "sum-of-squares"),
        (norm_by_absolute, "mean-absolute"),
        (norm_square_of_x, "mean-square-of-x"),
        (norm_two_means, "cancellation"),
        (norm_two_means_clamped, "cancellation"),
        (norm_no_mean, "no-mean"),
        (norm_eps_outside, "eps-outside"),
        (norm_eps_max, "eps-as-minimum"),
        (norm_own_eps, "eps-fixed"),
        (norm_of_all_there_is, "whole-tensor"),
        (norm_axis_0, "first-axis"),
        (norm_without_eps, "no-eps"),
        (norm_without_bias, "no-shift"),
        (norm_without_weight, "no-scale"),
        (norm_shift_first, "shift-before-scale"),
        (norm_no_keepdim, "no-keepdim"),
        (norm_no_keepdim_in_mean, "no-keepdim-mean"),
        (norm_no_keepdim_in_variance, "no-keepdim-variance"),
        (norm_detached, "wrong-gradient"),
        (norm_in_place, "in-place"),
    ],
    "test_norm": [
        (test_shape, "lets-through"),
        (test_nothing, "lets-through"),
        (test_mean_only, "lets-through"),
        (test_no_weight, "lets-through"),
        (test_one_word, "lets-through"),
        (test_weight_of_ones, "lets-through"),
        (test_without_a_batch, "lets-through"),
        (test_eps_hardly_matters, "lets-through"),
        (test_first_sentence, "lets-through"),
        (test_first_words, "lets-through"),
        (test_returns, "returns-instead"),
        (test_too_exact, "rejects-the-right-one"),
    ],
    "feed_forward": [
        (feed_straight, "no-relu"),
        (feed_bent_twice, "relu-at-the-end-too"),
        (feed_bent_late, "relu-at-the-end"),
        (feed_bent_first, "relu-first"),
        (feed_no_b_in, "`b_in`"),
        (feed_no_b_out, "`b_out`"),
        (feed_no_biases, "no-biases"),
        (feed_bias_late, "bias-after-relu"),
        (feed_sign_too_early, "sign-without-bias"),
        (feed_by(F.gelu), "activation-gelu"),
        (feed_by(lambda hidden: hidden * torch.sigmoid(hidden)), "activation-silu"),
        (feed_by(lambda hidden: torch.maximum(hidden, 0.01 * hidden)), "activation-leaky"),
        (feed_by(lambda hidden: torch.where(hidden > 0, hidden, hidden.exp() - 1)), "activation-elu"),
        (feed_by(lambda hidden: torch.logaddexp(hidden, torch.tensor(0.0))), "activation-softplus"),
        (feed_by(torch.sigmoid), "activation-sigmoid"),
        (feed_by(torch.tanh), "activation-tanh"),
        (feed_by(lambda hidden: torch.softmax(hidden, dim=-1)), "activation-softmax"),
        (feed_by(torch.abs), "absolute-value"),
        (feed_by(lambda hidden: torch.minimum(hidden, torch.tensor(0.0))), "keeps-negative"),
        (feed_by(lambda hidden: hidden.clamp(0, 1)), "clamped-at-1"),
        (feed_largest, "largest-hidden"),
        (feed_untransposed, "not-transposed"),
        (feed_shapes_fit, "matrices-swapped"),
        (feed_columns, "words-as-columns"),
        (feed_with_path, "adds-x"),
        (feed_hidden_detached, "no-gradient"),
    ],
    "pre_norm": [
        (path_added_twice, "x-twice"),
        (path_post, "after-the-sum"),
        (path_norm_on_top, "norm-on-top"),
        (path_missing, "no-residual"),
        (path_without_norm, "no-norm"),
        (path_no_layer, "no-layer"),
        (path_norm_late, "norm-after-layer"),
        (path_norm_around, "norm-before-and-after"),
        (path_normalised, "norm-on-the-residual"),
        (path_norm_of_layer, "norm-after-layer-no-residual"),
        (path_adds_both, "adds-norm-too"),
        (path_torchs_norm, "other-norm"),
        (path_sum_first, "layer-after-sum"),
        (path_layer_twice, "layer-twice"),
        (path_by_words, "word-by-word"),
        (path_minus, "subtracted"),
        (path_times, "multiplied"),
        (path_mean, "mean-of-both"),
        (path_detached, "wrong-gradient"),
        (path_in_place, "in-place"),
    ],
    "encoder_block": [
        (block_post, "post-norm"),
        (block_no_path, "no-residuals"),
        (block_no_first_path, "first-residual-missing"),
        (block_one_path, "second-residual-missing"),
        (block_on_path, "norm-on-first-and-second-residual"),
        (block_first_norm_kept, "norm-on-first-residual"),
        (block_second_norm_kept, "norm-on-second-residual"),
        (block_old_x, "in-parallel"),
        (block_adds_input, "attention-lost"),
        (block_feeds_heard, "feeds-attention-output"),
        (block_feed_first, "feed-first"),
        (block_only_attention, "attention-alone"),
        (block_only_feed, "feed-forward-alone"),
        (block_same_norm, "one-norm-twice"),
        (block_second_norm_twice, "second-norm-twice"),
        (block_norms_swapped, "norms-swapped"),
        (block_no_norms, "no-norms"),
        (block_no_first_norm, "no-first-norm"),
        (block_no_second_norm, "no-second-norm"),
        (block_last_norm, "norm-at-the-end"),
        (block_sees_plain_words, "plain-source"),
        (block_asks_plainly, "plain-query"),
        (block_linear, "no-relu"),
        (block_unmasked, "ignores-mask"),
        (block_masked_wrongly, "mask-inverted"),
        (block_four_heads, "4-heads"),
        (block_one_head, "1-heads"),
        (block_turned, "matrices-transposed"),
        (block_swapped("query", "key"), "query-and-key-swapped"),
        (block_swapped("query", "value"), "query-and-value-swapped"),
        (block_swapped("query", "output"), "query-and-output-swapped"),
        (block_swapped("key", "value"), "key-and-value-swapped"),
        (block_swapped("key", "output"), "key-and-output-swapped"),
        (block_swapped("value", "output"), "value-and-output-swapped"),
        (block_copied("query", "key"), "query-twice-no-key"),
        (block_copied("query", "value"), "query-twice-no-value"),
        (block_copied("key", "query"), "key-twice-no-query"),
        (block_copied("key", "value"), "key-twice-no-value"),
        (block_copied("value", "query"), "value-twice-no-query"),
        (block_copied("value", "key"), "value-twice-no-key"),
        (block_adds_x_again, "residuals-twice"),
        (block_normalises_again, "norms-twice"),
        (block_norm_late, "norm-after-layers"),
        (block_normed_once, "feeds-first-normalised"),
        (block_torch_norms, "plain-norms"),
        (block_zero(f"{FIRST}.norm.bias", f"{SECOND}.norm.bias"), "no-norm-biases"),
        (block_zero("feed_forward.inner.bias", "feed_forward.outer.bias"), "no-feed-forward-biases"),
        (block_bias_first, "norm-parameters-swapped"),
        (lambda x, *rest: x + block_plain(x, *rest), "adds-input-again"),
        (block_causal, "causal"),
        (block_without_output, None),
        (block_pops, "in-place"),
        (block_detached, "no-gradient"),
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

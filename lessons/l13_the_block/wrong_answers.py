"""Wrong and right answers to the exercises of lesson 13, as learners write them.

A row of WRONG: the answer and what its verdict must contain, the name of a slip or a part of the text; None
if the verdict may name no slip.
"""

import torch
import torch.nn.functional as F
from torch import nn

from lessons.l13_the_block.exercises import (
    FIRST,
    SECOND,
    attention,
    feed_forward_part,
    normalised,
)
from lessons.l13_the_block.modules import MultiHead

# ---- what the answers share

ONES, ZEROS = torch.ones(4), torch.zeros(4)


def deviations(x):
    return x - x.mean(-1, keepdim=True)


def torch_norm(x, weight=None, bias=None):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


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
    centred = deviations(x)
    return centred / ((centred**2).mean(-1, keepdim=True) + eps) * weight + bias


def norm_no_mean(x, weight, bias, eps=1e-5):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight + bias


def norm_eps_outside(x, weight, bias, eps=1e-5):
    centred = deviations(x)
    return centred / ((centred**2).mean(-1, keepdim=True).sqrt() + eps) * weight + bias


def norm_own_eps(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, weight.shape, weight, bias)


def norm_of_all_there_is(x, weight, bias, eps=1e-5):
    centred = x - x.mean()
    return centred / torch.sqrt((centred**2).mean() + eps) * weight + bias


def norm_axis_0(x, weight, bias, eps=1e-5):
    centred = x - x.mean(0)
    return centred / torch.sqrt((centred**2).mean(0) + eps) * weight + bias


def norm_without_eps(x, weight, bias, eps=1e-5):
    centred = deviations(x)
    return centred / (centred**2).mean(-1, keepdim=True).sqrt() * weight + bias


def norm_without_bias(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, weight.shape, weight, None, eps)


def norm_without_weight(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, weight.shape, None, bias, eps)


def norm_std(x, weight, bias, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) * weight + bias


def norm_shape_1(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[1:], eps=eps) * weight + bias


def norm_axis_1(x, weight, bias, eps=1e-5):
    centred = x - x.mean(1, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(1, keepdim=True) + eps) * weight + bias


def norm_axis_2(x, weight, bias, eps=1e-5):
    centred = x - x.mean(2, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(2, keepdim=True) + eps) * weight + bias


def norm_sentence_of_a_batch(x, weight, bias, eps=1e-5):
    axes = -1 if x.ndim == 2 else (-1, -2)
    centred = x - x.mean(axes, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(axes, keepdim=True) + eps) * weight + bias


def norm_bare_std(x, weight, bias, eps=1e-5):
    return weight * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) + bias


def norm_scaled_first(x, weight, bias, eps=1e-5):
    x = x * weight + bias
    centred = deviations(x)
    return centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + eps)


def norm_without_parentheses(x, weight, bias, eps=1e-5):
    root = torch.sqrt((deviations(x) ** 2).mean(-1, keepdim=True) + eps)
    return x - x.mean(-1, keepdim=True) / root * weight + bias


def norm_one_mean(x, weight, bias, eps=1e-5):
    root = torch.sqrt((deviations(x) ** 2).mean(-1, keepdim=True) + eps)
    return (x - x.mean()) / root * weight + bias


def norm_one_variance(x, weight, bias, eps=1e-5):
    centred = deviations(x)
    return centred / torch.sqrt((centred**2).mean() + eps) * weight + bias


def norm_multiplied(x, weight, bias, eps=1e-5):
    centred = deviations(x)
    return centred * torch.sqrt((centred**2).mean(-1, keepdim=True) + eps) * weight + bias


def norm_to_length_1(x, weight, bias, eps=1e-5):
    return F.normalize(deviations(x), dim=-1) * weight + bias


def norm_centred_only(x, weight, bias, eps=1e-5):
    return deviations(x) * weight + bias


def norm_by_length(x, weight, bias, eps=1e-5):
    centred = deviations(x)
    return centred / torch.sqrt((centred**2).sum(-1, keepdim=True) + eps) * weight + bias


def norm_by_absolute(x, weight, bias, eps=1e-5):
    centred = deviations(x)
    return centred / (centred.abs().mean(-1, keepdim=True) + eps) * weight + bias


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
    centred = deviations(x)
    variance = (centred**2).mean(-1, keepdim=True)
    return centred / torch.maximum(variance, torch.tensor(eps)).sqrt() * weight + bias


def norm_shift_first(x, weight, bias, eps=1e-5):
    return (F.layer_norm(x, x.shape[-1:], eps=eps) + bias) * weight


def norm_no_keepdim(x, weight, bias, eps=1e-5):
    centred = x - x.mean(-1)
    return centred / torch.sqrt((centred**2).mean(-1) + eps) * weight + bias


def norm_no_keepdim_in_mean(x, weight, bias, eps=1e-5):
    centred = x - x.mean(-1)
    return centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + eps) * weight + bias


def norm_no_keepdim_in_variance(x, weight, bias, eps=1e-5):
    centred = deviations(x)
    return centred / torch.sqrt((centred**2).mean(-1) + eps) * weight + bias


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
    centred = deviations(x)
    return centred * ((centred**2).mean(-1, keepdim=True) + eps) ** -0.5 * weight + bias


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


def feed_as_in_the_formula(x, w_in, b_in, w_out, b_out):
    return w_out @ torch.relu(w_in @ x + b_in) + b_out


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
    attended = x + attention(normalised(x, parts, FIRST), parts, n_heads, mask)
    x = x + attended
    fed = x + feed_forward_part(normalised(x, parts, SECOND), parts)
    return x + fed


def block_normalises_again(x, parts, n_heads, mask=None):
    def attend(x):
        return attention(normalised(x, parts, FIRST), parts, n_heads, mask)

    def feed(x):
        return feed_forward_part(normalised(x, parts, SECOND), parts)

    x = x + attend(normalised(x, parts, FIRST))
    return x + feed(normalised(x, parts, SECOND))


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


# ---- FeedForward


class FeedNoSuper(nn.Module):
    def __init__(self, d_model, d_ff):
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


class FeedNothing(nn.Module):
    def __init__(self, d_model, d_ff):
        self.d_model, self.d_ff = d_model, d_ff

    def forward(self, x):
        return x


class FeedNotAModule:
    def __init__(self, d_model, d_ff):
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


def initialise(self):
    for layer in (self.inner, self.outer):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)


class FeedRight(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        initialise(self)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


class FeedOtherNames(FeedRight):
    def __init__(self, d_model, d_ff):
        nn.Module.__init__(self)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


class FeedInAList(FeedRight):
    def __init__(self, d_model, d_ff):
        nn.Module.__init__(self)
        self.inner = [nn.Linear(d_model, d_ff)]
        self.outer = nn.Linear(d_ff, d_model)


class FeedSwappedWidths(FeedRight):
    def __init__(self, d_model, d_ff):
        nn.Module.__init__(self)
        self.inner = nn.Linear(d_ff, d_model)
        self.outer = nn.Linear(d_model, d_ff)


class FeedNoBias(FeedRight):
    def __init__(self, d_model, d_ff):
        nn.Module.__init__(self)
        self.inner = nn.Linear(d_model, d_ff, bias=False)
        self.outer = nn.Linear(d_ff, d_model, bias=False)


class Inner(nn.Module):
    """A linear layer of one's own, with weights of some kind."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.bias = weight, bias

    def forward(self, x):
        return x @ self.weight.T + self.bias


def xavier(*shape):
    return nn.init.xavier_uniform_(torch.empty(*shape))


class FeedPlainTensor(FeedRight):
    def __init__(self, d_model, d_ff):
        nn.Module.__init__(self)
        self.inner = Inner(xavier(d_ff, d_model), torch.zeros(d_ff))
        self.outer = nn.Linear(d_ff, d_model)


class FeedBuffer(FeedRight):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        bias = self.outer.bias.detach()
        del self.outer.bias
        self.outer.register_buffer("bias", bias)


class FeedFrozen(FeedRight):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.outer.bias.requires_grad = False


class FeedShared(FeedRight):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        if d_model == d_ff:
            self.outer.bias = self.inner.bias


class FeedStraight(FeedRight):
    def forward(self, x):
        return self.outer(self.inner(x))


class FeedReluLate(FeedRight):
    def forward(self, x):
        return F.relu(self.outer(self.inner(x)))


class FeedReluTwice(FeedRight):
    def forward(self, x):
        return F.relu(self.outer(F.relu(self.inner(x))))


class FeedAdds(FeedRight):
    def forward(self, x):
        return x + self.outer(F.relu(self.inner(x)))


class FeedGelu(FeedRight):
    def forward(self, x):
        return self.outer(F.gelu(self.inner(x)))


class FeedDetached(FeedRight):
    def forward(self, x):
        return self.outer(F.relu(self.inner(x)).detach())


class FeedNoReturn(FeedRight):
    def forward(self, x):
        self.outer(F.relu(self.inner(x)))


class FeedTwoOutputs(FeedRight):
    def forward(self, x):
        hidden = F.relu(self.inner(x))
        return self.outer(hidden), hidden


class FeedDouble(FeedRight):
    def forward(self, x):
        return super().forward(x).double()


class FeedOneWord(FeedRight):
    def forward(self, x):
        return super().forward(x)[:1]


class FeedInPlace(FeedRight):
    def forward(self, x):
        hidden = F.relu(self.inner(x))
        x *= 0
        return self.outer(hidden)


class FeedDefault(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        nn.init.zeros_(self.inner.bias)
        nn.init.zeros_(self.outer.bias)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


class FeedGaussian(FeedRight):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        nn.init.normal_(self.inner.weight)


class FeedZeros(FeedRight):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        nn.init.zeros_(self.outer.weight)


class FeedDefaultBias(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        nn.init.xavier_uniform_(self.inner.weight)
        nn.init.xavier_uniform_(self.outer.weight)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


class FeedSeeded(FeedRight):
    def __init__(self, d_model, d_ff):
        torch.manual_seed(0)
        super().__init__(d_model, d_ff)


class FeedArguments(FeedRight):
    def __init__(self, d_ff, d_model):
        super().__init__(d_model, d_ff)


class FeedFewArguments(FeedRight):
    def __init__(self, d_model):
        super().__init__(d_model, 4 * d_model)


def feed_function(d_model, d_ff):
    return FeedRight(d_model, d_ff)


class FeedByClamp(FeedRight):
    def forward(self, x):
        return self.outer(self.inner(x).clamp(min=0))


class FeedNormal(FeedRight):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        nn.init.xavier_normal_(self.inner.weight)


class FeedByHand(FeedRight):
    def __init__(self, d_model, d_ff):
        nn.Module.__init__(self)
        self.inner = Inner(nn.Parameter(xavier(d_ff, d_model)), nn.Parameter(torch.zeros(d_ff)))
        self.outer = Inner(nn.Parameter(xavier(d_model, d_ff)), nn.Parameter(torch.zeros(d_model)))


class FeedDrops(FeedRight):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(super().forward(x))


class FeedStartsInForward(FeedRight):
    def forward(self, x):
        initialise(self)
        return super().forward(x)


class FeedNoSelf(FeedRight):
    def forward(x):
        return x


class FeedByApply(FeedRight):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.activation = nn.ReLU()
        self.apply(lambda layer: nn.init.xavier_normal_(layer.weight) if hasattr(layer, "weight") else None)

    def forward(self, x):
        hidden = F.linear(x, self.inner.weight, self.inner.bias)
        return F.linear(self.activation(hidden), self.outer.weight, self.outer.bias)


# ---- EncoderBlock


class Around(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, layer):
        return x + self.dropout(layer(self.norm(x)))


class BlockRight(nn.Module):
    around = Around

    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.attention = MultiHead(d_model, n_heads)
        self.around_attention = self.around(d_model, dropout)
        self.feed_forward = FeedRight(d_model, d_ff)
        self.around_feed_forward = self.around(d_model, dropout)

    def forward(self, x, mask=None):
        x = self.around_attention(x, lambda normed: self.attention(normed, normed, mask))
        return self.around_feed_forward(x, self.feed_forward)


def with_around(forward):
    """A block whose residual connections have another `forward`."""
    return type("EncoderBlock", (BlockRight,), {"around": type("Residual", (Around,), {"forward": forward})})


def with_forward(forward):
    return type("EncoderBlock", (BlockRight,), {"forward": forward})


def around_post(self, x, layer):
    return self.norm(x + self.dropout(layer(x)))


def around_nothing(self, x, layer):
    return self.dropout(layer(self.norm(x)))


def around_normalised(self, x, layer):
    x = self.norm(x)
    return x + self.dropout(layer(x))


def around_no_norm(self, x, layer):
    return x + self.dropout(layer(x))


def around_late_norm(self, x, layer):
    return x + self.dropout(self.norm(layer(x)))


def around_late_dropout(self, x, layer):
    return self.dropout(x + layer(self.norm(x)))


def around_dropped_norm(self, x, layer):
    return x + layer(self.dropout(self.norm(x)))


def around_early_dropout(self, x, layer):
    return x + layer(self.norm(self.dropout(x)))


def around_no_dropout(self, x, layer):
    return x + layer(self.norm(x))


def around_functional(self, x, layer):
    return x + F.dropout(layer(self.norm(x)), self.dropout.p)


def around_unscaled(self, x, layer):
    change = layer(self.norm(x))
    keep = torch.rand_like(change) >= self.dropout.p
    return x + (change * keep if self.training else change)


def around_own_dropout(self, x, layer):
    change = layer(self.norm(x))
    if self.training:
        keep = torch.rand_like(change) >= self.dropout.p
        change = change * keep / (1 - self.dropout.p)
    return x + change


def around_with_flag(self, x, layer):
    return x + F.dropout(layer(self.norm(x)), self.dropout.p, training=self.training)


def around_drops_words(self, x, layer):
    change = layer(self.norm(x))
    if self.training:
        keep = torch.rand(change.shape[:-1]) >= self.dropout.p
        change = change * keep[..., None] / (1 - self.dropout.p)
    return x + change


def around_dropout_twice(self, x, layer):
    return x + self.dropout(self.dropout(layer(self.norm(x))))


def around_in_place(self, x, layer):
    x += self.dropout(layer(self.norm(x)))
    return x


class AroundFixed(Around):
    def __init__(self, d_model, dropout):
        super().__init__(d_model, 0.1)


class AroundNoSuper(Around):
    def __init__(self, d_model, dropout):
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class AroundKeeps(Around):
    def __init__(self, d_model, dropout):
        super().__init__(d_model, 1 - dropout)


class BlockKeeps(BlockRight):
    around = AroundKeeps


class BlockFourHeads(BlockRight):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__(d_model, 4, d_ff, dropout)


def block_passes_results(self, x, mask=None):
    x = self.around_attention(x, self.attention(x, x, mask))
    return self.around_feed_forward(x, self.feed_forward(x))


def block_passes_attention(self, x, mask=None):
    x = self.around_attention(x, self.attention)
    return self.around_feed_forward(x, self.feed_forward)


def block_loses_attention(self, x, mask=None):
    self.around_attention(x, heads(self, mask))
    return self.around_feed_forward(x, self.feed_forward)


def block_in_a_loop(self, x, mask=None):
    pairs = ((self.around_attention, heads(self, mask)), (self.around_feed_forward, self.feed_forward))
    for around, layer in pairs:
        x = around(x, layer)
    return x


class BlockFixedDropout(BlockRight):
    around = AroundFixed


class BlockNoSuperInside(BlockRight):
    around = AroundNoSuper


def heads(self, mask):
    return lambda x: self.attention(x, x, mask)


def block_drops_attention(self, x, mask=None):
    x = self.around_attention(x, heads(self, mask))
    return x + self.feed_forward(self.around_feed_forward.norm(x))


def block_drops_feed(self, x, mask=None):
    x = x + heads(self, mask)(self.around_attention.norm(x))
    return self.around_feed_forward(x, self.feed_forward)


def block_feeds_first(self, x, mask=None):
    x = self.around_feed_forward(x, self.feed_forward)
    return self.around_attention(x, heads(self, mask))


def block_no_mask(self, x, mask=None):
    x = self.around_attention(x, heads(self, None))
    return self.around_feed_forward(x, self.feed_forward)


def block_other_around(self, x, mask=None):
    x = self.around_feed_forward(x, heads(self, mask))
    return self.around_attention(x, self.feed_forward)


def block_one_around(self, x, mask=None):
    x = self.around_attention(x, heads(self, mask))
    return self.around_attention(x, self.feed_forward)


def block_adds_twice(self, x, mask=None):
    x = x + self.around_attention(x, heads(self, mask))
    return x + self.around_feed_forward(x, self.feed_forward)


def block_both_from_x(self, x, mask=None):
    first = self.around_attention(x, heads(self, mask))
    second = self.around_feed_forward(x, self.feed_forward)
    return first + second - x


def block_no_attention(self, x, mask=None):
    return self.around_feed_forward(x, self.feed_forward)


def block_no_feed(self, x, mask=None):
    return self.around_attention(x, heads(self, mask))


def block_plain_source(self, x, mask=None):
    x = self.around_attention(x, lambda normed: self.attention(normed, x, mask))
    return self.around_feed_forward(x, self.feed_forward)


def block_always_drops(self, x, mask=None):
    return F.dropout(BlockRight.forward(self, x, mask), 0.1)


def block_mask_needed(self, x, mask):
    return BlockRight.forward(self, x, mask & True)


def block_with_weights(self, x, mask=None):
    return BlockRight.forward(self, x, mask), None


class BlockOneResidual(BlockRight):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.around_feed_forward = self.around_attention


class BlockPaperNames(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = MultiHead(d_model, n_heads)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ffn = FeedRight(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        normed = self.norm1(x)
        x = x + self.dropout(self.self_attn(normed, normed, mask))
        return x + self.dropout(self.ffn(self.norm2(x)))


class BlockList(BlockRight):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__(d_model, n_heads, d_ff, dropout)
        del self.around_attention, self.around_feed_forward
        self.around = [Around(d_model, dropout), Around(d_model, dropout)]

    def forward(self, x, mask=None):
        x = self.around[0](x, heads(self, mask))
        return self.around[1](x, self.feed_forward)


class HiddenDropout(FeedRight):
    def forward(self, x):
        return self.outer(F.dropout(torch.relu(self.inner(x)), 0.25, self.training))


class BlockHiddenDropout(BlockRight):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.feed_forward = HiddenDropout(d_model, d_ff)


class BlockDefaultFeed(BlockRight):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.feed_forward = FeedDefault(d_model, d_ff)


class BlockNormStartsAtZero(BlockRight):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__(d_model, n_heads, d_ff, dropout)
        nn.init.zeros_(self.around_feed_forward.norm.weight)


class PlainHeads(MultiHead):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        weight = self.w_query.detach()
        del self.w_query
        self.w_query = weight


class BlockPlainHeads(BlockRight):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.attention = PlainHeads(d_model, n_heads)


def block_detaches(self, x, mask=None):
    x = self.around_attention(x, heads(self, mask)).detach()
    return self.around_feed_forward(x, self.feed_forward)


class BlockInOne(nn.Module):
    """Without `Residual`: the two attributes only hold the norms and dropouts."""

    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.attention = MultiHead(d_model, n_heads)
        self.feed_forward = FeedRight(d_model, d_ff)
        parts = [{"norm": nn.LayerNorm(d_model), "dropout": nn.Dropout(dropout)} for _ in range(2)]
        self.around_attention, self.around_feed_forward = map(nn.ModuleDict, parts)

    def forward(self, x, mask=None):
        first, second = self.around_attention, self.around_feed_forward
        normed = first["norm"](x)
        x = x + first["dropout"](self.attention(normed, normed, mask))
        return x + second["dropout"](self.feed_forward(second["norm"](x)))


WRONG = {
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
        (feed_as_in_the_formula, "formula-for-columns"),
        (feed_by(lambda hidden: max(0, hidden)), "raises", "clamp"),
        (feed_with_path, "adds-x"),
        (feed_hidden_detached, "no-gradient"),
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
    "FeedForward": [
        (FeedRight(4, 8), "instance"),
        (feed_function, "not-a-class"),
        (FeedNotAModule, "not-a-module"),
        (FeedNoSuper, "no-super"),
        (FeedNothing, "no-super"),
        (FeedArguments, "parameters"),
        (FeedFewArguments, "parameters"),
        (FeedOtherNames, "parameter-names", "`inner.weight`", "`linear1.weight`"),
        (FeedNoBias, "parameter-names", "`inner.bias`"),
        (FeedInAList, "unregistered-container", "nn.ModuleList"),
        (FeedPlainTensor, "plain-tensor", "nn.Parameter"),
        (FeedBuffer, "buffer"),
        (FeedFrozen, "frozen"),
        (FeedShared, "shared-parameter"),
        (FeedSwappedWidths, "parameter-shape"),
        (FeedStraight, "no-relu"),
        (FeedReluLate, "relu-at-the-end"),
        (FeedReluTwice, "relu-at-the-end-too"),
        (FeedAdds, "adds-x"),
        (FeedGelu, "gelu"),
        (FeedNoReturn, "returns-none"),
        (FeedTwoOutputs, "wrong-type"),
        (FeedDouble, "dtype"),
        (FeedOneWord, "wrong-shape"),
        (FeedInPlace, "in-place"),
        (FeedDrops, "mode-dependent", "leave it out"),
        (FeedStartsInForward, "changes-parameters", "`inner.weight`", "`__init__`"),
        (FeedNoSelf, "raises", "`self`"),
        (FeedDetached, "no-gradient", "inner"),
        (FeedDefault, "initial-size", "default of `nn.Linear`"),
        (FeedGaussian, "initial-size"),
        (FeedZeros, "initial-size", "equal"),
        (FeedDefaultBias, "initial-values", "`inner.bias`"),
        (FeedSeeded, "fixed-seed"),
    ],
    "EncoderBlock": [
        (BlockRight(4, 2, 8, 0.1), "instance"),
        (BlockNoSuperInside, "no-super"),
        (BlockPaperNames, "parameter-names", "`around_attention.norm.weight`", "`norm1.weight`"),
        (BlockList, "parameter-names"),
        (BlockOneResidual, "shared-parameter"),
        (BlockPlainHeads, "plain-tensor", "`attention.w_query`"),
        (with_around(around_post), "post-norm"),
        (with_around(around_nothing), "no-residual"),
        (with_around(around_normalised), "norm-on-the-residual"),
        (with_around(around_no_norm), "no-norm"),
        (with_around(around_late_norm), "norm-after-layer"),
        (with_around(around_late_dropout), "dropout-after-addition"),
        (with_around(around_dropped_norm), "dropout-of-normalised"),
        (with_around(around_early_dropout), "dropout-of-input"),
        (with_around(around_no_dropout), "dropout-unused"),
        (with_around(around_functional), "dropout-in-eval"),
        (with_around(around_unscaled), "dropout-not-scaled"),
        (with_around(around_dropout_twice), "dropout-rate"),
        (with_around(around_in_place), "in-place"),
        (BlockFixedDropout, "dropout-rate"),
        (BlockKeeps, "keep-probability", "75%"),
        (with_around(around_drops_words), "dropout-in-one-piece"),
        (BlockFourHeads, "4-heads"),
        (with_forward(block_passes_results), "raises", "not its result"),
        (with_forward(block_passes_attention), "raises", "fewer arguments"),
        (with_forward(block_loses_attention), "no-attention", "lost"),
        (BlockHiddenDropout, "dropout-elsewhere"),
        (with_forward(block_always_drops), "dropout-in-eval"),
        (with_forward(block_drops_attention), "dropout-of-attention-only"),
        (with_forward(block_drops_feed), "dropout-of-feed-forward-only"),
        (with_forward(block_feeds_first), "feed-forward-first"),
        (with_forward(block_no_mask), "ignores-mask"),
        (with_forward(block_other_around), "residuals-swapped"),
        (with_forward(block_one_around), "one-residual-twice"),
        (with_forward(block_adds_twice), "adds-again"),
        (with_forward(block_both_from_x), "in-parallel"),
        (with_forward(block_no_attention), "no-attention"),
        (with_forward(block_no_feed), "no-feed-forward"),
        (with_forward(block_plain_source), "source-without-norm"),
        (with_forward(block_mask_needed), "raises"),
        (with_forward(block_with_weights), "wrong-type"),
        (with_forward(block_detaches), "no-gradient"),
        (BlockDefaultFeed, "initial-size"),
        (BlockNormStartsAtZero, "initial-values"),
    ],
}
RIGHT = {
    "layer_norm": [norm_torchs, norm_in_steps, norm_by_moments],
    "test_norm": [test_against_torch, test_by_hand, test_mean_and_spread],
    "feed_forward": [feed_by_products, feed_by_clamp, feed_by_where],
    "encoder_block": [block_plain, block_in_steps, block_backwards],
    "FeedForward": [FeedByClamp, FeedNormal, FeedByHand, FeedByApply],
    "EncoderBlock": [
        BlockInOne,
        with_around(around_own_dropout),
        with_around(around_with_flag),
        with_forward(block_in_a_loop),
    ],
}

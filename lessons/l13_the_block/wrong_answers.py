"""Wrong and right answers to the exercises of lesson 13, as learners write them.

A row of WRONG: the answer and what its verdict must contain, the name of a slip or a part of the text; None
if the verdict may name no slip.
"""

import torch
import torch.nn.functional as F
from torch import nn

from lessons.l12_many_heads.solutions import many_heads
from lessons.l13_the_block.modules import MultiHead
from lessons.l13_the_block.solutions import feed_forward

# ---- what the answers share

ONES, ZEROS = torch.ones(4), torch.zeros(4)


def deviations(x):
    return x - x.mean(-1, keepdim=True)


def torch_norm(x, weight=None, bias=None):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


# ---- layer_norm


def norm_words(x, weight, bias, eps=1e-5):
    mean = x.mean(dim=-2, keepdim=True)
    return (x - mean) / torch.sqrt(((x - mean) ** 2).mean(dim=-2, keepdim=True) + eps) * weight + bias


def norm_all(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[-2:], eps=eps) * weight + bias


def norm_shape_1(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[1:], eps=eps) * weight + bias


def norm_axis_1(x, weight, bias, eps=1e-5):
    centred = x - x.mean(1, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(1, keepdim=True) + eps) * weight + bias


def norm_sentence_of_a_batch(x, weight, bias, eps=1e-5):
    axes = -1 if x.ndim == 2 else (-1, -2)
    centred = x - x.mean(axes, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(axes, keepdim=True) + eps) * weight + bias


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


def feed_no_b_in(x, w_in, b_in, w_out, b_out):
    return torch.relu(x @ w_in.T) @ w_out.T + b_out


def feed_no_b_out(x, w_in, b_in, w_out, b_out):
    return torch.relu(x @ w_in.T + b_in) @ w_out.T


def feed_by(activation):
    """With another activation function."""
    return lambda x, w_in, b_in, w_out, b_out: activation(x @ w_in.T + b_in) @ w_out.T + b_out


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

FIRST, SECOND = "around_attention", "around_feed_forward"


def attention(x, parts, n_heads, mask):
    four = (parts[f"attention.w_{kind}"] for kind in ("query", "key", "value", "output"))
    return many_heads(x, x, *four, n_heads, mask)[0]


def feed_forward_part(x, parts):
    names = (f"{layer}.{kind}" for layer in ("inner", "outer") for kind in ("weight", "bias"))
    return feed_forward(x, *(parts[f"feed_forward.{name}"] for name in names))


def normalised(x, parts, around):
    return torch_norm(x, parts[f"{around}.norm.weight"], parts[f"{around}.norm.bias"])


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


def block_without_output(x, parts, n_heads, mask=None):
    return block_plain(x, {**parts, "attention.w_output": torch.eye(x.shape[-1])}, n_heads, mask)


def block_pops(x, parts, n_heads, mask=None):
    weight = parts.pop(f"{FIRST}.norm.weight")
    return block_plain(x, {**parts, f"{FIRST}.norm.weight": weight}, n_heads, mask)


def block_detached(x, parts, n_heads, mask=None):
    return block_plain(x, {name: part.detach() for name, part in parts.items()}, n_heads, mask)


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
        (norm_words, "over-the-words"),
        (norm_all, "over-everything"),
        (norm_shape_1, "all-but-first-axis"),
        (norm_axis_1, "second-axis"),
        (norm_sentence_of_a_batch, "over-a-sentence-of-a-batch"),
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
        (feed_no_b_in, "`b_in`"),
        (feed_no_b_out, "`b_out`"),
        (feed_by(lambda hidden: max(0, hidden)), "raises", "clamp"),
        (feed_hidden_detached, "no-gradient"),
    ],
    "encoder_block": [
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
        (FeedNoReturn, "returns-none"),
        (FeedTwoOutputs, "tuple"),
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
        (with_around(around_functional), "dropout-in-eval"),
        (with_around(around_unscaled), "dropout-not-scaled"),
        (with_around(around_dropout_twice), "dropout-rate"),
        (with_around(around_in_place), "in-place"),
        (BlockFixedDropout, "dropout-rate"),
        (BlockKeeps, "keep-probability", "75%"),
        (with_around(around_drops_words), "dropout-in-one-piece"),
        (with_forward(block_passes_results), "raises", "not its result"),
        (with_forward(block_passes_attention), "raises", "fewer arguments"),
        (with_forward(block_loses_attention), "no-attention", "lost"),
        (BlockHiddenDropout, "dropout-elsewhere"),
        (with_forward(block_always_drops), "dropout-in-eval"),
        (with_forward(block_mask_needed), "raises"),
        (with_forward(block_with_weights), "tuple"),
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

"""Multi-head attention: several attentions in parallel, each with its own queries, keys and values.

    >>> heads = MultiHead(d_model=8, n_heads=2)
    >>> words = torch.randn(1, 5, 8)                       # one sentence of five words
    >>> outputs, weights = heads(words, with_weights=True)
    >>> outputs.shape, weights.shape                       # attention weights for each of the two heads
    (torch.Size([1, 5, 8]), torch.Size([1, 2, 5, 5]))

The steps are split, attend, concatenate, project. The width d_model is divided among the heads, so several
heads cost no more multiplications than one; only the number of attention weights grows.

Heads can share keys and values. With `n_kv_heads` below `n_heads`, each key-value head serves a group of
query heads (grouped-query attention); with 1 it serves all of them (multi-query attention). The key-value
cache shrinks by the same factor.

    Vaswani et al. 2017    Attention Is All You Need
    Shazeer 2019           Fast Transformer Decoding: One Write-Head is All You Need
    Ainslie et al. 2023    GQA: Training Generalized Multi-Query Transformer Models
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib.layers.attention import attend
from course_lib.layers.checks import check_keys_and_values, check_mask, check_same_width
from course_lib.layers.masks import causal_mask
from course_lib.shapes import Bool, Float, Tensor

Query = Float[Tensor, "batch heads queries head_dim"]
Keys = Float[Tensor, "batch kv_heads keys head_dim"]
Values = Float[Tensor, "batch kv_heads keys value_dim"]
Weights = Float[Tensor, "batch heads queries keys"]

# On a large GPU torch prefers a kernel for long sequences. At 16 words that kernel is slower, and it is
# planned again for every new length, which incremental decoding produces at each step.
KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def split_heads(
    features: Float[Tensor, "... len model"], *, n_heads: int
) -> Float[Tensor, "... heads len head_dim"]:
    """Give each head its own slice of the vector at every position.

        >>> split_heads(torch.tensor([[[1, 2, 3, 4], [5, 6, 7, 8]]]).float(), n_heads=2)[0, 0]
        tensor([[1., 2.],
                [5., 6.]])

    A single `view` to the final shape runs without an error, but gives each head whole words instead of a
    slice of every word.
    """
    if features.ndim < 2 or n_heads < 1 or features.shape[-1] % n_heads:
        raise ValueError(
            f"Expected features of shape (..., len, model), with a model width that {n_heads} heads can "
            f"share equally, but got {tuple(features.shape)}."
        )
    return features.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def join_heads(features: Float[Tensor, "... heads len head_dim"]) -> Float[Tensor, "... len heads*head_dim"]:
    """Concatenate the heads' vectors: the inverse of `split_heads`.

    >>> words = torch.arange(12.0).view(1, 3, 4)
    >>> torch.equal(join_heads(split_heads(words, n_heads=2)), words)
    True
    """
    return features.transpose(-3, -2).flatten(-2)


def multi_head(
    query: Query,
    keys: Keys,
    values: Values,
    *,
    mask: Bool[Tensor, "#batch #heads #queries #keys"] | Bool[Tensor, "#queries #keys"] | None = None,
    causal: bool = False,
    with_weights: bool = False,
) -> tuple[Float[Tensor, "batch heads queries value_dim"], Weights | None]:
    """Attention in all heads: (context, attention weights), or (context, None) with the fused kernel.

        >>> query, keys = torch.zeros(1, 2, 1, 4), torch.zeros(1, 1, 2, 4)      # two heads share one key head
        >>> values = torch.tensor([[3.0] * 4, [5.0] * 4]).view(1, 1, 2, 4)
        >>> multi_head(query, keys, values)[0][0, :, 0]
        tensor([[4., 4., 4., 4.],
                [4., 4., 4., 4.]])

    With `causal` each position attends to itself and to earlier positions. No padding mask is needed as long
    as padding is on the right, because no real word attends to it. Every query must have an unmasked key.

    With `with_weights` this is `attend`, step by step. Otherwise torch's fused attention computes the same
    context without storing the attention weights.
    """
    check_heads(query, keys, values)
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], keys.shape[-2]))
    if causal and (mask is not None or query.shape[2] != keys.shape[2]):
        raise ValueError(
            "Expected as many queries as keys for causal=True, since word i attends to words up to i, and no "
            f"other mask, but got {query.shape[2]} queries, {keys.shape[2]} keys and mask "
            f"{mask if mask is None else tuple(mask.shape)}. "
            "To combine masks, pass mask & causal_mask(n) and leave causal out."
        )
    shared = query.shape[1] != keys.shape[1]
    if not with_weights:
        with sdpa_kernel(KERNELS) if query.is_cuda else nullcontext():
            fused = F.scaled_dot_product_attention(
                query, keys, values, attn_mask=mask, is_causal=causal, enable_gqa=shared
            )
        return fused, None
    if causal:
        mask = causal_mask(query.shape[2], device=query.device)
    if shared:
        group = query.shape[1] // keys.shape[1]
        keys, values = (heads.repeat_interleave(group, dim=1) for heads in (keys, values))
    return attend(query, keys, values, mask=mask)


class MultiHead(nn.Module):
    """Multi-head attention with its four matrices W_Q, W_K, W_V and W_O, in torch's orientation (out, in).

    The rows of `w_query` belong to head 0, then head 1 and so on; `w_key` and `w_value` likewise. A head's
    queries and keys are `d_k` wide and its values `d_v`; both default to d_model / n_heads.

    As in the paper's formula, there are no biases. A bias on the keys would have no effect: it adds the same
    number to all scores of a query, and the softmax cancels it.
    """

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
    ):
        super().__init__()
        n_kv_heads = n_kv_heads or n_heads
        uses_default_width = None in (d_k, d_v)
        if (uses_default_width and d_model % n_heads) or n_heads % n_kv_heads:
            raise ValueError(
                "Expected d_model to be a multiple of n_heads, and n_heads a multiple of n_kv_heads, "
                f"but got d_model={d_model}, n_heads={n_heads}, n_kv_heads={n_kv_heads}. "
                "The width is divided evenly among the heads, and the heads among the key-value heads."
            )
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        d_k, d_v = d_k or d_model // n_heads, d_v or d_model // n_heads
        self.w_query = _xavier_weight(n_heads * d_k, d_model)
        self.w_key = _xavier_weight(n_kv_heads * d_k, d_model)
        self.w_value = _xavier_weight(n_kv_heads * d_v, d_model)
        self.w_output = _xavier_weight(d_model, n_heads * d_v)

    def forward(
        self,
        inputs: Float[Tensor, "batch queries model"],
        source: Float[Tensor, "batch keys model"] | None = None,
        *,
        mask: Bool[Tensor, "#batch #heads #queries #keys"] | None = None,
        causal: bool = False,
        with_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch queries model"], Weights | None]:
        """Self-attention over the inputs, or cross-attention from the inputs to a source."""
        if source is None:
            query, keys, values = self.project(inputs)
        else:
            query, (keys, values) = self.project_query(inputs), self.project_source(source)
        return self.attend(query, keys, values, mask=mask, causal=causal, with_weights=with_weights)

    def attend(
        self,
        query: Query,
        keys: Keys,
        values: Values,
        *,
        mask: Bool[Tensor, "#batch #heads #queries #keys"] | None = None,
        causal: bool = False,
        with_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch queries model"], Weights | None]:
        """Everything after the projections: attend in each head, concatenate the heads, multiply by W_O.

        A decoder with a key-value cache calls this directly.
        """
        context, weights = multi_head(
            query, keys, values, mask=mask, causal=causal, with_weights=with_weights
        )
        return F.linear(join_heads(context), self.w_output), weights

    def project(self, inputs: Float[Tensor, "batch queries model"]) -> tuple[Query, Keys, Values]:
        """Query, keys and values of the same words, for self-attention."""
        query, keys, values = _multiply(inputs, self.w_query, self.w_key, self.w_value)
        return split_heads(query, n_heads=self.n_heads), *self._split(keys, values)

    def project_query(self, inputs: Float[Tensor, "batch queries model"]) -> Query:
        """Queries only, for cross-attention."""
        return split_heads(F.linear(inputs, self.w_query), n_heads=self.n_heads)

    def project_source(self, source: Float[Tensor, "batch keys model"]) -> tuple[Keys, Values]:
        """Keys and values of a source, for cross-attention: computed once for all queries."""
        return self._split(*_multiply(source, self.w_key, self.w_value))

    def _split(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return split_heads(keys, n_heads=self.n_kv_heads), split_heads(values, n_heads=self.n_kv_heads)


def check_heads(query: Tensor, keys: Tensor, values: Tensor) -> None:
    """All have four axes, keys and values match, and the query heads divide evenly among the key heads."""
    four_axes = query.ndim == keys.ndim == 4
    fits = four_axes and keys.shape[0] in (query.shape[0], 1) and keys.shape[1] > 0
    if not fits or query.shape[1] % keys.shape[1]:
        raise ValueError(
            "Expected a query (batch, heads, queries, head_dim) and keys (batch, kv_heads, keys, head_dim) "
            "of the same batch, with heads a multiple of kv_heads, but got query "
            f"{tuple(query.shape)} and keys {tuple(keys.shape)}. Use split_heads to split vectors into heads."
        )
    check_same_width(query, keys)
    check_keys_and_values(keys, values)


def _multiply(inputs: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
    """Multiply by several matrices in one product, unless concatenating them takes longer than it saves."""
    if inputs.shape[-2] == 1 and inputs.device.type == "cpu":
        return tuple(F.linear(inputs, weight) for weight in weights)
    return F.linear(inputs, torch.cat(weights)).split([len(weight) for weight in weights], dim=-1)


def _xavier_weight(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))

"""Score functions: how well each key matches each query.

| score | formula | parameters | from |
|---|---|---|---|
| `dot` | qᵀk | 0 | Luong 2015 |
| `scaled_dot` | qᵀk / √key_dim | 0 | Vaswani 2017 |
| `cosine` | qᵀk / (‖q‖ ‖k‖) | 0 | Graves 2014 |
| `general` | qᵀ W k | query_dim · key_dim | Luong 2015 |
| `additive` | vᵀ tanh(W_q q + W_k k) | attn_dim · (query_dim + key_dim) + attn_dim | Bahdanau 2015 |
| `concat` | vᵀ tanh(W [q; k]) | attn_dim · (query_dim + key_dim) + attn_dim | Luong 2015 |
| `location` | W q | max_len · query_dim | Luong 2015 |

    Graves, Wayne, Danihelka 2014    Neural Turing Machines
    Bahdanau, Cho, Bengio 2015       Neural Machine Translation by Jointly Learning to Align and Translate
    Luong, Pham, Manning 2015        Effective Approaches to Attention-based Neural Machine Translation
    Vaswani et al. 2017              Attention Is All You Need

Functions with weights take them as keyword arguments; `general`, `additive` and `location` also have a module
that owns the weights. Either can be passed to `attend` as `score`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.checks import check_query_and_keys, check_same_width, check_weight
from course_lib.shapes import Float, Tensor

Query = Float[Tensor, "... queries query_dim"]
Keys = Float[Tensor, "... keys key_dim"]
Scores = Float[Tensor, "... queries keys"]

Score = Callable[[Tensor, Tensor], Tensor]
"""Any function from a query and keys to scores (..., queries, keys)."""


def dot(query: Float[Tensor, "... queries key_dim"], keys: Keys) -> Scores:
    """qᵀk: large if query and key point in the same direction and have large norms.

    >>> dot(torch.tensor([[3.0, 1.0]]), torch.tensor([[1.0, 0.0], [2.0, 0.0]]))
    tensor([[3., 6.]])
    """
    check_query_and_keys(query, keys)
    check_same_width(query, keys)
    return query @ keys.mT


def scaled_dot(query: Float[Tensor, "... queries key_dim"], keys: Keys) -> Scores:
    """qᵀk / √key_dim: if the components have variance 1, so has the score, for any key_dim.

    >>> scaled_dot(torch.ones(1, 4), torch.ones(1, 4))
    tensor([[2.]])
    """
    check_query_and_keys(query, keys)
    # Scaling the query gives the same scores with less work, and avoids overflow in float16.
    return dot(query / math.sqrt(query.shape[-1]), keys)


def cosine(query: Float[Tensor, "... queries key_dim"], keys: Keys) -> Scores:
    """qᵀk / (‖q‖ ‖k‖): depends only on directions, between -1 and 1. A zero vector has a score of 0.

    >>> cosine(torch.tensor([[3.0, 0.0]]), torch.tensor([[1.0, 0.0], [2.0, 0.0], [-5.0, 0.0]]))
    tensor([[ 1.,  1., -1.]])
    """
    check_query_and_keys(query, keys)
    # torch's default eps, 1e-12, is 0 in float16.
    return dot(F.normalize(query, dim=-1, eps=1e-6), F.normalize(keys, dim=-1, eps=1e-6))


def general(query: Query, keys: Keys, *, weight: Float[Tensor, "query_dim key_dim"]) -> Scores:
    """qᵀ W k, also called bilinear: a dot product after W has projected the query to the keys' width.

    >>> general(torch.tensor([[1.0]]), torch.tensor([[2.0, 3.0]]), weight=torch.tensor([[10.0, 1.0]]))
    tensor([[23.]])
    """
    check_query_and_keys(query, keys)
    check_weight("weight", weight, "query_dim, key_dim", (query.shape[-1], keys.shape[-1]))
    return dot(query @ weight, keys)


def additive(
    query: Query,
    keys: Keys,
    *,
    w_query: Float[Tensor, "attn_dim query_dim"],
    w_key: Float[Tensor, "attn_dim key_dim"],
    v: Float[Tensor, " attn_dim"],
) -> Scores:
    """vᵀ tanh(W_q q + W_k k): a network with one hidden layer. Its absolute value is at most Σ|v|.

        >>> one = torch.ones(1, 1)
        >>> additive(torch.tensor([[0.5]]), torch.tensor([[-0.5], [9.5]]), w_query=one, w_key=one, v=one[0])
        tensor([[0., 1.]])

    It needs memory for attn_dim numbers per pair of query and key; a dot product needs one.
    """
    check_query_and_keys(query, keys)
    check_weight("w_key", w_key, "attn_dim, key_dim", (w_query.shape[0], keys.shape[-1]))
    return additive_projected(query, keys @ w_key.mT, w_query=w_query, v=v)


def additive_projected(
    query: Query,
    projected_keys: Float[Tensor, "... keys attn_dim"],
    *,
    w_query: Float[Tensor, "attn_dim query_dim"],
    v: Float[Tensor, " attn_dim"],
) -> Scores:
    """`additive` for keys that are already multiplied by W_k: vᵀ tanh(W_q q + projected key).

        >>> one = torch.ones(1, 1)
        >>> additive_projected(torch.tensor([[0.5]]), torch.tensor([[-0.5], [9.5]]), w_query=one, v=one[0])
        tensor([[0., 1.]])

    A decoder uses the same keys at every step, so it projects them only once.
    """
    check_query_and_keys(query, projected_keys)
    attn_dim = projected_keys.shape[-1]
    check_weight("w_query", w_query, "attn_dim, query_dim", (attn_dim, query.shape[-1]))
    check_weight("v", v, "attn_dim,", (attn_dim,))
    from_query = (query @ w_query.mT).unsqueeze(-2)  # (..., queries, 1, attn_dim)
    from_keys = projected_keys.unsqueeze(-3)  # (..., 1, keys, attn_dim)
    return torch.tanh(from_query + from_keys) @ v


def concat(
    query: Query,
    keys: Keys,
    *,
    weight: Float[Tensor, "attn_dim query_dim+key_dim"],
    v: Float[Tensor, " attn_dim"],
) -> Scores:
    """vᵀ tanh(W [q; k]): the additive score with one matrix, W = [W_q W_k].

        >>> weight, v = torch.tensor([[1.0, 1.0]]), torch.ones(1)
        >>> concat(torch.tensor([[0.5]]), torch.tensor([[-0.5], [9.5]]), weight=weight, v=v)
        tensor([[0., 1.]])

    As in the formula, every pair is concatenated; `additive` gives the same scores with less memory.
    """
    check_query_and_keys(query, keys)
    attn_dim = weight.shape[0]
    width = query.shape[-1] + keys.shape[-1]
    check_weight("weight", weight, "attn_dim, query_dim + key_dim", (attn_dim, width))
    check_weight("v", v, "attn_dim,", (attn_dim,))
    leading = torch.broadcast_shapes(query.shape[:-2], keys.shape[:-2])
    grid = (*leading, query.shape[-2], keys.shape[-2], -1)
    pairs = torch.cat([query.unsqueeze(-2).expand(grid), keys.unsqueeze(-3).expand(grid)], dim=-1)
    return torch.tanh(pairs @ weight.mT) @ v


def location(query: Query, keys: Keys, *, weight: Float[Tensor, "max_len query_dim"]) -> Scores:
    """W q: the scores depend only on the query. Only the number of keys matters, not their content.

    >>> location(torch.tensor([[2.0]]), torch.zeros(2, 5), weight=torch.tensor([[1.0], [3.0], [9.0]]))
    tensor([[2., 6.]])
    """
    check_query_and_keys(query, keys)
    if keys.shape[-2] > len(weight):
        raise ValueError(
            f"Expected at most {len(weight)} keys, one for each row of weight, but got {keys.shape[-2]}. "
            "Shorten the sentence, or build the score with a larger max_len."
        )
    return query @ weight[: keys.shape[-2]].mT


class GeneralScore(nn.Module):
    """`general` with its query_dim · key_dim parameters."""

    def __init__(self, *, query_dim: int, key_dim: int):
        super().__init__()
        self.weight = _uniform_weight(query_dim, key_dim, terms=query_dim * key_dim)

    def forward(self, query: Query, keys: Keys) -> Scores:
        return general(query, keys, weight=self.weight)


class AdditiveScore(nn.Module):
    """`additive` with its attn_dim · (query_dim + key_dim) + attn_dim parameters."""

    def __init__(self, *, query_dim: int, key_dim: int, attn_dim: int):
        super().__init__()
        self.w_query = _uniform_weight(attn_dim, query_dim, terms=query_dim)
        self.w_key = _uniform_weight(attn_dim, key_dim, terms=key_dim)
        self.v = _uniform_weight(attn_dim, terms=attn_dim)

    def forward(self, query: Query, keys: Keys) -> Scores:
        return additive(query, keys, w_query=self.w_query, w_key=self.w_key, v=self.v)

    def project_keys(self, keys: Keys) -> Float[Tensor, "... keys attn_dim"]:
        """Multiply the keys by W_k, the part of the score that is the same for all queries."""
        return keys @ self.w_key.mT

    def score_projected(self, query: Query, projected_keys: Float[Tensor, "... keys attn_dim"]) -> Scores:
        """The same scores as `forward`, for keys from `project_keys`."""
        return additive_projected(query, projected_keys, w_query=self.w_query, v=self.v)


class LocationScore(nn.Module):
    """`location` with its max_len · query_dim parameters."""

    def __init__(self, *, query_dim: int, max_len: int):
        super().__init__()
        self.weight = _uniform_weight(max_len, query_dim, terms=query_dim)

    def forward(self, query: Query, keys: Keys) -> Scores:
        return location(query, keys, weight=self.weight)


def _uniform_weight(*shape: int, terms: int) -> nn.Parameter:
    """Draw from a uniform distribution on ±1/√terms, so that a sum of that many terms has a size near 1.

    nn.Linear does the same with its inputs as terms; a `general` score sums query_dim · key_dim terms.
    """
    bound = 1 / math.sqrt(terms)
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))

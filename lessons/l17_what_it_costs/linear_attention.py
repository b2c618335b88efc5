"""Linear attention: without the softmax, the sum over keys is computed once, or kept as a state.

    >>> query, keys = torch.zeros(2, 1), torch.zeros(2, 1)
    >>> values = torch.tensor([[2.0], [4.0]])
    >>> linear_attend(query, keys, values)                 # equal keys: the mean of the values
    tensor([[3.],
            [3.]])

Softmax attention weights a value by exp(qᵀk / √key_dim). With the weight φ(q)ᵀφ(k) instead, the query can be
moved out of the sum over keys: Σ φ(q)ᵀφ(k) vᵀ = φ(q)ᵀ (Σ φ(k) vᵀ). The bracket has key_dim × value_dim
numbers, for any number of keys. Summed from left to right, it is the state of a recurrent network, whose size
is fixed.

    Katharopoulos et al. 2020    Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from course_lib.layers.checks import check_keys_and_values, check_query_and_keys, check_same_width
from course_lib.layers.rows import Rows
from course_lib.shapes import Float, Tensor
from lessons.l17_what_it_costs.restricted import check_same_length


def feature_map(x: Float[Tensor, "... key_dim"]) -> Float[Tensor, "... key_dim"]:
    """φ(x) = elu(x) + 1: positive, so that weights are positive, and without the flat half of relu.

    >>> feature_map(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3679, 1.0000, 3.0000])
    """
    return F.elu(x) + 1


def linear_attend(
    query: Float[Tensor, "... queries key_dim"],
    keys: Float[Tensor, "... keys key_dim"],
    values: Float[Tensor, "... keys value_dim"],
) -> Float[Tensor, "... queries value_dim"]:
    """Every query attends to every key, in time queries + keys.

        >>> keys, values = torch.tensor([[0.0], [2.0]]), torch.tensor([[4.0], [8.0]])
        >>> linear_attend(torch.zeros(1, 1), keys, values)          # φ is 1 and 3: weights 1/4 and 3/4
        tensor([[7.]])

    A query cannot have a mask of its own, because all queries share one sum.
    """
    phi_query, phi_keys = _features(query, keys, values)
    summary = phi_keys.mT @ values  # (..., key_dim, value_dim)
    total = phi_keys.sum(dim=-2, keepdim=True).mT  # (..., key_dim, 1)
    return _divide(phi_query @ summary, phi_query @ total)


def causal_linear_attend(
    query: Float[Tensor, "... len key_dim"],
    keys: Float[Tensor, "... len key_dim"],
    values: Float[Tensor, "... len value_dim"],
) -> Float[Tensor, "... len value_dim"]:
    """Each position attends to itself and to earlier positions: running sums instead of one sum.

        >>> same = torch.zeros(3, 1)
        >>> causal_linear_attend(same, same, torch.tensor([[2.0], [4.0], [9.0]]))[:, 0]
        tensor([2., 3., 5.])

    It computes all positions at once and keeps one summary for each of them in memory.
    """
    check_same_length(query, keys)
    phi_query, phi_keys = _features(query, keys, values)
    pairs = phi_keys.unsqueeze(-1) * values.unsqueeze(-2)  # (..., len, key_dim, value_dim)
    summaries = pairs.cumsum(dim=-3)
    totals = phi_keys.cumsum(dim=-2).unsqueeze(-1)  # (..., len, key_dim, 1)
    query_rows = phi_query.unsqueeze(-2)
    return _divide(query_rows @ summaries, query_rows @ totals).squeeze(-2)


def linear_start(keys: Float[Tensor, "... len key_dim"], values: Float[Tensor, "... len value_dim"]) -> Rows:
    """The state before the first word, for keys and values of these widths.

    >>> linear_start(torch.ones(7, 2), torch.ones(7, 3))["summary"].shape
    torch.Size([2, 3])
    """
    front, key_dim, value_dim = keys.shape[:-2], keys.shape[-1], values.shape[-1]
    return {"summary": keys.new_zeros(*front, key_dim, value_dim), "total": keys.new_zeros(*front, key_dim)}


def linear_step(
    state: Rows,
    query: Float[Tensor, "... key_dim"],
    key: Float[Tensor, "... key_dim"],
    value: Float[Tensor, "... value_dim"],
) -> tuple[Float[Tensor, "... value_dim"], Rows]:
    """`causal_linear_attend` one word at a time: (context, new state). The state never grows.

    >>> state = {"summary": torch.tensor([[2.0]]), "total": torch.tensor([1.0])}        # after a value of 2
    >>> linear_step(state, torch.zeros(1), torch.zeros(1), torch.tensor([4.0]))[0]
    tensor([3.])
    """
    phi_query, phi_key = feature_map(query), feature_map(key)
    summary = state["summary"] + phi_key.unsqueeze(-1) * value.unsqueeze(-2)  # (..., key_dim, value_dim)
    total = state["total"] + phi_key
    query_rows = phi_query.unsqueeze(-2)
    context = _divide(query_rows @ summary, query_rows @ total.unsqueeze(-1)).squeeze(-2)
    return context, {"summary": summary, "total": total}


def _features(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    check_query_and_keys(query, keys)
    check_same_width(query, keys)
    check_keys_and_values(keys, values)
    return feature_map(query), feature_map(keys)


def _divide(context: Tensor, total: Tensor) -> Tensor:
    """The weighted mean from weighted sum and sum of weights."""
    # φ is positive, but rounds to 0 below -17 or so: 0/1 instead of 0/0, and finite gradients.
    return context / torch.where(total > 0, total, 1.0)

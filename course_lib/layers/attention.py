"""Attention: score every key against the query, turn scores into weights, mix the values.

    >>> query = torch.tensor([[4.0, 0.0]])                  # asks for the first key
    >>> keys = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> values = torch.tensor([[10.0], [20.0]])
    >>> context, weights = attend(query, keys, values)
    >>> weights
    tensor([[0.9442, 0.0558]])
    >>> context                                             # 0.9442 · 10 + 0.0558 · 20
    tensor([[10.5581]])

The same four steps in every lesson: score, hide, softmax, mix.
"""

from __future__ import annotations

from course_lib.layers.checks import check_decimal, check_weights_and_values
from course_lib.layers.masks import hide
from course_lib.layers.scores import Score, scaled_dot
from course_lib.shapes import Bool, Float, Tensor


def attend(
    query: Float[Tensor, "... queries query_dim"],
    keys: Float[Tensor, "... keys key_dim"],
    values: Float[Tensor, "... keys value_dim"],
    *,
    may_look: Bool[Tensor, "... #queries #keys"] | None = None,
    score: Score = scaled_dot,
) -> tuple[Float[Tensor, "... queries value_dim"], Float[Tensor, "... queries keys"]]:
    """For each query the mix of the values whose keys fit it: (context, weights).

        >>> query, keys = torch.zeros(1, 2), torch.eye(3, 2)    # a query that fits all keys alike
        >>> values = torch.tensor([[3.0], [6.0], [100.0]])
        >>> attend(query, keys, values, may_look=torch.tensor([[True, True, False]]))
        (tensor([[4.5000]]), tensor([[0.5000, 0.5000, 0.0000]]))

    A key hidden from a query changes nothing for it, whatever the key and its value hold, as long as
    no product overflows: a weight of 0 times inf is NaN. So pad with zeros.
    A query that may look nowhere gets a context of zeros.
    """
    weights = masked_softmax(score(query, keys), may_look)
    return mix(weights, values), weights


def masked_softmax(
    scores: Float[Tensor, "... keys"], may_look: Bool[Tensor, "... #keys"] | None = None
) -> Float[Tensor, "... keys"]:
    """Weights over the keys (the last axis): positive, summing to 1, exactly 0 where a query may not look.

        >>> masked_softmax(torch.tensor([[0.0, 0.0, 9.0]]), torch.tensor([[True, True, False]]))
        tensor([[0.5000, 0.5000, 0.0000]])

    Where nothing may be looked at, all weights are 0, and so are the gradients; the bare formula is
    0/0 there, and one NaN would spread through the whole model.
    """
    check_decimal("scores", scores)
    if may_look is None:
        return scores.softmax(dim=-1)
    seen = hide(scores, may_look)
    sees_nothing = ~may_look.any(dim=-1, keepdim=True)
    # Such a row is made harmless before the softmax and emptied after it.
    return seen.masked_fill(sees_nothing, 0.0).softmax(dim=-1).masked_fill(sees_nothing, 0.0)


def mix(
    weights: Float[Tensor, "... queries keys"], values: Float[Tensor, "... keys value_dim"]
) -> Float[Tensor, "... queries value_dim"]:
    """The weighted mean of the values, one for each query.

    >>> mix(torch.tensor([[0.25, 0.75]]), torch.tensor([[0.0, 4.0], [8.0, 4.0]]))
    tensor([[6., 4.]])
    """
    check_weights_and_values(weights, values)
    return weights @ values

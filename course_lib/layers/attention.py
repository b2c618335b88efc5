"""Attention: score each key against the query, normalise the scores, average the values by them.

    >>> query = torch.tensor([[4.0, 0.0]])                  # similar to the first key
    >>> keys = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> values = torch.tensor([[10.0], [20.0]])
    >>> context, weights = attend(query, keys, values)
    >>> weights
    tensor([[0.9442, 0.0558]])
    >>> context                                             # 0.9442 · 10 + 0.0558 · 20
    tensor([[10.5581]])

Every lesson uses the same four steps: score, mask, softmax, weighted sum.
"""

from __future__ import annotations

from course_lib.layers.checks import check_floating_point, check_weights_and_values
from course_lib.layers.masks import mask_scores
from course_lib.layers.scores import Score, scaled_dot
from course_lib.shapes import Bool, Float, Tensor


def attend(
    query: Float[Tensor, "... queries query_dim"],
    keys: Float[Tensor, "... keys key_dim"],
    values: Float[Tensor, "... keys value_dim"],
    *,
    mask: Bool[Tensor, "... #queries #keys"] | None = None,
    score: Score = scaled_dot,
) -> tuple[Float[Tensor, "... queries value_dim"], Float[Tensor, "... queries keys"]]:
    """Return (context, attention weights): for each query, the values weighted by how well their keys match.

        >>> query, keys = torch.zeros(1, 2), torch.eye(3, 2)    # the same score for every key
        >>> values = torch.tensor([[3.0], [6.0], [100.0]])
        >>> attend(query, keys, values, mask=torch.tensor([[True, True, False]]))
        (tensor([[4.5000]]), tensor([[0.5000, 0.5000, 0.0000]]))

    A masked key has no effect, whatever the key and its value contain, as long as no product overflows:
    a weight of 0 times inf is NaN. So pad with zeros.
    A query that may attend to no key gets a context of zeros.
    """
    weights = masked_softmax(score(query, keys), mask)
    return weighted_sum(weights, values), weights


def masked_softmax(
    scores: Float[Tensor, "... keys"], mask: Bool[Tensor, "... #keys"] | None = None
) -> Float[Tensor, "... keys"]:
    """Attention weights over the keys (the last axis): they sum to 1 and are exactly 0 where masked.

        >>> masked_softmax(torch.tensor([[0.0, 0.0, 9.0]]), torch.tensor([[True, True, False]]))
        tensor([[0.5000, 0.5000, 0.0000]])

    If all keys of a query are masked, its weights and their gradients are 0. The plain formula would give
    0/0, and a single NaN would spread through the whole model.
    """
    check_floating_point("scores", scores)
    if mask is None:
        return scores.softmax(dim=-1)
    masked = mask_scores(scores, mask)
    all_masked = ~mask.any(dim=-1, keepdim=True)
    # A row of -inf gives NaN in the softmax: set it to 0 before the softmax, and again after it.
    return masked.masked_fill(all_masked, 0.0).softmax(dim=-1).masked_fill(all_masked, 0.0)


def weighted_sum(
    weights: Float[Tensor, "... queries keys"], values: Float[Tensor, "... keys value_dim"]
) -> Float[Tensor, "... queries value_dim"]:
    """The weighted sum of the values, one for each query.

    >>> weighted_sum(torch.tensor([[0.25, 0.75]]), torch.tensor([[0.0, 4.0], [8.0, 4.0]]))
    tensor([[6., 4.]])
    """
    check_weights_and_values(weights, values)
    return weights @ values

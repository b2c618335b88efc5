"""The shape annotations are enforced in tests, and a wrong annotation is detected.

`tests/test_docstrings.py` runs every layer's examples under the same enforcement.
"""

from __future__ import annotations

import pytest
import torch
from jaxtyping import TypeCheckError

query, keys, values = torch.zeros(2, 3, 4), torch.zeros(2, 5, 4), torch.zeros(2, 5, 7)
scores, mask = torch.zeros(2, 3, 5), torch.ones(2, 1, 5, dtype=torch.bool)


@pytest.mark.parametrize(
    "change", [lambda x: x, lambda x: x[0], lambda x: x[None]], ids=["batch", "none", "heads"]
)
def test_a_signature_accepts_any_leading_axes(checked, change):
    attend, qkv = checked["layers.attention"].attend, [change(x) for x in (query, keys, values)]
    leading = qkv[0].shape[:-2]
    for accepted in (None, change(mask), mask[0]):
        context, weights = attend(*qkv, mask=accepted)
        assert (context.shape, weights.shape) == ((*leading, 3, 7), (*leading, 3, 5))
    assert attend(*(x.half() for x in qkv), mask=mask[0])[0].dtype == torch.float16


def test_a_wrong_size_and_a_wrong_annotation_raise_an_error(checked, monkeypatch):
    for module, function, arguments in (
        ("scores", "dot", (query, keys[..., :3])),
        ("attention", "weighted_sum", (scores, values[:, :4])),  # five weights, four values
        ("masks", "mask_scores", (scores, mask.float())),
    ):
        with pytest.raises(TypeCheckError):
            getattr(checked[f"layers.{module}"], function)(*arguments)
    # A function that violates its annotation: it returns one context per key instead of one per query.
    monkeypatch.setattr(checked["layers.attention"], "weighted_sum", lambda weights, values: values)
    with pytest.raises(TypeCheckError):
        checked["layers.attention"].attend(query, keys, values)

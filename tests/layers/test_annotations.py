"""What the signatures of the first layers say is true, on many shapes, and a lie in one is found out.

`tests/test_docstrings.py` runs every layer's examples under the same enforcement.
"""

from __future__ import annotations

import pytest
import torch
from jaxtyping import TypeCheckError

query, keys, values = torch.zeros(2, 3, 4), torch.zeros(2, 5, 6), torch.zeros(2, 5, 7)
same_width, scores = torch.zeros(2, 5, 4), torch.zeros(2, 3, 5)
may_look = torch.ones(2, 1, 5, dtype=torch.bool)

CALLS = {
    "masks.padding_mask": [((torch.tensor([3, 1]), 4), {})],
    "masks.causal_mask": [((4,), {})],
    "masks.hide": [((scores, may_look), {}), ((scores, may_look[0]), {})],
    "scores.dot": [((query, same_width), {})],
    "scores.scaled_dot": [((query, same_width), {})],
    "scores.cosine": [((query, same_width), {})],
    "scores.general": [((query, keys), {"weight": torch.zeros(4, 6)})],
    "scores.additive": [
        ((query, keys), {"w_query": torch.zeros(8, 4), "w_key": torch.zeros(8, 6), "v": torch.zeros(8)})
    ],
    "scores.concat": [((query, keys), {"weight": torch.zeros(8, 10), "v": torch.zeros(8)})],
    "scores.location": [((query, keys), {"weight": torch.zeros(9, 4)})],
    "scores.GeneralScore": [((), {"query_dim": 4, "key_dim": 6})],
    "scores.AdditiveScore": [((), {"query_dim": 4, "key_dim": 6, "attn_dim": 8})],
    "scores.ConcatScore": [((), {"query_dim": 4, "key_dim": 6, "attn_dim": 8})],
    "scores.LocationScore": [((), {"query_dim": 4, "max_len": 9})],
    "attention.attend": [
        ((query, same_width, values), {}),
        ((query, same_width, values), {"may_look": may_look}),
        ((query.half(), same_width.half(), values.half()), {"may_look": may_look[0]}),
        ((query[0], same_width[0], values[0]), {}),
        ((query[None], same_width[None], values[None]), {"may_look": may_look[None]}),
    ],
    "attention.masked_softmax": [((scores,), {}), ((scores[0, 0], may_look[0, 0]), {})],
    "attention.mix": [((scores, values), {})],
}


@pytest.mark.parametrize("name", CALLS)
def test_signatures_hold(checked, name):
    module, _, function = name.partition(".")
    for arguments, named in CALLS[name]:
        outcome = getattr(checked[f"layers.{module}"], function)(*arguments, **named)
        if isinstance(outcome, torch.nn.Module):
            outcome(query, keys)


def test_a_wrong_size_is_caught(checked):
    with pytest.raises(TypeCheckError):
        checked["layers.scores"].dot(query, keys)  # 4 wide against 6 wide
    with pytest.raises(TypeCheckError):
        checked["layers.attention"].mix(scores, values[:, :4])  # five weights, four values
    with pytest.raises(TypeCheckError):
        checked["layers.masks"].hide(scores, may_look.float())


def test_a_wrong_annotation_is_caught(checked, monkeypatch):
    """A function that breaks its promise: one context for each key, where each query was to get one."""
    monkeypatch.setattr(checked["layers.attention"], "mix", lambda weights, values: values)
    with pytest.raises(TypeCheckError):
        checked["layers.attention"].attend(query, same_width, values)


def test_everyone_else_keeps_the_ordinary_layers(checked):
    from course_lib.layers import scores as ordinary

    assert ordinary is not checked["layers.scores"]
    with pytest.raises(ValueError, match="expects one width"):  # torch and we say it, not jaxtyping
        ordinary.dot(query, keys)

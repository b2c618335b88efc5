"""Source words of a Transformer masked: nobody looks at them, or each looks at itself alone.

    memory, weights = masked_memory(model, src, own=alone(10), cross=without([8], 10))
    greedy(model, memory, max_len=30)                       # what it says then

Two masks say who may be looked at (`layers/masks.py`): `own` by the other source words, in the encoder, and
`cross` by the decoder. A masked word still asks. All else is left as it is, places too.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.layers.rows import Rows
from course_lib.models.in_use import eval_mode
from course_lib.models.transformer import Transformer
from course_lib.shapes import Bool, Int, Tensor


def without(places: Sequence[int], n: int) -> Bool[Tensor, "1 1 1 src"]:
    """Of n words all may be looked at but those at these places, from 0.

    >>> without([0, 2], 3)
    tensor([[[[False,  True, False]]]])
    """
    may_look = torch.ones(1, 1, 1, n, dtype=torch.bool)
    may_look[..., list(places)] = False
    return may_look


def alone(n: int) -> Bool[Tensor, "1 1 src src"]:
    """Each of n words looks at itself and at no other.

    >>> alone(2)
    tensor([[[[ True, False],
              [False,  True]]]])
    """
    return torch.eye(n, dtype=torch.bool)[None, None]


@torch.no_grad()
def masked_memory(
    model: Transformer,
    src: Int[Tensor, "batch src"],
    own: Bool[Tensor, "#batch 1 #src src"],
    cross: Bool[Tensor, "#batch 1 1 src"],
    *,
    with_weights: bool = False,
) -> tuple[Rows, Rows]:
    """What the decoder is given of these sentences under both masks; and the encoder's weights, by use."""
    with eval_mode(model):
        states, weights = model.run_encoder(src, own, with_weights=with_weights)
        return model.memory_of(states, cross), weights

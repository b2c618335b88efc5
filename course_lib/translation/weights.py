"""The attention behind a finished translation.

The search itself asks for no weights, so the systems may use their fused attention. When the words are
known, one pass with teacher forcing gives the weights of every step: a system's `step` and `decode` agree.
"""

from __future__ import annotations

import torch

from course_lib.layers.rows import Rows
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import BOS, PAD


def weights_behind(
    system: Translator, memory: Rows, ids: Int[Tensor, "batch tgt"]
) -> Float[Tensor, "batch layers heads tgt src"] | None:
    """Where each step looked that said these words; None for a system that does not attend."""
    if not system.attends:
        return None
    tgt_in = torch.cat([torch.full_like(ids[:, :1], BOS), ids[:, :-1]], dim=1)
    _, weights = system.decode(memory, tgt_in, with_weights=True)
    return weights.masked_fill((ids == PAD)[:, None, None, :, None], 0.0)

"""What each part of the recorded step is worth: the same step with one part taken back.

    with taken_back("loss"):
        step(batch, rate)                       # recorded here, so it stays without the fused loss

Two parts are chosen for small models on a large GPU (`layers/multi_head.py`, `training/fused_loss.py`).
Without one of them torch does that work in its usual way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from torch.nn.attention import SDPBackend

from course_lib.layers import multi_head
from course_lib.training import loss

USUAL = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.MATH,
]

# The name in its module that makes the choice, and what it would be without us.
PARTS = {
    "attention": (multi_head, "KERNELS", USUAL),
    "loss": (loss, "can_fuse", lambda logits: False),
}


@contextmanager
def taken_back(*parts: str) -> Iterator[None]:
    """Do without these parts for a while."""
    with ExitStack() as stack:
        for part in parts:
            stack.enter_context(patch.object(*PARTS[part]))
        yield

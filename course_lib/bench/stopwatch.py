"""How long something takes, by the clock on the wall; a GPU, which works behind our back, is waited for.

>>> 0 <= seconds(lambda: sum(range(1000)), torch.device("cpu")) < 60
True
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """The seconds it takes: what was begun before is over first, and what it begins is over at the end."""
    _wait_for(device)
    start = time.perf_counter()
    work()
    _wait_for(device)
    return time.perf_counter() - start


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)

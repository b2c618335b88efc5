"""Triton, the language of our few hand-written GPU kernels, where it is installed.

It comes with torch for NVIDIA GPUs and is missing elsewhere. `jit` and `tl` are Triton's own; without it they
stand there so that the kernels' files can be imported, and `can_run` says no.

Asking for a kernel of ours costs Python several times as much as asking for one of torch's. Where a step is
recorded, it is asked for once and for all: `with recording():` says so, and `is_recording` passes it on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor

try:
    import triton
    from triton import language as tl

    jit = triton.jit
except ImportError:
    triton = tl = None

    def jit(kernel: Callable) -> Callable:
        """Leaves a kernel as it is: without Triton, nobody will call it."""
        return kernel


_RECORDING = ContextVar("recording", default=False)


@contextmanager
def recording() -> Iterator[None]:
    """While a step is recorded, or tried out for it, kernels are chosen by their own time alone.

    >>> with recording():
    ...     is_recording()
    True
    """
    before = _RECORDING.set(True)
    try:
        yield
    finally:
        _RECORDING.reset(before)


def is_recording() -> bool:
    """Whether what is asked for now is only recorded, to be played back many times."""
    return _RECORDING.get()


def can_run(tensor: Tensor) -> bool:
    """Whether our kernels can work on this tensor; torch's own do so everywhere."""
    return triton is not None and tensor.is_cuda


def next_power_of_2(n: int) -> int:
    """The smallest power of 2 that is at least n: Triton's blocks have such sizes.

    >>> next_power_of_2(680), next_power_of_2(256)
    (1024, 256)
    """
    return 1 << (n - 1).bit_length()

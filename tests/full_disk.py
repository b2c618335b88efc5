"""A disk that is full after some bytes, whatever code writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    """Inside, no file can grow beyond `n_bytes`, and the write that tries raises an OSError half-way."""
    resource = pytest.importorskip("resource", reason="Windows can't limit the size of a file")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        with pytest.raises(OSError, match="large"):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

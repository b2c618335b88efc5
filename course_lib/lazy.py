"""Packages that load what they export when it is first used (PEP 562).

    HOMES = {"MaskPainter": "mask_painter"}             # name -> the module that defines it
    __all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)

`from lessons.l10_masks import MaskPainter` then loads that module alone, and importing another module of the
package loads neither matplotlib nor ipywidgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package; `homes` maps each name to the module that defines it."""

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load

"""What may differ from an ordinary session: torch's settings, and functions of torch, NumPy and `math`.

    >>> with ordinary_settings():
    ...     torch.get_default_dtype(), torch.is_grad_enabled()
    (torch.float32, True)

A setting is put aside while an answer is judged. A function that a learner's code has replaced
(`torch.softmax = my_softmax`) also changes what the reference and the comparisons compute: a right answer may
fail, and a wrong one may pass.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator
from operator import is_not
from typing import Any

import numpy as np
import torch

from course_lib.teaching.exercises.guarded_call import CODE_OF_OTHERS

LIBRARIES = {
    "math": math,
    "numpy": np,
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.nn": torch.nn,
    "torch.nn.Module": torch.nn.Module,
    "torch.nn.functional": torch.nn.functional,
}


def _list_contents(library: Any) -> dict[str, Any]:
    """The attributes of a module or a class by name; those of a class with the inherited ones."""
    contents: dict[str, Any] = {}
    for part in reversed(getattr(library, "__mro__", (library,))):
        contents.update(vars(part))
    return contents


def _list_functions(library: Any) -> dict[str, Any]:
    """Its public functions, methods and classes; torch itself changes private ones while it runs."""
    contents = _list_contents(library).items()
    is_private = re.compile(r"_(?!_)").match  # special methods such as `__add__` are public
    return {name: value for name, value in contents if callable(value) and not is_private(name)}


_originals = {path: _list_functions(library) for path, library in LIBRARIES.items()}
del _originals["torch"]["Storage"]  # torch.set_default_dtype replaces it


def find_replaced() -> list[str]:
    """The functions that the learner's code has replaced or deleted since this module was loaded.

    A function that a package has replaced, as torch itself does with `torch.manual_seed`, doesn't count.
    """
    replaced = []
    for path, library in LIBRARIES.items():
        originals, now = _originals[path], _list_contents(library)
        if any(map(is_not, map(now.get, originals), originals.values())):
            changed = [name for name, value in originals.items() if now.get(name) is not value]
            replaced += [f"{path}.{name}" for name in changed if not _is_from_package(now.get(name))]
    return replaced


def _is_from_package(value: Any) -> bool:
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename.startswith(CODE_OF_OTHERS)


def restore_replaced() -> list[str]:
    """Undo what `find_replaced` finds, and return that."""
    replaced = find_replaced()
    for path, _, name in (full_name.rpartition(".") for full_name in replaced):
        setattr(LIBRARIES[path], name, _originals[path][name])
    return replaced


@contextlib.contextmanager
def ordinary_settings() -> Iterator[None]:
    """torch's settings as they are when Python starts, whatever the session has changed."""
    dtype, determinism = torch.get_default_dtype(), torch.get_deterministic_debug_mode()
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        if determinism:
            torch.set_deterministic_debug_mode("default")
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)
            if torch.get_deterministic_debug_mode() != determinism:
                torch.set_deterministic_debug_mode(determinism)

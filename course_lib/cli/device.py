"""The device that was asked for, tried before anything is loaded.

find_device("cuda")     # --device cuda
find_device(None)       # what COURSE_DEVICE names; else a GPU where there is one
"""

from __future__ import annotations

import os

from course_lib.cli.trouble import Trouble


def find_device(name: str | None):
    """The `torch.device` that the flag or the variable names, if it is there; else the usual one."""
    import torch

    from course_lib.runtime import device

    variable = os.environ.get("COURSE_DEVICE")
    if name is None and not variable:
        return device()  # nobody asked: it takes only what is there
    asked = f"COURSE_DEVICE={variable}" if name is None else f"--device {name}"
    todo = "Try COURSE_DEVICE=cpu, or unset it." if name is None else "Try --device cpu."
    try:
        chosen = torch.device(variable if name is None else name)
        torch.zeros(1, device=chosen).tolist()  # knowing its name is not having it
    except (RuntimeError, AssertionError, ValueError, NotImplementedError) as error:
        why = (str(error).splitlines() or ["torch does not say why"])[0]
        raise Trouble(f"{asked} cannot be used here: {why}", todo) from error
    return chosen

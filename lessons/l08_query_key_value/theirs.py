"""What a learner's function returns, for a picture that is drawn with it; or why it can't be drawn.

>>> outputs_of(lambda q, k, v: (q @ v, k), [1.0], [[2.0]], [[3.0]], shapes=((1,), (1,)))
((), 'returns a tensor of shape (1, 1) where (1,) is expected')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch


def outputs_of(
    function: Callable, *inputs: Any, shapes: Sequence[tuple[int, ...]]
) -> tuple[tuple[np.ndarray, ...], str]:
    """The outputs as arrays and "", or nothing and what is wrong. A wrong number is drawn as it is."""
    try:
        outputs = function(*(torch.as_tensor(np.array(x), dtype=torch.float32) for x in inputs))
        arrays = tuple(torch.as_tensor(output).detach().double().numpy() for output in outputs)
    except NotImplementedError:
        return (), "isn't written yet"
    except Exception as error:  # whatever a learner's code raises: the check says more about it
        return (), f"raises {type(error).__name__}; its check says more"
    for array, shape in zip(arrays, shapes, strict=False):
        if array.shape != shape:
            return (), f"returns a tensor of shape {array.shape} where {shape} is expected"
    if len(arrays) != len(shapes) or not all(np.isfinite(array).all() for array in arrays):
        return (), f"should return {len(shapes)} tensors of finite numbers"
    return arrays, ""

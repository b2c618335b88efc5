"""Shape types: checked where jaxtyping is installed, plain tensors where it is not."""

from __future__ import annotations

import importlib.util
import sys

import jaxtyping
import torch

from course_lib import shapes


def test_with_jaxtyping_the_types_are_its_own_and_without_it_a_shape_is_just_a_tensor(monkeypatch):
    assert (shapes.Bool, shapes.Float, shapes.Int) == (jaxtyping.Bool, jaxtyping.Float, jaxtyping.Int)
    assert shapes.Tensor is torch.Tensor
    monkeypatch.setitem(sys.modules, "jaxtyping", None)  # as a machine without jaxtyping reads the file
    spec = importlib.util.spec_from_file_location("bare_shapes", shapes.__file__)
    bare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bare)
    for kind in (bare.Bool, bare.Float, bare.Int):
        assert kind[bare.Tensor, "... queries keys"] is torch.Tensor
    assert bare.Float is not jaxtyping.Float
    assert bare.Bool[bare.Tensor, "... #queries #keys"] | None == torch.Tensor | None
    assert bare.__all__ == shapes.__all__ and all(hasattr(bare, name) for name in bare.__all__)

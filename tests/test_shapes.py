"""Shape types: checked where jaxtyping is installed, plain tensors where it is not."""

from __future__ import annotations

import importlib.util
import sys

import jaxtyping
import pytest
import torch
from beartype import beartype
from jaxtyping import TypeCheckError, jaxtyped

from course_lib import shapes


@pytest.fixture
def without_jaxtyping(monkeypatch):
    """shapes.py as a machine without jaxtyping reads it."""
    monkeypatch.setitem(sys.modules, "jaxtyping", None)
    spec = importlib.util.spec_from_file_location("bare_shapes", shapes.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_with_jaxtyping_the_types_are_its_own():
    assert (shapes.Bool, shapes.Float, shapes.Int) == (jaxtyping.Bool, jaxtyping.Float, jaxtyping.Int)
    assert shapes.Tensor is torch.Tensor


def test_without_jaxtyping_a_shape_is_just_a_tensor(without_jaxtyping):
    bare = without_jaxtyping
    for kind in (bare.Bool, bare.Float, bare.Int):
        assert kind[bare.Tensor, "... queries keys"] is torch.Tensor
    assert bare.Float is not jaxtyping.Float
    assert bare.Bool[bare.Tensor, "... #queries #keys"] | None == torch.Tensor | None
    assert bare.__all__ == shapes.__all__ and all(hasattr(bare, name) for name in bare.__all__)


Weights = shapes.Float[shapes.Tensor, "... queries keys"]
Values = shapes.Float[shapes.Tensor, "... keys value_dim"]
Context = shapes.Float[shapes.Tensor, "... queries value_dim"]


@jaxtyped(typechecker=beartype)
def mix(weights: Weights, values: Values) -> Context:
    return weights @ values


def test_the_example_of_the_glossary_is_enforced():
    assert mix(torch.ones(2, 3, 5), torch.ones(2, 5, 7)).shape == (2, 3, 7)
    with pytest.raises(TypeCheckError):
        mix(torch.ones(2, 3, 5), torch.ones(2, 4, 7))
    with pytest.raises(TypeCheckError):
        mix(torch.ones(2, 3, 5, dtype=torch.int64), torch.ones(2, 5, 7))

"""What the signatures and docstrings of the layers say is true.

The package is imported a second time with every function under jaxtyping and beartype, then every
public function is called; the examples in the docstrings are run.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import sys

import pytest
import torch
from jaxtyping import TypeCheckError, install_import_hook

MODULES = ["masks", "scores", "attention", "checks"]

query, keys, values = torch.zeros(2, 3, 4), torch.zeros(2, 5, 6), torch.zeros(2, 5, 7)
same_width, scores = torch.zeros(2, 5, 4), torch.zeros(2, 3, 5)
may_look = torch.ones(2, 1, 5, dtype=torch.bool)

CALLS = {
    "masks.padding_mask": [((torch.tensor([3, 1]), 4), {})],
    "masks.causal_mask": [((4,), {})],
    "masks.hide": [((scores, may_look), {}), ((scores, may_look[0]), {})],
    "scores.dot": [((query, same_width), {})],
    "scores.scaled_dot": [((query, same_width), {})],
    "scores.cosine": [((query, same_width), {})],
    "scores.general": [((query, keys), {"weight": torch.zeros(4, 6)})],
    "scores.additive": [
        ((query, keys), {"w_query": torch.zeros(8, 4), "w_key": torch.zeros(8, 6), "v": torch.zeros(8)})
    ],
    "scores.concat": [((query, keys), {"weight": torch.zeros(8, 10), "v": torch.zeros(8)})],
    "scores.location": [((query, keys), {"weight": torch.zeros(9, 4)})],
    "scores.GeneralScore": [((), {"query_dim": 4, "key_dim": 6})],
    "scores.AdditiveScore": [((), {"query_dim": 4, "key_dim": 6, "attn_dim": 8})],
    "scores.ConcatScore": [((), {"query_dim": 4, "key_dim": 6, "attn_dim": 8})],
    "scores.LocationScore": [((), {"query_dim": 4, "max_len": 9})],
    "attention.attend": [
        ((query, same_width, values), {}),
        ((query, same_width, values), {"may_look": may_look}),
        ((query.half(), same_width.half(), values.half()), {"may_look": may_look[0]}),
        ((query[0], same_width[0], values[0]), {}),
        ((query[None], same_width[None], values[None]), {"may_look": may_look[None]}),
    ],
    "attention.masked_softmax": [((scores,), {}), ((scores[0, 0], may_look[0, 0]), {})],
    "attention.mix": [((scores, values), {})],
}


@pytest.fixture(scope="module")
def checked():
    """The layers once more, with every annotation enforced. Everyone else keeps the ordinary ones."""

    def loaded():
        return [name for name in sys.modules if name.startswith("course_lib.layers")]

    import course_lib.layers as package

    ordinary = {name: sys.modules.pop(name) for name in loaded()}
    try:
        with install_import_hook("course_lib.layers", "beartype.beartype"):
            return {name: importlib.import_module(f"course_lib.layers.{name}") for name in MODULES}
    finally:
        for name in loaded():
            del sys.modules[name]
        sys.modules.update(ordinary)
        sys.modules["course_lib"].layers = package


def public(module):
    """Functions and classes a module defines and does not hide."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
    ]


@pytest.mark.parametrize("name", CALLS)
def test_signatures_hold(checked, name):
    module, _, function = name.partition(".")
    for arguments, named in CALLS[name]:
        outcome = getattr(checked[module], function)(*arguments, **named)
        if isinstance(outcome, torch.nn.Module):
            outcome(query, keys)


def test_no_public_function_is_left_out(checked):
    found = {f"{name}.{thing}" for name in MODULES if name != "checks" for thing in public(checked[name])}
    assert found == set(CALLS)


def test_a_wrong_size_is_caught(checked):
    with pytest.raises(TypeCheckError):
        checked["scores"].dot(query, keys)  # 4 wide against 6 wide
    with pytest.raises(TypeCheckError):
        checked["attention"].mix(scores, values[:, :4])  # five weights, four values
    with pytest.raises(TypeCheckError):
        checked["masks"].hide(scores, may_look.float())


def test_a_wrong_annotation_is_caught(checked, monkeypatch):
    """A function that breaks its promise: one context for each key, where each query was to get one."""
    monkeypatch.setattr(checked["attention"], "mix", lambda weights, values: values)
    with pytest.raises(TypeCheckError):
        checked["attention"].attend(query, same_width, values)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"course_lib.layers.{name}")
    outcome = doctest.testmod(module, extraglobs={"torch": torch}, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0 and outcome.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_has_a_docstring_and_its_shapes(name):
    module = importlib.import_module(f"course_lib.layers.{name}")
    for thing in (getattr(module, thing) for thing in public(module)):
        assert thing.__doc__, thing
        hints = inspect.get_annotations(thing)
        if name != "checks" and inspect.isfunction(thing):
            assert "return" in hints and set(hints) == {*inspect.signature(thing).parameters, "return"}

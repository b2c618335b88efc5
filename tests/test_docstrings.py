"""What the docstrings and signatures of layers and models say is true.

Every example is run, and run with every annotation enforced: a function whose example works has also kept
the shapes it promises. Modules are found, not listed: a new one is tested from its first day.
"""

from __future__ import annotations

import doctest
import functools
import importlib
import inspect
import pkgutil
import re

import pytest
import torch

import course_lib.layers
import course_lib.models

MODULES = sorted(
    f"{package.__name__.removeprefix('course_lib.')}.{module.name}"
    for package in (course_lib.layers, course_lib.models)
    for module in pkgutil.iter_modules(package.__path__)
)


def ordinary(name):
    return importlib.import_module(f"course_lib.{name}")


def public(module):
    """Functions and classes a module defines and does not hide."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
    }


def examples(name, names_in_scope=None):
    return doctest.DocTestFinder().find(ordinary(name), globs=names_in_scope)


@functools.cache
def steps():
    """The code of every example of every module."""
    return "\n".join(s.source for module in MODULES for one in examples(module) for s in one.examples)


def promises_shapes(thing):
    return inspect.isfunction(thing) and "[Tensor, " in str(inspect.get_annotations(thing))


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true_and_keep_the_shapes_they_promise(checked, name):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in examples(name, {**vars(checked[name]), "torch": torch}):
        torch.manual_seed(0)
        runner.run(example)
    assert runner.failures == 0, "the captured output shows which example"


@pytest.mark.parametrize("name", MODULES)
def test_everything_public_has_a_docstring_and_its_types(name):
    for thing in public(ordinary(name)).values():
        assert thing.__doc__, thing
        if inspect.isfunction(thing) and not name.endswith(".checks"):
            hints = inspect.get_annotations(thing)
            assert set(hints) == {*inspect.signature(thing).parameters, "return"}, thing


@pytest.mark.parametrize("name", MODULES)
def test_every_function_that_promises_shapes_is_called_in_an_example(name):
    """So that none escapes the first test. Layers with weights are put to work by the systems."""
    promising = [function for function, thing in public(ordinary(name)).items() if promises_shapes(thing)]
    silent = [function for function in promising if not re.search(rf"\b{function}\(", steps())]
    assert not silent, f"no example calls {', '.join(silent)}"


def test_most_functions_promise_shapes():
    """The test above would be empty if the annotations were read wrongly."""
    functions = [thing for name in MODULES for thing in public(ordinary(name)).values()]
    assert sum(map(promises_shapes, functions)) > 30

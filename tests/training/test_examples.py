"""The examples in the docstrings of this package are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
import torch

import course_lib.training

MODULES = sorted(module.name for module in pkgutil.iter_modules(course_lib.training.__path__))


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name):
    module = importlib.import_module(f"course_lib.training.{name}")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in doctest.DocTestFinder().find(module, globs={**vars(module), "torch": torch}):
        runner.run(example)
    assert runner.failures == 0, "the captured output shows which example"


def test_the_package_lists_its_files():
    listed = course_lib.training.__doc__
    assert [name for name in MODULES if f"{name}.py" not in listed] == []

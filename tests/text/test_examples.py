"""Every example in a docstring of `course_lib/text` is run. Modules are found, not listed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import random

import pytest
import torch

import course_lib.text

MODULES = [module.name for module in pkgutil.walk_packages(course_lib.text.__path__, "course_lib.text.")]
PICTURES = {"course_lib.text.corpus", "course_lib.text.multi30k"}  # their examples name files nobody has


@pytest.mark.parametrize("name", sorted(set(MODULES) - PICTURES))
def test_the_examples_of_the_docstrings(name):
    module, lexicon = map(importlib.import_module, (name, "course_lib.text.toy.lexicon"))
    scope = {"torch": torch, "random": random, **vars(lexicon), **vars(module)}
    assert doctest.testmod(module, globs=scope).failed == 0, "the captured output shows which example"

"""What the docstrings and signatures of the library say is true.

Every example is run; those of layers and models once more, with every annotation enforced: a function whose
example works has then kept the shapes it promises. And a package says in its docstring what its files are
for. Modules are found, not listed: a new one is tested from its first day.
"""

from __future__ import annotations

import doctest
import functools
import importlib
import inspect
import random
import re

import pytest
import torch

from course_lib import theme
from course_lib.runtime import PROJECT_ROOT
from course_lib.text.toy.lexicon import lexicon

PACKAGES = sorted(
    path.parent for part in ("course_lib", "tools") for path in (PROJECT_ROOT / part).rglob("*/__init__.py")
)
NO_MODULES = ("lesson.py", "exercises.py", "wrong_answers.py", "test_*.py", "conftest.py")
MODULES = {  # and their files
    ".".join(path.relative_to(PROJECT_ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for part in ("course_lib", "lessons", "tools")
    for path in sorted((PROJECT_ROOT / part).rglob("*.py"))
    if not any(path.match(pattern) for pattern in NO_MODULES)
}
WITH_SHAPES = [name for name in MODULES if name.startswith(("course_lib.layers.", "course_lib.models."))]
# Examples to look at: they name files, axes, or a learner's function that are not there, or build notebooks.
PICTURES = {
    *("tools.authoring.build", "tools.authoring.editions", "tools.authoring.execute"),
    *("course_lib.explore.base", "course_lib.explore.control"),
    *("course_lib.views.bars", "course_lib.views.heatmap", "course_lib.explore.raster.pillow_text"),
    *("course_lib.explore.raster.artists", "course_lib.views.cells", "course_lib.views.shapes"),
    "course_lib.views.words",
    *("course_lib.teaching.code_reading", "course_lib.teaching.questions.guess"),
    *("course_lib.text.corpus", "course_lib.text.multi30k"),
}
SLOW = ("tools.bench.", "tools.experiments.", "lessons.")  # systems are loaded, runs are made
SHOWN = tuple(f"course_lib.{name}." for name in ("layers", "text", "translation", "views"))  # always with one
EXAMPLES = [
    name for name, path in MODULES.items() if ">>> " in path.read_text("utf-8") or name.startswith(SHOWN)
]


def ordinary(name):
    return importlib.import_module(name)


def public(module):
    """Functions and classes a module defines and does not hide."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
    }


def promises_shapes(thing):
    """Also where an annotation is a name that the module gives to a shape."""
    if not inspect.isfunction(thing):
        return False
    names = set(re.findall(r"\w+", str(inspect.get_annotations(thing))))
    shapes = [str(shape) for name, shape in vars(inspect.getmodule(thing)).items() if name in names]
    return any("[Tensor, " in text for text in (str(inspect.get_annotations(thing)), *shapes))


# ---- examples


def outcome(name, module):
    """How many examples of a module fail, of how many, with the names of this one: itself, or its twin."""
    scope = {"torch": torch, "random": random, "theme": theme, "lexicon": lexicon, **vars(module)}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in doctest.DocTestFinder().find(ordinary(name), globs=scope):
        torch.manual_seed(0)
        runner.run(example)
    return runner.failures, runner.tries


@functools.cache
def steps():
    """The code of every example of layers and models."""
    found = [one for name in WITH_SHAPES for one in doctest.DocTestFinder().find(ordinary(name))]
    return "\n".join(step.source for one in found for step in one.examples)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name.startswith(SLOW) else [])
        for name in EXAMPLES
        if name not in PICTURES
    ],
)
def test_examples_are_true(name):
    failed, tried = outcome(name, ordinary(name))
    assert failed == 0 < tried, "the captured output shows which example; or there is none"


@pytest.mark.parametrize("name", WITH_SHAPES)
def test_examples_keep_the_shapes_they_promise(checked, name):
    assert outcome(name, checked[name.removeprefix("course_lib.")])[0] == 0, (
        "the captured output shows which example"
    )


@pytest.mark.parametrize("name", WITH_SHAPES)
def test_every_function_that_promises_shapes_is_called_in_an_example(name):
    """So that none escapes the test above. Layers with weights are put to work by the systems."""
    promising = [function for function, thing in public(ordinary(name)).items() if promises_shapes(thing)]
    silent = [function for function in promising if not re.search(rf"\b{function}\(", steps())]
    assert not silent, f"no example calls {', '.join(silent)}"
    assert promising or name != "course_lib.layers.attention", "annotations are read wrongly"


# ---- words


@pytest.mark.parametrize("name", WITH_SHAPES)
def test_everything_public_has_a_docstring_and_its_types(name):
    for thing in public(ordinary(name)).values():
        assert thing.__doc__, thing
        if inspect.isfunction(thing) and not name.endswith(".checks"):
            hints = inspect.get_annotations(thing)
            assert set(hints) == {*inspect.signature(thing).parameters, "return"}, thing


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_lists_its_files(package):
    """A line of its map begins with a file (`scores.py`, `scores`) or a folder; others stand further on."""
    text = ordinary(".".join(package.relative_to(PROJECT_ROOT).parts)).__doc__
    named = set(re.findall(r"^ *([a-z]\w*)(?:\.py|/)? {2,}\S|(?<![\w/])([a-z]\w*)\.py\b", text, re.MULTILINE))
    named = {one or other for one, other in named} - {"my_road"}  # which is a learner's
    there = {path.stem for path in package.iterdir()}
    files = {path.stem for path in package.glob("[!_]*.py")}
    files |= {path.parent.name for path in package.glob("*/__init__.py")}
    assert (files - named, named - there) == (set(), set()), "left out, and not there"

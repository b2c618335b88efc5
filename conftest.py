"""Every test works in a home of its own: nobody's real progress is read or written.

And what several folders need: the layers and models with their annotations enforced, and which of the
many systems a quick run asks.
"""

from __future__ import annotations

import importlib
import pkgutil
import signal
import sys
from pathlib import Path

import pytest
import torch

import tests.double_it  # noqa: F401  (an exercise of the tests' own)

PACKAGES_WITH_SHAPES = ("course_lib.layers", "course_lib.models")
QUICK_SYSTEMS = {"bahdanau", "transformer", "gru_lm", "transformer_lm"}
ROOT = Path(__file__).parent
NOT_QUICK = {  # what lessons say, wrong answers, every state of every explorable, endless loops, whole tools
    "lessons",
    *(f"tests/explore/test_{name}.py" for name in ("numbers", "sweep")),
    *(f"tests/teaching/test_{name}.py" for name in ("guarded_call", "mutants", "stand_ins", "yours")),
    *(f"tests/tools/{name}" for name in ("bench", "experiments", "grading", "hosting", "workshop")),
}


def pytest_ignore_collect(collection_path, config):
    """A quick run does not even load what takes long as a whole."""
    if "not slow" in config.option.markexpr:
        path = collection_path.relative_to(ROOT)
        return any(parent.as_posix() in NOT_QUICK for parent in (path, *path.parents)) or None
    return None


@pytest.hookimpl(tryfirst=True)  # before pytest leaves the slow ones out
def pytest_collection_modifyitems(items):
    """One property, all systems: a quick run asks a few of them, and takes shapes at their word."""
    from course_lib.models.registry import SYSTEMS

    others = {system.name for system in SYSTEMS} - QUICK_SYSTEMS
    for item in items:
        asked = item.callspec.params.get("name") if hasattr(item, "callspec") else None
        if asked in others or "checked" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def course_home(tmp_path, monkeypatch):
    home = tmp_path / "course-home"
    monkeypatch.setenv("COURSE_HOME", str(home))
    for switch in ("COURSE_OPEN", "COURSE_STRICT", "COURSE_CLASSROOM", "COURSE_DEVICE", "COURSE_CALLED"):
        monkeypatch.delenv(switch, raising=False)
    return home


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Also where it is ignored, as under nohup and in the background: many tests stop something by it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def no_lesson_stays_open():
    """A lesson that a test starts sets how tensors print and where goals are kept, for the whole process."""
    yield
    torch.set_printoptions(profile="default")
    if base := sys.modules.get("course_lib.explore.base"):
        base.Explorable.on_goal_reached = base.Explorable.find_reached_goals = staticmethod(lambda *_: ())


@pytest.fixture(scope="session")
def checked():
    """A second import of layers and models, with jaxtyping and beartype enforcing every annotation.

    The result maps "layers.masks" to its module. Its classes differ from the ordinary ones of the same name,
    so take everything that belongs together from here: `checked["models.registry"].build(...)`.
    """
    pytest.importorskip("beartype", reason="a machine that only trains doesn't have it")
    from jaxtyping import install_import_hook

    def loaded():
        return [name for name in sys.modules if name.startswith(PACKAGES_WITH_SHAPES)]

    packages = [importlib.import_module(name) for name in PACKAGES_WITH_SHAPES]
    names = [f"{p.__name__}.{m.name}" for p in packages for m in pkgutil.iter_modules(p.__path__)]
    ordinary = {name: sys.modules.pop(name) for name in loaded()}
    try:
        with install_import_hook(PACKAGES_WITH_SHAPES, "beartype.beartype"):
            modules = {name.removeprefix("course_lib."): importlib.import_module(name) for name in names}
            for system in modules["models.registry"].SYSTEMS:
                assert system.config  # import its class now, while the hook is installed
            return modules
    finally:
        for name in loaded():
            del sys.modules[name]
        sys.modules.update(ordinary)
        for package in packages:
            setattr(sys.modules["course_lib"], package.__name__.rpartition(".")[2], package)

"""The floors of the library: imports go down, so a part can be read without what is built on it.

A module may import from its own package, from any lower floor, and on its own floor from what the
table lists to its left. Floors 0 to 4 work without Jupyter; the doors open before anything is installed.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT

FLOORS = {
    0: ["runtime", "theme", "shapes", "formatting", "recorded"],
    1: ["text"],
    2: ["layers"],
    3: ["models"],
    4: ["training", "translation"],
    5: ["views", "explore"],
    6: ["teaching"],
    7: ["authoring", "bench", "cli", "__main__"],
}
HEIGHT = {part: (floor, place) for floor, parts in FLOORS.items() for place, part in enumerate(parts)}

BARE_FLOORS = range(5)  # a GPU machine without Jupyter can train
ABSENT_THERE = (
    "IPython anywidget beartype comm ipykernel ipywidgets jaxtyping jupyter_client jupyter_core jupyterlab "
    "latex2mathml nbclient nbformat traitlets"
)

PACKAGE = PROJECT_ROOT / "course_lib"


@dataclass(frozen=True)
class Import:
    """One imported name, in full: `from course_lib import theme` is `course_lib.theme`."""

    name: str
    line: int
    on_import: bool  # False for one inside a function, which runs later


def imports(path: Path, root: Path) -> Iterator[Import]:
    """Every import in a file, relative ones resolved."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    package = [root.name, *path.relative_to(root).parts[:-1]]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    later = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield Import(name, node.lineno, id(node) not in later)


def part_of(path: Path, root: Path) -> str:
    """The package or module right under the root that a file belongs to."""
    return path.relative_to(root).parts[0].removesuffix(".py")


def floor_faults(root: Path) -> list[str]:
    """Each import that does not go down, and each part that has no floor."""
    faults = []
    for path in sorted(root.rglob("*.py")):
        if path == root / "__init__.py":
            continue  # it has its own rule: the standard library only
        part, where = part_of(path, root), path.relative_to(root).as_posix()
        if part not in HEIGHT:
            faults.append(f"{where}: {part} has no floor; add it to the table in test_floors.py")
            continue
        for found in imports(path, root):
            top, *rest = found.name.split(".")
            if top != root.name or not rest or rest[0] == part:
                continue
            target = rest[0]
            if not ((root / target).is_dir() or (root / f"{target}.py").exists()):
                continue  # a name of course_lib itself, such as __version__
            if target not in HEIGHT:
                faults.append(f"{where}:{found.line}: imports {found.name}, which has no floor")
            elif HEIGHT[target] > HEIGHT[part]:
                faults.append(f"{where}:{found.line}: imports {found.name}, which lies above {part}")
    return faults


def door_faults(root: Path) -> list[str]:
    """Each import that a machine with nothing but Python could not follow when it opens the door."""
    doors = [root / "__init__.py", root / "__main__.py", *sorted((root / "cli").rglob("*.py"))]
    faults = []
    for path in filter(Path.exists, doors):
        where = path.relative_to(root).as_posix()
        bare_throughout = where in {"__init__.py", "cli/door.py"}
        for found in imports(path, root):
            parts = found.name.split(".")
            in_doors = parts[0] == root.name and (len(parts) == 1 or parts[1] in {"cli", "__version__"})
            if parts[0] in sys.stdlib_module_names or in_doors:
                continue
            if found.on_import or bare_throughout:
                faults.append(f"{where}:{found.line}: imports {found.name}, which is not there yet")
    return faults


# ---- the library as it stands


def test_imports_go_down():
    assert floor_faults(PACKAGE) == []


def test_the_doors_need_nothing_but_python():
    assert door_faults(PACKAGE) == []


@pytest.mark.slow
def test_floors_0_to_4_work_without_jupyter_and_jaxtyping():
    """In a fresh interpreter in which importing any of those fails."""
    modules = [
        ".".join(path.relative_to(PROJECT_ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(PACKAGE.rglob("*.py"))
        if part_of(path, PACKAGE) in {part for floor in BARE_FLOORS for part in FLOORS[floor]}
    ]
    assert "course_lib.layers.attention" in modules
    program = f"""
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT_THERE.split()}:
            raise ModuleNotFoundError(name + " is not on a bare machine", name=name)

sys.meta_path.insert(0, Absent())
for module in {modules}:
    importlib.import_module(module)

import torch
from course_lib.layers.attention import attend
from course_lib.layers.masks import causal_mask
from course_lib.layers.scores import AdditiveScore
states = torch.ones(2, 3, 4)
score = AdditiveScore(query_dim=4, key_dim=4, attn_dim=5)
context, weights = attend(states, states, states, may_look=causal_mask(3), score=score)
assert context.shape == (2, 3, 4) and "jaxtyping" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_training_needs_the_training_packages_and_no_set_up(tmp_path):
    """On a machine that has an older torch than we install, no Jupyter, no matplotlib and no network."""
    hidden = [
        *ABSENT_THERE.split(),
        "matplotlib",
        "nbval",
        "pytest",
        "hypothesis",
        "jsonschema",
        "playwright",
    ]
    program = f"""
import importlib.metadata, subprocess, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden}:
            raise ModuleNotFoundError(name + " is not on a bare machine", name=name)

def version(name, real=importlib.metadata.version):
    if name in {hidden}:
        raise importlib.metadata.PackageNotFoundError(name)
    return "2.11.0+cu130" if name == "torch" else real(name)

sys.meta_path.insert(0, Absent())
importlib.metadata.version = version
from course_lib.cli import door, main
door.set_up = door.restart = lambda *asked: sys.exit("a set-up was started")
import course_lib.bench.decoding, course_lib.bench.training
folder = {str(tmp_path / "run")!r}
for words in (
    ["train", "bahdanau", "--scale", "tiny", "--steps", "2", "--device", "cpu", "--folder", folder],
    ["translate", "the cat drank the water", "--attention", "--device", "cpu"],
    ["evaluate", "--checkpoint", folder, "--device", "cpu", "--beam", "1"],
    ["data", "show", "--n", "1"],
):
    assert main(words) == 0, words
"""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COURSE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "le chat a bu l' eau" in done.stdout


# ---- the checker itself, on made-up libraries


def library(folder: Path, **files: str) -> Path:
    root = folder / "course_lib"
    for name, text in {"__init__": "", **files}.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


UPWARD = [
    "import course_lib.models.rnn",
    "import torch, course_lib.models.rnn as rnn",
    "from course_lib.models.rnn import Encoder",
    "from course_lib.models import rnn",
    "from course_lib import models",
    "from course_lib import theme, models",
    "from ..models import rnn",
    "from ..models.rnn import Encoder",
    "from .. import models",
    "def later():\n    from course_lib.models import rnn",
    "if True:\n    from course_lib.models import rnn",
]


@pytest.mark.parametrize("line", UPWARD)
def test_an_upward_import_is_caught(tmp_path, line):
    root = library(tmp_path, theme="", **{"models/rnn": "", "layers/masks": line})
    (fault,) = floor_faults(root)
    assert fault.startswith("layers/masks.py:") and "course_lib.models" in fault and "above layers" in fault


@pytest.mark.parametrize(
    "line",
    [
        "import os, torch",
        "from course_lib import __version__, theme",
        "from .. import theme",
        "from . import scores",
        "from .scores import dot",
        "from course_lib.layers import scores",
        "from course_lib.text import words",
    ],
)
def test_a_downward_import_passes(tmp_path, line):
    files = {"layers/masks": line, "layers/scores": "", "text/words": "", "models/rnn": ""}
    assert floor_faults(library(tmp_path, theme="", **files)) == []


def test_on_one_floor_imports_go_left(tmp_path):
    to_the_left, to_the_right = "from course_lib.views import still", "from course_lib.explore import base"
    good = library(tmp_path / "good", **{"views/still": "", "explore/base": to_the_left})
    assert floor_faults(good) == []
    bad = library(tmp_path / "bad", **{"views/still": to_the_right, "explore/base": ""})
    assert floor_faults(bad) == ["views/still.py:1: imports course_lib.explore.base, which lies above views"]


def test_a_part_without_a_floor_is_caught(tmp_path):
    root = library(tmp_path, helpers="", **{"layers/masks": "from course_lib import helpers"})
    assert floor_faults(root) == [
        "helpers.py: helpers has no floor; add it to the table in test_floors.py",
        "layers/masks.py:1: imports course_lib.helpers, which has no floor",
    ]


@pytest.mark.parametrize(
    ("file", "text", "caught"),
    [
        ("__init__", "import torch", True),
        ("__init__", "def f():\n    import torch", True),
        ("__init__", "import os, json", False),
        ("__main__", "import course_lib.runtime", True),
        ("__main__", "from course_lib.cli import main", False),
        ("__main__", "from course_lib.cli.door import enter\nfrom pathlib import Path", False),
        ("cli/door", "def f():\n    import torch", True),
        ("cli/door", "from . import messages", False),
        ("cli/lab", "from ..runtime import device", True),
        ("cli/lab", "def run(args):\n    import jupyterlab", False),
    ],
)
def test_a_door_that_needs_more_than_python_is_caught(tmp_path, file, text, caught):
    faults = door_faults(library(tmp_path, **{file: text}))
    assert len(faults) == caught and all(fault.startswith(f"{file}.py:") for fault in faults)

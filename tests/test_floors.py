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
    6: ["teaching", "lessons"],
    7: ["authoring", "bench", "experiments", "cli", "__main__"],
}
HEIGHT = {part: (floor, place) for floor, parts in FLOORS.items() for place, part in enumerate(parts)}
BARE = [part for floor in range(5) for part in FLOORS[floor]]  # a GPU machine without Jupyter can train
ABSENT_THERE = (
    *("IPython", "anywidget", "beartype", "comm", "ipykernel", "ipywidgets", "jaxtyping", "jupyter_client"),
    *("jupyter_core", "jupyterlab", "latex2mathml", "nbclient", "nbformat", "traitlets"),
)
PACKAGE = PROJECT_ROOT / "course_lib"


def imports(path: Path, root: Path) -> Iterator[tuple[str, int, bool]]:
    """Every imported name in full, its line, and whether it is imported at once or inside a function."""
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
            yield name, node.lineno, id(node) not in later


def part_of(path: Path, root: Path) -> str:
    """The package or module right under the root that a file belongs to."""
    return path.relative_to(root).parts[0].removesuffix(".py")


def floor_faults(root: Path) -> list[str]:
    """Each import that does not go down, and each part that has no floor."""
    faults = []
    parts = {part_of(path, root) for path in root.rglob("*.py")} - {"__init__"}  # that one is a door
    for path in sorted(root.rglob("*.py")):
        part, where = part_of(path, root), path.relative_to(root).as_posix()
        for name, line, _ in imports(path, root):
            target = f"{name}.".split(".")[1]
            known = name.startswith(f"{root.name}.") and {part, target} <= set(HEIGHT)
            if known and target in parts and HEIGHT[target] > HEIGHT[part]:
                faults.append(f"{where}:{line}: imports {name}, which lies above {part}")
    return faults + [f"{part} has no floor; add it to the table" for part in sorted(parts - set(HEIGHT))]


def door_faults(root: Path) -> list[str]:
    """Each import that a machine with nothing but Python could not follow when it opens the door."""
    faults = []
    for path in (root / "__init__.py", root / "__main__.py", *sorted((root / "cli").rglob("*.py"))):
        where = path.relative_to(root).as_posix()
        for name, line, at_once in imports(path, root) if path.exists() else ():
            top, *rest = name.split(".")
            ours = top == root.name and rest[:1] in ([], ["cli"], ["__version__"])
            there = ours or top in sys.stdlib_module_names
            if not there and (at_once or where in {"__init__.py", "cli/door.py"}):
                faults.append(f"{where}:{line}: imports {name}, which is not there yet")
    return faults


def test_imports_go_down_and_the_doors_need_nothing_but_python():
    assert floor_faults(PACKAGE) == door_faults(PACKAGE) == []


def test_a_fault_is_found(tmp_path):
    """However it is written, at once or inside a function; and what is allowed is not taken for one."""
    written = {
        "__init__": "import os\ndef later():\n    import torch",
        "__main__": "from course_lib.cli.door import enter\nimport course_lib.runtime",
        "theme": "",
        "helpers": "from course_lib import __version__",
        "layers/masks": "import torch, course_lib.models.rnn\ndef later():\n    from .. import theme, models",
        "models/rnn": "from ..layers import masks",
        "views/still": "from course_lib.explore import base",
        "explore/base": "from course_lib.views import still",
        "cli/door": "def later():\n    import torch",
        "cli/lab": "from ..runtime import device\ndef later():\n    import jupyterlab",
    }
    root = tmp_path / "course_lib"
    for name, text in written.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / f"{name}.py").write_text(text, encoding="utf-8")
    assert [fault.partition(", which")[0] for fault in floor_faults(root)] == [
        "layers/masks.py:1: imports course_lib.models.rnn",
        "layers/masks.py:3: imports course_lib.models",
        "views/still.py:1: imports course_lib.explore.base",
        "helpers has no floor; add it to the table",
    ]
    assert [fault.partition(", which")[0] for fault in door_faults(root)] == [
        "__init__.py:3: imports torch",
        "__main__.py:2: imports course_lib.runtime",
        "cli/door.py:2: imports torch",
        "cli/lab.py:1: imports course_lib.runtime.device",
    ]


def run_bare(program: str, hidden: tuple[str, ...], **environment: str) -> str:
    """What a fresh interpreter prints in which importing any of those fails."""
    absent = f"""
import importlib, importlib.metadata, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden}:
            raise ModuleNotFoundError(name + " is not on a bare machine", name=name)

sys.meta_path.insert(0, Absent())
"""
    command, env = [sys.executable, "-c", absent + program], os.environ | environment
    done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_training_needs_the_training_packages_and_no_set_up(tmp_path):
    """On a machine that has an older torch than we install, no Jupyter, no matplotlib and no network.

    All of floors 0 to 4 but the theme can be imported there, and the commands that train and translate run.
    """
    paths = [
        path for path in sorted(PACKAGE.rglob("*.py")) if part_of(path, PACKAGE) in set(BARE) - {"theme"}
    ]
    modules = [".".join(path.relative_to(PROJECT_ROOT).with_suffix("").parts) for path in paths]
    modules = [name.removesuffix(".__init__") for name in modules]
    assert "course_lib.layers.attention" in modules
    hidden = (*ABSENT_THERE, "matplotlib", "nbval", "pytest", "hypothesis", "jsonschema", "playwright")
    folder = str(tmp_path / "run")
    program = f"""
def version(name, real=importlib.metadata.version):
    if name in {hidden}:
        raise importlib.metadata.PackageNotFoundError(name)
    return "2.11.0+cu130" if name == "torch" else real(name)

importlib.metadata.version = version
for module in {modules}:
    importlib.import_module(module)
from course_lib.cli import door, main
door.set_up = door.restart = lambda *asked: sys.exit("a set-up was started")
import course_lib.bench.decoding, course_lib.bench.training
for words in (
    ["train", "bahdanau", "--scale", "tiny", "--steps", "2", "--device", "cpu", "--folder", {folder!r}],
    ["translate", "the cat drank the water", "--attention", "--device", "cpu"],
    ["evaluate", "--checkpoint", {folder!r}, "--device", "cpu", "--beam", "1", "--first", "20"],
    ["data", "show", "--n", "1"],
):
    assert main(words) == 0, words
assert "jaxtyping" not in sys.modules
"""
    told = run_bare(program, hidden, OMP_NUM_THREADS="1", COURSE_HOME=str(tmp_path))
    assert "le chat a bu l' eau" in told


@pytest.mark.slow
def test_the_theme_needs_matplotlib_alone():
    run_bare("import course_lib.theme", ABSENT_THERE)

"""The layout: imports point down, a lesson's own code lives in its folder, and the library stays small.

A module may import from its own package, from any lower level, and on its own level from what the table
lists to its left. Levels 0 to 4 work without Jupyter; the command line starts before anything is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT
from tools.authoring.imports import Code, imports_of, lazy_homes, misplaced, wrong_imports

LEVELS = {
    0: ["lazy", "runtime", "ready", "theme", "shapes", "formatting", "results"],
    1: ["text"],
    2: ["layers"],
    3: ["models"],
    4: ["training", "translation"],
    5: ["views", "explore"],
    6: ["teaching"],
}
HEIGHT = {part: (level, place) for level, parts in LEVELS.items() for place, part in enumerate(parts)}
BARE = [part for level in range(5) for part in LEVELS[level]]  # a GPU machine without Jupyter can train
ABSENT_THERE = (
    *("IPython", "anywidget", "beartype", "comm", "ipykernel", "ipywidgets", "jaxtyping", "jupyter_client"),
    *("jupyter_core", "jupyterlab", "latex2mathml", "nbclient", "nbformat", "traitlets"),
)
PACKAGE = PROJECT_ROOT / "course_lib"
FIRST_FILES = ("course_lib/__init__.py", "course_lib/__main__.py", "tools/__init__.py", "tools/cli/*.py")
STANDARD_LIBRARY_ONLY = (
    "course_lib",
    "course_lib.__version__",
    "course_lib.ready",
    "course_lib.runtime",
    "tools.cli",
)


def part_of(path: Path, root: Path) -> str:
    """The package or module right under the root that a file belongs to."""
    return path.relative_to(root).parts[0].removesuffix(".py")


def wrong_levels(root: Path) -> list[str]:
    """Each import of the library that does not point down, and each part that has no level."""
    problems, package = [], root / "course_lib"
    parts = {part_of(path, package) for path in package.rglob("*.py")} - {"__init__", "__main__"}
    for path in sorted(package.rglob("*.py")):
        part, where = part_of(path, package), path.relative_to(root).as_posix()
        for found in imports_of(path, root):
            top, target, *_ = f"{found.full_name}..".split(".")
            if top in ("lessons", "tools") and part != "__main__":
                problems.append(f"{where}:{found.line}: imports {found.full_name}")
            if top == "course_lib" and {part, target} <= set(HEIGHT) and target in parts:
                problems += (
                    [f"{where}:{found.line}: imports {found.full_name}"]
                    if HEIGHT[target] > HEIGHT[part]
                    else []
                )
    return problems + [f"{part} has no level; add it to the table" for part in sorted(parts - set(HEIGHT))]


def too_early(root: Path) -> list[str]:
    """Each import of the command line that a machine with nothing but Python could not follow."""
    problems = []
    for path in [path for pattern in FIRST_FILES for path in sorted(root.glob(pattern))]:
        where = path.relative_to(root).as_posix()
        for found in imports_of(path, root):
            name = found.full_name
            known = any(name == ours or name.startswith(f"{ours}.") for ours in STANDARD_LIBRARY_ONLY[2:])
            there = known or name in STANDARD_LIBRARY_ONLY or name.split(".")[0] in sys.stdlib_module_names
            if not there and (found.at_once or path.name in ("__init__.py", "environment.py")):
                problems.append(f"{where}:{found.line}: imports {name}")
    return problems


def write(root: Path, files: dict[str, str]) -> Code:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / f"{name}.py").write_text(text, encoding="utf-8")
    return Code(root)


def test_imports_point_down_and_the_command_line_starts_with_nothing_but_python():
    assert wrong_levels(PROJECT_ROOT) == too_early(PROJECT_ROOT) == []


def test_a_module_that_one_lesson_uses_lives_in_its_folder():
    assert misplaced(Code(PROJECT_ROOT)) == []


def test_lessons_import_from_the_library_and_from_earlier_lessons_only():
    code = Code(PROJECT_ROOT)
    assert code.lessons
    assert [problem for folder in code.lessons for problem in wrong_imports(code, folder)] == []


def test_no_lazy_name_is_hidden_by_a_module():
    """Once `package.name` is imported as a module, the lazy function of that name could not be reached."""
    packages = [*PACKAGE.rglob("__init__.py"), *(PROJECT_ROOT / "lessons").rglob("__init__.py")]
    assert any(map(lazy_homes, packages))
    for path in packages:
        modules = {file.stem for file in path.parent.glob("*.py")}
        assert not modules & set(lazy_homes(path)), path


def test_a_wrong_level_is_found(tmp_path):
    """However it is written, at once or inside a function; and what is allowed is not reported."""
    write(
        tmp_path,
        {
            "course_lib/__init__": "import os\ndef later():\n    import torch",
            "course_lib/__main__": "from tools.cli.environment import enter\nimport course_lib.theme",
            "course_lib/theme": "",
            "course_lib/helpers": "from course_lib import __version__",
            "course_lib/layers/masks": "import course_lib.models.rnn\ndef f():\n  from .. import models",
            "course_lib/models/rnn": "from ..layers import masks",
            "course_lib/views/bars": "from course_lib.explore import base\nimport lessons.l01_first",
            "course_lib/explore/base": "from course_lib.views import bars",
            "tools/cli/environment": "def later():\n    import torch",
            "tools/cli/lab": "from course_lib.theme import use\ndef later():\n    import jupyterlab",
        },
    )
    assert wrong_levels(tmp_path) == [
        "course_lib/layers/masks.py:1: imports course_lib.models.rnn",
        "course_lib/layers/masks.py:3: imports course_lib.models",
        "course_lib/views/bars.py:1: imports course_lib.explore.base",
        "course_lib/views/bars.py:2: imports lessons.l01_first",
        "helpers has no level; add it to the table",
    ]
    assert too_early(tmp_path) == [
        "course_lib/__init__.py:3: imports torch",
        "course_lib/__main__.py:2: imports course_lib.theme",
        "tools/cli/environment.py:2: imports torch",
        "tools/cli/lab.py:1: imports course_lib.theme.use",
    ]


def test_a_misplaced_module_and_a_wrong_import_are_found(tmp_path):
    """Also behind a lazy package, the table of systems, an import inside a function, or another module."""
    lazy_package = 'HOMES = {"Painter": "painter", "pack": "packing"}\n'
    code = write(
        tmp_path,
        {
            "course_lib/text/__init__": lazy_package,
            "course_lib/text/painter": "from course_lib.text import colours",
            "course_lib/text/packing": "",
            "course_lib/text/colours": "",
            "course_lib/models/registry": 'ROWS = (System("a", 1, LM, "A", "one.A", "P", {}),)',
            "course_lib/models/one": "",
            "course_lib/unused": "",
            "course_lib/measured": "",
            "lessons/l01_first/lesson": "from course_lib.text import Painter, pack\nimport tools.cli",
            "lessons/l01_first/exercises": "from course_lib.models import registry",
            "lessons/l01_first/test_first": "import tools.bench, course_lib.unused",
            "lessons/l02_second/lesson": "from lessons.l01_first import exercises\nimport lessons.l03_third",
            "lessons/l02_second/helper": "def later():\n    from course_lib.text import pack",
            "lessons/l03_third/lesson": "",
            "tools/bench": "import course_lib.measured, course_lib.text.painter",
        },
    )
    assert [problem.partition(": only")[0] for problem in misplaced(code)] == [
        "course_lib/text/colours.py",
        "course_lib/text/painter.py",
    ]
    assert all("lessons/l01_first/" in problem for problem in misplaced(code))
    assert code.reached_by("course_lib.models.one") == {"l01_first", "l02_second"}
    assert code.reached_by("course_lib.measured") == {"tools"}
    found = [problem for folder in code.lessons for problem in wrong_imports(code, folder)]
    assert [problem.partition(": ")[0] for problem in found] == [
        "lessons/l01_first/lesson.py:2",
        "lessons/l02_second/lesson.py:2",
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

    All of floors 0 to 4 can be imported there, and the commands that train and translate run.
    """
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if part_of(path, PACKAGE) in set(BARE)]
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
from tools.cli import environment, main
environment.set_up = environment.restart = lambda *asked: sys.exit("a set-up was started")
import tools.bench.decoding, tools.bench.training
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

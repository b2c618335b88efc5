"""Which module imports which: which lessons use a module of the library, and which imports are not allowed.

    >>> from course_lib.runtime import PROJECT_ROOT
    >>> Code(PROJECT_ROOT).reached_by("course_lib.layers.masks") >= {"l10_masks", "l14_the_transformer"}
    True

The files are parsed; nothing is imported. A name that a lazy package exports (its `HOMES`) is resolved to the
module that defines it, and the table of systems counts as an import of every model it names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

PARTS = ("course_lib", "lessons", "tools")
REGISTRY = "course_lib.models.registry"
NOT_USED_BY_LEARNERS = ("test_*.py", "wrong_answers.py", "measurements.py")


class Import(NamedTuple):
    """One imported name: `from module import name`, or `import module` with an empty name."""

    module: str
    name: str
    line: int
    at_once: bool  # at import time, not inside a function

    @property
    def full_name(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


def imports_of(path: Path, root: Path) -> Iterator[Import]:
    """Every import of a file, with relative ones resolved by its path below `root`."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    package = path.relative_to(root).parts[:-1]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    later = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*start, *([node.module] if node.module else [])])
            names = [(base, alias.name) for alias in node.names]
        else:
            continue
        for module, name in names:
            yield Import(module, name, node.lineno, id(node) not in later)


@dataclass(frozen=True)
class Code:
    """The Python files of the course under a project folder."""

    root: Path

    @cached_property
    def files(self) -> dict[str, Path]:
        """The file of every module, by its dotted name."""
        paths = [path for part in PARTS for path in sorted((self.root / part).rglob("*.py"))]
        names = [".".join(path.relative_to(self.root).with_suffix("").parts) for path in paths]
        return dict(zip([name.removesuffix(".__init__") for name in names], paths, strict=True))

    @cached_property
    def lessons(self) -> list[str]:
        """The folders of the lessons, in order: `l00_start_here`."""
        return sorted(path.parent.name for path in (self.root / "lessons").glob("l[0-9][0-9]_*/lesson.py"))

    @cached_property
    def _homes(self) -> dict[str, dict[str, str]]:
        return {name: lazy_homes(path) for name, path in self.files.items() if path.name == "__init__.py"}

    def module_of(self, imported: Import) -> str | None:
        """The module of ours that defines the imported name; None if it isn't ours."""
        if imported.full_name in self.files:
            return imported.full_name
        home = self._homes.get(imported.module, {}).get(imported.name)
        module = f"{imported.module}.{home}" if home else imported.module
        return module if module in self.files else None

    def needs(self, name: str) -> set[str]:
        """The modules of ours that a module imports, anywhere in the file or by the table of systems."""
        imports = imports_of(self.files[name], self.root)
        modules = {self.module_of(imported) for imported in imports} - {None, name}
        if name == REGISTRY:
            modules |= registered_models(self.files[name])
        return modules

    @cached_property
    def _reached(self) -> dict[str, set[str]]:
        needs = {name: self.needs(name) for name in self.files}
        reached: dict[str, set[str]] = {name: set() for name in self.files}
        for name, path in self.files.items():
            part, folder, *_ = path.relative_to(self.root).parts
            if part == "course_lib" or any(path.match(pattern) for pattern in NOT_USED_BY_LEARNERS):
                continue
            user = folder if part == "lessons" else "tools"
            queue = [name]
            while queue:
                if user not in reached[module := queue.pop()]:
                    reached[module].add(user)
                    queue += needs[module]
        return reached

    def reached_by(self, name: str) -> set[str]:
        """The lessons (by folder) and "tools" that need a module, directly or through others."""
        return self._reached[name]


def lazy_homes(path: Path) -> dict[str, str]:
    """The table `HOMES` of a lazy package; empty for other modules."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "HOMES":
            return ast.literal_eval(node.value)
    return {}


def registered_models(path: Path) -> set[str]:
    """The modules that the table of systems names: `System("seq2seq", …, "sutskever.Seq2Seq", …)`."""
    calls = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    rows = [node.args for node in calls if ast.unparse(node.func) == "System"]
    return {f"course_lib.models.{row[4].value.partition('.')[0]}" for row in rows}


def misplaced(code: Code) -> list[str]:
    """Every module of the library that exactly one lesson reaches, with the folder it belongs in."""
    problems = []
    for name, path in code.files.items():
        if not name.startswith("course_lib.") or path.name == "__init__.py":
            continue
        lessons = code.reached_by(name) - {"tools"}
        if len(lessons) == 1:
            file = path.relative_to(code.root).as_posix()
            problems.append(f"{file}: only one lesson uses this module; move it to lessons/{min(lessons)}/")
    return problems


def wrong_imports(code: Code, folder: str) -> list[str]:
    """Each import in a lesson of the tools or of a later lesson, with file and line."""
    problems = []
    for path in sorted((code.root / "lessons" / folder).glob("*.py")):
        for imported in imports_of(path, code.root):
            part, _, rest = imported.full_name.partition(".")
            later = part == "lessons" and rest.partition(".")[0] > folder
            if later or (part == "tools" and not path.name.startswith("test_")):
                file_and_line = f"{path.relative_to(code.root).as_posix()}:{imported.line}"
                rule = "a lesson may only import course_lib and earlier lessons"
                problems.append(f"{file_and_line}: imports {imported.full_name}, but {rule}")
    return problems

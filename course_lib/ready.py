"""Whether this Python can run the lessons; the first lines of every notebook ask.

    >>> check()             # returns, or raises `NotReady` with one sentence and what to do

Only Python's standard library and course_lib.runtime are imported here.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

from course_lib.runtime import PROJECT_ROOT

# What a platform such as Colab has in versions of its own. The course never installs these into its Python.
PLATFORM = ("torch", "numpy", "matplotlib", "ipykernel", "ipywidgets")
SMALL = ("anywidget", "filelock", "latex2mathml", "psutil", "sacrebleu", "safetensors", "tokenizers", "tqdm")
OLDEST = (3, 11)


class NotReady(ImportError):
    """Something is missing. Jupyter shows the message alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def check() -> None:
    """Raise unless Python, the course's data and the packages are there."""
    python = f"This notebook's Python, {sys.executable},"
    if sys.version_info < OLDEST:
        number = ".".join(map(str, sys.version_info[:3]))
        raise NotReady(f"{python} is version {number}, but the course needs 3.11 or newer.")
    if not (PROJECT_ROOT / "data").is_dir():
        raise NotReady(
            f"The course in {PROJECT_ROOT} has no data, because it was copied by `pip install`.\n"
            "Remove the # from the third line of this cell, restart the kernel, and run the cell again."
        )
    if missing := absent(PLATFORM):
        raise NotReady(
            f"{python} lacks {', '.join(missing)}.\n"
            f"Open the notebook with `python3 -m course_lib lab`, run in {PROJECT_ROOT}."
        )
    if missing := absent(SMALL):
        raise NotReady(
            f"{python} lacks {', '.join(missing)}. Run this line in a new cell, then run this cell again:\n"
            f'!"{sys.executable}" "{PROJECT_ROOT / "course_lib"}" packages'
        )


def absent(names: tuple[str, ...]) -> list[str]:
    """Those of the packages that this Python doesn't have."""

    def is_absent(name: str) -> bool:
        try:
            version(name)
        except PackageNotFoundError:
            return True
        return False

    return [name for name in names if is_absent(name)]

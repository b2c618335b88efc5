"""Where the parts of the environment lie.

>>> Place().shown(Place().venv)
'.venv'
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from course_lib.cli.pins import PROJECT_ROOT

WINDOWS = os.name == "nt"


@dataclass(frozen=True)
class Place:
    """For a course folder anywhere."""

    root: Path = PROJECT_ROOT

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def programs(self) -> Path:
        return self.venv / ("Scripts" if WINDOWS else "bin")

    @property
    def python(self) -> Path:
        return self.programs / ("python.exe" if WINDOWS else "python")

    @property
    def stamp(self) -> Path:
        return self.venv / "course.json"

    @property
    def log(self) -> Path:
        return self.root / "build" / "setup.log"  # not in .venv, which may be made anew

    @property
    def lock(self) -> Path:
        return self.root / "build" / "setup.lock"

    def packages(self) -> Path:
        unix = sorted(self.venv.glob("lib/python3*/site-packages"))
        return unix[-1] if unix else self.venv / "Lib" / "site-packages"

    def shown(self, path: Path) -> str:
        return str(path.relative_to(self.root))

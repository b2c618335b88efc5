"""`packages`: install the small packages that lessons need and this Python lacks, and keep the platform's.

This is for a platform with a torch of its own, such as Colab. Elsewhere `lab` sets up an environment.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from course_lib.ready import PLATFORM, SMALL, absent
from course_lib.runtime import PROJECT_ROOT, program_name
from tools.cli.arguments import command
from tools.cli.environment import CommandError


def add(commands) -> None:
    help = "install the small packages that lessons need and this Python lacks"
    command(commands, "packages", help, install, stage=None)


def install(args: argparse.Namespace) -> int:
    if missing := absent(PLATFORM):
        raise CommandError(
            f"This Python ({sys.executable}) lacks {', '.join(missing)}, and `packages` doesn't install such "
            "large packages.",
            f"Run `{program_name()} lab`, which sets up an environment with everything.",
        )
    if not (missing := absent(SMALL)):
        print("This Python has all the packages that lessons need.")
        return 0
    print(f"Installing {', '.join(missing)}.", flush=True)
    lines = (PROJECT_ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    requirements = [f"{name}=={pins[name]}" for name in missing]
    with tempfile.TemporaryDirectory() as folder:
        # As constraints, not as requirements: pip would look for what the platform's torch lacks.
        kept = Path(folder) / "kept.txt"
        kept.write_text("".join(f"{name}=={version(name)}\n" for name in PLATFORM), encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "-c", str(kept)]
        failed = subprocess.call([*pip, *requirements])
    if failed:
        raise CommandError(
            "pip couldn't install the packages; see its error message above.",
            "Check that you are online, then run the same command again.",
        )
    return 0

"""`lab`, `build` and `progress`: the lessons opened, made from their sources, and looked back on."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from course_lib.cli.door import PROJECT_ROOT, first_in_path

SETTINGS = Path(__file__).with_name("lab_settings")


def open_lab(args: argparse.Namespace) -> int:
    """JupyterLab on the first lesson, with the settings that the course ships."""
    from jupyterlab.labapp import LabApp

    os.chdir(PROJECT_ROOT)
    os.environ |= {
        "JUPYTER_CONFIG_PATH": first_in_path(SETTINGS, "JUPYTER_CONFIG_PATH"),
        # Somebody's own kernel called python3 would run the lessons in an environment that lacks them.
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONPATH": first_in_path(PROJECT_ROOT, "PYTHONPATH"),
    }
    LabApp.launch_instance((["--no-browser"] if args.no_browser else []) + args.further)
    return 0


def build(args: argparse.Namespace) -> int:
    from course_lib.authoring.build import build_all

    return build_all(args.lessons, args.check)


def progress(args: argparse.Namespace) -> int:
    """Without torch, which takes seconds to load."""
    from course_lib.teaching import keeping, progress

    if args.delete:
        print(progress.delete())
        return 1 if progress.progress_file().exists() else 0
    print(progress.read().report())
    if kept := keeping.road():
        print("\nYour own functions")
        for name, number, day in kept:
            print(f"  {name} (lesson {number}, {day})")
        print(f"Kept in {keeping.road_file()}, yours to read and edit.")
    else:
        print("\nYour own functions: none yet. A function that passes its check is kept for later lessons.")
    return 0

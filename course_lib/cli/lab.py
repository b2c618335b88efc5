"""`lab`: JupyterLab on the first lesson, with the settings that the course ships."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from course_lib.cli.door import PROJECT_ROOT, first_in_path

FIRST_LESSON = "notebooks/00_start_here.ipynb"
SETTINGS = Path(__file__).with_name("lab_settings")


def open_lab(args: argparse.Namespace) -> int:
    """JupyterLab on the first lesson, on this computer only; our settings unless somebody says otherwise."""
    from jupyterlab.labapp import LabApp

    os.environ |= environment()
    LabApp.launch_instance(arguments((["--no-browser"] if args.no_browser else []) + args.further))
    return 0


def environment() -> dict[str, str]:
    """What JupyterLab and its kernels get told: our settings, this interpreter's kernel, our library."""
    return {
        "JUPYTER_CONFIG_PATH": first_in_path(SETTINGS, "JUPYTER_CONFIG_PATH"),
        # Somebody's own kernel called python3 would run the lessons in an environment that lacks them.
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONPATH": first_in_path(PROJECT_ROOT, "PYTHONPATH"),
    }


def arguments(further: list[str]) -> list[str]:
    """JupyterLab's command line. It refuses an option that is given twice.

    >>> arguments(["--ip=0.0.0.0"])[-1]
    '--ip=0.0.0.0'
    """
    names = {word.partition("=")[0].lstrip("-") for word in further if word.startswith("-")}
    ours = []
    if not names & {"ip", "ServerApp.ip"}:
        ours.append("--ServerApp.ip=127.0.0.1")
    if not names & {"notebook-dir", "ServerApp.root_dir"}:
        ours.append(f"--ServerApp.root_dir={PROJECT_ROOT}")
        if not names & {"LabApp.default_url", "ServerApp.default_url"}:
            ours.append(f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        ours.append("--allow-root")  # containers; JupyterLab refuses otherwise
    return ours + further

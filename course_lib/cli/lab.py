"""Open JupyterLab on the first lesson, on this computer only, with the settings the course ships.

Arguments that are not listed here go to JupyterLab, such as `--port 9000` or the path of a notebook.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from course_lib.cli.pins import PROJECT_ROOT

FIRST_LESSON = "notebooks/00_start_here.ipynb"
SETTINGS = Path(__file__).with_name("lab_settings")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")


def run(args: argparse.Namespace) -> int:
    from jupyterlab.labapp import LabApp

    os.environ |= environment()
    further = (["--no-browser"] if args.no_browser else []) + args.further
    LabApp.launch_instance(arguments(further))
    return 0


def environment() -> dict[str, str]:
    """What JupyterLab and its kernels get told: our settings, this interpreter's kernel, our library."""

    def first(path: Path, name: str) -> str:
        return os.pathsep.join([str(path), *filter(None, [os.environ.get(name)])])

    return {
        "JUPYTER_CONFIG_PATH": first(SETTINGS, "JUPYTER_CONFIG_PATH"),
        # Somebody's own kernel called python3 would run the lessons in an environment that lacks them.
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONPATH": first(PROJECT_ROOT, "PYTHONPATH"),
    }


def arguments(further: list[str]) -> list[str]:
    """JupyterLab's command line: ours, except where somebody says otherwise.

    >>> arguments(["--ip=0.0.0.0"])[-1]
    '--ip=0.0.0.0'
    """
    names = {word.partition("=")[0].lstrip("-") for word in further if word.startswith("-")}
    ours = []
    # JupyterLab refuses an option that is given twice.
    if not names & {"ip", "ServerApp.ip"}:
        ours.append("--ServerApp.ip=127.0.0.1")
    if not names & {"notebook-dir", "ServerApp.root_dir"}:
        ours.append(f"--ServerApp.root_dir={PROJECT_ROOT}")
        if not names & {"LabApp.default_url", "ServerApp.default_url"}:
            ours.append(f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        ours.append("--allow-root")  # containers; JupyterLab refuses otherwise
    return ours + further

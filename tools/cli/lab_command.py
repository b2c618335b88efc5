"""`lab`: open JupyterLab on the first lesson."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.cli.arguments import command
from tools.cli.environment import first_in_path

SETTINGS = Path(__file__).with_name("lab_settings")


def add(commands) -> None:
    parser = command(
        commands,
        "lab",
        "open the lessons in JupyterLab; the first run installs what they need",
        open_lab,
        "lab",
    )
    parser.epilog = "All other arguments are passed on to JupyterLab."
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address instead of opening a browser"
    )


def open_lab(args: argparse.Namespace) -> int:
    from jupyterlab.labapp import LabApp

    os.chdir(PROJECT_ROOT)
    os.environ |= lab_environment()
    LabApp.launch_instance((["--no-browser"] if args.no_browser else []) + args.extra)
    return 0


def lab_environment() -> dict[str, str]:
    """The variables with which JupyterLab finds the course and uses its settings."""
    return {
        "JUPYTER_CONFIG_PATH": first_in_path(SETTINGS, "JUPYTER_CONFIG_PATH"),
        "JUPYTER_PATH": first_in_path(SETTINGS, "JUPYTER_PATH"),
        # A user's own kernel called python3 would run the lessons in an environment without our packages.
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONPATH": first_in_path(PROJECT_ROOT, "PYTHONPATH"),
    }

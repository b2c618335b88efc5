"""Prepare a learner's folder, then start JupyterLab on the first lesson: under a hub, or alone.

    python -P -m tools.hosting.start          # other arguments are passed on to JupyterLab

The course is installed once, for everyone, and learners can't change it. Each has `~/attention-course`:

    notebooks/     copies of the notebooks, the learner's progress and functions, and my_transformer.py
    docs/, …       links into the installed course

A notebook that is missing is copied. One that exists is never changed, since it contains the learner's work.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT, write_atomically
from tools.cli.environment import CommandError, first_in_path
from tools.cli.lab_command import SETTINGS as LAB_SETTINGS
from tools.cli.lab_command import lab_environment
from tools.hosting.memory import limit_memory

FOLDER = "attention-course"  # in the learner's home
LINKED = ("README.md", "data", "docs", "lessons")  # what notebooks, and the pages they lead to, link to
SETTINGS = Path(__file__).with_name("server_settings")
KERNEL = Path(__file__).with_name("kernel_settings")


def prepare(folder: Path) -> None:
    """Copy each notebook that is missing, and make the links. A copy is complete, or it isn't there."""
    for source in sorted((PROJECT_ROOT / "notebooks").rglob("*.ipynb")):
        copy = folder / source.relative_to(PROJECT_ROOT)
        if not os.path.lexists(copy):
            write_atomically(copy, source.read_bytes())
    for name in LINKED:
        link = folder / name
        if link.is_symlink() and not link.exists():  # the course was moved
            link.unlink()
        if not os.path.lexists(link):
            link.symlink_to(PROJECT_ROOT / name)


def environment(folder: Path) -> dict[str, str]:
    """The variables of the learner's server, of its notebooks and of its terminals."""
    settings = lab_environment()
    lab = json.loads((LAB_SETTINGS / "jupyter_lab_config.json").read_text(encoding="utf-8"))["LabApp"]
    return settings | {
        "JUPYTERHUB_DEFAULT_URL": lab["default_url"],  # under a hub, that of the settings is ignored
        "JUPYTER_CONFIG_PATH": f"{SETTINGS}{os.pathsep}{settings['JUPYTER_CONFIG_PATH']}",
        "COURSE_HOME": str(folder / "notebooks"),
        "JUPYTER_PATH": f"{KERNEL}{os.pathsep}{settings['JUPYTER_PATH']}",
        "PATH": first_in_path(Path(sys.executable).parent, "PATH"),
    }


def main(arguments: list[str]) -> None:
    folder = Path.home() / FOLDER
    try:
        prepare(folder)
        limit_memory()
    except OSError as error:
        sys.exit(f"The course can't be copied to {error.filename or folder}: {error.strerror}.")
    except CommandError as error:
        sys.exit(str(error))
    os.environ |= environment(folder)
    os.chdir(folder)
    program = "jupyterhub.singleuser" if "JUPYTERHUB_API_TOKEN" in os.environ else "jupyterlab"
    # -P: a file of the learner's, such as random.py, must not replace one of Python's
    command = [sys.executable, "-P", "-m", program, f"--ServerApp.root_dir={folder}", *arguments]
    os.execv(sys.executable, command)


if __name__ == "__main__":
    main(sys.argv[1:])

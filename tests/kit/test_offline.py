"""A real kit for this machine, unpacked and installed where there is no network. Takes several minutes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT

pytestmark = pytest.mark.kit
NO_NETWORK = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
LESSON = """
import nbclient, nbformat, socket
try:
    socket.create_connection(("pypi.org", 443), timeout=5)
except OSError:
    pass
else:
    raise SystemExit("this test has a network")
notebook = nbformat.read("notebooks/08_query_key_value.ipynb", 4)
nbclient.NotebookClient(notebook, resources={"metadata": {"path": "notebooks"}}).execute()
print("executed", sum(cell.cell_type == "code" for cell in notebook.cells), "cells")
"""


def cut_off() -> bool:
    """Whether this machine can run a program without a network."""
    found = sys.platform == "linux" and shutil.which("unshare") and shutil.which("ip")
    return bool(found) and subprocess.run([*NO_NETWORK, "true"], capture_output=True).returncode == 0


@pytest.fixture
def variables(course_home) -> dict[str, str]:
    """Nothing about other packages: no pip settings, no active environment."""
    others = ("PIP_", "UV_", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "COURSE_CALLED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return kept | {"PIP_CONFIG_FILE": os.devnull, "COURSE_HOME": str(course_home)}


def run(command: list[str | Path], **options) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.skipif(not cut_off(), reason="needs Linux with ip, and permission to use unshare")
def test_a_kit_installs_and_runs_a_lesson_without_a_network(tmp_path, variables):
    run([sys.executable, "-m", "course_lib", "kit", "--out", tmp_path / "kit.zip"], cwd=PROJECT_ROOT)
    with zipfile.ZipFile(tmp_path / "kit.zip") as archive:
        archive.extractall(tmp_path)
    kit = tmp_path / "attention-course-kit"
    run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=kit)
    course = (kit / "attention-course").rename(tmp_path / "a course")  # a space in the path
    python = getattr(sys, "_base_executable", None) or sys.executable
    offline = {"cwd": course, "env": variables}
    assert "Your progress" in run([*NO_NETWORK, python, "-m", "course_lib", "progress"], **offline)
    assert "executed " in run([*NO_NETWORK, course / ".venv/bin/python", "-c", LESSON], **offline)

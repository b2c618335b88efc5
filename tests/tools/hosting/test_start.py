"""A learner's folder: complete copies that are never overwritten, links, and the variables of the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.hosting import memory, start

NOTEBOOKS = sorted(path.relative_to(PROJECT_ROOT) for path in (PROJECT_ROOT / "notebooks").rglob("*.ipynb"))


def test_a_learner_gets_every_notebook_and_all_that_they_link_to(tmp_path):
    start.prepare(tmp_path)
    assert NOTEBOOKS
    for name in NOTEBOOKS:
        assert (tmp_path / name).read_bytes() == (PROJECT_ROOT / name).read_bytes()
        assert not (tmp_path / name).is_symlink()
    assert (tmp_path / "docs" / "glossary.md").is_file()
    assert (tmp_path / "lessons" / "l14_the_transformer" / "reference_transformer.py").is_file()


def test_a_second_start_changes_nothing_that_a_learner_has(tmp_path):
    start.prepare(tmp_path)
    mine, deleted = tmp_path / NOTEBOOKS[0], tmp_path / NOTEBOOKS[1]
    mine.write_text("my work")
    deleted.unlink()
    (tmp_path / "docs").unlink()
    (tmp_path / "docs").mkdir()
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to(tmp_path / "moved")  # where the course was before
    start.prepare(tmp_path)
    assert mine.read_text() == "my work"
    assert deleted.read_bytes() == (PROJECT_ROOT / NOTEBOOKS[1]).read_bytes()
    assert list((tmp_path / "docs").iterdir()) == []
    assert (tmp_path / "data").resolve() == PROJECT_ROOT / "data"


def read_json(folder: str, name: str) -> dict:
    return json.loads(Path(folder, name).read_text(encoding="utf-8"))


def test_the_server_finds_the_course_its_settings_and_the_learners_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", "/theirs")
    found = start.environment(tmp_path)
    assert found["COURSE_HOME"] == str(tmp_path / "notebooks")
    assert found["JUPYTERHUB_DEFAULT_URL"] == "/lab/tree/notebooks/00_start_here.ipynb"
    assert found["PATH"].split(os.pathsep)[0] == os.path.dirname(sys.executable)
    first, second = found["JUPYTER_CONFIG_PATH"].split(os.pathsep)[:2]
    assert read_json(first, "jupyter_server_config.json")["ServerApp"]["terminado_settings"]
    assert read_json(second, "labconfig/default_setting_overrides.json")
    kernel, lab, theirs = found["JUPYTER_PATH"].split(os.pathsep)
    argv = read_json(kernel, "kernels/python3/kernel.json")["argv"]
    assert read_json(lab, "labextensions/attention-course/package.json")["jupyterlab"]
    assert f"--ext={memory.__name__}" in argv and theirs == "/theirs"


def test_a_folder_that_cannot_be_written_ends_with_a_sentence(tmp_path):
    (tmp_path / "attention-course").write_text("a file")
    variables = os.environ | {"HOME": str(tmp_path), "PYTHONPATH": str(PROJECT_ROOT)}
    command = [sys.executable, "-P", "-m", "tools.hosting.start"]
    done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "can't be copied" in done.stderr and "Traceback" not in done.stderr

"""`progress --export` and `progress --class`: from the command line to the files."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import progress
from tests.tools.class_view.events import check
from tools.class_view.folder import PAGE, TABLE
from tools.cli import commands, main


@pytest.fixture(autouse=True)
def no_set_up(monkeypatch):
    monkeypatch.setattr(commands, "ensure", lambda *_: None)


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_learner_exports_and_the_instructor_sees_the_class(tmp_path, monkeypatch, capsys, write_export):
    monkeypatch.chdir(tmp_path)
    progress.record(check("exact_match"))
    write_export("b", [check("exact_match", "wrong")] * 2)
    assert main(["progress", "--export", "class", "--name", "Ada"]) == 0
    printed = capsys.readouterr().out
    (path,) = set((tmp_path / "class").iterdir()) - {tmp_path / "class" / "progress-b.json"}
    assert str(path) in printed and "Ada" in printed and json.loads(path.read_text())["learner"] in printed
    (tmp_path / "class" / ".DS_Store").write_bytes(b"\0")
    (tmp_path / "class" / "older").mkdir()
    for _ in range(2):  # the second time, the folder contains the files of the first
        assert main(["progress", "--class", "class"]) == 0
        printed = capsys.readouterr().out
        page, table = tmp_path / "class" / PAGE, tmp_path / "class" / TABLE
        assert "Learners: 2." in printed and str(page) in printed and str(table) in printed
    assert "Ada" in page.read_text(encoding="utf-8") and "Ada" in table.read_text(encoding="utf-8-sig")
    assert main(["progress", "--class", "class", "--out", "new/folder"]) == 0
    assert files(tmp_path / "new" / "folder") == {PAGE: page.read_bytes(), TABLE: table.read_bytes()}


@pytest.mark.parametrize("folder", ["exports/", f"new{os.sep}exports{os.sep}"])
def test_a_path_that_ends_with_a_slash_is_a_folder(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    progress.record(check("exact_match"))
    for _ in range(2):
        assert main(["progress", "--export", folder]) == 0
        (path,) = (tmp_path / folder).iterdir()
    assert path.name.startswith("progress-") and json.loads(path.read_text())


def test_the_newest_export_of_a_learner_counts(tmp_path, capsys, write_export):
    new, old = "2026-11-15T09:30:00+00:00", "2026-11-15T10:00:00+01:00"  # the time zones differ
    write_export("a", [check("exact_match")], "1.json", exported=new, name="new")
    write_export("a", [check("exact_match")] * 2, "2.json", exported=old, name="old")
    assert main(["progress", "--class", str(tmp_path / "class")]) == 0
    assert "Learners: 1." in (printed := capsys.readouterr().out) and "1." in printed.splitlines()[0][-2:]
    table = (tmp_path / "class" / TABLE).read_text(encoding="utf-8-sig")
    assert "new" in table and "old" not in table


@pytest.mark.parametrize(
    "content", ["notes", '{"format": "other"}', '{"format": "attention-course progress"']
)
def test_a_file_that_is_no_export_is_named_and_nothing_is_written(tmp_path, capsys, write_export, content):
    write_export("a", [check("exact_match")])
    write_export("b", version=99)
    (tmp_path / "class" / "foreign.json").write_text(content)
    before = files(tmp_path)
    assert main(["progress", "--class", str(tmp_path / "class"), "--out", str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert "foreign.json" in err and "progress-b.json" in err and "progress-a.json" not in err
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", [PAGE, TABLE])
def test_a_file_that_someone_else_wrote_is_not_replaced(tmp_path, capsys, write_export, name):
    write_export("a", [check("exact_match")])
    (tmp_path / "class" / name).write_text("precious")
    before = files(tmp_path)
    assert main(["progress", "--class", str(tmp_path / "class")]) == 1
    assert name in capsys.readouterr().err and files(tmp_path) == before


def test_a_missing_folder_and_one_without_exports(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for folder in ("missing", "empty"):
        assert main(["progress", "--class", str(tmp_path / folder)]) == 1
        assert str(tmp_path / folder) in capsys.readouterr().err
    assert files(tmp_path) == {} and not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    "words",
    ["--export --delete", "--export --track short", "--class . --export", "--name x", "--out x", "--class"],
)
def test_arguments_that_contradict_each_other_are_rejected(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    progress.record(check("exact_match"))
    before = files(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["progress", *words.split()])
    assert stopped.value.code == 2 and "argument --" in capsys.readouterr().err
    assert files(tmp_path) == before


@pytest.mark.slow
def test_exporting_and_showing_a_class_need_neither_torch_nor_matplotlib(tmp_path, write_export):
    progress.record(check("exact_match"))
    write_export("a")
    program = f"""
import sys
from tools.cli import main
assert main(["progress", "--export", {str(tmp_path / "class")!r}]) == 0
assert main(["progress", "--class", {str(tmp_path / "class")!r}]) == 0
assert not {{"torch", "matplotlib"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], cwd=PROJECT_ROOT, check=True)

"""Building the site without Sphinx: what is refused, what is replaced, where MathJax comes from."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tools.cli import main, site_command
from tools.cli.environment import CommandError
from tools.cli.put_in_place import put_in_place
from tools.site import build, live, npm, pages, quizzes

PACKAGE = npm.NpmFile("some-package@1.2.3", "script.js", hashlib.sha256(b"script").hexdigest())


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """A build whose pages and Sphinx are replaced: it writes one file."""
    script = tmp_path / "mathjax.js"
    script.touch()
    monkeypatch.setattr(build, "npm_file", lambda _: script)
    monkeypatch.setattr(quizzes, "page_files", lambda: {"site.css": ""})
    monkeypatch.setattr(pages, "write_pages", lambda root, source, extra: extra.mkdir())
    monkeypatch.setattr(live, "write_live", lambda extra: None)

    def sphinx(work: Path) -> None:
        (work / "html").mkdir()
        (work / "html" / "index.html").write_text("new", encoding="utf-8")

    monkeypatch.setattr(build, "run_sphinx", sphinx)
    return monkeypatch


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}


def test_a_site_is_written_and_replaces_an_earlier_one_completely(quick, tmp_path):
    out = tmp_path / "new" / "site"
    build.build_site(out)
    (out / "old.html").touch()
    build.build_site(out)
    assert contents(out) == {"index.html": "new", build.MARKER: ""}
    assert [path.name for path in out.parent.iterdir()] == ["site"]


def test_a_failed_build_leaves_the_earlier_site(quick, tmp_path):
    out = tmp_path / "site"
    build.build_site(out)
    (out / "index.html").write_text("earlier", encoding="utf-8")

    def fail(work: Path) -> None:
        raise CommandError("broken")

    quick.setattr(build, "run_sphinx", fail)
    with pytest.raises(CommandError, match="broken"):
        build.build_site(out)
    assert contents(out)["index.html"] == "earlier"
    assert not list(tmp_path.glob(".site-*"))


def test_a_site_that_cannot_be_put_in_place_leaves_the_earlier_one(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("earlier", encoding="utf-8")
    (tmp_path / "work").mkdir()
    with pytest.raises(OSError):
        put_in_place(tmp_path / "work" / "html", tmp_path / "site", tmp_path / "work" / "earlier")  # no html
    assert contents(tmp_path / "site") == {"index.html": "earlier"}


def test_a_folder_with_other_files_is_refused(quick, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for name in ("notes", "file"):
        with pytest.raises(CommandError, match="--out"):
            build.build_site(tmp_path / name)
    assert contents(tmp_path / "notes") == {"mine.txt": "mine"} and (tmp_path / "file").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    build.build_site(tmp_path / "empty")
    assert (tmp_path / "empty" / "index.html").exists()


def test_without_the_tools_the_command_says_how_to_install_them(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("tools.cli.commands.ensure", lambda *_: None)
    monkeypatch.setattr(site_command, "missing", lambda *stages: ["sphinx >=9.0,<10"])
    assert main(["site", "--out", str(tmp_path / "site")]) == 1
    message = capsys.readouterr().err
    assert "sphinx >=9.0,<10" in message
    assert f'{sys.executable} -m pip install -c constraints.txt -e ".[site]"' in message
    assert list(tmp_path.iterdir()) == []


# ---- npm


@pytest.fixture
def npm_calls(monkeypatch):
    """An npm that writes `script` where the package's file belongs, and the packages it was asked for."""
    calls = []

    def run(command, cwd, **_):
        calls.append(command[-1])
        file = cwd / "node_modules" / "some-package" / "script.js"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"script")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(npm.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(npm.subprocess, "run", run)
    return calls


def test_a_file_is_fetched_once_and_again_if_it_is_damaged(npm_calls, tmp_path):
    file = npm.npm_file(PACKAGE, tmp_path)
    assert npm.npm_file(PACKAGE, tmp_path) == file and file.read_bytes() == b"script"
    assert npm_calls == ["some-package@1.2.3"]
    file.write_bytes(b"scr")
    assert npm.npm_file(PACKAGE, tmp_path).read_bytes() == b"script"
    assert len(npm_calls) == 2


def test_another_file_than_the_tested_one_is_refused(npm_calls, tmp_path):
    with pytest.raises(CommandError, match="registry"):
        npm.npm_file(npm.NpmFile("some-package@1.2.3", "script.js", "0" * 64), tmp_path)


def test_a_missing_or_failing_npm_is_explained(monkeypatch, npm_calls, tmp_path):
    failed = subprocess.CompletedProcess([], 1, "", "no route to host")
    monkeypatch.setattr(npm.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(CommandError, match="no route to host"):
        npm.npm_file(PACKAGE, tmp_path)
    monkeypatch.setattr(npm.shutil, "which", lambda name: None)
    with pytest.raises(CommandError, match="npm"):
        npm.npm_file(PACKAGE, tmp_path)

"""Paths that somebody typed: `~` written out, and no traceback whatever they say."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import pytest

from course_lib.cli import paths
from course_lib.cli.paths import target_path, user_path
from course_lib.cli.trouble import Trouble


def test_examples_in_docstrings():
    outcome = doctest.testmod(paths)
    assert outcome.attempted > 0 and outcome.failed == 0


def test_home_is_written_out_and_nothing_else_is_changed(tmp_path):
    assert user_path("~/runs") == Path.home() / "runs"
    assert user_path("runs/../x") == Path("runs/../x")
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "none" / "none", tmp_path / "file" / "below"):
        assert user_path(path) == path == user_path(str(path))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("~nosuchuser/x", "~nosuchuser/x cannot be found: this computer knows no ~nosuchuser."),
        ("", "Expected the path of a file or a folder, but got an empty text."),
        ("a\0b", "cannot be used: embedded null"),
    ],
)
def test_what_no_path_can_be_is_refused(text, told):
    for read in (user_path, target_path):
        with pytest.raises(Trouble) as caught:
            read(text)
        assert told in str(caught.value)


def test_a_name_too_long_is_refused_in_few_words(tmp_path):
    with pytest.raises(Trouble) as caught:
        user_path(tmp_path / ("a" * 300))
    assert "too long" in str(caught.value) and len(str(caught.value)) < 250


def test_a_folder_that_may_not_be_entered(monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied", "/secret/x")

    monkeypatch.setattr(Path, "stat", denied)
    with pytest.raises(
        Trouble, match=r"^/secret/x cannot be used: Permission denied\.\nChoose another path\.$"
    ):
        user_path("/secret/x")


def test_a_target_is_tried_and_left_as_it_is(tmp_path):
    target = tmp_path / "kept.json"
    assert target_path(target) == target and list(tmp_path.iterdir()) == []
    target.write_text("old")
    assert target_path(target) == target and target.read_text() == "old"


def test_targets_that_cannot_be_written_are_refused_and_no_folder_is_made(tmp_path, monkeypatch):
    below = tmp_path / "new folder" / "kept.json"
    with pytest.raises(Trouble) as caught:
        target_path(below)
    assert caught.value.todo == f"Make it first: mkdir -p '{below.parent}'" and not below.parent.exists()
    with pytest.raises(Trouble, match="is a folder"):
        target_path(tmp_path)
    if sys.platform != "win32":
        with pytest.raises(Trouble, match="/dev/null is no ordinary file"):
            target_path("/dev/null")

    def denied(**_):
        raise PermissionError(13, "Permission denied", str(tmp_path / "tmpx7k2"))

    monkeypatch.setattr(paths.tempfile, "TemporaryFile", denied)
    with pytest.raises(Trouble) as caught:
        target_path(tmp_path / "kept.json")
    assert str(caught.value) == (
        f"{tmp_path / 'kept.json'} cannot be written: Permission denied.\nChoose another place for it."
    )

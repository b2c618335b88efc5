"""Where the learner's file is, and what the quick check before training finds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from course_lib.models import own_file
from course_lib.models.own_file import (
    FILE,
    FIRST_LINE,
    explain_difference,
    is_empty,
    own_file_path,
    start_own_file,
)
from course_lib.runtime import PROJECT_ROOT
from course_lib.translation.shipped import shared
from lessons.l14_the_transformer.file_slips import REFERENCE, reference_text


def test_the_file_is_beside_the_notebooks_and_ignored_by_git(monkeypatch):
    monkeypatch.delenv("COURSE_HOME", raising=False)
    monkeypatch.delenv("COURSE_STRICT", raising=False)
    assert own_file_path() == PROJECT_ROOT / "notebooks" / FILE
    assert f"notebooks/{FILE}" in (PROJECT_ROOT / ".gitignore").read_text(encoding="utf-8")


def test_a_folder_of_the_learners_choice(course_home):
    assert own_file_path() == course_home / FILE


def test_strict_mode_never_uses_somebodys_file(monkeypatch):
    monkeypatch.delenv("COURSE_HOME", raising=False)
    monkeypatch.setenv("COURSE_STRICT", "1")
    assert own_file_path().parent != PROJECT_ROOT / "notebooks" and not own_file_path().exists()


@pytest.mark.parametrize("typed", ["# class Transformer(nn.Module):\n" * 150, f"{FIRST_LINE}# mine\n", "\n"])
def test_nothing_that_was_typed_is_replaced(typed, course_home):
    course_home.mkdir()
    own_file_path().write_text(typed)
    assert is_empty(own_file_path()) and "wasn't changed" in start_own_file("x = 1\n")
    assert own_file_path().read_text() == typed


@pytest.mark.parametrize("untouched", ["", FIRST_LINE])
def test_an_untouched_file_is_written(untouched, course_home):
    course_home.mkdir()
    own_file_path().write_text(untouched)
    assert "2 lines" in start_own_file("x = 1\ny = 2\n") and own_file_path().read_text() == "x = 1\ny = 2\n"


@pytest.mark.parametrize("kind", ["folder", "pipe", "locked"])
def test_a_file_that_cannot_be_written_is_no_error(kind, course_home, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied", str(own_file_path()))

    course_home.mkdir()
    if kind == "locked":
        monkeypatch.setattr(own_file, "write_atomically", denied)
    elif kind == "folder":
        own_file_path().mkdir()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(own_file_path())
    sentence = start_own_file()
    assert "can't be written" in sentence and str(own_file_path()) in sentence
    assert (kind == "locked") == ("Permission denied" in sentence)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "", ""),
        (".tril()", ".triu()", "differ"),
        ("(source != 0)", "(source >= 0)", "differ"),
        ("self.inner", "self.first", "inner.weight"),
        ("self.words.output(x)", "self.words.output(x)[:, -1]", "shape"),
        ("class Transformer(nn.Module):", "class Transformer(nn.Module)", "line"),
        ("self.words.output(x)", "self.words.output(x) * float('nan')", "NaN"),
        ("mask = (source", "mask = (sauce", "sauce"),
    ],
)
def test_the_quick_check_says_why_a_file_cannot_be_trained(old, new, words, course_home):
    start_own_file(reference_text().replace(old, new))
    reason = explain_difference(own_file_path(), shared("transformer").model)
    assert words in reason and bool(words) == bool(reason)


def test_it_needs_no_jupyter():
    """On a machine that only trains, there is no notebook."""
    blocked = "import sys; sys.modules.update(dict.fromkeys(('IPython', 'ipywidgets', 'psutil', 'filelock')))"
    code = f"{blocked}; from course_lib.models.own_file import load_class; load_class({str(REFERENCE)!r})"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT_ROOT)

"""Where the learner's file is, and what the quick check before training finds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from course_lib.models.own_file import FILE, explain_difference, own_file_path, start_own_file
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


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "", ""),
        (".tril()", ".triu()", "differ"),
        ("self.inner", "self.first", "inner.weight"),
        ("self.words.output(x)", "self.words.output(x)[:, -1]", "shape"),
        ("class Transformer(nn.Module):", "class Transformer(nn.Module)", "line"),
        ("self.words.output(x)", "self.words.output(x) * float('nan')", "nan"),
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

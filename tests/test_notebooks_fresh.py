"""The stored notebooks are what their sources say: inputs, ids and hash, and outputs that keep the rules."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT
from tests.drafts import drafted
from tools.authoring.build import made_pages, stale_pages, staleness
from tools.authoring.glossary import read_glossary, unknown_terms, used_too_early
from tools.authoring.lesson import sources
from tools.authoring.rules import breaches
from tools.cli import test_command

SOURCES = sources(PROJECT_ROOT)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.parent.name)
def test_a_stored_notebook_is_what_its_source_says(source):
    made = drafted(source)
    assert breaches(made) == staleness(PROJECT_ROOT, made) == []


@pytest.mark.nightly
def test_every_lesson_prints_the_same_on_another_cpu(tmp_path, monkeypatch):
    """The short notebooks run this way in every test run."""
    (folder := tmp_path / "another_cpu").mkdir()
    copies = [Path(shutil.copy(path, folder)) for path in (PROJECT_ROOT / "notebooks").glob("*.ipynb")]
    monkeypatch.setattr(test_command, "REPORTS", tmp_path)
    _, command, environment = test_command.nbval(tmp_path, copies)
    ran = subprocess.run(command, cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def test_every_stored_notebook_has_a_source():
    for folder in ("notebooks", "notebooks/short"):
        stored = sorted((PROJECT_ROOT / folder).glob("*.ipynb"))
        assert [path.stem for path in stored] == [source.parent.name[1:] for source in SOURCES]


def test_the_glossary_is_built_has_every_marked_term_and_introduces_terms_before_their_use():
    lessons, glossary = [drafted(source).lesson for source in SOURCES], read_glossary(PROJECT_ROOT)
    assert stale_pages(PROJECT_ROOT, made_pages(PROJECT_ROOT, lessons, glossary)) == []
    assert [problem for lesson in lessons for problem in unknown_terms(lesson, glossary)] == []
    assert used_too_early(lessons, glossary) == []

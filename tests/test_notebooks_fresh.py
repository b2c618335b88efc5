"""The stored notebooks are what their sources say: inputs, ids and hash, and outputs that keep the rules."""

from __future__ import annotations

import pytest

from course_lib.authoring.build import draft, orphans, stale_glossary, staleness
from course_lib.authoring.glossary import defined_twice, glossary_page, used_too_early
from course_lib.authoring.source import sources
from course_lib.runtime import PROJECT_ROOT

SOURCES = sources(PROJECT_ROOT)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.parent.name)
def test_a_stored_notebook_is_what_its_source_says(source):
    assert staleness(PROJECT_ROOT, draft(source, PROJECT_ROOT)) == []


def test_every_stored_notebook_has_a_source():
    assert orphans(PROJECT_ROOT, SOURCES) == []


def test_the_glossary_is_what_the_lessons_say():
    lessons = [draft(source, PROJECT_ROOT).lesson for source in SOURCES]
    assert stale_glossary(PROJECT_ROOT, glossary_page(lessons)) == []
    assert defined_twice(lessons) == used_too_early(lessons) == []

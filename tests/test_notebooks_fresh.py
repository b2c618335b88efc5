"""The stored notebooks are what their sources say: inputs, ids and hash, and outputs that keep the rules."""

from __future__ import annotations

import pytest

from course_lib.authoring.draft import draft, sources
from course_lib.authoring.fresh import orphans, staleness
from course_lib.runtime import PROJECT_ROOT

SOURCES = sources(PROJECT_ROOT)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.parent.name)
def test_a_stored_notebook_is_what_its_source_says(source):
    assert staleness(PROJECT_ROOT, draft(source, PROJECT_ROOT)) == []


def test_every_stored_notebook_has_a_source():
    assert orphans(PROJECT_ROOT, SOURCES) == []

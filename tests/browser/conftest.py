"""One JupyterLab and one browser for all tests of a file, a fresh page for each.

BROWSER_PICTURES=1 python3 -m pytest tests/browser       # keeps pictures in artifacts/, for people to look at
"""

from __future__ import annotations

import os
import shutil

import pytest

from course_lib import runtime
from tests.browser.lab import chromium, lab_page, lab_server

ARTIFACTS = runtime.PROJECT_ROOT / "artifacts"
PICTURES = bool(os.environ.get("BROWSER_PICTURES"))


@pytest.fixture(scope="module")
def lessons_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lessons")


@pytest.fixture(scope="module")
def server(lessons_folder):
    with lab_server(lessons_folder) as running:
        yield running


@pytest.fixture(scope="module")
def browser():
    """Its pages share a cache: JupyterLab's own scripts are fetched and compiled once."""
    with chromium() as running:
        yield running


@pytest.fixture
def new_learner(server, lessons_folder):
    """Fresh copies of the notebooks, for a learner who has done nothing yet."""
    shutil.rmtree(server.home, ignore_errors=True)
    shutil.copytree(runtime.PROJECT_ROOT / "notebooks", lessons_folder, dirs_exist_ok=True)


@pytest.fixture
def lab(new_learner, server, browser):
    with lab_page(browser, server) as page:
        yield page


@pytest.fixture
def photograph(request):
    """`photograph(locator_or_page, "name")` keeps a picture, where pictures were asked for."""

    def take(subject, name: str) -> None:
        if PICTURES:
            ARTIFACTS.mkdir(exist_ok=True)
            subject.screenshot(path=ARTIFACTS / f"{request.node.name}-{name}.png")

    return take

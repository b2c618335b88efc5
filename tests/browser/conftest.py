"""A JupyterLab for the whole run and a fresh page for every test. Screenshots land in artifacts/."""

from __future__ import annotations

import os
import shutil

import pytest

from course_lib import runtime
from tests.browser.lab import chromium_page, lab_server

ARTIFACTS = runtime.PROJECT_ROOT / "artifacts"


@pytest.fixture(scope="session")
def lessons_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lessons")


@pytest.fixture(scope="session")
def server(lessons_folder):
    with lab_server(lessons_folder) as running:
        yield running


@pytest.fixture
def lab(server, lessons_folder):
    """A page on fresh copies of the notebooks: tests type into cells, and JupyterLab saves by itself."""
    for notebook in (runtime.PROJECT_ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, lessons_folder)
    with chromium_page(server) as page:
        yield page


@pytest.fixture
def photograph(request):
    """`photograph(locator_or_page, "name")` keeps a picture for people to look at; nobody looks in CI."""
    ARTIFACTS.mkdir(exist_ok=True)

    def take(subject, name: str) -> None:
        if not os.environ.get("CI"):
            subject.screenshot(path=ARTIFACTS / f"{request.node.name}-{name}.png")

    return take

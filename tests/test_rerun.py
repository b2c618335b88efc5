"""A cell is run again, after others of its section: nothing that it needs has been overwritten."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from IPython.utils.capture import capture_output

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.catching_up import run_cell

PILOTS = ("00_start_here", "06_bahdanau_attention", "08_query_key_value")


def sections(name: str) -> Iterator[list[dict]]:
    """The code cells of each section of a lesson."""
    cells = json.loads((PROJECT_ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    section: list[dict] = []
    for cell in cells:
        if cell["cell_type"] == "code":
            section.append(cell)
        elif "".join(cell["source"]).startswith("## "):
            yield section
            section = []
    yield section


@pytest.mark.slow
@pytest.mark.parametrize("name", PILOTS)
def test_the_cells_of_a_section_run_again_in_any_order(name, monkeypatch):
    monkeypatch.chdir(PROJECT_ROOT / "notebooks")
    namespace: dict = {}
    for section in sections(name):
        for cell in (*section, *reversed(section)):
            with capture_output():
                kind = cell["metadata"]["course"]["kind"]
                run_cell("".join(cell["source"]), kind, f"<{cell['id']}>", namespace)

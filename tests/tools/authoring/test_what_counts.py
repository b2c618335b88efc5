"""What makes a stored notebook stale, and which minutes a limit compares."""

from __future__ import annotations

import pytest
from IPython.core.formatters import DisplayFormatter

from course_lib.teaching.contents import FULL
from course_lib.teaching.track import RoadMap
from tests.tools.authoring.made_up import TINY, only
from tools.authoring.build import edition_staleness, target
from tools.authoring.cell_kinds import CODE, CORE, STRETCH
from tools.authoring.editions import as_text
from tools.authoring.outputs import outdated
from tools.authoring.rules import too_much_stretch
from tools.authoring.source import Cell


@pytest.mark.parametrize("part", ["course", "tags"])
def test_a_cell_whose_metadata_changed_is_stale(course, part):
    draft = course.draft()
    notebook, path = draft.notebook("learner"), target(course.root, draft, "learner")
    for count, cell in enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == CODE), 1):
        cell["execution_count"] = count
    path.write_text(as_text(notebook), encoding="utf-8")
    assert edition_staleness(course.root, draft, "learner") == []
    del only(notebook, "see")["metadata"][part]
    path.write_text(as_text(notebook), encoding="utf-8")
    [problem] = edition_staleness(course.root, draft, "learner")
    assert draft.lesson.path in problem


def test_a_road_map_of_other_lessons_is_out_of_date(course):
    draft = course.draft(TINY.replace('print("quiz")', "road_map()"))
    notebook, (now, _) = draft.notebook("learner"), DisplayFormatter().format(RoadMap(FULL))
    for table, n_problems in ((now["text/markdown"], 0), ("| an older table |", 1)):
        data = {"text/markdown": table, "text/plain": now["text/plain"]}
        only(notebook, "quiz")["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
        assert len(list(outdated(draft.cells["learner"], notebook))) == n_problems


@pytest.mark.parametrize(("stretch", "n_problems"), [(10, 0), (11, 1)])
def test_stretch_may_be_a_quarter_of_the_core(stretch, n_problems):
    """11 minutes are more than a quarter of 40, though less than a quarter of 51."""
    cells = [
        Cell("code", CODE, 1, "", (), {"track": track, "minutes": minutes})
        for track, minutes in ((CORE, 40), (STRETCH, stretch))
    ]
    assert len(list(too_much_stretch(tuple(cells)))) == n_problems

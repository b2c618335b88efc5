"""The short track in a real JupyterLab: chosen in lesson 00, and followed by links, quizzes and progress."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from course_lib.teaching.contents import SHORT, lessons
from course_lib.teaching.questions.quiz import choose_questions
from tests.browser.test_lessons import assert_clean, printed, report

pytestmark = pytest.mark.browser
IN_FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
IDS = "() => [...window.jupyterapp.shell.currentWidget.content.model.cells].map(cell => cell.id)"
ACTIVE = "() => window.jupyterapp.shell.currentWidget.context.path"
FIRST = lessons()[1]


def test_a_learner_chooses_the_short_track_and_follows_it(lab, photograph):
    lab.open("00_start_here.ipynb")
    lab.run_all()
    [index] = [cell["index"] for cell in lab.cells() if cell["source"] == "road_map()"]
    road_map = lab.cell(index)
    first = road_map.get_by_role("link", name=FIRST.title)
    expect(road_map.get_by_role("radio").first).to_be_checked()
    expect(first).to_have_count(1)
    photograph(road_map, "full")
    road_map.get_by_role("radio").nth(1).check()
    expect(road_map.get_by_role("row").filter(has_text=FIRST.title)).to_contain_text(str(FIRST.short_minutes))
    photograph(road_map, "short")
    assert "short track" in report(lab)

    follow(lab, first, f"short/{FIRST.notebook}")
    stored = lab.cells()
    assert printed(lab.run_all()) == printed(stored)
    for kind, use in (("recall", "recall"), ("quiz", "closing")):
        asked = choose_questions(FIRST.number, use, SHORT)
        expect(lab.cell(lab.indices_of(kind)[-1]).locator("form")).to_have_count(len(asked))
    photograph(lab.cell(lab.indices_of("title")[0]), "title")

    skipped = lab.cell(lab.indices_of("left_out")[0])
    photograph(skipped, "left-out")
    link = skipped.get_by_role("link").first
    wanted = link.evaluate("link => link.hash.split('=')[1]")
    follow(lab, link, FIRST.notebook)
    index = lab.page.evaluate(IDS).index(wanted)
    expect(lab.page.locator(f"{IN_FRONT} [data-windowed-list-index='{index}']")).to_be_in_viewport()
    photograph(lab.page, "skipped-section")
    assert "short track" in report(lab)  # a visit changes nothing
    assert_clean(lab)


def follow(lab, link, path: str) -> None:
    """Click a link to a notebook, and wait until it is open, with a kernel."""
    link.click()
    lab.page.wait_for_function(f"path => ({ACTIVE})() === path", arg=path)
    lab.wait_until_ready()

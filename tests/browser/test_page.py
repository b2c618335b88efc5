"""The page of a notebook: how it opens, its measure, and cards that take their time."""

from __future__ import annotations

import re
import statistics

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SLOW = '''
import anywidget


class Slow(anywidget.AnyWidget):
    _esm = """
    const wait = () => new Promise((resolve) => setTimeout(resolve, 4000));
    export default { initialize: wait, render({ el }) { el.textContent = "loaded at last"; } };
    """


Slow()
'''

NOTE_SHIFTS = """window.shifts = [];
new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(entry => entry.value)))
  .observe({type: 'layout-shift', buffered: true});"""

# The lengths of all full lines of plain text.
LINES = """() => [...document.querySelectorAll('.jp-MarkdownOutput > p')].flatMap(paragraph => {
  const range = document.createRange(), lines = {};
  for (const text of paragraph.childNodes) for (let i = 0; i < (text.length ?? 0); i++) {
    range.setStart(text, i); range.setEnd(text, i + 1);
    const {bottom, width} = range.getBoundingClientRect();
    if (width) lines[bottom] = (lines[bottom] ?? 0) + 1; }
  return paragraph.children.length ? [] : Object.values(lines).slice(0, -1); })"""


def test_a_lesson_opens_without_jumps_in_lines_that_can_be_read(lab):
    """On a narrow page the file browser is closed, and a click opens it."""
    lab.page.set_viewport_size({"width": 1000, "height": 900})
    lab.page.add_init_script(NOTE_SHIFTS)
    lab.open("08_query_key_value.ipynb")
    expect(lab.page.locator(".course-page")).not_to_have_class(re.compile("course-opening"))
    assert max(lab.page.evaluate("() => window.shifts")) < 0.05
    files = lab.page.get_by_role("tab", name="File Browser")
    expect(lab.page.locator("#jp-left-stack")).to_be_hidden()
    files.click()
    expect(lab.page.locator("#jp-left-stack")).to_be_visible()
    files.click()

    setup = lab.cell(lab.indices_of("setup")[0])
    expect(setup.locator(".jp-InputPlaceholder")).to_have_text("# Set-up: run this cell first.")
    expect(setup.locator(".jp-InputArea-editor")).to_have_count(0)
    lengths = lab.page.evaluate(LINES)
    assert statistics.median(lengths) >= 65 and max(lengths) <= 78


def test_a_widget_that_takes_seconds_to_load_is_shown(lab):
    """anywidget gives up after 2 seconds from version 0.9.17 on; its cell would stay empty until run."""
    lab.open("00_start_here.ipynb")
    [index] = lab.indices_of("estimate")
    lab.write_cell(index, SLOW.strip())
    lab.run_cells(index)
    expect(lab.cell(index).locator(".jp-OutputArea-output")).to_contain_text("loaded at last", timeout=30_000)
    assert lab.errors == []

"""On a slow or busy computer a widget may take seconds to load; its card must be shown all the same.

anywidget gives up after 2 seconds from version 0.9.17 on, and the cell stays empty until it is run again.
"""

from __future__ import annotations

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


def test_a_widget_that_takes_seconds_to_load_is_shown(lab):
    lab.open("00_start_here.ipynb")
    [index] = lab.indices_of("setup")
    lab.write_cell(index, SLOW.strip())
    lab.run_cells(index)
    expect(lab.cell(index).locator(".jp-OutputArea-output")).to_contain_text("loaded at last", timeout=30_000)
    assert lab.errors == []

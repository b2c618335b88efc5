"""What a learner feels: from a key press on a slider to the new picture on the screen, in JupyterLab.

    python3 -m tests.browser.speed

Milliseconds, median / 95th percentile of 40 presses. It needs Chromium, as the browser tests do; what the
same move costs in the kernel alone is measured by `python3 -m course_lib bench explorables`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import nbformat
from playwright.sync_api import Page

from lessons.l17_what_it_costs.timing import columns, conditions
from tests.browser.lab import chromium, lab_page, lab_server
from tools.bench.explorables import NAMES, PACKAGES, explorables, summarise

PRESSES = ["ArrowLeft"] * 4 + (["ArrowRight"] * 4 + ["ArrowLeft"] * 4) * 6
WARM_UP = 12  # presses that are not counted: the page compiles its scripts meanwhile

# From the key press to the end of the frame that paints the new picture; one press at a time.
STOPWATCH = """canvas => new Promise(done => {
  let pressed;
  document.addEventListener('keydown', () => { pressed = performance.now(); }, { capture: true, once: true });
  const watch = new MutationObserver(() => { watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - pressed), 0)); });
  watch.observe(canvas, { attributes: true, attributeFilter: ['data-updates'] });
})"""


def key_press_to_picture(names: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds of every press, for each explorable."""
    with tempfile.TemporaryDirectory() as folder:
        _write_notebook(Path(folder) / "bench.ipynb", names)
        with lab_server(Path(folder)) as server, chromium() as browser, lab_page(browser, server) as lab:
            lab.open("bench.ipynb")
            lab.run_all()
            return {name: _press(lab.page, i) for i, name in enumerate(names)}


def _write_notebook(path: Path, names: Sequence[str]) -> None:
    sources = [f"from {explorables()[name].__module__} import {name}\n{name}()" for name in names]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)


def _press(page: Page, number: int) -> list[float]:
    explorable = page.locator(".course-explorable").nth(number)
    canvas = explorable.locator("[data-updates]")
    canvas.wait_for()
    explorable.locator(".noUi-handle").first.scroll_into_view_if_needed()
    explorable.locator(".noUi-handle").first.focus()
    times = []
    for key in PRESSES:
        page.evaluate("canvas => { window.shown = (" + STOPWATCH + ")(canvas); }", canvas.element_handle())
        page.keyboard.press(key)
        times.append(page.evaluate("() => window.shown"))
        page.wait_for_timeout(60)  # a learner's finger, not a flood
    return times[WARM_UP:]


if __name__ == "__main__":
    print(conditions(*PACKAGES), "", sep="\n")
    found = key_press_to_picture(NAMES)
    print(columns(["", "ms until it is shown"], [[name, summarise(times)] for name, times in found.items()]))

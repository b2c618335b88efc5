"""A slider that moves while a cell draws must not blank the cell's figures.

JupyterLab may hand widget messages to a second kernel thread. IPython then runs its "a cell has ended"
hooks on that thread, and matplotlib shows and closes figures that the running cell is still drawing.
`python3 -m course_lib lab` turns that off; the guard covers people who bring a JupyterLab of their own.
"""

from __future__ import annotations

import base64
import io

import nbformat
import numpy as np
import pytest
from PIL import Image

from tests.browser.lab import lab_page, lab_server

pytestmark = pytest.mark.browser

N_FIGURES = 14

SLIDER = """
from lessons.l00_start_here import SoftmaxDial
from course_lib.teaching import start_lesson
start_lesson("start_here")
import threading, matplotlib.pyplot as plt
dial = SoftmaxDial()
moves = []
dial.observe(lambda change: moves.append(threading.current_thread() is threading.main_thread()))
dial
"""

DRAW = f"""
import time
for i in range({N_FIGURES}):
    fig, ax = plt.subplots(figsize=(3, 2))
    for j in range(6):
        ax.plot(range(50), [j] * 50, linewidth=6)
        time.sleep(0.02)
    ax.set_title(f"figure {{i}}")
    plt.show()
"""


@pytest.fixture(scope="module")
def race_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("race")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(SLIDER.strip()), nbformat.v4.new_code_cell(DRAW.strip())],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    nbformat.write(notebook, folder / "race.ipynb")
    return folder


def whole_figures(outputs: list[dict]) -> int:
    """How many of the pictures have all six thick lines in them."""
    whole = 0
    for output in outputs:
        png = output.get("data", {}).get("image/png")
        if png is None:
            continue
        pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")).reshape(-1, 3)
        colours, counts = np.unique(pixels, axis=0, return_counts=True)
        thick_lines = [
            c for c, n in zip(colours, counts, strict=True) if n > 300 and np.ptp(c.astype(int)) > 40
        ]
        whole += len(thick_lines) >= 6
    return whole


@pytest.mark.parametrize("started_by", ["our lab", "a JupyterLab of their own"])
def test_figures_stay_whole_while_a_slider_moves(race_folder, browser, photograph, started_by):
    command = ("-m", "course_lib", "lab") if started_by == "our lab" else ("-m", "jupyterlab", "--allow-root")
    with lab_server(race_folder, command=command) as server, lab_page(browser, server) as lab:
        lab.open("race.ipynb")
        lab.run_cells(0)
        handle = lab.cell(0).locator(".widget-slider .noUi-handle").first
        handle.focus()
        lab.page.keyboard.press("ArrowRight")
        lab.page.evaluate(
            """() => { const lab = window.jupyterapp;
                 lab.shell.currentWidget.content.activeCellIndex = 1;
                 window.drawing = lab.commands.execute('notebook:run-cell'); }"""
        )
        handle.focus()
        for press in range(60):
            lab.page.keyboard.press("ArrowRight" if press % 10 < 5 else "ArrowLeft")
            lab.page.wait_for_timeout(30)
        lab.page.evaluate("() => window.drawing")
        lab.page.wait_for_function(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.kernelDisplayStatus === 'idle'"
        )
        photograph(lab.page, started_by.replace(" ", "-"))
        outputs = lab.cells()[1]["outputs"]
        assert whole_figures(outputs) == N_FIGURES == len(outputs)
        moves = lab.in_kernel("print(len(moves), all(moves))")
        assert int(moves.split()[0]) >= 2, "the slider never reached the kernel, so nothing was tested"
        if started_by == "our lab":
            assert moves.split()[1] == "True", "widget messages still come on a second thread"

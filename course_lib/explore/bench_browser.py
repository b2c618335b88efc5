"""The half of the bench that a learner feels: from a key press on a slider to the new picture on the screen.

Starts a private JupyterLab with the course's settings and drives Chromium through it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from course_lib.runtime import PROJECT_ROOT

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
)
PRESSES = ["ArrowLeft"] * 4 + (["ArrowRight"] * 4 + ["ArrowLeft"] * 4) * 6
WARM_UP = 12  # presses that are not counted: the page compiles its scripts meanwhile

READY = """() => { const s = window.jupyterapp?.shell?.currentWidget?.sessionContext;
  return s?.session?.kernel?.connectionStatus === 'connected' && s.kernelDisplayStatus === 'idle'; }"""

# From the key press to the end of the frame that paints the new picture; one press at a time.
STOPWATCH = """canvas => new Promise(done => {
  let pressed;
  document.addEventListener('keydown', () => { pressed = performance.now(); }, { capture: true, once: true });
  const watch = new MutationObserver(() => { watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - pressed), 0)); });
  watch.observe(canvas, { attributes: true, attributeFilter: ['data-moves'] });
})"""


def key_press_to_picture(names: Sequence[str]) -> dict[str, list[float]] | str:
    """Milliseconds for each explorable, or why they were not measured."""
    chromium = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))),
        None,
    )
    if chromium is None:
        return "no Chromium on this machine"
    with (
        tempfile.TemporaryDirectory() as folder,
        _lab(Path(folder), names) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=list(FLAGS))
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(url)
            page.wait_for_selector("#jupyterlab-splash", state="detached")
            page.wait_for_function(READY)
            page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
            return {name: _press(page, i) for i, name in enumerate(names)}
        finally:
            browser.close()


def _press(page: Page, number: int) -> list[float]:
    explorable = page.locator(".course-explorable").nth(number)
    canvas = explorable.locator("canvas[data-moves]")
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


@contextlib.contextmanager
def _lab(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """A JupyterLab of its own: port, token, settings and notebook; ended as a process group."""
    (folder / "bench.ipynb").write_text(json.dumps(_notebook(names)))
    _settings(folder, "notification", {"fetchNews": "false", "checkForUpdates": False})
    _settings(folder, "kernels-settings", {"commsOverSubshells": "disabled"})
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    private = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    private |= {
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "spaces"),
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={folder}",
        "--LabApp.expose_app_in_browser=True",
        *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
    ]
    server = subprocess.Popen(
        command,
        env={**os.environ, **private, "PYTHONPATH": str(PROJECT_ROOT)},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{url}/api/status?token={token}", server)
        yield f"{url}/lab/tree/bench.ipynb?token={token}"
    finally:
        if hasattr(os, "killpg"):
            os.killpg(server.pid, signal.SIGTERM)
        else:
            server.terminate()
        server.wait(15)


def _notebook(names: Sequence[str]) -> dict[str, Any]:
    sources = [f"from course_lib.explore import {name}\n{name}()" for name in names]
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{i}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": source,
        }
        for i, source in enumerate(sources)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}


def _settings(folder: Path, name: str, values: dict[str, Any]) -> None:
    path = folder / "settings" / "@jupyterlab" / "apputils-extension" / f"{name}.jupyterlab-settings"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


def _wait_for(url: str, server: subprocess.Popen) -> None:
    for _ in range(240):
        with contextlib.suppress(OSError), urllib.request.urlopen(url):
            return
        if server.poll() is not None:
            break
        time.sleep(0.25)
    raise RuntimeError(
        "JupyterLab did not start for the bench. Does `python -m jupyterlab --version` work here?"
    )

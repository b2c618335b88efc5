"""A notebook in a real JupyterLab in a real Chromium: what the browser tests and the benchmark drive.

    with lab_server(folder) as server, chromium() as browser, lab_page(browser, server) as lab:
        lab.open("00_start_here.ipynb")
        lab.run_all()
        lab.page.screenshot(path="shot.png")

The server is started by `course_lib lab`, so what learners get is what is tested: the settings we ship,
the address, the token. It has settings, data and runtime folders of its own and touches nobody's.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib import runtime

CHROMIUM_ARGS = [
    "--no-sandbox",  # root and containers
    "--disable-gpu",
    "--disable-gpu-rasterization",  # drawing like a GPU costs CPU time; so does the next
    "--disable-software-rasterizer",
    "--disable-dev-shm-usage",  # a small /dev/shm
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

# The toolbar says "idle" before a kernel is connected, and Run All then silently runs nothing.
READY = """() => { const s = window.jupyterapp?.shell?.currentWidget?.sessionContext;
  return s?.session?.kernel?.connectionStatus === 'connected' && s.kernelDisplayStatus === 'idle'; }"""

# From the model, not from the page: cells off screen have no text in the page.
CELLS = """() => { const cells = window.jupyterapp.shell.currentWidget.content.model.cells; const found = [];
  for (let i = 0; i < cells.length; i++) { const cell = cells.get(i); const outputs = [];
    for (let j = 0; j < (cell.outputs?.length ?? 0); j++) outputs.push(cell.outputs.get(j).toJSON());
    found.push({index: i, type: cell.type, count: cell.executionCount ?? null, outputs,
                source: cell.sharedModel.getSource(), course: cell.getMetadata('course') ?? {},
                tags: cell.getMetadata('tags') ?? []}); }
  return found; }"""

KINDS = """() => { const cells = window.jupyterapp.shell.currentWidget.content.model.cells; const found = [];
  for (let i = 0; i < cells.length; i++) found.push(cells.get(i).getMetadata('course') ?? {});
  return found; }"""


@dataclass(frozen=True)
class LabServer:
    """Where a running JupyterLab answers."""

    url: str
    token: str
    home: Path  # what the course remembers about the learner


def chromium_path() -> str | None:
    """The system's Chromium or Chrome, if there is one."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def lab_server(
    folder: Path, *, command: tuple[str, ...] = ("-m", "course_lib", "lab")
) -> Iterator[LabServer]:
    """A JupyterLab of its own over `folder`, by default started the way learners start it."""
    state = Path(tempfile.mkdtemp(prefix="course-lab-"))
    port, token = free_port(), secrets.token_hex(16)
    own = {f"JUPYTER_{name}_DIR": str(state / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {f"JUPYTERLAB_{name}_DIR": str(state / name.lower()) for name in ("SETTINGS", "WORKSPACES")}
    own |= {"COURSE_HOME": str(state / "home"), "PYTHONPATH": str(runtime.PROJECT_ROOT)}
    arguments = [
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={token}",
        "--LabApp.expose_app_in_browser=True",  # gives window.jupyterapp, which the driver asks for cells
    ]
    log = (state / "lab.log").open("w")
    process = subprocess.Popen(
        [sys.executable, *command, *arguments],
        cwd=runtime.PROJECT_ROOT,
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    server = LabServer(f"http://127.0.0.1:{port}", token, state / "home")
    try:
        _wait_until_up(server, process, state / "lab.log")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()
        shutil.rmtree(state, ignore_errors=True)


def _wait_until_up(server: LabServer, process: subprocess.Popen, log: Path, seconds: float = 120) -> None:
    request = urllib.request.Request(
        f"{server.url}/api/status", headers={"Authorization": f"token {server.token}"}
    )
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(request, timeout=5).close()
            return
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start. Its last words:\n{log.read_text()[-2000:]}")


class Lab:
    """One browser page with JupyterLab in it, and what went wrong there."""

    def __init__(self, page, server: LabServer):
        self.page, self.server = page, server
        self.errors: list[str] = []
        self.strangers: list[str] = []  # requests that left this machine
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._note_stranger)

    def _note_stranger(self, request) -> None:
        if request.url.startswith(("http:", "https:")) and not request.url.startswith(self.server.url):
            self.strangers.append(request.url)

    def open(self, name: str) -> None:
        """Open a notebook in a workspace of its own, with a fresh kernel."""
        self.page.goto("about:blank")  # the old page would try to reconnect to its kernel
        self._end_old_kernels()
        workspace = secrets.token_hex(4)  # no tabs restored from another test
        address = f"{self.server.url}/lab/workspaces/{workspace}/tree/{name}?reset&token={self.server.token}"
        self.page.goto(address)
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")
        self.wait_until_ready()

    def change_to(self, name: str) -> None:
        """Open a notebook in the same page, with a fresh kernel: to load JupyterLab again takes seconds."""
        if not self.page.evaluate("() => Boolean(window.jupyterapp)"):
            return self.open(name)
        self.errors.clear(), self.strangers.clear()
        self.page.evaluate(
            """async name => { const lab = window.jupyterapp, panel = lab.shell.currentWidget;
                 await panel.sessionContext.shutdown(); panel.dispose();
                 await lab.commands.execute('docmanager:open', {path: name}); }""",
            name,
        )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Until the notebook in front has a kernel that waits for work."""
        self.page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook")
        self.page.wait_for_function(READY)

    def _end_old_kernels(self) -> None:
        for session in self._ask("GET", "/api/sessions"):
            self._ask("DELETE", f"/api/sessions/{session['id']}")

    def _ask(self, method: str, path: str):
        headers = {"Authorization": f"token {self.server.token}"}
        request = urllib.request.Request(self.server.url + path, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def use_theme(self, name: str) -> None:
        """Switch to "JupyterLab Light" or "JupyterLab Dark"."""
        self.page.evaluate(
            "t => window.jupyterapp.commands.execute('apputils:change-theme', {theme: t})", name
        )
        light = str(name == "JupyterLab Light").lower()
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")

    def run_all(self, seconds: float = 180) -> list[dict]:
        """Run every cell, wait for the last one, and give back what the cells hold."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self.page.wait_for_function(READY, timeout=seconds * 1000)
        return self.cells()

    def save(self) -> None:
        self.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        self.page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")

    def read_file(self, name: str) -> dict:
        """A notebook as it is on the disk."""
        return self._ask("GET", f"/api/contents/{name}")["content"]

    def cells(self) -> list[dict]:
        return self.page.evaluate(CELLS)

    def indices_of(self, kind: str, *, exercise: str | None = None) -> list[int]:
        """Where the cells of a kind are, such as `indices_of("check", exercise="soft_lookup")`."""
        wanted = {"kind": kind} | ({"exercise": exercise} if exercise else {})
        kinds = enumerate(self.page.evaluate(KINDS))  # without the outputs: pictures take their time
        found = [index for index, course in kinds if wanted.items() <= course.items()]
        if not found:
            raise LookupError(f"The notebook has no cell with {wanted}.")
        return found

    def cell(self, index: int):
        """A cell's place in the page, scrolled into view so that it can be read and photographed."""
        self.page.evaluate(
            """async i => { const n = window.jupyterapp.shell.currentWidget.content; n.activeCellIndex = i;
                 await n.scrollToItem(i, 'start'); }""",
            index,
        )
        found = self.page.locator(
            f".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell[data-windowed-list-index='{index}']"
        )
        found.wait_for(state="visible")
        found.scroll_into_view_if_needed()
        return found

    def write_cell(self, index: int, source: str) -> None:
        """Select a cell's text and type over it, as a learner does."""
        editor = self.cell(index).locator(".cm-content")
        editor.click()
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.insert_text(source)

    def run_cells(self, *indices: int) -> None:
        """Run these cells one after another, and wait for the last."""
        self.page.evaluate(
            """async indices => { const lab = window.jupyterapp, n = lab.shell.currentWidget.content;
                 n.mode = 'command'; n.deselectAll();
                 for (const i of indices) { n.activeCellIndex = i;
                   await lab.commands.execute('notebook:run-cell'); } }""",
            list(indices),
        )
        self.page.wait_for_function(READY)

    def start_cell(self, index: int) -> None:
        """Run a cell without waiting for it."""
        self.page.evaluate(
            """i => { const lab = window.jupyterapp; lab.shell.currentWidget.content.activeCellIndex = i;
                 lab.commands.execute('notebook:run-cell'); }""",
            index,
        )

    def interrupt(self) -> None:
        """Press the stop button, and wait until the kernel is idle."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
        self.page.wait_for_function(READY)

    def in_kernel(self, code: str) -> str:
        """Run code in the notebook's kernel, beside its cells, and give back what it printed."""
        return self.page.evaluate(
            """async code => { const k = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                 let out = ''; const f = k.requestExecute({code, store_history: false, stop_on_error: false});
                 f.onIOPub = ({header, content}) => { if (header.msg_type === 'stream') out += content.text;
                   if (header.msg_type === 'error') out += content.traceback.join('\\n'); };
                 await f.done; return out; }""",
            code,
        )


@contextlib.contextmanager
def chromium() -> Iterator:
    """Headless Chromium: a context of Playwright's, whose pages share a cache."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), headless=True, args=CHROMIUM_ARGS
        )
        try:
            yield browser.new_context(viewport={"width": 1400, "height": 1000})
        finally:
            browser.close()


@contextlib.contextmanager
def lab_page(browser, server: LabServer) -> Iterator[Lab]:
    """A fresh page."""
    page = browser.new_page()
    page.set_default_timeout(30_000)
    try:
        yield Lab(page, server)
    finally:
        page.close()

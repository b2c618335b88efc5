"""The built site, a server for it, and a browser that reaches nothing else.

COURSE_SITE=build/site pytest -p no:nbval -m site tests/site        # tests a site that has been built already
"""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT
from tests.browser.lab import CHROMIUM_ARGS, chromium_path

TROUBLES = ("error", "warning")
LOAD = "async () => { await window.MathJax?.startup?.promise; }"  # which is kept once formulas are typeset


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        """Print nothing."""


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    if built := os.environ.get("COURSE_SITE"):
        return PROJECT_ROOT / built
    out = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, "-m", "course_lib", "site", "--out", str(out)]
    ran = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=1800)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return out


@pytest.fixture(scope="session")
def address(site):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    if not chromium_path():
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium, address):
    """`open_page("index.html", theme="dark", width=390)`. Requests to other hosts, missing files and errors
    of scripts fail the test."""
    troubles, contexts = [], []

    def guard(route):
        if route.request.url.startswith(address):
            route.continue_()
        else:
            troubles.append(f"request to {route.request.url}")
            route.abort()

    def open_page(path: str, *, theme: str = "light", width: int = 1400):
        context = chromium.new_context(viewport={"width": width, "height": 1000})
        contexts.append(context)
        if theme != "auto":
            context.add_init_script(f"localStorage.mode = localStorage.theme = '{theme}'")
        context.route("**/*", guard)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if said.type in TROUBLES else None)
        page.on("response", lambda r: troubles.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        page.goto(address + path)
        page.evaluate(LOAD)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []

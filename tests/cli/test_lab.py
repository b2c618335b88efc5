"""`python3 -m course_lib lab`: what JupyterLab is told, and one that is really started."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from course_lib.cli.lab import FIRST_LESSON, SETTINGS, arguments, environment
from course_lib.cli.pins import PROJECT_ROOT

HERE_ONLY = "--ServerApp.ip=127.0.0.1"


def test_it_listens_here_only_and_opens_the_first_lesson():
    told = arguments([])
    assert HERE_ONLY in told and f"--ServerApp.root_dir={PROJECT_ROOT}" in told
    assert f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}" in told
    assert not any("token" in word or "password" in word for word in told)  # JupyterLab makes a random one


@pytest.mark.parametrize("given", [["--ip=0.0.0.0"], ["--ip", "0.0.0.0"], ["--ServerApp.ip=::1"]])
def test_an_address_somebody_asks_for_replaces_ours(given):
    assert HERE_ONLY not in arguments(given) and arguments(given)[-len(given) :] == given


def test_another_folder_has_no_first_lesson():
    told = arguments(["--notebook-dir=/somewhere"])
    assert not any("default_url" in word or f"={PROJECT_ROOT}" in word for word in told)


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_in_a_container_root_may(monkeypatch, user, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)
    assert ("--allow-root" in arguments([])) == allowed


def test_kernels_find_the_library_and_keep_what_was_set(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "mine")
    monkeypatch.delenv("JUPYTER_CONFIG_PATH", raising=False)
    told = environment()
    assert told["PYTHONPATH"].split(os.pathsep) == [str(PROJECT_ROOT), "mine"]
    assert told["JUPYTER_CONFIG_PATH"] == str(SETTINGS)


def test_the_settings_are_shipped():
    shipped = json.loads(
        (SETTINGS / "labconfig" / "default_setting_overrides.json").read_text(encoding="utf-8")
    )
    assert shipped["@jupyterlab/apputils-extension:kernels-settings"] == {"commsOverSubshells": "disabled"}


@pytest.mark.slow
def test_a_real_lab_has_the_token_and_the_settings(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"JUPYTER_TOKEN": "sesame"}  # where no token is given JupyterLab makes one; this names it
    log = (tmp_path / "log").open("w")
    lab = subprocess.Popen(
        [sys.executable, "-m", "course_lib", "lab", "--no-browser", f"--port={port}", "--port-retries=0"],
        cwd=PROJECT_ROOT,
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )

    def get(path: str, token: str = "sesame") -> dict:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
        request.add_header("Authorization", f"token {token}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    try:
        for _ in range(300):
            try:
                get("/api/status")
                break
            except urllib.error.URLError:
                assert lab.poll() is None, Path(log.name).read_text()
                time.sleep(0.2)
        listed = {
            entry["id"]: entry["schema"].get("properties", {})
            for entry in get("/lab/api/settings")["settings"]
        }
        kernels = listed["@jupyterlab/apputils-extension:kernels-settings"]
        assert kernels["commsOverSubshells"]["default"] == "disabled"
        news = listed["@jupyterlab/apputils-extension:notification"]
        assert (news["fetchNews"]["default"], news["checkForUpdates"]["default"]) == ("false", False)
        assert "pyproject.toml" in {entry["name"] for entry in get("/api/contents")["content"]}
        with pytest.raises(urllib.error.HTTPError, match="403") as refused:
            get("/api/contents", token="guess")
        refused.value.close()
    finally:
        lab.terminate()
        assert lab.wait(20) == (0 if sys.platform != "win32" else 1)
        log.close()

"""A real hub from hosting/jupyterhub_config.py, on free ports, with a state folder of its own."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from course_lib.runtime import PROJECT_ROOT
from tests.hub.visitor import Visitor
from tools.hosting.learners import FILE, add

CONFIGURATION = PROJECT_ROOT / "hosting" / "jupyterhub_config.py"
AS_ROOT = os.geteuid() == 0


@dataclass
class Hub:
    address: str
    state: Path
    passwords: dict[str, str]
    process: subprocess.Popen
    log: Path
    visitors: list[Visitor] = field(default_factory=list)

    def visitor(self, name: str, password: str | None = None) -> Visitor:
        """Someone who signs in, by default with the right password."""
        self.visitors.append(Visitor(self.address, name, password or self.passwords[name]))
        return self.visitors[-1]

    def home(self, name: str) -> Path:
        return Path(pwd.getpwnam(f"course-{name}").pw_dir) if AS_ROOT else self.state / "homes" / name


def free_port() -> int:
    """The first of three ports in a row that are free."""
    for port in range(18000, 60000, 7):
        with contextlib.ExitStack() as stack:
            try:
                for number in range(port, port + 3):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", number))
            except OSError:
                continue
            return port
    raise OSError("no free ports")


@contextlib.contextmanager
def running_hub(names: list[str], instructor: str = "", **settings: object) -> Iterator[Hub]:
    """A hub for these learners, with settings such as COURSE_HUB_PLACES. It ends with all that it started."""
    with tempfile.TemporaryDirectory(prefix="hub-") as folder:
        state, port = Path(folder) / "state", free_port()
        state.mkdir(mode=0o700)
        passwords = add(state / FILE, names)
        passwords |= add(state / FILE, [instructor], instructor=True) if instructor else {}
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        given = {name: str(value) for name, value in settings.items()}
        ours = {"COURSE_HUB_STATE": str(state), "COURSE_HUB_PORT": str(port), "PYTHONPATH": str(PROJECT_ROOT)}
        command = [sys.executable, "-P", "-m", "jupyterhub", "-f", CONFIGURATION]
        hub_log = Path(folder) / "log"
        with hub_log.open("w") as log:
            process = subprocess.Popen(
                command,
                env=inherited | ours | given,
                cwd=folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            hub = Hub(f"http://127.0.0.1:{port}", state, passwords, process, hub_log)
            try:
                wait_for(hub)
                yield hub
            finally:
                for visitor in hub.visitors:
                    visitor.close()
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                if AS_ROOT:
                    for name in passwords:
                        remove_user(f"course-{name}")


def wait_for(hub: Hub) -> None:
    for _ in range(240):
        with contextlib.suppress(requests.ConnectionError):
            if requests.get(f"{hub.address}/hub/login", timeout=10).ok:
                return
        assert hub.process.poll() is None, hub.log.read_text()
        time.sleep(0.25)
    raise AssertionError(hub.log.read_text())


def remove_user(name: str) -> None:
    with contextlib.suppress(KeyError):
        pwd.getpwnam(name)
        subprocess.run(["pkill", "-KILL", "-u", name])  # whatever a test left running
        subprocess.run(["userdel", "--remove", name], check=True, capture_output=True)


@pytest.fixture(scope="session", autouse=True)
def hub_is_installed():
    pytest.importorskip("jupyterhub", reason='needs `pip install -e ".[hub]"`')

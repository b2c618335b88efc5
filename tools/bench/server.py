"""The memory and CPU time of a learner's Jupyter server, of the hub and of its proxy, with a lesson open.

If JupyterHub and configurable-http-proxy are installed, a real hub starts the learner's server
(jupyterhub-singleuser); otherwise `course_lib lab` starts it. All cells of a lesson run through the server,
as from a browser, and the notebook is saved.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import Request, urlopen

import psutil
from websocket import create_connection

from course_lib.runtime import PROJECT_ROOT
from tools.bench.kernel_meter import memory, rounded
from tools.cli.environment import CommandError, first_in_path
from tools.cli.lab_command import SETTINGS
from tools.hosting.checks import PROXY

LESSON, LEARNER = PROJECT_ROOT / "notebooks" / "14_the_transformer.ipynb", "learner"
OPENED = ("lab", "lab/api/settings", "lab/api/translations", "api/kernelspecs", "api/contents?content=1")
SECONDS_TO_START, SECONDS_A_CELL = 120, 600
HUB = """\
c.JupyterHub.bind_url, c.JupyterHub.hub_port = "http://127.0.0.1:{port}", {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.command = [{proxy!r}]
c.JupyterHub.services = [{{"name": "bench", "api_token": "{token}"}}]
scopes = ["admin:users", "admin:servers", "access:servers"]
c.JupyterHub.load_roles = [{{"name": "bench", "services": ["bench"], "scopes": scopes}}]
c.JupyterHub.authenticator_class, c.JupyterHub.spawner_class = "dummy", "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {home!r}
c.Spawner.cmd, c.Spawner.env_keep = [{python!r}, "-m", "jupyterhub.singleuser"], {kept!r}
"""


@dataclass(frozen=True)
class Api:
    """Requests to a Jupyter server or a hub."""

    url: str
    token: str

    def __call__(self, path: str, content: dict | None = None, method: str | None = None) -> dict | str:
        data = None if content is None else json.dumps(content).encode()
        request = Request(self.url + path, data, {"Authorization": f"token {self.token}"}, method=method)
        with urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
            return json.loads(text) if "json" in answer.headers.get("Content-Type", "") else text


def measure_servers(lesson: Path = LESSON) -> dict[str, dict]:
    """By program: its memory after a lesson was run, in megabytes, and the CPU seconds of its start."""
    proxy = find_proxy()
    with TemporaryDirectory(prefix="server-", ignore_cleanup_errors=True) as temporary:
        home = Path(temporary)
        shutil.copy(lesson, home)
        with hub(home, proxy) if proxy else lab(home) as (api, processes):
            wait_until(lambda: api("api/status"), home)
            started = {name: sum(process.cpu_times()[:2]) for name, process in processes.items()}
            run_lesson(api, lesson.name)
            return {
                name: rounded(memory(process)) | {"start_cpu_seconds": round(started[name], 1)}
                for name, process in processes.items()
            }


# ---- starting


def find_proxy() -> str | None:
    """The path of configurable-http-proxy, if JupyterHub is installed too."""
    return shutil.which(PROXY) if find_spec("jupyterhub") else None


@contextmanager
def lab(home: Path) -> Iterator[tuple[Api, dict[str, psutil.Process]]]:
    port, token = free_port(), secrets.token_hex(16)
    options = [f"--port={port}", f"--ServerApp.root_dir={home}", f"--IdentityProvider.token={token}"]
    command = [sys.executable, "-m", "course_lib", "lab", "--no-browser", "--ip=127.0.0.1", *options]
    with running(command, home) as process:
        yield Api(f"http://127.0.0.1:{port}/", token), {"jupyter lab": process}


@contextmanager
def hub(home: Path, proxy: str) -> Iterator[tuple[Api, dict[str, psutil.Process]]]:
    ports, token = {name: free_port() for name in ("port", "hub_port", "proxy_port")}, secrets.token_hex(16)
    kept = ["PATH", *environment(home)]
    config = HUB.format(**ports, token=token, proxy=proxy, home=str(home), python=sys.executable, kept=kept)
    (home / "jupyterhub_config.py").write_text(config, encoding="utf-8")
    with running([sys.executable, "-m", "jupyterhub"], home) as process:
        address = f"http://127.0.0.1:{ports['port']}/"
        api = Api(f"{address}hub/api/", token)
        wait_until(lambda: api(""), home)
        api(f"users/{LEARNER}", {})
        api(f"users/{LEARNER}/server", {})
        wait_until(lambda: api(f"users/{LEARNER}")["servers"][""]["ready"], home)
        children = {"singleuser" in " ".join(child.cmdline()): child for child in process.children()}
        processes = {"jupyterhub": process, PROXY: children[False], "jupyterhub-singleuser": children[True]}
        yield Api(f"{address}user/{LEARNER}/", token), processes


@contextmanager
def running(command: list[str], home: Path) -> Iterator[psutil.Process]:
    """Start a server whose files are all below `home`; stop it and its children at the end."""
    with (home / "server.log").open("wb") as log:
        variables = os.environ | environment(home)
        process = subprocess.Popen(
            command, cwd=home, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        tree = psutil.Process(process.pid)
        try:
            yield tree
        finally:
            children = tree.children(recursive=True)
            process.terminate()
            _, alive = psutil.wait_procs([tree, *children], timeout=20)
            for left in alive:
                left.kill()
            process.wait()


def environment(home: Path) -> dict[str, str]:
    """As on a hub: the course's settings of JupyterLab, one thread, and every folder below `home`."""
    folders = {f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    return folders | {
        "JUPYTER_CONFIG_PATH": first_in_path(SETTINGS, "JUPYTER_CONFIG_PATH"),
        "PYTHONPATH": first_in_path(PROJECT_ROOT, "PYTHONPATH"),
        "COURSE_HOME": str(home / "course"),
        "IPYTHONDIR": str(home / "ipython"),
        "OMP_NUM_THREADS": "1",
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(ready: Callable[[], object], home: Path) -> None:
    give_up = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < give_up:
        try:
            if ready():
                return
        except (URLError, ConnectionError):
            pass
        time.sleep(0.2)
    log = (home / "server.log").read_text(errors="replace")[-600:]
    raise CommandError(f"The server didn't start within {SECONDS_TO_START} s. Its log ends with:\n{log}")


# ---- using


def run_lesson(api: Api, name: str) -> None:
    """What a browser does: open the page and the notebook, start a kernel, run all cells, save."""
    for path in OPENED:
        api(path)
    notebook = api(f"api/contents/{name}")
    about = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "python3"}}
    kernel = api("api/sessions", about)["kernel"]["id"]
    address = f"{api.url.replace('http', 'ws', 1)}api/kernels/{kernel}/channels"
    header = [f"Authorization: token {api.token}"]
    with closing(create_connection(address, header=header, timeout=SECONDS_A_CELL)) as channel:
        for cell in notebook["content"]["cells"]:
            if cell["cell_type"] == "code":
                run_cell(channel, cell["source"])
    api(f"api/contents/{name}", {key: notebook[key] for key in ("type", "format", "content")}, "PUT")


def run_cell(channel, source: str) -> None:
    identity = secrets.token_hex(16)
    header = {"msg_id": identity, "msg_type": "execute_request", "session": LEARNER, "username": ""}
    content = {"code": source, "silent": False}
    message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}
    channel.send(json.dumps(message))
    while True:
        answer = channel.recv()
        if isinstance(answer, bytes):  # a picture of a widget
            continue
        answer = json.loads(answer)
        if answer["parent_header"].get("msg_id") == identity:
            content = answer["content"]
            if answer["msg_type"] == "error":
                raise CommandError(f"A cell of the lesson raised {content['ename']}: {content['evalue']}")
            if content.get("execution_state") == "idle":
                return

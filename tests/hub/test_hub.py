"""A real hub: ten learners at once, who lose nothing and see nothing of each other; its limits; idle servers.

The times and the memory of ten learners are printed and written to build/test/hub.json. A copy of this file
in data/results is where docs/hosting.md has its numbers from.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median_low

import psutil
import pytest
import requests
import websocket

from course_lib.runtime import PROJECT_ROOT, write_json
from lessons.l17_what_it_costs.timing import conditions
from tests.hub.conftest import AS_ROOT, running_hub
from tests.hub.visitor import Visitor, errors
from tools.hosting.checks import PROXY
from tools.hosting.learners import FILE, remove

pytestmark = pytest.mark.hub
REPORT = PROJECT_ROOT / "build" / "test" / "hub.json"
COMMAND = "python3 -m pytest -p no:nbval -m hub tests/hub"
MEMORY = {"peak_mb": "VmHWM", "own_mb": "RssAnon", "files_mb": "RssFile"}  # as in /proc/PID/status
LESSON = "notebooks/08_query_key_value.ipynb"
NAMES = [f"zz-test-{number}" for number in range(10)]
ANSWER = '''
def soft_lookup(query, keys, values):
    """{name} wrote this."""
    weights = torch.softmax({factor} * (keys @ query), dim=-1)
    return weights @ values, weights
'''


def snapshot() -> dict[str, str]:
    """The hash of each file of the course, and what git has to say."""
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    status = ["git", "status", "--porcelain"]
    found = {"git": subprocess.run(status, cwd=PROJECT_ROOT, capture_output=True, text=True).stdout}
    for name in listed.stdout.splitlines():
        file = PROJECT_ROOT / name
        found[name] = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    return found


def processes_of(name: str, program: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            theirs = process.environ().get("JUPYTERHUB_USER") == name
            if theirs and any(program in word for word in process.cmdline()):
                found.append(process)
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


def usage(process: psutil.Process) -> dict[str, float]:
    """Megabytes and CPU seconds, without child processes.

    Mapped files, such as libraries, are in memory once for all processes, and the PSS has a share of them.
    """
    status = Path(f"/proc/{process.pid}/status").read_text()
    kib = dict(re.findall(r"^(\w+):\s+(\d+) kB$", status, re.MULTILINE))
    megabytes = {name: round(int(kib[field]) * 1024 / 1e6) for name, field in MEMORY.items()}
    megabytes["pss_mb"] = round(process.memory_full_info().pss / 1e6)
    return megabytes | {"cpu_seconds": round(sum(process.cpu_times()[:2]), 1)}


def work(visitor: Visitor, barrier: threading.Barrier) -> dict[str, object]:
    """Start a server, run the whole lesson with an answer of one's own, and save the notebook."""
    barrier.wait()
    assert visitor.start().ok
    (server,) = processes_of(visitor.name, "jupyterhub.singleuser")
    start_cpu = usage(server)["cpu_seconds"]
    barrier.wait()
    notebook, factor = visitor.read(LESSON), "1" if visitor.name[-1] in "02468" else "2"
    started, kernel = time.monotonic(), visitor.kernel()
    failed = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            about = cell["metadata"].get("course", {})
            if (about.get("kind"), about.get("exercise")) == ("exercise", "soft_lookup"):
                cell["source"] = ANSWER.format(name=visitor.name, factor=factor)
            cell["outputs"] = kernel.run("".join(cell["source"]))
            failed += errors(cell["outputs"])
    seconds = round(time.monotonic() - started, 1)
    visitor.save(LESSON, copy.deepcopy(notebook))
    (ipykernel,) = processes_of(visitor.name, "ipykernel_launcher")
    used = {"server": usage(server) | {"start_cpu_seconds": start_cpu}, "kernel": usage(ipykernel)}
    barrier.wait()  # the memory of all was read while all were there
    return used | {
        "failed": failed,
        "start": visitor.seconds_to_start,
        "run": seconds,
        "kernel_object": kernel,
    }


def report(machine: str, results: list[dict], hub: psutil.Process) -> None:
    def spread(name: str) -> dict[str, float]:
        numbers = [result[name] for result in results]
        return {"median": median_low(numbers), "largest": max(numbers)}

    def medians(part: str) -> dict[str, float]:
        of_all = [result[part] for result in results]
        return {name: median_low(one[name] for one in of_all) for name in of_all[0]}

    (proxy,) = (child for child in hub.children() if any(PROXY in word for word in child.cmdline()))
    content = {
        "command": COMMAND,
        "machine": machine,
        "cores": os.cpu_count(),
        "learners": len(results),
        "system_users": AS_ROOT,
        "lesson": Path(LESSON).name[:2],
        "start_seconds": spread("start"),
        "run_seconds": spread("run"),
        "kernel": medians("kernel"),
        "servers": {
            "jupyterhub": usage(hub),
            PROXY: usage(proxy),
            "jupyterhub-singleuser": medians("server"),
        },
    }
    write_json(REPORT, content)
    print(json.dumps(content, indent=1))


def test_ten_learners_work_at_once_and_nobody_sees_the_work_of_another():
    before, machine = snapshot(), conditions("jupyterhub", "jupyterlab", "ipykernel", "torch")
    with running_hub([*NAMES, "zz-test-late"], COURSE_HUB_PLACES=len(NAMES)) as hub:
        visitors, barrier = [hub.visitor(name) for name in NAMES], threading.Barrier(len(NAMES), timeout=600)
        with ThreadPoolExecutor(len(NAMES)) as pool:
            results = list(pool.map(lambda visitor: work(visitor, barrier), visitors))
        report(machine, results, psutil.Process(hub.process.pid))
        assert [result["failed"] for result in results] == [[]] * len(NAMES)

        for visitor in visitors:  # each has their own results, and nothing else
            events = [
                json.loads(line) for line in visitor.read("notebooks/progress.jsonl").split("\n") if line
            ]
            checks = [event for event in events if event.get("name") == "soft_lookup"]
            solved = visitor.name[-1] in "02468"
            assert [event["status"] for event in checks] == (["passed"] if solved else ["wrong"])
            kept = hub.home(visitor.name) / "attention-course" / "notebooks" / "my_road.py"
            text = kept.read_text() if kept.exists() else ""
            assert [name for name in NAMES if f"{name} wrote this" in text] == (
                [visitor.name] if solved else []
            )

        check_separation(hub, visitors, results)

        full = hub.visitor("zz-test-late").start()
        assert full.status_code == 429
        assert "The hub is full" in full.text and f"number of places: {len(NAMES)}" in full.text

        first = visitors[0]  # nothing is lost when a server stops
        saved, progress = first.read(LESSON), first.read("notebooks/progress.jsonl")
        first.stop()
        assert first.start().ok
        assert first.read(LESSON) == saved
        assert f"{first.name} wrote this" in json.dumps(saved)
        assert first.read("notebooks/progress.jsonl") == progress
    assert snapshot() == before


def check_separation(hub, visitors, results) -> None:
    """Neither through the hub nor on the machine can a learner reach another's work, or change the course."""
    one, other = visitors[:2]
    kernel = results[1]["kernel_object"]
    for path in ("contents/notebooks/progress.jsonl", "kernels", f"kernels/{kernel.name}", "terminals"):
        assert one.api("get", path, of=other.name).status_code == 403
    token = one.hub("post", f"users/{one.name}/tokens", json={}).json()["token"]
    bearer = {"headers": {"Authorization": f"token {token}"}, "timeout": 60}
    mine, theirs = (f"{hub.address}/user/{visitor.name}/api/contents" for visitor in (one, other))
    assert requests.get(mine, **bearer).ok
    assert requests.get(theirs, **bearer).status_code == 403
    assert requests.get(f"{hub.address}/hub/api/users/{other.name}", **bearer).status_code == 404
    path = f"/user/{other.name}/api/kernels/{kernel.name}/channels"
    with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
        websocket.create_connection(hub.address.replace("http", "ws", 1) + path, cookie=one.cookies(path))
    if not AS_ROOT:
        return
    home = hub.home(other.name)
    assert home.stat().st_mode & 0o777 == 0o700
    attempts = {
        f"list(__import__('pathlib').Path({str(home)!r}).iterdir())": "PermissionError",
        f"open({str(hub.state / FILE)!r})": "PermissionError",
        f"open({str(PROJECT_ROOT / 'course_lib' / 'runtime.py')!r}, 'a')": "PermissionError",
        f"open({str(PROJECT_ROOT / 'notebooks' / 'new.txt')!r}, 'w')": "PermissionError",
    }
    own = results[0]["kernel_object"]
    for code, expected in attempts.items():
        assert [error["ename"] for error in errors(own.run(code))] == [expected], code
    transport = (
        "from ipykernel.connect import get_connection_info as get; print(get(unpack=True)['transport'])"
    )
    assert own.printed(transport) == "ipc\n"  # with tcp, others could read a kernel's output from its port


def test_limits_and_idle_servers():
    """Too much memory ends a cell, not the kernel. An idle server stops; a busy one doesn't."""
    names = ["zz-test-idle", "zz-test-busy"]
    settings = {"COURSE_HUB_MEMORY": "1.5G", "COURSE_HUB_IDLE_MINUTES": "0.2", "COURSE_CLASSROOM": "1"}
    with running_hub(names, **settings) as hub:
        assert hub.visitor("zz-test-idle", "wrong password").signed_in.status_code == 403
        idle, busy = map(hub.visitor, names)
        for visitor in (idle, busy):
            assert visitor.start().ok
        kernel = busy.kernel()
        assert "COURSE_CLASSROOM 1" in kernel.printed(
            "import os, torch; print('COURSE_CLASSROOM', os.environ['COURSE_CLASSROOM'])"
        )
        assert kernel.printed("print(torch.get_num_threads())").strip() == "1"
        check_memory_limit(kernel)
        kernel.send("import time; time.sleep(600)")
        idle.kernel()
        deadline = time.monotonic() + 180
        while idle.is_running():
            assert time.monotonic() < deadline, "the idle server wasn't stopped"
            time.sleep(2)
        assert busy.is_running()
        assert busy.api("get", f"kernels/{kernel.name}").json()["execution_state"] == "busy"


def test_instructors_stop_servers_but_do_not_open_them_and_who_is_removed_is_out():
    ada, teacher = "zz-test-ada", "zz-test-teacher"
    with running_hub([ada], instructor=teacher) as hub:
        learner, instructor = hub.visitor(ada), hub.visitor(teacher)
        assert learner.start().ok
        assert (instructor.get("/hub/admin").status_code, learner.get("/hub/admin").status_code) == (200, 403)
        assert {user["name"] for user in instructor.hub("get", "users").json()} == {ada, teacher}
        assert instructor.get(f"/user/{ada}/lab").status_code == 403
        for method, path in (
            ("post", f"users/{ada}/tokens"),
            ("post", f"users/{ada}/server"),
            ("post", "users"),
            ("patch", f"users/{teacher}"),
        ):
            assert instructor.hub(method, path, json={"admin": True}).status_code in (403, 404), path
        assert instructor.hub("delete", f"users/{ada}/server").ok
        wait_until(lambda: not learner.is_running())

        assert learner.start().ok
        assert instructor.hub("delete", f"users/{ada}").ok  # ends the sessions, for example after a reset
        wait_until(lambda: not processes_of(ada, "jupyterhub.singleuser"))
        assert "/hub/login" in learner.get("/hub/spawn").url

        learner = hub.visitor(ada)
        assert learner.start().ok
        remove(hub.state / FILE, [ada])
        wait_until(lambda: not processes_of(ada, "jupyterhub.singleuser"))
        time.sleep(10)  # auth_refresh_age
        assert "/hub/login" in learner.get("/hub/spawn").url
        assert "/hub/login" in learner.api("get", "contents").url
        assert "Traceback" not in hub.log.read_text()


def wait_until(condition) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(1)


def check_memory_limit(kernel) -> None:
    kernel.run("kept = 'still here'")
    for code in (
        "torch.zeros(10**9)",
        "import numpy; numpy.ones(10**9)",
        "many = [torch.ones(10**6) for _ in range(10**4)]",
        "[str(number) for number in range(10**9)]",
    ):
        (error,) = errors(kernel.run(code))
        message = "\n".join(error["traceback"])
        assert "Out of memory: on this hub, a notebook can use 1.2 GiB" in message, (code, error)
        assert "Traceback" not in message
        assert kernel.printed("print(kept, torch.ones(10**6).sum().item())") == "still here 1000000.0\n"
    (error,) = errors(kernel.run("torch.ones(2) @ torch.ones(3)"))  # other errors look as ever
    assert "inconsistent tensor size" in error["evalue"]
    assert "most recent call last" in "\n".join(error["traceback"])

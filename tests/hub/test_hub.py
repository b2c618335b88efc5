"""A real hub: ten learners at once, who lose nothing and see nothing of each other; its limits; idle servers.

The times and the memory of ten learners are printed and written to build/test/hub.json.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import statistics
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import requests
import websocket

from course_lib.runtime import PROJECT_ROOT, write_json
from tests.hub.conftest import AS_ROOT, running_hub
from tests.hub.visitor import Visitor, errors
from tools.hosting.learners import FILE, remove

pytestmark = pytest.mark.hub
REPORT = PROJECT_ROOT / "build" / "test" / "hub.json"
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


def memory_of(process: psutil.Process) -> dict[str, float]:
    """In MiB: the most that was resident, and the share of what is resident now."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return {"peak": round(peak / 1024), "pss": round(process.memory_full_info().pss / 2**20)}


def work(visitor: Visitor, barrier: threading.Barrier) -> dict[str, object]:
    """Start a server, run the whole lesson with an answer of one's own, and save the notebook."""
    barrier.wait()
    assert visitor.start().ok
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
    (server,), (ipykernel,) = (
        processes_of(visitor.name, name) for name in ("jupyterhub.singleuser", "ipykernel_launcher")
    )
    usage = {"server": memory_of(server), "kernel": memory_of(ipykernel), "cpu": cpu_seconds(ipykernel)}
    barrier.wait()  # the memory of all was read while all were there
    return {
        "failed": failed,
        "start": visitor.seconds_to_start,
        "run": seconds,
        **usage,
        "kernel_object": kernel,
    }


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return round(times.user + times.system, 1)


def report(results: list[dict], hub_pid: int) -> None:
    def spread(numbers: list[float]) -> dict[str, float]:
        return {"median": statistics.median(numbers), "largest": max(numbers)}

    content = {
        "learners": len(results),
        "cpu_cores": os.cpu_count(),
        "system_users": AS_ROOT,
        "lesson": LESSON,
        "start_seconds": spread([result["start"] for result in results]),
        "run_seconds": spread([result["run"] for result in results]),
        "kernel_cpu_seconds": spread([result["cpu"] for result in results]),
        "hub_mib": memory_of(psutil.Process(hub_pid)),
    }
    for part in ("server", "kernel"):
        for kind in ("peak", "pss"):
            content[f"{part}_{kind}_mib"] = spread([result[part][kind] for result in results])
    write_json(REPORT, content)
    print(json.dumps(content, indent=1))


def test_ten_learners_work_at_once_and_nobody_sees_the_work_of_another():
    before = snapshot()
    with running_hub([*NAMES, "zz-test-late"], COURSE_HUB_PLACES=len(NAMES)) as hub:
        visitors, barrier = [hub.visitor(name) for name in NAMES], threading.Barrier(len(NAMES), timeout=600)
        with ThreadPoolExecutor(len(NAMES)) as pool:
            results = list(pool.map(lambda visitor: work(visitor, barrier), visitors))
        report(results, hub.process.pid)
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
        f"open({str(hub.state / 'learners.txt')!r})": "PermissionError",
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

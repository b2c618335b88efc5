"""A browser without a screen: signs in to a hub, starts a server, runs notebooks and saves them."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import nbformat
import requests
import websocket

LONGEST_START = 240  # seconds: ten servers start at once on two cores
LONGEST_CELL = 240


class Visitor:
    """Someone who signs in with a name and a password. `seconds_to_start` is None until a server runs."""

    def __init__(self, address: str, name: str, password: str):
        self.address, self.name, self.seconds_to_start = address, name, None
        self.session, self.kernels = requests.Session(), []
        self.get("/hub/login")
        form = {"username": name, "password": password, "_xsrf": self.session.cookies["_xsrf"]}
        self.signed_in = self.session.post(f"{address}/hub/login", data=form, allow_redirects=False)

    def get(self, path: str) -> requests.Response:
        return self.session.get(self.address + path, timeout=60)

    def start(self) -> requests.Response:
        """Start the server as the start page does, and wait until it answers."""
        started = time.monotonic()
        answer = self.get("/hub/spawn")
        while answer.ok and "/lab" not in answer.url and time.monotonic() - started < LONGEST_START:
            time.sleep(0.5)
            answer = self.get(f"/user/{self.name}/")
        self.seconds_to_start = round(time.monotonic() - started, 1)
        return answer

    def stop(self) -> None:
        self.hub("delete", f"users/{self.name}/server")
        while self.is_running():
            time.sleep(0.5)

    def is_running(self) -> bool:
        return self.hub("get", f"users/{self.name}").json()["server"] is not None

    def hub(self, method: str, path: str, **options: Any) -> requests.Response:
        return self._ask(method, "/hub/", f"/hub/api/{path}", **options)

    def api(self, method: str, path: str, of: str = "", **options: Any) -> requests.Response:
        """Ask a single-user server, by default the visitor's own."""
        return self._ask(method, f"/user/{self.name}/", f"/user/{of or self.name}/api/{path}", **options)

    def _ask(self, method: str, cookie_path: str, path: str, **options: Any) -> requests.Response:
        cookies = [c.value for c in self.session.cookies if (c.name, c.path) == ("_xsrf", cookie_path)]
        headers = {"X-XSRFToken": cookies[0]} if cookies else {}
        return self.session.request(method, self.address + path, headers=headers, timeout=120, **options)

    def cookies(self, path: str) -> str:
        request = requests.Request("GET", self.address + path)
        return self.session.prepare_request(request).headers.get("Cookie", "")

    def read(self, path: str) -> Any:
        answer = self.api("get", f"contents/{path}")
        answer.raise_for_status()
        return answer.json()["content"]

    def save(self, path: str, notebook: Any) -> None:
        content = {"type": "notebook", "format": "json", "content": notebook}
        self.api("put", f"contents/{path}", json=content).raise_for_status()

    def kernel(self, folder: str = "notebooks") -> Kernel:
        answer = self.api("post", "kernels", json={"name": "python3", "path": folder})
        answer.raise_for_status()
        self.kernels.append(Kernel(self, answer.json()["id"]))
        return self.kernels[-1]

    def close(self) -> None:
        """Close the browser; the server and its kernels go on."""
        for kernel in self.kernels:
            kernel.socket.close()
        self.session.close()


class Kernel:
    """A running kernel of a visitor, reached through the hub's proxy as JupyterLab reaches it."""

    def __init__(self, visitor: Visitor, name: str):
        path = f"/user/{visitor.name}/api/kernels/{name}/channels"
        self.name, self.session = name, uuid.uuid4().hex
        self.socket = websocket.create_connection(
            visitor.address.replace("http", "ws", 1) + path,
            cookie=visitor.cookies(path),
            timeout=LONGEST_CELL,
        )

    def send(self, code: str) -> str:
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "session": self.session,
            "username": "",
            "version": "5.3",
            "date": "2026-01-01T00:00:00Z",
        }
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        message = {
            "channel": "shell",
            "header": header,
            "parent_header": {},
            "metadata": {},
            "content": content,
        }
        self.socket.send(json.dumps(message | {"buffers": []}))
        return header["msg_id"]

    def run(self, code: str) -> list[Any]:
        """The outputs of a cell, as a notebook stores them."""
        sent, outputs = self.send(code), []
        replied = idle = False
        while not (replied and idle):
            message = json.loads(self.socket.recv())
            if message["parent_header"].get("msg_id") != sent:
                continue
            kind = message["msg_type"]
            replied = replied or kind == "execute_reply"
            idle = idle or (kind == "status" and message["content"]["execution_state"] == "idle")
            if kind in ("stream", "display_data", "execute_result", "error"):
                outputs.append(nbformat.v4.output_from_msg(message))
        return outputs

    def printed(self, code: str) -> str:
        """What a cell prints; an error raises an AssertionError."""
        outputs = self.run(code)
        assert not errors(outputs), outputs
        return "".join(output["text"] for output in outputs if output["output_type"] == "stream")


def errors(outputs: list[Any]) -> list[Any]:
    return [output for output in outputs if output["output_type"] == "error"]

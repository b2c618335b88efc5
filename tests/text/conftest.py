"""A server on this machine that is honest, slow, cut off, or lies: `serve("cut_off", "honest")`."""

from __future__ import annotations

import gzip
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

BODY = random.Random(3).randbytes(300_000)
HALF = len(BODY) // 2


class Handler(BaseHTTPRequestHandler):
    """Answers each request with the next behaviour of the server; the last one stays."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.asked.append(self.headers.get("Range"))
        name = server.behaviours.pop(0) if len(server.behaviours) > 1 else server.behaviours[0]
        behaviour, *argument = name.split()  # "honest", "says 404"
        self.close_connection = True
        globals()[behaviour](self, *argument)

    def head(self, status: int, **headers: object) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):  # whoever was lied to hangs up
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/train.de.gz"


# ---- behaviours


def honest(handler: Handler) -> None:
    asked = handler.headers.get("Range")
    if not asked:
        handler.head(200, Content_Length=len(BODY))
        handler.wfile.write(BODY)
        return
    start = int(asked.removeprefix("bytes=").removesuffix("-"))
    if start >= len(BODY):
        handler.head(416, Content_Range=f"bytes */{len(BODY)}", Content_Length=0)
        return
    size = len(BODY) - start
    handler.head(206, Content_Range=f"bytes {start}-{len(BODY) - 1}/{len(BODY)}", Content_Length=size)
    handler.wfile.write(BODY[start:])


def knows_no_ranges(handler: Handler) -> None:
    handler.head(200, Content_Length=len(BODY))
    handler.wfile.write(BODY)


def cut_off(handler: Handler) -> None:
    handler.head(200, Content_Length=len(BODY))
    handler.wfile.write(BODY[:HALF])


def cut_off_in_a_chunk(handler: Handler) -> None:
    handler.head(200, Transfer_Encoding="chunked")
    handler.wfile.write(b"%x\r\n" % len(BODY) + BODY[:HALF])


def chunked(handler: Handler) -> None:
    handler.head(200, Transfer_Encoding="chunked")
    for start in range(0, len(BODY), 70_000):
        piece = BODY[start : start + 70_000]
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
    handler.wfile.write(b"0\r\n\r\n")


def without_a_length(handler: Handler) -> None:
    handler.head(200)
    handler.wfile.write(BODY)


def slow(handler: Handler) -> None:
    handler.head(200, Content_Length=len(BODY))
    for start in range(0, len(BODY), 30_000):
        handler.wfile.write(BODY[start : start + 30_000])
        time.sleep(0.01)


def silent(handler: Handler) -> None:
    handler.head(200, Content_Length=len(BODY))
    handler.wfile.write(BODY[:HALF])
    time.sleep(0.5)


def drips(handler: Handler) -> None:
    handler.head(200, Content_Length=len(BODY))
    for byte in BODY[:200]:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.01)


def wrong_bytes(handler: Handler) -> None:
    handler.head(200, Content_Length=len(BODY))
    handler.wfile.write(BODY[:-1] + bytes([BODY[-1] ^ 1]))


def says_too_short(handler: Handler) -> None:
    handler.head(200, Content_Length=HALF)
    handler.wfile.write(BODY)


def says_too_long(handler: Handler) -> None:
    handler.head(200, Content_Length=len(BODY) + 10)
    handler.wfile.write(BODY)


def nothing_at_all(handler: Handler) -> None:
    handler.head(200, Content_Length=0)


def huge(handler: Handler) -> None:
    handler.head(200, Content_Length=10**12)
    handler.wfile.write(BODY)


def endless(handler: Handler) -> None:
    handler.head(200)
    while True:
        handler.wfile.write(BODY)


def endless_chunks(handler: Handler) -> None:
    handler.head(200, Transfer_Encoding="chunked")
    while True:
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(BODY), BODY))


def web_page(handler: Handler) -> None:
    page = b"<html>Please log in</html>"
    handler.head(200, Content_Type="text/html; charset=utf-8", Content_Length=len(page))
    handler.wfile.write(page)


def web_page_in_disguise(handler: Handler) -> None:
    handler.head(200, Content_Type="application/gzip", Content_Length=6)
    handler.wfile.write(b"<html>")


def packed_once_more(handler: Handler) -> None:
    packed = gzip.compress(BODY)
    handler.head(200, Content_Encoding="gzip", Content_Length=len(packed))
    handler.wfile.write(packed)


def hangs_up(handler: Handler) -> None:
    handler.connection.close()


def no_http(handler: Handler) -> None:
    handler.wfile.write(b"SSH-2.0-hello\r\n\r\n")


def unasked_part(handler: Handler) -> None:
    handler.head(206, Content_Range=f"bytes 0-{HALF}/{len(BODY)}", Content_Length=HALF)
    handler.wfile.write(BODY[:HALF])


def another_part(handler: Handler) -> None:
    handler.head(206, Content_Range=f"bytes 5-{len(BODY) - 1}/{len(BODY)}", Content_Length=len(BODY) - 5)
    handler.wfile.write(BODY[5:])


def says(handler: Handler, status: str) -> None:
    handler.head(int(status), Content_Length=0)


def moved(handler: Handler, where: str) -> None:
    handler.head(302, Location=where, Content_Length=0)


@pytest.fixture
def serve(monkeypatch):
    """Names of behaviours, one for each request, the last for all that follow → a running server."""
    monkeypatch.setenv("no_proxy", "*")
    running = []

    def serve(*names: str) -> Server:
        server = Server(("127.0.0.1", 0), Handler)
        server.behaviours, server.asked = list(names), []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return server

    yield serve
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()

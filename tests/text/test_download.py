"""One file from the web, against a server on this machine that is honest, cut off, or lies."""

from __future__ import annotations

import hashlib
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from course_lib.text import multi30k
from course_lib.text.multi30k import DownloadError, download

BODY = random.Random(3).randbytes(300_000)
SHA256 = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Answers /STATUS/LENGTH/SENT: a status, the length it says, and so many bytes of the body."""

    def do_GET(self):
        status, length, sent = map(int, self.path.strip("/").split("/"))
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(BODY[:sent])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_file_arrives_and_replaces_a_wrong_one(server, tmp_path):
    path = tmp_path / "train.de.gz"
    path.write_bytes(b"wrong")
    download(f"{server}/200/300000/300000", path, sha256=SHA256)
    assert path.read_bytes() == BODY and [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("200/299999/299999", f"sent other bytes than expected: their SHA-256 is not {SHA256[:16]}"),
        ("200/0/0", "sent other bytes than expected.*until you log in"),
        ("200/300000/1000", "did not arrive: IncompleteRead|sent other bytes"),
        ("404/0/0", r"did not arrive: HTTP Error 404: Not Found\. Run the same command again"),
        ("500/0/0", "did not arrive: HTTP Error 500"),
    ],
)
@pytest.mark.parametrize("before", [None, b"an older file"])
def test_a_wrong_answer_leaves_everything_as_it_was(server, tmp_path, answer, message, before):
    path = tmp_path / "train.de.gz"
    if before:
        path.write_bytes(before)
    with pytest.raises(DownloadError, match=message):
        download(f"{server}/{answer}", path, sha256=SHA256)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == ([before] if before else [])


def test_no_answer_and_too_long_an_answer(server, tmp_path, monkeypatch):
    with pytest.raises(DownloadError, match=r"did not arrive: .*refused"):
        download("http://127.0.0.1:9/a", tmp_path / "a", sha256=SHA256)
    monkeypatch.setattr(multi30k, "LARGEST", 1000)
    with pytest.raises(DownloadError, match="sent other bytes"):
        download(f"{server}/200/300000/300000", tmp_path / "a", sha256=SHA256)

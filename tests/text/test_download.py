"""Downloading a file from a local server that sends it completely, truncated, or not at all."""

from __future__ import annotations

import hashlib
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from course_lib.text import multi30k
from course_lib.text.multi30k import DownloadError, download
from tests.full_disk import full_disk

BODY = random.Random(3).randbytes(300_000)
SHA256 = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Answers /STATUS/LENGTH/SENT with this status, this Content-Length and SENT bytes of the body."""

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


def test_a_download_replaces_a_wrong_file(server, tmp_path):
    path = tmp_path / "train.de.gz"
    path.write_bytes(b"wrong")
    download(f"{server}/200/300000/300000", path, sha256=SHA256)
    assert path.read_bytes() == BODY and [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ("200/299999/299999", SHA256[:16]),
        ("200/0/0", SHA256[:16]),
        ("200/300000/1000", f"IncompleteRead|{SHA256[:16]}"),
        ("404/0/0", "HTTP Error 404: Not Found"),
        ("500/0/0", "HTTP Error 500"),
    ],
)
@pytest.mark.parametrize("before", [None, b"an older file"])
def test_a_failed_download_changes_nothing(server, tmp_path, response, message, before):
    path = tmp_path / "train.de.gz"
    if before:
        path.write_bytes(before)
    with pytest.raises(DownloadError, match=message):
        download(f"{server}/{response}", path, sha256=SHA256)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([before] if before else [])


def test_a_download_that_does_not_fit_on_the_disk_leaves_the_old_file(server, tmp_path):
    path = tmp_path / "train.de.gz"
    path.write_bytes(b"an older file")
    with full_disk(n_bytes=1000):
        download(f"{server}/200/300000/300000", path, sha256=SHA256)
    assert [file.read_bytes() for file in tmp_path.iterdir() if file.is_file()] == [b"an older file"]


def test_a_missing_server_and_an_oversized_file_are_errors(server, tmp_path, monkeypatch):
    with pytest.raises(DownloadError, match="refused"):
        download("http://127.0.0.1:9/a", tmp_path / "a", sha256=SHA256)
    monkeypatch.setattr(multi30k, "MAX_BYTES", 1000)
    with pytest.raises(DownloadError, match=SHA256[:16]):
        download(f"{server}/200/300000/300000", tmp_path / "a", sha256=SHA256)

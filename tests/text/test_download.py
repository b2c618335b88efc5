"""One file from the web, against a server on this machine that is honest, slow, cut off, or lies."""

from __future__ import annotations

import hashlib
import io
import random
import sys
import threading

import pytest

import course_lib.text.download as module
from course_lib.text.download import DownloadError, Limits, download, has_checksum

BODY = random.Random(3).randbytes(300_000)
SHA256 = hashlib.sha256(BODY).hexdigest()
LIMITS = Limits(largest=1_000_000, timeout=5.0, longest=30.0, pause=0.0, schemes=("http",))
HALF = len(BODY) // 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "multi30k" / "train.de.gz"


def part_of(path):
    return path.with_name("train.de.gz.part")


def left(path) -> set[str]:
    return {each.name for each in path.parent.iterdir()} - {".download.lock"}


def fetch(server, path, **limits) -> None:
    download(server.url, path, sha256=SHA256, limits=Limits(**{**vars(LIMITS), **limits}))


# ---- what goes well


@pytest.mark.parametrize("behaviour", ["honest", "slow", "chunked", "without_a_length", "knows_no_ranges"])
def test_the_file_arrives(serve, path, behaviour, capfd):
    fetch(serve(behaviour), path)
    assert path.read_bytes() == BODY and left(path) == {"train.de.gz"}
    assert capfd.readouterr() == ("", "")  # no bar where nobody watches


def test_a_right_file_is_not_fetched_again_and_a_wrong_one_is_replaced(serve, path):
    server = serve("honest")
    path.parent.mkdir()
    path.write_bytes(BODY)
    fetch(server, path)
    assert server.asked == []
    path.write_bytes(b"wrong")
    fetch(server, path)
    assert path.read_bytes() == BODY and server.asked == [None]


@pytest.mark.parametrize("first", ["cut_off", "cut_off_in_a_chunk", "says_too_long"])
def test_a_connection_that_breaks_is_taken_up_where_it_broke(serve, path, first):
    server = serve(first, "honest")
    fetch(server, path)
    assert path.read_bytes() == BODY and server.asked[0] is None
    assert server.asked[1:] == ([] if first == "says_too_long" else [f"bytes={HALF}-"])


@pytest.mark.parametrize("first", ["says 500", "says 503", "says 429", "hangs_up", "no_http"])
def test_a_server_that_fails_once_is_asked_again(serve, path, first):
    server = serve(first, "honest")
    fetch(server, path)
    assert path.read_bytes() == BODY and server.asked == [None, None]


@pytest.mark.parametrize("then", ["knows_no_ranges", "another_part", "says 416"])
def test_a_server_that_cannot_go_on_begins_anew(serve, path, then):
    server = serve("cut_off", then, "honest")
    fetch(server, path)
    assert path.read_bytes() == BODY and left(path) == {"train.de.gz"}
    assert server.asked[:2] == [None, f"bytes={HALF}-"]


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        (BODY[:HALF], [f"bytes={HALF}-"]),
        (BODY, []),  # complete, but the power went before it got its name
        (b"x" * HALF, [f"bytes={HALF}-", None]),  # wrong from the start: seen at the end, then anew
        (BODY + b"x", [f"bytes={len(BODY) + 1}-", None]),
        (b"", [None]),
    ],
)
def test_what_an_earlier_try_left_is_used_or_thrown_away(serve, path, content, asked):
    server = serve("honest")
    path.parent.mkdir()
    part_of(path).write_bytes(content)
    fetch(server, path)
    assert path.read_bytes() == BODY and left(path) == {"train.de.gz"}
    assert server.asked == asked


def test_a_redirect_on_the_same_host_is_followed(serve, path):
    server = serve("moved /elsewhere/train.de.gz", "honest")
    fetch(server, path)
    assert path.read_bytes() == BODY


def test_on_a_terminal_there_is_a_bar(serve, path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    fetch(serve("slow"), path)
    assert "train.de.gz: 100%" in sys.stderr.getvalue() and "300k/300k" in sys.stderr.getvalue()


# ---- what goes wrong: a clear word, and never a wrong file


WRONG = [
    ("wrong_bytes", f"sent other bytes than expected: their SHA-256 is not {SHA256[:16]}"),
    ("says_too_short", "sent other bytes than expected"),
    ("nothing_at_all", "sent other bytes than expected"),
    ("web_page_in_disguise", "sent other bytes than expected"),
    ("packed_once_more", "sent other bytes than expected"),
    ("web_page", "sent a web page in place of the file. Some networks do so until you log in"),
    ("huge", "is larger than 1,000,000 bytes"),
    ("endless", "is larger than 1,000,000 bytes"),
    ("endless_chunks", "is larger than 1,000,000 bytes"),
    ("says 404", "the server answered 404 (Not Found). If the file has moved, get it by hand"),
    ("says 403", "the server answered 403 (Forbidden)"),
    ("says 204", "the server answered 204"),
    ("says 416", "the server answered 416"),
    ("says 500", "did not arrive: the server answered 500 (Internal Server Error). Run the same command"),
    ("hangs_up", "did not arrive: the"),
    ("no_http", "did not arrive: the connection broke (BadStatusLine)"),
    ("unasked_part", "the server answered 206"),
    ("moved http://localhost:9/x", "sends us on to another host, http://localhost:9/x"),
    ("moved https://127.0.0.1:9/x", "sends us on to another host"),
    ("moved file:///etc/passwd", "the server answered 302"),
    ("moved /round/and/round", "the server answered 302"),
]


@pytest.mark.parametrize(("behaviour", "told"), WRONG)
@pytest.mark.parametrize("before", [None, b"an older file"])
def test_a_lie_leaves_nothing_behind(serve, path, behaviour, told, before):
    if before:
        path.parent.mkdir()
        path.write_bytes(before)
    with pytest.raises(DownloadError) as failed:
        fetch(serve(behaviour), path)
    assert told in str(failed.value)
    assert left(path) == ({"train.de.gz"} if before else set())
    assert not before or path.read_bytes() == before


def test_a_connection_that_keeps_breaking_leaves_the_part_for_next_time(serve, path):
    server = serve("cut_off")
    with pytest.raises(DownloadError, match=r"cut off after 150,000 of 300,000 bytes\. Run the same"):
        fetch(server, path)
    assert len(server.asked) == 3 and left(path) == {"train.de.gz.part"}
    server.behaviours[:] = ["honest"]
    fetch(server, path)
    assert server.asked[-1] == f"bytes={HALF}-" and path.read_bytes() == BODY


def test_a_server_that_falls_silent(serve, path):
    with pytest.raises(DownloadError, match=r"the server sent nothing for 0\.1 seconds\. Run the same"):
        fetch(serve("silent"), path, timeout=0.1, tries=1)
    assert part_of(path).read_bytes() == BODY[:HALF]


def test_a_server_that_drips(serve, path):
    with pytest.raises(DownloadError, match=r"it is not complete after 0\.2 seconds"):
        fetch(serve("drips"), path, longest=0.2)
    content = part_of(path).read_bytes()
    assert 0 < len(content) < 200 and BODY.startswith(content)


def test_nobody_listens(serve, path):
    server = serve("honest")
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(DownloadError, match=r"did not arrive: the server cannot be reached \(.*refused"):
        download(url, path, sha256=SHA256, limits=LIMITS)


def test_http_is_refused_unless_asked_for(serve, path):
    server = serve("honest")
    for url in (server.url, "file:///etc/passwd", "train.de.gz"):
        with pytest.raises(DownloadError, match=r"Expected an address with https://, but got "):
            download(url, path, sha256=SHA256)
    assert server.asked == [] and not path.parent.exists()


def test_a_redirect_from_https_to_http_is_refused(path):
    handler = module._SameHost(Limits())
    request = module.urllib.request.Request("https://example.org/a")
    with pytest.raises(DownloadError, match="Expected an address with https://, but got http://example"):
        handler.redirect_request(request, io.BytesIO(), 302, "", {}, "http://example.org/a")


def test_ctrl_c_leaves_the_part(serve, path, monkeypatch):
    class Stopped(module.tqdm):
        def update(self, n=1):
            if part_of(path).stat().st_size + n > HALF:
                raise KeyboardInterrupt

    server = serve("slow", "honest")
    with monkeypatch.context() as patch:
        patch.setattr(module, "tqdm", Stopped)
        with pytest.raises(KeyboardInterrupt):
            fetch(server, path)
    assert left(path) == {"train.de.gz.part"} and part_of(path).stat().st_size >= 1
    fetch(server, path)
    assert path.read_bytes() == BODY and server.asked[1].startswith("bytes=")


def test_a_place_where_nothing_can_be_written(serve, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match=r"train\.de\.gz cannot be written in .*file: .*\. Make room"):
        fetch(serve("honest"), tmp_path / "file" / "train.de.gz")
    (tmp_path / "train.de.gz").mkdir()
    with pytest.raises(DownloadError, match=r"train\.de\.gz cannot be written in"):
        fetch(serve("honest"), tmp_path / "train.de.gz")


def test_two_at_once_do_no_harm(serve, path, capfd):
    server = serve("slow")
    failed = []

    def one() -> None:
        try:
            fetch(server, path)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and path.read_bytes() == BODY and left(path) == {"train.de.gz"}
    assert server.asked == [None]  # whoever waited found it there
    assert "Another download into" in capfd.readouterr().err


def test_has_checksum(tmp_path):
    (tmp_path / "a").write_bytes(BODY)
    assert has_checksum(tmp_path / "a", SHA256) and not has_checksum(tmp_path / "a", "0" * 64)
    assert not has_checksum(tmp_path / "b", SHA256) and not has_checksum(tmp_path, SHA256)

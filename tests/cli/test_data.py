"""`python3 -m course_lib data`: Multi30k found, checked, and fetched when somebody says yes."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import sys
import threading

import pytest

from course_lib.cli import commands, data, main
from course_lib.text import multi30k

NAMES = multi30k.published()


@pytest.fixture(autouse=True)
def no_set_up(monkeypatch):
    monkeypatch.setattr(commands, "enter", lambda *_: None)
    monkeypatch.delenv(multi30k.VARIABLE, raising=False)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A server on this machine with nine small files, and checksums to go with them."""
    folder = tmp_path / "served"
    folder.mkdir()
    sums = {}
    for name in NAMES:
        packed = gzip.compress(f"{name}\n".encode(), mtime=0)
        (folder / name).write_bytes(packed)
        sums[name] = hashlib.sha256(packed).hexdigest()
    monkeypatch.setattr(multi30k, "checksums", lambda: sums)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    here = {"source": f"http://127.0.0.1:{server.server_port}"}
    monkeypatch.setattr(multi30k, "fetch", functools.partial(multi30k.fetch, **here))
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


def answer(monkeypatch, word: str | type[BaseException], *, terminal: bool = True) -> list[str]:
    """Somebody at the keyboard, who says `word`."""
    asked = []

    def reply(question: str) -> str:
        asked.append(question)
        if isinstance(word, str):
            return word
        raise word

    monkeypatch.setattr("builtins.input", reply)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    return asked


def test_it_is_downloaded_when_told_to(source, tmp_path, capsys):
    folder = tmp_path / "here"
    assert main(["data", "multi30k", str(folder), "--download"]) == 0
    told = capsys.readouterr().out
    assert f"Multi30k in {folder} (the folder you named)" in told and "· train.de.gz" in told
    assert "✓ train.de.gz" in told and "All nine files are there, and every checksum is right." in told
    assert {path.name for path in folder.iterdir()} == set(NAMES)
    assert main(["data", "multi30k", str(folder)]) == 0
    assert "missing" not in capsys.readouterr().out


def test_without_a_terminal_nobody_is_asked_and_everything_is_said(source, course_home, monkeypatch, capsys):
    asked = answer(monkeypatch, "y", terminal=False)
    assert main(["data", "multi30k"]) == 1
    told = capsys.readouterr().out
    assert asked == [] and not course_home.exists()
    assert told.count("missing") == 10 and f"put these files into {course_home / 'multi30k'}" in told
    assert "https://github.com/multi30k/dataset, folder data/task1/raw" in told
    assert "    python3 -m course_lib data multi30k --download\n" in told
    for name in NAMES:
        assert (
            f"    https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/{name}\n" in told
        )


@pytest.mark.parametrize("word", ["y", " Yes ", "Y"])
def test_on_a_terminal_it_asks_and_yes_means_yes(source, course_home, monkeypatch, word):
    asked = answer(monkeypatch, word)
    assert main(["data", "multi30k"]) == 0
    assert asked == ["Download them now? [y/N] "]
    assert (course_home / "multi30k" / "train.de.gz").is_file()


@pytest.mark.parametrize("word", ["", "n", "no", "what?", EOFError])
def test_anything_else_means_no(source, course_home, monkeypatch, word):
    answer(monkeypatch, word)
    assert main(["data", "multi30k"]) == 1 and not course_home.exists()


def test_ctrl_c_at_the_question(source, course_home, monkeypatch, capsys):
    answer(monkeypatch, KeyboardInterrupt)
    assert main(["data", "multi30k"]) == 130 and "Stopped." in capsys.readouterr().err


def test_the_folder_of_the_environment_variable(source, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(multi30k.VARIABLE, str(source))
    assert main(["data", "multi30k"]) == 0
    assert "(named by COURSE_MULTI30K)" in capsys.readouterr().out


def test_a_wrong_file_is_named_and_replaced(source, tmp_path, capsys):
    folder = tmp_path / "here"
    main(["data", "multi30k", str(folder), "--download"])
    (folder / "val.en.gz").write_bytes(b"something else")
    capsys.readouterr()
    assert main(["data", "multi30k", str(folder)]) == 1
    told = capsys.readouterr().out
    assert "· val.en.gz                wrong" in told and told.count("/raw/") == 1
    assert main(["data", "multi30k", str(folder), "--download"]) == 0


def test_a_server_that_lies_is_told_of_without_a_traceback(source, tmp_path, capsys):
    (source / "train.en.gz").write_bytes(b"something else")
    assert main(["data", "multi30k", str(tmp_path / "here"), "--download"]) == 1
    told = capsys.readouterr().err
    assert "train.en.gz sent other bytes than expected" in told
    assert "The files also come by hand, from https://github.com/multi30k/dataset." in told
    assert not list((tmp_path / "here").glob("train.en.gz*"))
    assert (tmp_path / "here" / "train.de.gz").is_file()


def test_a_folder_that_is_a_file(source, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["data", "multi30k", str(tmp_path / "file"), "--download"]) == 1
    assert "file" in capsys.readouterr().err


def test_show_is_passed_on(monkeypatch):
    monkeypatch.setattr(data.data_show, "run", lambda args: 7)
    assert main(["data", "show"]) == 7


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["data"], "the following arguments are required: WHAT"),
        (["data", "wmt"], "invalid choice: 'wmt'"),
        (["data", "multi30k", "--down"], "data does not know --down"),
    ],
)
def test_a_wrong_word_is_answered(capsys, words, told):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2 and told in capsys.readouterr().err

"""`python3 -m course_lib data`: sentences and words for people; Multi30k found, checked and fetched."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import sys
import threading

import pytest

from course_lib.cli import data, main
from course_lib.text import multi30k
from course_lib.text.toy.generate import running_pair

NAMES = multi30k.published()


# ---- the toy language


def test_a_pair_as_people_read_it():
    links = (
        "the—le  cat—chat  drank—a bu  the—l'  water—eau  because—parce qu'  it—elle  was—était  cold—froide"
    )
    assert data.lines(running_pair()[1]) == [
        "the cat drank the water because it was cold",
        "le chat a bu l' eau parce qu' elle était froide",
        f"    {links}",
        "    it = water",
        "    because, elision, gender, past, states",
    ]


def shown(capsys, *words: str) -> list[str]:
    assert main(["data", "show", *words]) == 0
    return capsys.readouterr().out.strip().split("\n\n")


def test_as_many_pairs_as_asked_for_with_the_rule_and_the_length(capsys):
    assert len(shown(capsys)) == 5
    assert shown(capsys, "--seed", "3") == shown(capsys, "--seed", "3") != shown(capsys)
    blocks = shown(capsys, "--n", "8", "--rule", "because", "--length", "10", "12")
    assert len(blocks) == 8
    for block in blocks:
        english, *_, phenomena = block.split("\n")
        assert " because " in english and 10 <= len(english.split()) <= 12 and "because" in phenomena


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--rule nope", "no rule nope. It has: gender, plural"),
        ("--length 1 4", "has 3 to 40 words"),
        pytest.param(
            "--rule because --length 3 4",
            "No sentence of 3 to 4 words needs the rule because",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_sentences_that_cannot_be(capsys, words, told):
    assert main(["data", "show", *words.split()]) == 1
    assert told in capsys.readouterr().err


def test_every_word_of_the_language_is_listed_once_by_its_kind(capsys):
    """A word that a sentence is made of is in the list: as it stands, or as a form of a noun or verb."""
    assert main(["data", "words"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(data.words_by_kind())
    found = data.words_by_kind()
    assert "cat" in found["animal"] and "look for" in found["verb"] and "thirsty" in found["adjective"]
    assert "the" in found["other"] and "sleeps" not in found["other"] and "cats" not in found["other"]
    assert all(len(set(known)) == len(known) for known in found.values())


# ---- Multi30k


@pytest.fixture(autouse=True)
def alone(monkeypatch, no_set_up):
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
    (folder / "val.en.gz").write_bytes(b"something else")
    assert main(["data", "multi30k", str(folder)]) == 1
    told = capsys.readouterr().out
    assert "· val.en.gz                wrong" in told and told.count("/raw/") == 1
    assert main(["data", "multi30k", str(folder), "--download"]) == 0


def test_without_a_terminal_nobody_is_asked_and_everything_is_said(source, course_home, monkeypatch, capsys):
    asked = answer(monkeypatch, "y", terminal=False)
    assert main(["data", "multi30k"]) == 1
    told = capsys.readouterr().out
    assert asked == [] and not course_home.exists()
    assert told.count("missing") == 10 and f"put these files into\n{course_home / 'multi30k'}\n" in told
    assert "https://github.com/multi30k/dataset, folder data/task1/raw" in told
    assert "course_lib data multi30k --download\n" in told
    for name in NAMES:
        assert f"    {multi30k.SOURCE}/{name}\n" in told


@pytest.mark.parametrize(
    ("word", "code"),
    [(" Yes ", 0), ("", 1), ("what?", 1), (EOFError, 1), (KeyboardInterrupt, 130)],
)
def test_on_a_terminal_it_asks_and_only_yes_means_yes(source, course_home, monkeypatch, word, code):
    asked = answer(monkeypatch, word)
    assert main(["data", "multi30k"]) == code
    assert asked == ["Download them now? [y/N] "]
    assert (course_home / "multi30k" / "train.de.gz").is_file() == (code == 0)


def test_the_folder_of_the_environment_variable(source, monkeypatch, capsys):
    monkeypatch.setenv(multi30k.VARIABLE, str(source))
    assert main(["data", "multi30k"]) == 0
    assert "(named by COURSE_MULTI30K)" in capsys.readouterr().out


def test_a_server_that_lies_and_a_folder_that_is_a_file(source, tmp_path, capsys):
    (source / "train.en.gz").write_bytes(b"something else")
    assert main(["data", "multi30k", str(tmp_path / "here"), "--download"]) == 1
    told = capsys.readouterr().err
    assert "train.en.gz sent other bytes than expected" in told
    assert "The files also come by hand, from https://github.com/multi30k/dataset." in told
    assert not list((tmp_path / "here").glob("train.en.gz*"))
    (tmp_path / "file").write_text("")
    assert main(["data", "multi30k", str(tmp_path / "file"), "--download"]) == 1

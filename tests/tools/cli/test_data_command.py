"""`python3 -m course_lib data`: sentences and words for people; Multi30k found, checked and fetched."""

from __future__ import annotations

import gzip
import hashlib
import sys

import pytest

from course_lib.text import multi30k
from course_lib.text.toy.generate import running_pair
from tools.cli import data_command, main

NAMES = multi30k.published()


# ---- the toy language


def test_a_pair_as_people_read_it():
    links = (
        "the—le  cat—chat  drank—a bu  the—l'  water—eau  because—parce qu'  it—elle  was—était  cold—froide"
    )
    assert data_command.lines(running_pair()[1]) == [
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
        ("--length 3 3 --rule because", "No such sentence among"),
    ],
)
def test_sentences_that_cannot_be(capsys, words, told):
    assert main(["data", "show", *words.split()]) == 1
    assert told in capsys.readouterr().err


def test_every_word_of_the_language_is_listed_once_by_its_kind(capsys):
    """A word that a sentence is made of is in the list: as it stands, or as a form of a noun or verb."""
    assert main(["data", "words"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = data_command.words_by_kind()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(found)
    assert "cat" in found["animal"] and "look for" in found["verb"] and "thirsty" in found["adjective"]
    assert "the" in found["other"] and "sleeps" not in found["other"] and "cats" not in found["other"]
    assert all(len(set(known)) == len(known) for known in found.values())


# ---- Multi30k


@pytest.fixture(autouse=True)
def alone(monkeypatch, no_set_up):
    monkeypatch.delenv(multi30k.VARIABLE, raising=False)


@pytest.fixture
def source(monkeypatch):
    """Nine small files in place of the real ones; what is fetched can be changed."""
    files = {name: gzip.compress(name.encode(), mtime=0) for name in NAMES}
    sums = {name: hashlib.sha256(packed).hexdigest() for name, packed in files.items()}
    monkeypatch.setattr(multi30k, "checksums", lambda: sums)
    monkeypatch.setattr(multi30k, "download", lambda url, path, sha256: path.write_bytes(files[path.name]))
    return files


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
    assert multi30k.HOME in told and "course_lib data multi30k --download\n" in told
    assert all(f"    {multi30k.SOURCE}/{name}\n" in told for name in NAMES)


@pytest.mark.parametrize(
    ("word", "code"), [(" Yes ", 0), ("what?", 1), (EOFError, 1), (KeyboardInterrupt, 130)]
)
def test_on_a_terminal_it_asks_and_only_yes_means_yes(source, course_home, monkeypatch, capsys, word, code):
    asked = answer(monkeypatch, word)
    assert main(["data", "multi30k"]) == code
    assert asked == ["Download what is missing now? [y/N] "]
    assert "2 MB" in capsys.readouterr().out  # whoever is asked knows what, from where and how much
    assert (course_home / "multi30k" / "train.de.gz").is_file() == (code == 0)


def test_what_cannot_be_downloaded_says_so_and_where_else_it_comes_from(
    source, tmp_path, monkeypatch, capsys
):
    def refuse(*_, **__):
        raise multi30k.DownloadError("The server sent other bytes than expected.")

    monkeypatch.setattr(multi30k, "download", refuse)
    assert main(["data", "multi30k", str(tmp_path / "here"), "--download"]) == 1
    assert "other bytes than expected.\nThe files also come by hand, from https:" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["data", "multi30k", str(tmp_path / "file"), "--download"]) == 1

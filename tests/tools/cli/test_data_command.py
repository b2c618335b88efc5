"""`python3 -m course_lib data`: the toy language printed; Multi30k found, checked and downloaded."""

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


def test_a_pair_is_printed_with_alignment_antecedent_and_phenomena():
    links = (
        "the—le  cat—chat  drank—a bu  the—l'  water—eau  because—parce qu'  it—elle  was—était  cold—froide"
    )
    assert data_command.format_pair(running_pair()[1]) == [
        "the cat drank the water because it was cold",
        "le chat a bu l' eau parce qu' elle était froide",
        f"    {links}",
        "    it = water",
        "    because, elision, gender, past, states",
    ]


def show(capsys, *words: str) -> list[str]:
    assert main(["data", "show", *words]) == 0
    return capsys.readouterr().out.strip().split("\n\n")


def test_the_number_the_seed_the_rule_and_the_length_of_pairs_can_be_chosen(capsys):
    assert len(show(capsys)) == 5
    assert show(capsys, "--seed", "3") == show(capsys, "--seed", "3") != show(capsys)
    blocks = show(capsys, "--n", "8", "--rule", "because", "--length", "10", "12")
    assert len(blocks) == 8
    for block in blocks:
        english, *_, phenomena = block.split("\n")
        assert " because " in english and 10 <= len(english.split()) <= 12 and "because" in phenomena


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("--rule nope", ["nope", "gender, plural"]),
        ("--length 1 4", ["3 to 40", "1 4"]),
        ("--length 9 3", ["3 to 40", "9 3"]),
        ("--length 3 3 --rule because", ["20,000"]),
    ],
)
def test_an_impossible_sentence_is_an_error(capsys, words, parts):
    assert main(["data", "show", *words.split()]) == 1
    err = capsys.readouterr().err
    assert all(part in err for part in parts)


def test_every_word_is_listed_once_by_its_kind(capsys):
    assert main(["data", "words"]) == 0
    lines = capsys.readouterr().out.splitlines()
    by_kind = data_command.words_by_kind()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(by_kind)
    assert "cat" in by_kind["animal"] and "look for" in by_kind["verb"] and "thirsty" in by_kind["adjective"]
    assert "the" in by_kind["other"] and not {"sleeps", "cats"} & set(by_kind["other"])
    assert all(len(set(words)) == len(words) for words in by_kind.values())


# ---- Multi30k


@pytest.fixture(autouse=True)
def no_set_up_and_no_folder(monkeypatch, no_set_up):
    monkeypatch.delenv(multi30k.VARIABLE, raising=False)


@pytest.fixture
def source(monkeypatch):
    """Replace downloads by nine small files, whose content a test may change."""
    files = {name: gzip.compress(name.encode(), mtime=0) for name in NAMES}
    sums = {name: hashlib.sha256(packed).hexdigest() for name, packed in files.items()}
    monkeypatch.setattr(multi30k, "checksums", lambda: sums)
    monkeypatch.setattr(multi30k, "download", lambda url, path, sha256: path.write_bytes(files[path.name]))
    return files


def answer(monkeypatch, word: str | type[BaseException], *, terminal: bool = True) -> list[str]:
    """Simulate a user who answers `word` (or an exception). Returns the list of questions asked."""
    questions = []

    def reply(question: str) -> str:
        questions.append(question)
        if isinstance(word, str):
            return word
        raise word

    monkeypatch.setattr("builtins.input", reply)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    return questions


def test_it_is_downloaded_with_the_option(source, tmp_path, capsys):
    folder = tmp_path / "here"
    assert main(["data", "multi30k", str(folder), "--download"]) == 0
    out = capsys.readouterr().out
    assert f"Multi30k in {folder} " in out and "· train.de.gz" in out and "✓ train.de.gz" in out
    assert {path.name for path in folder.iterdir()} == set(NAMES)
    (folder / "val.en.gz").write_bytes(b"something else")
    assert main(["data", "multi30k", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "· val.en.gz                wrong" in out and out.count("/raw/") == 1
    assert main(["data", "multi30k", str(folder), "--download"]) == 0


def test_without_a_terminal_the_user_is_not_asked_and_gets_all_addresses(
    source, course_home, monkeypatch, capsys
):
    questions = answer(monkeypatch, "y", terminal=False)
    assert main(["data", "multi30k"]) == 1
    out = capsys.readouterr().out
    assert questions == [] and not course_home.exists()
    assert all(f"· {name:24} missing\n" in out for name in NAMES) and f"\n{course_home / 'multi30k'}\n" in out
    assert multi30k.HOME in out and "course_lib data multi30k --download\n" in out
    assert all(f"    {multi30k.SOURCE}/{name}\n" in out for name in NAMES)


@pytest.mark.parametrize(
    ("word", "code"), [(" Yes ", 0), ("what?", 1), (EOFError, 1), (KeyboardInterrupt, 130)]
)
def test_on_a_terminal_the_user_is_asked_and_only_yes_downloads(
    source, course_home, monkeypatch, capsys, word, code
):
    questions = answer(monkeypatch, word)
    assert main(["data", "multi30k"]) == code
    assert len(questions) == 1 and "[y/N]" in questions[0]
    assert "2 MB" in capsys.readouterr().out  # the size is known before the question
    assert (course_home / "multi30k" / "train.de.gz").is_file() == (code == 0)


def test_a_failed_download_names_the_address(source, tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise multi30k.DownloadError("The server sent other bytes than expected.")

    monkeypatch.setattr(multi30k, "download", refuse)
    assert main(["data", "multi30k", str(tmp_path / "here"), "--download"]) == 1
    err = capsys.readouterr().err
    assert "other bytes than expected." in err and multi30k.HOME in err
    (tmp_path / "file").write_text("")
    assert main(["data", "multi30k", str(tmp_path / "file"), "--download"]) == 1

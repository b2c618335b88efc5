"""Sentence pairs from files: good ones, and bad ones of every kind."""

from __future__ import annotations

import gzip
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text.corpus import CorpusError, Sentences, read_lines, read_split, read_tsv

properties = settings(derandomize=True, deadline=None, max_examples=100, database=None)

FRENCH = ["Le chat dort.", "Où est l’école ?", "Il a mangé la pomme."]
ENGLISH = ["The cat sleeps.", "Where is the school?", "He ate the apple."]
PACKED = gzip.compress("\n".join(FRENCH * 50).encode(), mtime=0)


@pytest.fixture
def write(tmp_path):
    """write("a.fr", "text"), or bytes, or lines → the path."""

    def write(name: str, content: str | bytes | list[str]) -> Path:
        if isinstance(content, list):
            content = "".join(f"{line}\n" for line in content)
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


# ---- lines


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb", ["a", "b"]),
        (b"a\n\n\nb\n", ["a", "", "", "b"]),
        (b"a\rb\n", ["a\rb"]),  # a line ends at a line feed and nowhere else
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("cafe\u0301\n".encode(), ["café"]),
    ],
)
def test_lines_plain_or_packed_whatever_the_name(write, content, lines):
    assert read_lines(write("a.gz", content)) == lines
    assert read_lines(write("a", gzip.compress(content))) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
@properties
def test_any_text_comes_back_composed_and_in_as_many_lines(tmp_path_factory, lines):
    """Also U+2028 and its like, where `splitlines` would begin a new line."""
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes("".join(f"{line}\n" for line in ["", "a\u2028b\x85c\x0b\x1d", *lines]).encode())
    expected = [unicodedata.normalize("NFC", line).removesuffix("\r") for line in lines]
    assert read_lines(path) == ["", "a\u2028b\x85c\x0b\x1d", *expected]


# ---- pairs


def test_a_folder_and_tabs_give_the_same_pairs(write, tmp_path):
    write("train.fr", FRENCH)
    write("train.en.gz", gzip.compress("\n".join(ENGLISH).encode()))
    found = read_split(tmp_path, "train", "fr", "en")
    assert found == Sentences(tuple(FRENCH), tuple(ENGLISH)) and len(found) == 3
    assert list(found)[1] == (FRENCH[1], ENGLISH[1])
    assert read_split(str(tmp_path), "train", "en", "fr") == Sentences(found.tgt, found.src)
    write("train.en", ["another"] * 3)
    assert read_split(tmp_path, "train", "fr", "en") == found  # the packed one is read
    assert read_tsv(write("a.tsv", [f"{src}\t{tgt}\tCC-BY" for src, tgt in found])) == found


def test_further_columns_are_not_read_and_quotation_marks_are_text(write):
    path = write("fra.txt.gz", gzip.compress(b'"Run!\tCours !"\tCC-BY 2.0 (France)\r\n'))
    assert list(read_tsv(path)) == [('"Run!', 'Cours !"')]


def test_a_pair_with_an_empty_side_is_left_out(write, tmp_path):
    write("a.fr", ["un", " \t\u00a0", "  a\u00a0 b ", "", "x"])
    write("a.en", [*"1234", ""])
    assert list(read_split(tmp_path, "a", "fr", "en")) == [("un", "1"), ("a\u00a0 b", "3")]
    assert list(read_tsv(write("t", "a\tb\n\n \nc\t \nd\te\n"))) == [("a", "b"), ("d", "e")]


# ---- what cannot be read


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_lines, b"one\ntwo\ncaf\xe9\n", r"a, line 3: expected UTF-8 text.*0xe9"),
        (read_lines, "Où ?".encode("utf-16"), r"a, line 1: expected UTF-8 text"),
        (read_lines, PACKED[:40], r"a is a damaged gzip file .*Get the file again"),
        (read_lines, PACKED[:60] + b"\xff\xff\xff" + PACKED[63:], r"a is a damaged gzip file"),
        (read_lines, PACKED[:-6] + b"\0\0\0\0\0\0", r"a is a damaged gzip file"),
        (read_tsv, "", r"There is no sentence pair in .*a"),
        (read_tsv, "a b\nc d\n", r"Expected 2 columns with a tab between, but .*a has 1"),
        (read_tsv, "a\tb\n\na\tb\tc\n", r"a, line 3: expected 2 columns, as before, but it has 3"),
    ],
)
def test_what_cannot_be_read_is_refused(write, read, content, message):
    with pytest.raises(CorpusError, match=message):
        read(write("a", content))


def test_a_split_that_is_not_there_or_not_aligned(write, tmp_path):
    write("train.fr", FRENCH)
    with pytest.raises(FileNotFoundError, match=r"train\.en\.gz or train\.en in .* \(there: train\.fr\)"):
        read_split(tmp_path, "train", "fr", "en")
    with pytest.raises(ValueError, match="Expected two languages, but source and target are both 'fr'"):
        read_split(tmp_path, "train", "fr", "fr")
    write("train.en", ENGLISH[:2])
    with pytest.raises(CorpusError, match=r"fr has 3 and .*en has 2\. From some line on.*both files again"):
        read_split(tmp_path, "train", "fr", "en")

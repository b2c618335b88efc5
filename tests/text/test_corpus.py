"""Sentence pairs from files, valid and invalid."""

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
        (b"a\r", ["a"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("cafe\u0301\n".encode(), ["café"]),
    ],
)
def test_lines_are_read_plain_or_compressed_regardless_of_the_file_name(write, content, lines):
    assert read_lines(write("a.gz", content)) == lines
    assert read_lines(write("a", gzip.compress(content))) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]))))
@properties
def test_any_text_is_read_in_nfc_with_the_same_number_of_lines(tmp_path_factory, lines):
    """Including U+2028 and others, where `splitlines` would start a new line."""
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes("".join(f"{line}\n" for line in ["", "a\u2028b\x85c\x0b\x1d", *lines]).encode())
    expected = [unicodedata.normalize("NFC", line).removesuffix("\r") for line in lines]
    assert read_lines(path) == ["", "a\u2028b\x85c\x0b\x1d", *expected]


# ---- pairs


def test_a_folder_and_a_tsv_file_give_the_same_pairs(write, tmp_path):
    write("train.fr", FRENCH)
    write("train.en.gz", gzip.compress("\n".join(ENGLISH).encode()))
    pairs = read_split(tmp_path, "train", "fr", "en")
    assert pairs == Sentences(tuple(FRENCH), tuple(ENGLISH)) and len(pairs) == 3
    assert list(pairs)[1] == (FRENCH[1], ENGLISH[1])
    assert read_split(str(tmp_path), "train", "en", "fr") == Sentences(pairs.tgt, pairs.src)
    write("train.en", ["another"] * 3)
    assert read_split(tmp_path, "train", "fr", "en") == pairs  # the compressed one is read
    assert read_tsv(write("a.tsv", [f"{src}\t{tgt}\tCC-BY" for src, tgt in pairs])) == pairs


def test_further_columns_are_ignored_and_quotation_marks_are_text(write):
    path = write("fra.txt.gz", gzip.compress(b'"Run!\tCours !"\tCC-BY 2.0 (France)\r\n'))
    assert list(read_tsv(path)) == [('"Run!', 'Cours !"')]


def test_a_pair_with_an_empty_side_is_left_out(write, tmp_path):
    write("a.fr", ["un", " \t\u00a0", "  a\u00a0 b ", "", "x"])
    write("a.en", [*"1234", ""])
    assert list(read_split(tmp_path, "a", "fr", "en")) == [("un", "1"), ("a\u00a0 b", "3")]
    assert list(read_tsv(write("t", "a\tb\n\n \nc\t \nd\te\n"))) == [("a", "b"), ("d", "e")]


# ---- invalid files


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_lines, b"one\ntwo\ncaf\xe9\n", r"a, line 3: expected UTF-8 text.*0xe9"),
        (read_lines, b"one\ntwo\0\n", r"a, line 2: expected UTF-8 text.*zero byte"),
        (read_lines, PACKED[:40], r"a is a damaged gzip file"),
        (read_lines, PACKED[:60] + b"\xff\xff\xff" + PACKED[63:], r"a is a damaged gzip file"),
        (read_lines, PACKED[:-6] + b"\0\0\0\0\0\0", r"a is a damaged gzip file"),
        (read_tsv, "", r"a contains no sentence pairs"),
        (read_tsv, "a b\nc d\n", r"2 columns .*a has 1"),
        (read_tsv, "a\tb\n\na\tb\tc\n", r"a, line 3: expected 2 columns.*3"),
    ],
)
def test_an_invalid_file_is_refused(write, read, content, message):
    with pytest.raises(CorpusError, match=message):
        read(write("a", content))


TABBED = "".join(f"{src}\t{tgt}\n" for src, tgt in zip(FRENCH, ENGLISH, strict=True))
NOT_UTF8 = {
    "UTF-16": TABBED.encode("utf-16"),
    "UTF-16, little-endian without a mark": TABBED.encode("utf-16-le"),
    "UTF-16, big-endian without a mark": TABBED.encode("utf-16-be"),
    "UTF-16, one line of Chinese": "\ufeff\u732b\u5728\u7761".encode("utf-16-be"),
    "UTF-32": TABBED.encode("utf-32"),
    "carriage returns": TABBED.replace("\n", "\r").encode(),
}


@pytest.mark.parametrize("content", NOT_UTF8.values(), ids=NOT_UTF8)
def test_text_that_is_not_utf8_with_line_feeds_is_refused_with_advice(write, tmp_path, content):
    write("train.fr", content)
    write("train.en.gz", gzip.compress(content))
    for read in (
        lambda: read_tsv(tmp_path / "train.fr"),
        lambda: read_split(tmp_path, "train", "fr", "en"),
    ):
        with pytest.raises(CorpusError, match=r"train\.fr, line 1: .*(UTF-16|carriage returns).*Save it"):
            read()
    with pytest.raises(CorpusError, match=r"train\.en\.gz, line 1: .*Save it as UTF-8, with line feeds"):
        read_lines(tmp_path / "train.en.gz")


def test_a_missing_or_misaligned_split_is_refused(write, tmp_path):
    write("train.fr", FRENCH)
    with pytest.raises(FileNotFoundError, match=r"train\.en\.gz or train\.en in .*train\.fr"):
        read_split(tmp_path, "train", "fr", "en")
    with pytest.raises(ValueError, match=r"two languages.*'fr'"):
        read_split(tmp_path, "train", "fr", "fr")
    write("train.en", ENGLISH[:2])
    with pytest.raises(CorpusError, match=r"fr has 3 and .*en has 2"):
        read_split(tmp_path, "train", "fr", "en")

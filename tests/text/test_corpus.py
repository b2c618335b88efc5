"""Sentence pairs from files: good ones, and bad ones of every kind."""

from __future__ import annotations

import gzip
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text.corpus import MAX_LEN, Drop, Report, Sentences, read_aligned, read_split, read_tsv
from course_lib.text.lines import CorpusError, read_lines

properties = settings(derandomize=True, deadline=None, max_examples=100, database=None)

FRENCH = ["Le chat dort.", "Où est l’école ?", "Il a mangé la pomme."]
ENGLISH = ["The cat sleeps.", "Where is the school?", "He ate the apple."]


@pytest.fixture
def write(tmp_path):
    """write("a.fr", "text") or bytes → the path."""

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
        (b"a", ["a"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\nb", ["a", "b"]),
        (b"a\n\n\nb\n", ["a", "", "", "b"]),
        (b"a\rb\n", ["a\rb"]),  # a line ends at a line feed and nowhere else
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("cafe\u0301\n".encode(), ["café"]),
        (b"good\ncaf\xe9\ngood\n", ["good", None, "good"]),
        (b"\xe9\r\nb\r\n", [None, "b"]),
        (b"a\0b\nc\n", [None, "c"]),
        (b"a\0b\n\xe9\nc\0\n", [None, None, None]),
        (b"\xed\xa0\x80\nb\n", [None, "b"]),  # half of a surrogate pair is no character
        ("cafe\u0301\n".encode() + b"\xe9", ["café", None]),
    ],
)
def test_lines(write, content, lines):
    assert read_lines(write("a", content)) == lines
    assert read_lines(write("a", gzip.compress(content))) == lines


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_what_splitlines_would_split_stays_one_line(write, inside):
    assert read_lines(write("a", f"one{inside}two\nthree\n")) == [f"one{inside}two", "three"]


@given(st.lists(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]))))
@properties
def test_any_text_comes_back_composed(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    expected = [unicodedata.normalize("NFC", line).removesuffix("\r") for line in lines]
    if expected and lines[0].startswith("\ufeff"):
        expected[0] = expected[0][1:]
    assert read_lines(path) == expected


def test_gzip_is_known_by_its_bytes_not_by_its_name(write):
    assert read_lines(write("packed.fr", gzip.compress(b"a\n"))) == ["a"]
    assert read_lines(write("plain.fr.gz", b"a\n")) == ["a"]
    assert read_lines(write("two.gz", gzip.compress(b"a\n") + gzip.compress(b"b\n"))) == ["a", "b"]


@pytest.mark.parametrize("end", [3, 12, -9, -1])
def test_a_cut_off_gzip_file_is_refused(write, end):
    packed = gzip.compress("\n".join(FRENCH * 50).encode())
    with pytest.raises(CorpusError, match=r"a\.fr\.gz is cut off: its gzip stream has no end\. Get"):
        read_lines(write("a.fr.gz", packed[:end]))


def test_a_damaged_gzip_file_is_refused(write):
    packed = bytearray(gzip.compress("\n".join(FRENCH * 50).encode()))
    for place in (len(packed) // 2, len(packed) - 6):  # in the text, and in the checksum behind it
        bad = bytes(packed[:place]) + bytes([packed[place] ^ 0xFF]) + bytes(packed[place + 1 :])
        with pytest.raises(CorpusError, match=r"a\.gz is a damaged gzip file"):
            read_lines(write("a.gz", bad))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("Où ?".encode("utf-16"), "is UTF-16. Save it as UTF-8."),
        (b"\xfe\xff\0a", "is UTF-16"),
        (b"PK\x03\x04....", "is a zip archive. Unpack it"),
        (b"\xfd7zXZ\0", "is packed with xz"),
        (gzip.compress(b"BZh91AY", mtime=0), "is packed with bzip2"),
    ],
)
def test_what_is_no_text_is_refused_by_name(write, content, told):
    with pytest.raises(CorpusError) as refused:
        read_lines(write("a.fr", content))
    assert told in str(refused.value) and "a.fr" in str(refused.value)


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Expected a text file at .*a\.fr, but there is none"):
        read_lines(tmp_path / "a.fr")
    with pytest.raises(CorpusError, match=r"is a folder\. Name the file inside it\."):
        read_lines(tmp_path)


def test_a_file_that_cannot_be_read_says_why(write, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(CorpusError, match=r"a\.fr cannot be read: Permission denied"):
        read_lines(write("a.fr", "a"))


# ---- aligned files


def test_aligned_files(write):
    found = read_aligned(write("a.fr", FRENCH), str(write("a.en", ENGLISH)))
    assert found.src == tuple(FRENCH) and found.tgt == tuple(ENGLISH)
    assert found.report == Report(read=3) and str(found.report) == "3 pairs read, 3 kept, 0 dropped"
    assert len(found) == 3 and next(iter(found)) == (FRENCH[0], ENGLISH[0])


def test_the_space_around_a_sentence_goes_the_space_inside_stays(write):
    found = read_aligned(write("a", ["  a\u00a0 b \t"]), write("b", ["c"]))
    assert found.src == ("a\u00a0 b",)


def test_files_of_different_lengths_are_refused_with_both_counts(write):
    for bad_lines in ("drop", "refuse"):
        with pytest.raises(
            CorpusError, match=r"a\.fr has 3 and .*a\.en has 2\. From some line on"
        ) as refused:
            read_aligned(write("a.fr", FRENCH), write("a.en", ENGLISH[:2]), bad_lines=bad_lines)
    assert "Get both files again" in str(refused.value)


def test_a_line_separator_inside_a_sentence_shifts_nothing(write):
    src = ["eins", "zwei\u2028halb", "drei"]
    assert list(read_aligned(write("a", src), write("b", ENGLISH)))[2] == ("drei", ENGLISH[2])


BAD = [
    (b"", "empty", "it is empty"),
    (b" \t \xc2\xa0", "empty", "it is empty"),
    (b"x" * (MAX_LEN + 1), "over-long", "it is over-long (the limit is 1,000 characters)"),
    (b"caf\xe9", "undecodable", "it is not UTF-8 text"),
    (b"a\0b", "undecodable", "it is not UTF-8 text"),
]


@pytest.mark.parametrize("blamed", ["a.fr", "a.en"])
@pytest.mark.parametrize(("line", "reason", "why"), BAD)
def test_a_bad_line_takes_its_pair_along_or_is_refused(write, line, reason, why, blamed):
    bad, good = b"one\n" + line + b"\nthree\n", ["un", "deux", "trois"]
    paths = [write(name, bad if name == blamed else good) for name in ("a.fr", "a.en")]
    found = read_aligned(*paths)
    assert list(found) == (
        [("one", "un"), ("three", "trois")] if blamed == "a.fr" else [("un", "one"), ("trois", "three")]
    )
    assert found.report.drops == (Drop(write(blamed, bad), 2, reason),)
    assert (found.report.read, found.report.kept, found.report.dropped) == (3, 2, {reason: 1})
    assert str(found.report) == f"3 pairs read, 2 kept, 1 dropped: 1 {reason} ({blamed}:2)"
    with pytest.raises(CorpusError) as refused:
        read_aligned(*paths, bad_lines="refuse")
    assert f"{blamed}, line 2: {why}." in str(refused.value) and 'bad_lines="drop"' in str(refused.value)


def test_a_pair_that_is_bad_on_both_sides_is_dropped_once(write):
    found = read_aligned(write("a.fr", b"\xe9\nun\n"), write("a.en", b"\none\n"))
    assert found.report.dropped == {"undecodable": 1} and found.report.drops[0].place == "a.fr:1"


def test_the_longest_line_that_is_not_over_long(write):
    long = "é" * MAX_LEN  # characters count, not bytes
    assert len(read_aligned(write("a", [long]), write("b", [long]))) == 1
    assert len(read_aligned(write("a", [long * 9]), write("b", ["x"]), max_len=None)) == 1
    with pytest.raises(CorpusError, match="over-long"):
        read_aligned(write("a", ["four"]), write("b", ["four"]), max_len=3)


def test_many_drops_are_counted_and_a_few_places_named(write):
    found = read_aligned(write("a.fr", ["", "", "", "", "", "un"]), write("a.en", list("123456")))
    assert str(found.report) == ("6 pairs read, 1 kept, 5 dropped: 5 empty (a.fr:1, a.fr:2, a.fr:3, ...)")


def test_identical_pairs_are_kept_and_counted(write):
    found = read_aligned(write("a", ["Paris", "Le chat"]), write("b", ["Paris", "The cat"]))
    assert len(found) == 2 and found.report.identical == 1
    assert str(found.report).endswith("0 dropped; 1 identical on both sides")


@pytest.mark.parametrize("content", ["", "\n\n", b"\xe9\n\xe9\n"])
def test_a_corpus_without_a_pair_is_refused(write, content):
    with pytest.raises(CorpusError, match=r"There is no sentence pair in .*a and .*b: \d pairs read, 0 kept"):
        read_aligned(write("a", content), write("b", content))


def test_a_wrong_choice_is_named(write):
    with pytest.raises(ValueError, match='"drop" or "refuse", but got \'ignore\''):
        read_aligned(write("a", ["a"]), write("b", ["b"]), bad_lines="ignore")


def test_sentences_come_in_pairs():
    with pytest.raises(ValueError, match="2 sentences and 1 translations"):
        Sentences(("a", "b"), ("c",))


# ---- TSV


MANYTHINGS = "Run!\tCours !\tCC-BY 2.0 (France) Attribution: tatoeba.org #1 (x) & #2 (y)\n"
TATOEBA = "1276\tLet's try.\t3091\tEssayons.\n"


def test_both_of_tatoebas_forms(write):
    assert list(read_tsv(write("fra.txt", MANYTHINGS))) == [("Run!", "Cours !")]
    assert list(read_tsv(write("fra.txt.gz", gzip.compress(MANYTHINGS.encode())))) == [("Run!", "Cours !")]
    assert list(read_tsv(write("pairs.tsv", TATOEBA))) == [("Let's try.", "Essayons.")]
    assert list(read_tsv(write("two.tsv", "a\tb\r\nc\td\r\n"))) == [("a", "b"), ("c", "d")]


def test_columns_can_be_named(write):
    assert list(read_tsv(write("fra.txt", MANYTHINGS), columns=(1, 0))) == [("Cours !", "Run!")]
    assert list(read_tsv(write("p", "x\ty\tz\tw\n"), columns=(0, 3))) == [("x", "w")]


def test_quotation_marks_are_text(write):
    line = '"Run!" he said.\t"Cours\n"a"\tb"\n'
    assert list(read_tsv(write("q", line))) == [('"Run!" he said.', '"Cours'), ('"a"', 'b"')]


def test_a_line_with_another_number_of_columns_is_never_read_shifted(write):
    lines = MANYTHINGS * 3 + "a\ttab inside\tits sentence\tCC-BY\n" + "no tab\n" + MANYTHINGS
    path = write("fra.txt", lines)
    found = read_tsv(path)
    assert set(found) == {("Run!", "Cours !")} and len(found) == 4
    assert found.report.dropped == {"misaligned": 2}
    assert [drop.place for drop in found.report.drops] == ["fra.txt:4", "fra.txt:5"]
    with pytest.raises(
        CorpusError, match=r"fra\.txt, line 4: it has another number of columns than the rest"
    ):
        read_tsv(path, bad_lines="refuse")


def test_one_bad_id_does_not_turn_ids_into_sentences(write):
    found = read_tsv(write("pairs.tsv", TATOEBA * 3 + TATOEBA.replace("1276", "\\N")))
    assert set(found) == {("Let's try.", "Essayons.")}


def test_other_bad_lines_of_a_tsv(write):
    found = read_tsv(write("t", b"a\tb\n\n \t\t\n\xe9\tb\nc\t \n" + b"y\t" + b"x" * 1001 + b"\na\tb\n"))
    assert found.report.dropped == {"empty": 3, "undecodable": 1, "over-long": 1} and len(found) == 2


def test_a_file_without_tabs_is_refused(write):
    with pytest.raises(CorpusError, match=r"at least 2 columns, but most lines of .*t have 1\. Is it"):
        read_tsv(write("t", "a b\nc d\n"))
    with pytest.raises(CorpusError, match=r"are the columns \(0, 7\) right\?"):
        read_tsv(write("t", MANYTHINGS), columns=(0, 7))
    with pytest.raises(CorpusError, match=r"There is no sentence pair in .*t: 0 pairs read"):
        read_tsv(write("t", ""))


# ---- a folder


def test_a_split_of_a_folder_packed_or_plain(write, tmp_path):
    write("train.fr", FRENCH)
    write("train.en.gz", gzip.compress("\n".join(ENGLISH).encode()))
    assert list(read_split(tmp_path, "train", "fr", "en"))[1] == (FRENCH[1], ENGLISH[1])
    assert list(read_split(tmp_path, "train", "en", "fr"))[1] == (ENGLISH[1], FRENCH[1])
    write("train.en", ["another"] * 3)
    assert read_split(tmp_path, "train", "fr", "en").tgt == tuple(ENGLISH)


def test_a_split_that_is_not_there(write, tmp_path):
    write("train.fr", FRENCH)
    with pytest.raises(FileNotFoundError, match=r"train\.en\.gz or train\.en in .* \(there: train\.fr\)"):
        read_split(tmp_path, "train", "fr", "en")
    with pytest.raises(FileNotFoundError, match=r"but neither is there\."):
        read_split(tmp_path / "nowhere", "train", "fr", "en")
    with pytest.raises(ValueError, match="Expected two languages, but source and target are both 'fr'"):
        read_split(tmp_path, "train", "fr", "fr")


def test_a_corpus_of_29000_pairs_is_read_in_well_under_a_second(write):
    sentence = "Deux jeunes hommes sont dehors près de nombreux buissons."
    paths = [write(name, [f"{sentence} {n}" for n in range(29_000)]) for name in ("a.fr", "a.en")]
    times = []
    for _ in range(3):
        start = time.process_time()
        assert len(read_aligned(*paths)) == 29_000
        times.append(time.process_time() - start)
    assert min(times) < 1.0, times

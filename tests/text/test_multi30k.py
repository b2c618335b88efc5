"""Multi30k: where it is looked for, what is said when it is not there; the real files where there are any."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.text import multi30k
from course_lib.text.corpus import CorpusError
from course_lib.text.download import DownloadError
from course_lib.text.multi30k import (
    LANGUAGES,
    SOURCE,
    VARIABLE,
    checksums,
    fetch,
    find_place,
    load_multi30k,
    published,
    state,
)

pytestmark = pytest.mark.slow

REAL = [Path(os.environ.get(VARIABLE) or "nowhere"), PROJECT_ROOT.parent / "shared" / "data" / "multi30k"]
SPLITS = ("train", "val", "test_2016_flickr")


@pytest.fixture(autouse=True)
def no_folder_named(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def real() -> Path:
    for folder in REAL:
        if (folder / "train.de.gz").is_file():
            return folder
    pytest.skip(f"Multi30k is not here; set {VARIABLE} to its folder to try the real files")


def pretended(language: str) -> str:
    return "".join(f"{language} {number}\n" for number in range(4))


@pytest.fixture
def pretend(tmp_path, monkeypatch) -> Path:
    """A folder with nine small files, and checksums to go with them."""
    folder = tmp_path / "pretend"
    folder.mkdir()
    sums = {}
    for stem, language in itertools.product(SPLITS, LANGUAGES):
        plain = pretended(language).encode()
        packed = gzip.compress(plain, mtime=0)
        (folder / f"{stem}.{language}.gz").write_bytes(packed)
        sums[f"{stem}.{language}.gz"] = hashlib.sha256(packed).hexdigest()
        sums[f"{stem}.{language}"] = hashlib.sha256(plain).hexdigest()
    monkeypatch.setattr(multi30k, "checksums", lambda: sums)
    return folder


# ---- the real files


@pytest.mark.parametrize(("src", "tgt"), list(itertools.permutations(LANGUAGES, 2)))
def test_every_language_pair_is_complete(real, src, tgt):
    for split, size in {"train": 29_000, "validation": 1_014, "val": 1_014, "test": 1_000}.items():
        found = load_multi30k(src, tgt, split, real)
        assert len(found) == size and found.dropped == ()
        assert all(text and text == text.strip() for text in found.src)


def test_the_real_files_have_our_checksums_packed_and_unpacked(real, tmp_path):
    for name in published():
        assert state(real, name) == "right"
        (tmp_path / name.removesuffix(".gz")).write_bytes(gzip.decompress((real / name).read_bytes()))
        assert state(tmp_path, name) == "right"
    assert load_multi30k("fr", "en", "test", tmp_path) == load_multi30k("fr", "en", "test", real)


# ---- where it is looked for


def test_there_are_nine_files():
    assert len(published()) == 9 and len(checksums()) == 18
    assert {name.split(".")[0] for name in published()} == set(SPLITS)
    assert all(len(sha256) == 64 for sha256 in checksums().values())


def test_a_named_folder_comes_before_the_variable_before_the_courses_own(monkeypatch, course_home, tmp_path):
    assert find_place().folder == course_home / "multi30k"
    assert find_place().command == "python3 -m course_lib data multi30k --download"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mine"))
    assert find_place().folder == tmp_path / "mine" and VARIABLE in find_place().why
    assert find_place("~/corpora").folder == Path.home() / "corpora"
    assert find_place("a b").command == 'python3 -m course_lib data multi30k --download "a b"'


def test_it_is_loaded_from_each_of_them(monkeypatch, pretend, course_home):
    expected = load_multi30k("de", "en", "test", pretend)
    assert list(expected)[3] == ("de 3", "en 3")
    monkeypatch.setenv(VARIABLE, str(pretend))
    assert load_multi30k(split="test") == expected
    monkeypatch.delenv(VARIABLE)
    course_home.mkdir()
    pretend.rename(course_home / "multi30k")
    assert load_multi30k(split="test") == expected


# ---- what is said when something is wrong


def test_a_missing_file_says_where_it_should_be_and_how_to_get_it(course_home, pretend):
    with pytest.raises(FileNotFoundError) as missing:
        load_multi30k("fr", "en")
    told = str(missing.value)
    assert "Multi30k is not part of the course, and train.fr.gz is not in" in told
    assert str(course_home / "multi30k") in told
    assert "`python3 -m course_lib data multi30k --download` gets it" in told
    assert told.endswith(f"{SOURCE}/train.fr.gz")
    (pretend / "val.en.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"val\.en\.gz is not in .*pretend \(the folder you named\)"):
        load_multi30k("fr", "en", "validation", pretend)


def test_a_changed_file_is_never_read(pretend):
    (pretend / "train.de.gz").write_bytes(gzip.compress(pretended("xx").encode()))
    with pytest.raises(
        CorpusError, match=r"train\.de\.gz in .* is not the file that Multi30k published"
    ) as wrong:
        load_multi30k("de", "en", folder=pretend)
    assert "read_split" in str(wrong.value)
    (pretend / "train.de").write_text(pretended("de"))
    assert state(pretend, "train.de.gz") == "wrong"  # the packed one is the one that is read
    (pretend / "train.de.gz").unlink()
    assert state(pretend, "train.de.gz") == "right"
    assert next(iter(load_multi30k("de", "en", folder=pretend))) == ("de 0", "en 0")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("es", "en"), "Expected src to be one of de, en, fr, but got 'es'"),
        (("de", "EN"), "Expected tgt to be one of de, en, fr, but got 'EN'"),
        (("de", "de"), "Expected two languages, but source and target are both 'de'"),
        (("de", "en", "valid"), "Expected split to be train, validation or test, but got 'valid'"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_ones(pretend, arguments, told):
    with pytest.raises(ValueError, match=told):
        load_multi30k(*arguments, folder=pretend)


# ---- fetching


@pytest.fixture
def downloads(pretend, monkeypatch) -> list[str]:
    """In place of the web: what is asked for is copied from the pretended folder."""
    asked = []

    def copy(url, path, *, sha256):
        assert url.startswith("https://") and sha256 == multi30k.checksums()[path.name]
        asked.append(url)
        path.write_bytes((pretend / path.name).read_bytes())

    monkeypatch.setattr(multi30k, "download", copy)
    return asked


def test_only_what_is_missing_or_wrong_is_fetched(tmp_path, pretend, downloads):
    folder, told = tmp_path / "new" / "folder", []
    fetch(folder, tell=told.append)
    assert downloads == [f"{SOURCE}/{name}" for name in published()] and len(told) == 9
    downloads.clear()
    (folder / "train.de.gz").write_bytes(b"wrong")
    (folder / "val.fr.gz").unlink()
    fetch(folder, tell=told.append)
    assert [url.rpartition("/")[2] for url in downloads] == ["train.de.gz", "val.fr.gz"]
    assert all(state(folder, name) == "right" for name in published())
    assert not (folder / ".gitignore").exists()


def test_inside_the_courses_folder_git_is_told_to_look_away(tmp_path, monkeypatch, downloads):
    monkeypatch.setattr(multi30k, "PROJECT_ROOT", tmp_path)
    fetch(tmp_path / "data" / "multi30k", tell=lambda _: None)
    assert (tmp_path / "data" / "multi30k" / ".gitignore").read_text() == "*\n"


def test_what_came_before_a_failure_stays(tmp_path, pretend, downloads, monkeypatch):
    copy = multi30k.download

    def fail_third(url, path, **rest):
        if len(downloads) == 2:
            raise DownloadError("no network")
        copy(url, path, **rest)

    monkeypatch.setattr(multi30k, "download", fail_third)
    with pytest.raises(DownloadError, match="no network"):
        fetch(tmp_path / "new", tell=lambda _: None)
    assert [state(tmp_path / "new", name) for name in published()] == ["right"] * 2 + ["missing"] * 7

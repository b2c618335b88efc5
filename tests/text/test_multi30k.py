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
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.corpus import CorpusError
from course_lib.text.multi30k import (
    LANGUAGES,
    SOURCE,
    VARIABLE,
    DownloadError,
    fetch,
    find_folder,
    load_multi30k,
    published,
    state,
)

pytestmark = pytest.mark.slow

REAL = [Path(os.environ.get(VARIABLE) or "nowhere"), PROJECT_ROOT.parent / "shared" / "data" / "multi30k"]
SPLITS = ("train", "val", "test_2016_flickr")


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch):
    for name in (VARIABLE, "COURSE_CALLED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def real() -> Path:
    for folder in REAL:
        if (folder / "train.de.gz").is_file():
            return folder
    pytest.skip(f"Multi30k is not here; set {VARIABLE} to its folder to try the real files")


def pretended(language: str) -> bytes:
    return "".join(f"{language} {number}\n" for number in range(4)).encode()


@pytest.fixture
def pretend(tmp_path, monkeypatch) -> Path:
    """A folder with nine small files, and checksums to go with them."""
    folder = tmp_path / "pretend"
    folder.mkdir()
    sums = {}
    for stem, language in itertools.product(SPLITS, LANGUAGES):
        plain = pretended(language)
        packed = gzip.compress(plain, mtime=0)
        (folder / f"{stem}.{language}.gz").write_bytes(packed)
        sums[f"{stem}.{language}.gz"] = hashlib.sha256(packed).hexdigest()
        sums[f"{stem}.{language}"] = hashlib.sha256(plain).hexdigest()
    monkeypatch.setattr(multi30k, "checksums", lambda: sums)
    return folder


def test_the_real_files_are_complete_packed_and_unpacked(real, tmp_path):
    for name in published():
        assert state(real, name) == "right"
        (tmp_path / name.removesuffix(".gz")).write_bytes(gzip.decompress((real / name).read_bytes()))
    for split, size in {"train": 29_000, "validation": 1_014, "val": 1_014, "test": 1_000}.items():
        found = [load_multi30k(*both, split, tmp_path) for both in itertools.permutations(LANGUAGES, 2)]
        assert {len(sentences) for sentences in found} == {size}
    assert found[0] == load_multi30k("de", "en", "test", real)
    lines = load_multi30k("de", "en", "train", real).src
    learned = BpeTokenizer.from_texts(lines)
    assert learned.vocab_size == 8000 and all(learned.decode(learned.encode(line)) == line for line in lines)


def test_there_are_nine_files_with_their_checksums():
    assert len(published()) == 9 and len(multi30k.checksums()) == 18
    assert {name.split(".")[0] for name in published()} == set(SPLITS)
    assert all(len(sha256) == 64 for sha256 in multi30k.checksums().values())


def test_a_named_folder_comes_before_the_variable_before_the_courses_own(monkeypatch, course_home, pretend):
    assert find_folder("~/corpora") == (Path.home() / "corpora", "the folder you named")
    assert find_folder()[0] == course_home / "multi30k"
    monkeypatch.setenv(VARIABLE, str(pretend))
    assert find_folder() == (pretend, f"named by {VARIABLE}")
    assert list(load_multi30k("de", "en", "test"))[3] == ("de 3", "en 3")


def test_a_missing_file_says_where_it_should_be_and_how_to_get_it(course_home, pretend, monkeypatch):
    """With the command as the command line was called."""
    with pytest.raises(FileNotFoundError) as missing:
        load_multi30k("fr", "en")
    told = str(missing.value)
    assert f"Multi30k is not part of the course, and train.fr.gz is not in {course_home / 'multi30k'}" in told
    assert "`python3 -m course_lib data multi30k --download` gets it" in told
    assert told.endswith(f"{SOURCE}/train.fr.gz")
    (pretend / "val.en.gz").unlink()
    monkeypatch.setenv("COURSE_CALLED", "course")
    with pytest.raises(
        FileNotFoundError, match=r"val\.en\.gz is not in .*pretend \(the folder you n"
    ) as missing:
        load_multi30k("fr", "en", "validation", pretend)
    assert f'`course data multi30k --download "{pretend}"` gets it' in str(missing.value)


def test_a_changed_file_is_never_read(pretend):
    (pretend / "train.de.gz").write_bytes(gzip.compress(pretended("xx")))
    with pytest.raises(CorpusError, match=r"train\.de\.gz in .* is not the file that Multi30k .*--data F"):
        load_multi30k("de", "en", folder=pretend)
    (pretend / "train.de").write_bytes(pretended("de"))
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


def test_only_what_is_missing_or_wrong_is_fetched_and_stays_after_a_failure(
    tmp_path, pretend, monkeypatch, capsys
):
    """Inside the course's folder git is told to look away."""
    asked, broken = [], []

    def copy(url, path, *, sha256):
        assert url == f"{SOURCE}/{path.name}" and sha256 == multi30k.checksums()[path.name]
        if len(asked) in broken:
            raise DownloadError("no network")
        asked.append(path.name)
        path.write_bytes((pretend / path.name).read_bytes())

    monkeypatch.setattr(multi30k, "download", copy)
    folder = tmp_path / "new" / "folder"
    broken.append(2)
    with pytest.raises(DownloadError, match="no network"):
        fetch(folder)
    assert [state(folder, name) for name in published()] == ["right"] * 2 + ["missing"] * 7
    broken.clear()
    (folder / published()[0]).write_bytes(b"wrong")
    fetch(folder)
    assert asked == [*published()[:2], published()[0], *published()[2:]]
    assert capsys.readouterr().out.count("checksum is right") == len(asked)
    assert not (folder / ".gitignore").exists()
    monkeypatch.setattr(multi30k, "PROJECT_ROOT", tmp_path)
    fetch(folder)
    assert (folder / ".gitignore").read_text() == "*\n"

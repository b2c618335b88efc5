"""Multi30k: finding, checking and fetching it; with the real files where they are available."""

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
def no_environment_variables(monkeypatch):
    for name in (VARIABLE, "COURSE_CALLED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def real() -> Path:
    for folder in REAL:
        if (folder / "train.de.gz").is_file():
            return folder
    pytest.skip(f"Multi30k is not here; set {VARIABLE} to its folder to try the real files")


def fake_text(language: str) -> bytes:
    return "".join(f"{language} {number}\n" for number in range(4)).encode()


@pytest.fixture
def fake_folder(tmp_path, monkeypatch) -> Path:
    """A folder with nine small files, and their checksums."""
    folder = tmp_path / "fake"
    folder.mkdir()
    sums = {}
    for stem, language in itertools.product(SPLITS, LANGUAGES):
        plain = fake_text(language)
        packed = gzip.compress(plain, mtime=0)
        (folder / f"{stem}.{language}.gz").write_bytes(packed)
        sums[f"{stem}.{language}.gz"] = hashlib.sha256(packed).hexdigest()
        sums[f"{stem}.{language}"] = hashlib.sha256(plain).hexdigest()
    monkeypatch.setattr(multi30k, "checksums", lambda: sums)
    return folder


def test_the_real_files_are_complete_compressed_and_uncompressed(real, tmp_path):
    for name in published():
        assert state(real, name) == "right"
        (tmp_path / name.removesuffix(".gz")).write_bytes(gzip.decompress((real / name).read_bytes()))
    for split, size in {"train": 29_000, "validation": 1_014, "val": 1_014, "test": 1_000}.items():
        corpora = [load_multi30k(*both, split, tmp_path) for both in itertools.permutations(LANGUAGES, 2)]
        assert {len(corpus) for corpus in corpora} == {size}
    assert corpora[0] == load_multi30k("de", "en", "test", real)
    lines = load_multi30k("de", "en", "train", real).src
    learned = BpeTokenizer.from_texts(lines)
    assert learned.vocab_size == 8000 and all(learned.decode(learned.encode(line)) == line for line in lines)


def test_there_are_nine_files_with_their_checksums():
    assert len(published()) == 9 and len(multi30k.checksums()) == 18
    assert {name.split(".")[0] for name in published()} == set(SPLITS)
    assert all(len(sha256) == 64 for sha256 in multi30k.checksums().values())


def test_a_named_folder_precedes_the_variable_which_precedes_the_default(
    monkeypatch, course_home, fake_folder
):
    assert find_folder("~/corpora")[0] == Path.home() / "corpora"
    assert find_folder()[0] == course_home / "multi30k"
    monkeypatch.setenv(VARIABLE, "~/mine")
    assert find_folder()[0] == Path.home() / "mine"
    monkeypatch.setenv(VARIABLE, str(fake_folder))
    folder, why = find_folder()
    assert folder == fake_folder and VARIABLE in why
    assert list(load_multi30k("de", "en", "test"))[3] == ("de 3", "en 3")
    monkeypatch.setenv(VARIABLE, "data/captions")  # relative to the course, not to a notebook's folder
    assert find_folder()[0] == PROJECT_ROOT / "data" / "captions"


def test_the_error_for_a_missing_file_names_its_folder_and_the_download_command(
    course_home, fake_folder, monkeypatch
):
    with pytest.raises(FileNotFoundError) as missing:
        load_multi30k("fr", "en")
    message = str(missing.value)
    assert "train.fr.gz" in message and str(course_home / "multi30k") in message
    assert "`python3 -m course_lib data multi30k --download`" in message
    assert f"{SOURCE}/train.fr.gz" in message
    (fake_folder / "val.en.gz").unlink()
    monkeypatch.setenv("COURSE_CALLED", "course")
    with pytest.raises(FileNotFoundError, match=r"val\.en\.gz .*fake") as missing:
        load_multi30k("fr", "en", "validation", fake_folder)
    assert f'`course data multi30k --download "{fake_folder}"`' in str(missing.value)


def test_a_changed_file_is_never_read(fake_folder):
    (fake_folder / "train.de.gz").write_bytes(gzip.compress(fake_text("xx")))
    with pytest.raises(CorpusError, match=r"train\.de\.gz in .*SHA-256.*--data FOLDER"):
        load_multi30k("de", "en", folder=fake_folder)
    (fake_folder / "train.de").write_bytes(fake_text("de"))
    assert state(fake_folder, "train.de.gz") == "wrong"  # the compressed one is the one that is read
    (fake_folder / "train.de.gz").unlink()
    assert state(fake_folder, "train.de.gz") == "right"
    assert next(iter(load_multi30k("de", "en", folder=fake_folder))) == ("de 0", "en 0")
    (fake_folder / "train.de.gz").write_bytes(gzip.compress(fake_text("de"), mtime=0))
    assert state(fake_folder, "train.de.gz") == "right"  # both are


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("es", "en"), "source language to be one of de, en, fr, but got 'es'"),
        (("de", "EN"), "target language to be one of de, en, fr, but got 'EN'"),
        (("de", "de"), "two languages.*'de'"),
        (("de", "en", "valid"), "'valid'.*train, validation or test"),
    ],
)
def test_the_error_for_a_wrong_name_lists_the_valid_ones(fake_folder, arguments, message):
    with pytest.raises(ValueError, match=message):
        load_multi30k(*arguments, folder=fake_folder)


def test_only_missing_or_wrong_files_are_fetched_and_survive_a_failure(
    tmp_path, fake_folder, monkeypatch, capsys
):
    """Inside the project, a .gitignore keeps the files out of git."""
    fetched, failing = [], []

    def copy(url, path, *, sha256):
        assert url == f"{SOURCE}/{path.name}" and sha256 == multi30k.checksums()[path.name]
        if len(fetched) in failing:
            raise DownloadError("no network")
        fetched.append(path.name)
        path.write_bytes((fake_folder / path.name).read_bytes())

    monkeypatch.setattr(multi30k, "download", copy)
    folder = tmp_path / "new" / "folder"
    failing.append(2)
    with pytest.raises(DownloadError, match="no network"):
        fetch(folder)
    assert [state(folder, name) for name in published()] == ["right"] * 2 + ["missing"] * 7
    failing.clear()
    (folder / published()[0]).write_bytes(b"wrong")
    fetch(folder)
    assert fetched == [*published()[:2], published()[0], *published()[2:]]
    assert capsys.readouterr().out.count("checksum") == len(fetched)
    assert not (folder / ".gitignore").exists()
    monkeypatch.setattr(multi30k, "PROJECT_ROOT", tmp_path)
    fetch(folder)
    assert (folder / ".gitignore").read_text() == "*\n"

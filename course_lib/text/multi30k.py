"""Multi30k, a small real corpus: 31,014 captions of photographs in English, German and French.

    >>> len(load_multi30k("de", "en")), len(load_multi30k("fr", "de", "test"))
    (29000, 1000)

It is not part of the course: the captions come from Flickr30k, and it is unclear who may redistribute them.
`course_lib data multi30k --download` gets them from the authors' repository in a few seconds.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.request
from functools import cache
from pathlib import Path

from course_lib import __version__
from course_lib.runtime import (
    PROJECT_ROOT,
    data_path,
    folder_from,
    program_name,
    user_folder,
    write_atomically,
)
from course_lib.text.corpus import CorpusError, Sentences, read_split

HOME = "https://github.com/multi30k/dataset"
SOURCE = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
VARIABLE = "COURSE_MULTI30K"
MAX_BYTES = 2_000_000  # the largest file has 637,044
TIMEOUT = 30.0  # seconds without data

LANGUAGES = ("de", "en", "fr")
FILE_OF = {"train": "train", "validation": "val", "val": "val", "test": "test_2016_flickr"}


class DownloadError(Exception):
    """A file could not be downloaded."""


def load_multi30k(
    src: str = "de", tgt: str = "en", split: str = "train", folder: str | Path | None = None
) -> Sentences:
    """A split (train, validation or test) in two of de, en and fr, after checking the files."""
    for name, language in {"source": src, "target": tgt}.items():
        if language not in LANGUAGES:
            raise ValueError(
                f"Expected the {name} language to be one of {', '.join(LANGUAGES)}, but got {language!r}."
            )
    if split not in FILE_OF:
        raise ValueError(f"Multi30k has no split {split!r}. Choose train, validation or test.")
    path, why = find_folder(folder)
    for name in (f"{FILE_OF[split]}.{language}.gz" for language in (src, tgt)):
        file_state = state(path, name)
        if file_state == "missing":
            raise FileNotFoundError(
                f"Multi30k is not part of the course, and {name} was not found in {path} ({why}). "
                f"Run `{command(folder)}` to download it, or get it by hand from {SOURCE}/{name}"
            )
        if file_state == "wrong":
            raise CorpusError(
                f"{name} in {path} ({why}) is not the published file: its SHA-256 differs. "
                f"Run `{command(folder)}` to download the right one. To use a corpus of your own in the "
                "same layout, pass --data FOLDER --from de --to en."
            )
    return read_split(path, FILE_OF[split], src, tgt)


def find_folder(folder: str | Path | None = None) -> tuple[Path, str]:
    """The folder to search, and why this one: you named it, COURSE_MULTI30K names it, or it's the default."""
    if folder is not None:
        return Path(folder).expanduser(), "the folder you specified"
    if from_environment := folder_from(VARIABLE):
        return from_environment, f"set by {VARIABLE}"
    return user_folder() / "multi30k", "the course's default folder"


def command(folder: str | Path | None = None) -> str:
    """The command that downloads the files into this folder."""
    return f"{program_name()} data multi30k --download" + (f' "{folder}"' if folder is not None else "")


@cache
def checksums() -> dict[str, str]:
    """The SHA-256 of each file, compressed (`train.de.gz`, as published) and uncompressed (`train.de`)."""
    lines = data_path("multi30k.sha256").read_text(encoding="utf-8").splitlines()
    return {name: sha256 for sha256, name in map(str.split, lines)}


def published() -> tuple[str, ...]:
    """The names of the nine files."""
    return tuple(name for name in checksums() if name.endswith(".gz"))


def state(folder: Path, name: str) -> str:
    """Whether one of the nine files, compressed or not, is `right`, `missing` or `wrong`."""
    names = [form for form in (name, name.removesuffix(".gz")) if (folder / form).is_file()]
    if not names:
        return "missing"
    # If both exist, `read_split` reads the compressed one.
    sha256 = hashlib.sha256((folder / names[0]).read_bytes()).hexdigest()
    return "right" if sha256 == checksums()[names[0]] else "wrong"


def fetch(folder: Path, *, source: str = SOURCE) -> None:
    """Download each of the nine files that is missing or wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    if PROJECT_ROOT in folder.resolve().parents and not (folder / ".gitignore").exists():
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")  # so that it is never committed
    for name in published():
        if state(folder, name) != "right":
            download(f"{source}/{name}", folder / name, sha256=checksums()[name])
            print(f"  downloaded {name}; its checksum is correct")


def download(url: str, path: Path, *, sha256: str) -> None:
    """Download `url` to `path`; nothing is written unless the SHA-256 is the expected one."""
    request = urllib.request.Request(url, headers={"User-Agent": f"attention-course/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            content = response.read(MAX_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"Could not download {url}: {error}. Try the same command again.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DownloadError(
            f"{url} returned unexpected content: its SHA-256 is not {sha256[:16]}... Nothing was saved. Some "
            "networks return a login page until you log in with a browser; you can also get the file by hand."
        )
    write_atomically(path, content)

"""Multi30k: 31,014 captions of photographs in English, German and French. A real corpus, and a small one.

    >>> len(load_multi30k("de", "en")), len(load_multi30k("fr", "de", "test"))
    (29000, 1000)

It is not part of the course: the captions stem from Flickr30k, and nobody has said who may pass them on.
So everyone gets it from its makers, and `course_lib data multi30k --download` does that in a few seconds.
Looked for in the folder you name, else in that of the environment variable COURSE_MULTI30K, else in the
course's own folder for what belongs to you.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
from functools import cache
from pathlib import Path

from course_lib import __version__
from course_lib.runtime import PROJECT_ROOT, data_path, program_name, user_folder, write_atomically
from course_lib.text.corpus import CorpusError, Sentences, read_split

HOME = "https://github.com/multi30k/dataset"
SOURCE = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
VARIABLE = "COURSE_MULTI30K"
LARGEST = 2_000_000  # bytes: the largest file has 637,044
TIMEOUT = 30.0  # seconds without a byte

LANGUAGES = ("de", "en", "fr")
FILE_OF = {"train": "train", "validation": "val", "val": "val", "test": "test_2016_flickr"}


class DownloadError(Exception):
    """Why a file could not be fetched, in words, and what to do."""


def load_multi30k(
    src: str = "de", tgt: str = "en", split: str = "train", folder: str | Path | None = None
) -> Sentences:
    """A split (train, validation or test) in two of de, en and fr: every pair of it, checked."""
    for name, language in {"src": src, "tgt": tgt}.items():
        if language not in LANGUAGES:
            raise ValueError(f"Expected {name} to be one of {', '.join(LANGUAGES)}, but got {language!r}.")
    if split not in FILE_OF:
        raise ValueError(f"Expected split to be train, validation or test, but got {split!r}.")
    place, why = find_folder(folder)
    for name in (f"{FILE_OF[split]}.{language}.gz" for language in (src, tgt)):
        found = state(place, name)
        if found == "missing":
            raise FileNotFoundError(
                f"Multi30k is not part of the course, and {name} is not in {place} ({why}). "
                f"`{command(folder)}` gets it. By hand: {SOURCE}/{name}"
            )
        if found == "wrong":
            raise CorpusError(
                f"{name} in {place} ({why}) is not the file that Multi30k published: its SHA-256 differs. "
                f"`{command(folder)}` gets the right one; "
                "a corpus of your own in the same layout is read by --data FOLDER --from de --to en."
            )
    return read_split(place, FILE_OF[split], src, tgt)


def find_folder(folder: str | Path | None = None) -> tuple[Path, str]:
    """Where to look, and why there: the one folder that is named, never a second one behind it."""
    if folder is not None:
        return Path(folder).expanduser(), "the folder you named"
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser(), f"named by {VARIABLE}"
    return user_folder() / "multi30k", "the course's own place for it"


def command(folder: str | Path | None = None) -> str:
    """What fills the folder of this name: the command line as it was called."""
    words = f"{program_name()} data multi30k --download"
    return words if folder is None else f'{words} "{folder}"'


@cache
def checksums() -> dict[str, str]:
    """The SHA-256 of each file, packed (`train.de.gz`, as published) and unpacked (`train.de`)."""
    lines = data_path("multi30k.sha256").read_text(encoding="utf-8").splitlines()
    return {name: sha256 for sha256, name in map(str.split, lines)}


def published() -> tuple[str, ...]:
    """The nine files, as their makers call them."""
    return tuple(name for name in checksums() if name.endswith(".gz"))


def state(folder: Path, name: str) -> str:
    """How it is with one of the nine files: `right`, `missing` or `wrong`. Unpacked ones count too."""
    there = [each for each in (name, name.removesuffix(".gz")) if (folder / each).is_file()]
    if not there:
        return "missing"
    # What is read is the packed one where both are there; so that one decides.
    found = hashlib.sha256((folder / there[0]).read_bytes()).hexdigest()
    return "right" if found == checksums()[there[0]] else "wrong"


def fetch(folder: Path, *, source: str = SOURCE) -> None:
    """Download each of the nine files that is missing or wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    if PROJECT_ROOT in folder.resolve().parents and not (folder / ".gitignore").exists():
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")  # never to be committed
    for name in published():
        if state(folder, name) != "right":
            download(f"{source}/{name}", folder / name, sha256=checksums()[name])
            print(f"  {name} is there, and its checksum is right.")


def download(url: str, path: Path, *, sha256: str) -> None:
    """Fetch `url` into `path`: whole and right, or not at all.

    The file gets its name only when its SHA-256 is the one we expect. So a file that is there is right,
    whatever the server, the network or Ctrl-C did.
    """
    request = urllib.request.Request(url, headers={"User-Agent": f"attention-course/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            content = answer.read(LARGEST)
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{url} did not arrive: {error}. Run the same command again.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DownloadError(
            f"{url} sent other bytes than expected: their SHA-256 is not {sha256[:16]}... Nothing was kept. "
            "Some networks send a page of their own until you log in in a browser; or get the file by hand."
        )
    write_atomically(path, content)

"""Fetch one file from the web: whole and right, or not at all.

    download("https://example.org/train.de.gz", folder / "train.de.gz", sha256="726e39b2...")

The file gets its name only when its SHA-256 is the one we expect. So a file that is there is right, whatever
the server, the network or Ctrl-C did.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.request
from pathlib import Path

from course_lib import __version__
from course_lib.runtime import write_atomically

LARGEST = 2_000_000  # bytes: the largest file of Multi30k has 637,044
TIMEOUT = 30.0  # seconds without a byte


class DownloadError(Exception):
    """Why a file could not be fetched, in words, and what to do."""


def download(url: str, path: Path, *, sha256: str) -> None:
    """Fetch `url` into `path`."""
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

"""Fetch one file from the web: whole and right, or not at all.

    >>> download("https://example.org/train.de.gz", folder / "train.de.gz", sha256="726e39b2...")

The bytes go into `train.de.gz.part`. Only when their SHA-256 is the one we expect does the file get its
name. So a file that is there is right, whatever the server, the network or Ctrl-C did; and a part that was
left behind is where the next try goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock, Timeout  # comes with torch
from tqdm import tqdm

from course_lib import __version__

AT_ONCE = 1 << 16  # bytes
PASSING = {408, 425, 429, 500, 502, 503, 504}  # answers that may be better in a moment
AGAIN = "Run the same command again: it goes on where it stopped."
NETWORK = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Limits:
    """What a server may do to us. No limit is reached by a file of a few megabytes and an honest network."""

    largest: int = 100_000_000  # bytes
    timeout: float = 30.0  # seconds without a byte
    longest: float = 900.0  # seconds in all
    tries: int = 3
    pause: float = 1.0  # seconds before the second try, twice that before the third
    schemes: tuple[str, ...] = ("https",)


class DownloadError(Exception):
    """Why a file could not be fetched, in words, and what to do."""


class _Broken(Exception):
    """The connection failed on the way: worth another try, from there on."""


class _DoesNotFit(Exception):
    """The server cannot go on where our part ends: worth a fresh start."""


def download(url: str, path: Path, *, sha256: str, limits: Limits | None = None) -> None:
    """Fetch `url` into `path`, unless the right file is there already. Redirects stay on the same host."""
    limits = limits or Limits()
    _check_scheme(url, limits)
    path = Path(path)
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent):
            if not has_checksum(path, sha256):  # perhaps another window fetched it while we waited
                _fill(part, url, sha256, limits)
                os.replace(part, path)
    except OSError as error:
        raise DownloadError(
            f"{path.name} cannot be written in {path.parent}: {error.strerror or error}. "
            "Make room there, or name another folder that you may write in."
        ) from error


def has_checksum(path: Path, sha256: str) -> bool:
    """Whether a file is there and is the right one."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder, which the system lets go of however we end."""
    lock = FileLock(folder / ".download.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting = f"Another download into {folder} is running. Waiting for it (Ctrl-C to stop) ..."
        print(waiting, file=sys.stderr, flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _fill(part: Path, url: str, sha256: str, limits: Limits) -> None:
    """Come back when the part is the whole file, and the right one."""
    deadline = time.monotonic() + limits.longest
    failures = 0
    while True:
        start = part.stat().st_size if part.exists() else 0
        if start and has_checksum(part, sha256):
            return
        try:
            _fetch(url, part, start, deadline, limits)
        except _Broken as problem:
            failures += 1
            if failures >= limits.tries or time.monotonic() > deadline:
                raise DownloadError(f"{url} did not arrive: {problem}. {AGAIN}") from problem
            time.sleep(limits.pause * failures)
            continue
        except _DoesNotFit:
            part.unlink()  # and ask for all of it: then there is nothing to fit
            continue
        if has_checksum(part, sha256):
            return
        part.unlink()  # wrong bytes are of no use to the next try
        if not start:  # else those of an earlier try may have been the wrong ones
            raise DownloadError(
                f"{url} sent other bytes than expected: their SHA-256 is not {sha256[:16]}... "
                "Nothing was kept. Try another network, or get the file by hand."
            )


def _fetch(url: str, part: Path, start: int, deadline: float, limits: Limits) -> None:
    """Add to the part what the server sends, from byte `start` on."""
    with _opened(url, start, limits) as answer:
        if answer.headers.get_content_type() == "text/html":
            raise DownloadError(
                f"{url} sent a web page in place of the file. Some networks do so until you log in: "
                "open any page in a browser, then run the same command again."
            )
        start = _first_byte(answer, start)
        total = None if answer.length is None else start + answer.length
        if total is not None and total > limits.largest:
            raise _too_large(url, limits)
        size = start
        with (
            part.open("ab" if start else "wb") as file,
            tqdm(
                desc=part.stem, total=total, initial=start, unit="B", unit_scale=True, disable=None
            ) as progress,  # None: no bar where stderr is not a terminal
        ):
            while total is None or size < total:
                try:
                    chunk = answer.read1(AT_ONCE if total is None else min(AT_ONCE, total - size))
                except NETWORK as error:
                    raise _Broken(_reason(error, limits)) from error
                if not chunk:
                    break
                size += len(chunk)
                if size > limits.largest:
                    break
                file.write(chunk)
                progress.update(len(chunk))
                if time.monotonic() > deadline:
                    raise _Broken(f"it is not complete after {limits.longest:g} seconds")
            file.flush()
            os.fsync(file.fileno())
    if size > limits.largest:
        part.unlink()
        raise _too_large(url, limits)
    if total is not None and size < total:
        raise _Broken(f"the connection was cut off after {size:,} of {total:,} bytes")


def _opened(url: str, start: int, limits: Limits) -> http.client.HTTPResponse:
    """The server's answer, when it is a good one."""
    headers = {"User-Agent": f"attention-course/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    opener = urllib.request.build_opener(_SameHost(limits))
    try:
        return opener.open(urllib.request.Request(url, headers=headers), timeout=limits.timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and start:
            raise _DoesNotFit from None
        if error.code in PASSING:
            raise _Broken(f"the server answered {error.code} ({error.reason})") from None
        raise DownloadError(
            f"{url} cannot be had: the server answered {error.code} ({error.reason}). "
            "If the file has moved, get it by hand, and name its folder."
        ) from None
    except NETWORK as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise DownloadError(
                f"{url} cannot be trusted: {cause.verify_message}. Is the clock of this computer right? "
                "Behind a company's proxy, SSL_CERT_FILE must name its certificate."
            ) from error
        raise _Broken(_reason(cause, limits)) from error


def _first_byte(answer: http.client.HTTPResponse, asked: int) -> int:
    """Where in the file the answer begins: where we asked it to, or at 0 when the server knows no ranges."""
    if answer.status == 200:
        return 0
    given = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
    if answer.status == 206 and asked and given and int(given[1]) == asked:
        return asked
    if asked:
        raise _DoesNotFit
    raise DownloadError(f"{answer.url} cannot be had: the server answered {answer.status}. Get it by hand.")


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follow a redirect only to where the learner agreed to connect to, and as safely."""

    def __init__(self, limits: Limits):
        self.limits = limits

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            fp.close()
            raise DownloadError(
                f"{req.full_url} sends us on to another host, {newurl}, and we do not go there. "
                "If you trust it, get the file by hand."
            )
        try:
            _check_scheme(newurl, self.limits)
        except DownloadError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_scheme(url: str, limits: Limits) -> None:
    if urlsplit(url).scheme not in limits.schemes:
        raise DownloadError(f"Expected an address with {' or '.join(limits.schemes)}://, but got {url}.")


def _too_large(url: str, limits: Limits) -> DownloadError:
    return DownloadError(
        f"{url} is larger than {limits.largest:,} bytes, so it is not the file we want. Nothing was kept."
    )


def _reason(error: object, limits: Limits) -> str:
    if isinstance(error, TimeoutError):
        return f"the server sent nothing for {limits.timeout:g} seconds"
    if isinstance(error, http.client.HTTPException):
        return f"the connection broke ({type(error).__name__})"
    return f"the server cannot be reached ({getattr(error, 'strerror', None) or error})"

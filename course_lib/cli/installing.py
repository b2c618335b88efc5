"""Run pip where someone can watch: how far it is, and when it fails, why, in words.

On a terminal one line tells the story and changes in place:

    Installing 57 of 114: torch  1:12
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from course_lib.cli.place import Place
from course_lib.cli.trouble import Trouble

SECONDS_BETWEEN_LINES = 15  # where the output is not a terminal

PIP = ("-m", "pip", "--no-input", "--disable-pip-version-check")
PACKAGE = re.compile(
    r"(?:Collecting|Requirement already satisfied:) +([\w.-]+)|Processing .*?([\w.]+)-[\d][^/\\]*$"
)
DOWNLOAD = re.compile(r"\s*Downloading .*?([\w.]+)-[\d][^ /]* \(([\d.]+ \w+)\)")
INSTALL = "Installing collected packages: "
RETRY = "Retrying (Retry("


class Story:
    """What pip's lines say about where it is."""

    def __init__(self, packages: Path):
        self.packages = packages
        self.found: set[str] = set()
        self.order: list[str] = []
        self.doing = "asking for packages"
        self.before: set[Path] = set()

    def hear(self, line: str) -> None:
        if line.startswith(INSTALL):
            self.order = line.removeprefix(INSTALL).strip().split(", ")
            self.before = self.installed()
        elif RETRY in line:
            self.doing = "no answer from the package index, trying again"
        elif download := DOWNLOAD.match(line):
            self.doing = f"downloading {download[1]} ({download[2]})"
        elif package := PACKAGE.match(line):
            name = package[1] or package[2]
            self.found.add(name)
            self.doing = f"found {name}"

    def installed(self) -> set[Path]:
        """The packages that are there whole: pip itself says nothing until the last one is."""
        return set(self.packages.glob("*.dist-info/INSTALLER"))

    def __str__(self) -> str:
        if not self.order:
            return f"Fetching packages, {len(self.found)} so far: {self.doing}"
        done = min(len(self.installed() - self.before), len(self.order) - 1)
        return f"Installing {done + 1} of {len(self.order)}: {self.order[done]}"


class Ticker:
    """Shows one text that changes: in place on a terminal, as a line now and then elsewhere."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic):
        self.stream, self.now = stream, now
        self.start = self.last_line = now()
        self.in_place = stream.isatty()

    def show(self, text: str) -> None:
        seconds = int(self.now() - self.start)
        clock = f"{seconds // 60}:{seconds % 60:02}"
        if self.in_place:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r" + f"{text}  {clock}"[:width].ljust(width))
        elif self.now() - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = self.now()
            self.stream.write(f"{text}  {clock}\n")
        self.stream.flush()

    def clear(self) -> None:
        if self.in_place:
            self.stream.write("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r")
            self.stream.flush()


def run_pip(place: Place, arguments: list[str]) -> None:
    """`pip install` in the environment of a place, watched; its own words go to the log."""
    command = [str(place.python), *PIP, "install", "--progress-bar", "off", *arguments]
    # A pip.conf that says `user = true` would send the packages past the environment.
    environment = os.environ | {"PIP_USER": "0", "PYTHONUNBUFFERED": "1"}
    story, ticker, said = Story(place.packages()), Ticker(sys.stdout), []
    with place.log.open("a", encoding="utf-8") as log:
        pip = subprocess.Popen(
            command,
            cwd=place.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        try:
            for line in lines_or_ticks(pip.stdout):
                if line:
                    log.write(line)
                    said.append(line.rstrip())
                    story.hear(line)
                ticker.show(str(story))
            code = pip.wait()
        finally:
            ticker.clear()
            end(pip)
    if code:
        raise diagnosis(said, place.shown(place.log))


def lines_or_ticks(stream: TextIO, seconds: float = 0.5):
    """The lines of a stream as they come, and "" when none came for a while: a clock must go on ticking."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        try:
            for line in stream:
                lines.put(line)
        finally:
            lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=seconds)
        except queue.Empty:
            line = ""
        if line is None:
            return
        yield line


def end(process: subprocess.Popen, patience: float = 5) -> None:
    """See a process out: after Ctrl-C it has had the signal too and needs a moment to tidy up."""
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


# ---- why it failed

NETWORK = re.compile(
    r"Retrying \(Retry\(|NewConnectionError|ConnectTimeout|Max retries exceeded|name resolution|getaddrinfo"
    r"|HTTPError|Network is unreachable|Connection (?:refused|reset|aborted)|ProxyError|SSLError|timed out",
    re.IGNORECASE,
)
FULL = re.compile(r"No space left on device|Errno 28|not enough space|Disk quota exceeded", re.IGNORECASE)
REFUSED = re.compile(r"Permission denied|Access is denied|Errno 13|WinError (?:5|32)\b", re.IGNORECASE)
NO_BUILD = re.compile(r"No matching distribution found for ([^\s;(]+)")

AGAIN = "then run the same command again: what was fetched is kept."


def diagnosis(said: list[str], log: str) -> Trouble:
    """pip's output turned into what happened and what to do."""
    text = "\n".join(said)
    wanted = re.compile("ERROR|^error:")
    if FULL.search(text):
        wanted = FULL
        happened = "pip ran out of disk space."
        todo = (
            "Make room (2.5 GB; 8 GB with the GPU libraries that torch may bring on Linux). Where only\n"
            f"the folder for temporary files is small, set TMPDIR to another one, {AGAIN}"
        )
    elif NETWORK.search(text):
        wanted = NETWORK  # pip's last error is another one: that it knows no version of the package
        happened = "pip could not reach the package index."
        todo = (
            "Check the network connection. Behind a proxy or with a mirror, pip's own settings count\n"
            f"(HTTPS_PROXY, PIP_INDEX_URL, pip.conf), {AGAIN}"
        )
    elif absent := NO_BUILD.search(text):
        python = ".".join(str(part) for part in sys.version_info[:2])
        happened = f"There is no {absent[1]} for Python {python} on this kind of computer."
        todo = (
            "Python 3.11 to 3.14 on Linux (x86-64, ARM64), Windows (x86-64) or a Mac (Apple silicon) has all "
            "packages.\nRun the command with one of those."
        )
    elif REFUSED.search(text):
        happened = "pip was not allowed to write a file."
        todo = f"Close every JupyterLab and editor that uses .venv, {AGAIN}"
    else:
        happened = "pip could not install the packages."
        todo = f"If the lines above do not say what to do: wait a little, {AGAIN}"
    telling = [line for line in said if wanted.search(line)] or [line for line in said if line.strip()]
    evidence = "\n".join(line[:300] for line in telling[-4:])
    return Trouble(happened, f"{todo}\nThe whole story is in {log}.", evidence=evidence)

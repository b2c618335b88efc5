"""The settings of the local hub: environment variables, checked before anything starts.

COURSE_HUB_STATE          folder for passwords, secrets and the hub's database
COURSE_HUB_ADDRESS        where the hub listens (default: 127.0.0.1, this machine only)
COURSE_HUB_PORT           its port (default: 8000; the next two are used internally)
COURSE_HUB_MEMORY         memory for each learner, such as 2G or 1800M (default: 2G)
COURSE_HUB_PLACES         how many people may work at the same time (default: 25)
COURSE_HUB_IDLE_MINUTES   after how many minutes unused notebooks and servers are stopped (default: 60)
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from course_lib.runtime import PROJECT_ROOT, folder_from
from tools.cli.environment import CommandError

UNITS = {"M": 2**20, "G": 2**30}
LEAST_MEMORY = 3 * 2**29  # lessons 01 and 17 fail with 1G
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
KEPT = ("COURSE_CLASSROOM", "COURSE_OPEN", "COURSE_MULTI30K", "COURSE_DEVICE")  # passed on to every learner


@dataclass(frozen=True)
class Settings:
    """`memory` is in bytes, `idle` in seconds."""

    state: Path
    address: str
    port: int
    memory: int
    places: int
    idle: int


def read_settings() -> Settings:
    return Settings(
        state=state_folder(),
        address=read("COURSE_HUB_ADDRESS", "127.0.0.1", "an IP address", address),
        port=read("COURSE_HUB_PORT", "8000", "a number from 1024 to 65533", whole(1024, 65533)),
        memory=read("COURSE_HUB_MEMORY", "2G", "at least 1.5G, such as 2G or 1800M", memory),
        places=read("COURSE_HUB_PLACES", "25", "a number from 1 to 10000", whole(1, 10000)),
        idle=read("COURSE_HUB_IDLE_MINUTES", "60", "a number from 0.1 to 10000", seconds),
    )


def read(variable: str, default: str, expected: str, convert: Callable[[str], Any]) -> Any:
    text = os.environ.get(variable, "").strip() or default
    try:
        return convert(text)
    except ValueError:
        raise CommandError(
            f"{variable} is {text!r}, but {expected} is expected.", "Change it, then start the hub again."
        ) from None


def whole(least: int, most: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        if not least <= int(text) <= most:
            raise ValueError
        return int(text)

    return convert


def seconds(minutes: str) -> int:
    if not 0.1 <= float(minutes) <= 10000:
        raise ValueError
    return round(60 * float(minutes))


def address(text: str) -> str:
    return str(ip_address(text))


def memory(text: str) -> int:
    """
    >>> memory("2G") == memory("2048M") == 2**31
    True
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([MG])", text)
    if not found or (size := int(float(found[1]) * UNITS[found[2]])) < LEAST_MEMORY:
        raise ValueError
    return size


def state_folder() -> Path:
    """The folder that only the hub's own user can read; it is created if it doesn't exist."""
    default = Path("/var/lib") if os.geteuid() == 0 else Path.home() / ".local" / "share"
    folder = (folder_from("COURSE_HUB_STATE") or default / "attention-course-hub").resolve()
    if folder.is_relative_to(PROJECT_ROOT):
        raise CommandError(
            f"The hub's state folder, {folder}, is inside the course's folder, where learners can read it.",
            "Set COURSE_HUB_STATE to a folder elsewhere, then start the hub again.",
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise CommandError(
            f"The hub's state folder, {folder}, can't be created: {error.strerror}.",
            "Set COURSE_HUB_STATE to another folder, then start the hub again.",
        ) from None
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise CommandError(
            f"The hub's state folder, {folder}, has passwords in it, but other users have access to it.",
            f"Make it yours alone with `chown $(id -un) {folder}; chmod 700 {folder}`.",
        )
    return folder

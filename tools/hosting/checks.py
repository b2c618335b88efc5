"""What must be true before the hub starts; each problem is one sentence and what to do about it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.cli.environment import CommandError
from tools.hosting.learners import FILE, read_learners
from tools.hosting.settings import Settings

PROXY = "configurable-http-proxy"
# As docs/hosting.md advises: more than data/results/hub.json has, since lessons and habits differ.
GB_FOR_EACH, GB_FOR_THE_REST = 1, 2


def check_machine(settings: Settings) -> None:
    """Raise unless the proxy is installed, there are learners, and learners can run the course."""
    if shutil.which(PROXY) is None:
        raise CommandError(
            f"The hub needs the program {PROXY}, which isn't installed.",
            f"Install it with `npm install --global {PROXY}@5`, then start the hub again.",
        )
    if not read_learners(settings.state / FILE):
        raise CommandError(
            f"Nobody could sign in: there are no learners in {settings.state / FILE}.",
            f"Add some with `{sys.executable} -m tools.hosting.learners NAME …`, then start the hub again.",
        )
    if os.geteuid() == 0:
        for path in (PROJECT_ROOT, Path(sys.prefix), Path(sys.executable).resolve()):
            if closed := closed_folder(path):
                raise CommandError(
                    f"Learners couldn't use {path}, because {closed} is closed to other users.",
                    "Install the course in a folder such as /srv/attention-course, with a Python that is "
                    "installed for everyone.",
                )


def memory_warning(places: int) -> str:
    """What to do if the machine has too little memory for so many learners; empty if it has enough."""
    needed = GB_FOR_EACH * places + GB_FOR_THE_REST
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    if needed <= there:
        return ""
    return (
        f"Warning: COURSE_HUB_PLACES={places} needs about {needed} GB of memory, and this machine has "
        f"{there:.0f} GB. Set fewer places, or use a larger machine (docs/hosting.md)."
    )


def closed_folder(path: Path) -> Path | None:
    """The first folder on the way to a path that other users can't enter."""
    folders = [*reversed(path.parents), path]
    return next((folder for folder in folders if not folder.stat().st_mode & 0o001), None)

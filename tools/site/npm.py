"""Files from npm packages, fetched once and kept in build/site_tools, so that the site needs no network.

npm_file(MATHJAX)       # its path; npm is only asked if the file isn't there yet
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.cli.environment import CommandError

CACHE = PROJECT_ROOT / "build" / "site_tools"


@dataclass(frozen=True)
class NpmFile:
    """One file of a package, such as mathjax@3.2.2, and its hash."""

    package: str
    path: str
    sha256: str


MATHJAX = NpmFile(  # all TeX extensions, and glyphs as outlines: the one file is enough
    "mathjax@3.2.2",
    "es5/tex-svg-full.js",
    "a4354ff94fd868aea0cc6eaaa79a57fda0588646fc46ee3700a349ee0a11cbe6",
)


def npm_file(wanted: NpmFile, cache: Path = CACHE) -> Path:
    """The file's path in the cache, where npm puts it if it isn't there or is damaged."""
    folder = cache / wanted.package.replace("@", "_")
    file = folder / "node_modules" / wanted.package.partition("@")[0] / wanted.path
    if not is_intact(file, wanted.sha256):
        shutil.rmtree(folder, ignore_errors=True)
        fetch(wanted.package, folder)
        if not is_intact(file, wanted.sha256):
            raise CommandError(
                f"npm installed another {wanted.package} than the one that the site was tested with.",
                "Check which registry `npm config get registry` names, then run the same command again.",
            )
    return file


def is_intact(file: Path, sha256: str) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256


def fetch(package: str, folder: Path) -> None:
    """Install a package into a folder of its own; nothing in it is run."""
    npm = shutil.which("npm")
    if npm is None:
        raise CommandError(
            f"The site needs {package}, and npm, which downloads it, isn't installed.",
            "Install Node.js (nodejs.org), which includes npm, then run the same command again.",
        )
    folder.mkdir(parents=True)
    command = [
        npm,
        "install",
        "--prefix",
        str(folder),
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        package,
    ]
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", errors="replace"
    )
    if ran.returncode:
        raise CommandError(
            f"npm couldn't download {package}:\n{(ran.stderr or ran.stdout).strip()}",
            "Check that you are online, then run the same command again.",
        )

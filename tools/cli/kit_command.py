"""`kit`: make a folder or an archive that installs the course without a network."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import subprocess
import sys
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.cli.arguments import command, path_name
from tools.cli.environment import CommandError
from tools.cli.offline_kit import PLATFORMS, PYTHONS, make_kit

SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}
MACHINES = {"amd64": "x86_64"}  # Windows calls it AMD64
OUT, SITE = PROJECT_ROOT / "build" / "kit", PROJECT_ROOT / "build" / "site"


def add(commands) -> None:
    parser = command(commands, "kit", "make a kit that installs the course without a network", make, "lab")
    platforms = f"the participants' platform, repeatable: {', '.join(PLATFORMS)} (default: this machine's)"
    parser.add_argument(
        "--platform", action="append", choices=PLATFORMS, metavar="NAME", dest="platforms", help=platforms
    )
    pythons = f"the participants' Python, repeatable: {', '.join(PYTHONS)} (default: this one)"
    parser.add_argument(
        "--python", action="append", choices=PYTHONS, metavar="X.Y", dest="pythons", help=pythons
    )
    out = "the folder of the kit, or a .zip file (default: build/kit); an earlier kit is replaced"
    parser.add_argument("--out", type=path_name, default=OUT, metavar="PATH", help=out)
    site = "the folder with the reading edition (default: build/site if it exists)"
    parser.add_argument("--site", type=path_name, metavar="FOLDER", help=site)


def make(args: argparse.Namespace) -> int:
    platforms, pythons = args.platforms or [this_platform()], args.pythons or [this_python()]
    site = find_site(args.site)
    if importlib.util.find_spec("pip") is None:
        raise CommandError(
            f"The kit is downloaded by pip, which this environment ({sys.prefix}) doesn't have.",
            "Install it, for example with `uv pip install pip`, then run the same command again.",
        )
    make_kit(args.out, list(dict.fromkeys(platforms)), list(dict.fromkeys(pythons)), site)
    print(f"\nThe kit is in {args.out} ({size(args.out) / 1e6:,.0f} MB); its README.txt lists the steps.")
    if site is None:
        print("It has no reading edition, because there is none in build/site.")
    if has_changes():
        print("Changes that are not committed are not in the kit.")
    return 0


def this_platform() -> str:
    machine = platform.machine().lower()
    name = f"{SYSTEMS.get(sys.platform, sys.platform)}-{MACHINES.get(machine, machine)}"
    if name not in PLATFORMS:
        raise CommandError(
            f"There are no packages for this machine ({name}).",
            f"Use --platform with {', '.join(PLATFORMS)}.",
        )
    return name


def this_python() -> str:
    name = f"{sys.version_info.major}.{sys.version_info.minor}"
    if name not in PYTHONS:
        raise CommandError(
            f"There are no packages for Python {name} yet.", f"Use --python with {', '.join(PYTHONS)}."
        )
    return name


def find_site(folder: Path | None) -> Path | None:
    """The folder with the reading edition; None if the user named none and none has been built."""
    if ((folder or SITE) / "index.html").is_file():
        return folder or SITE
    if folder is None:
        return None
    raise CommandError(
        f"{folder} is not a reading edition: it has no index.html.",
        "Name the folder of one, or leave out --site.",
    )


def size(path: Path) -> int:
    """The bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def has_changes() -> bool:
    command = ["git", "-C", str(PROJECT_ROOT), "status", "--porcelain", "--untracked-files=no"]
    return bool(subprocess.run(command, capture_output=True).stdout)

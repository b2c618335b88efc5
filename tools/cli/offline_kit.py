"""The offline kit: the course with the wheels that its lessons need, ready to be installed without a network.

make_kit(Path("kit.zip"), platforms=["macos-arm64"], pythons=["3.12"], site=None)

attention-course-kit/
    README.txt          steps for participants, and for the person who prepares the USB sticks
    SHA256SUMS          a checksum of each file
    kit.json            what the kit is for; marks a folder or an archive as a kit
    attention-course/   the files of the last commit, and wheels/, from which `course_lib lab` installs
    reading/            the reading edition, if it has been built
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from course_lib import __version__
from course_lib.runtime import PROJECT_ROOT, write_json
from tools.cli.environment import CPU_TORCH, CommandError, run
from tools.cli.put_in_place import put_in_place

KIT, COURSE = "attention-course-kit", "attention-course"
ONLY_WITH_CUDA = ("cuda-", "nvidia-", "triton")  # packages that torch for CPUs doesn't need
README = Path(__file__).with_name("kit_readme.txt")


class Platform(NamedTuple):
    """How environment markers and wheels name a platform."""

    sys_platform: str
    machine: str
    tags: list[str]

    def marker_values(self, python: str) -> dict[str, str]:
        return {
            "sys_platform": self.sys_platform,
            "platform_machine": self.machine,
            "os_name": "nt" if self.sys_platform == "win32" else "posix",
            "python_version": python,
            "python_full_version": f"{python}.0",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
        }


def manylinux(machine: str) -> list[str]:
    """The tags of wheels for Linux with glibc 2.28 (2018) or newer, which torch needs too."""
    return [f"manylinux_2_{minor}_{machine}" for minor in range(28, 4, -1)] + [f"manylinux2014_{machine}"]


PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "linux-x86_64": Platform("linux", "x86_64", manylinux("x86_64")),
    "linux-aarch64": Platform("linux", "aarch64", manylinux("aarch64")),
    "macos-arm64": Platform("darwin", "arm64", ["macosx_14_0_arm64"]),  # pip adds the older versions
    "windows-x86_64": Platform("win32", "AMD64", ["win_amd64"]),
}


def make_kit(out: Path, platforms: list[str], pythons: list[str], site: Path | None) -> None:
    """Make a kit in a folder, or in an archive if its name ends in .zip. An earlier kit is replaced."""
    if (out.exists() or out.is_symlink()) and not is_kit(out):
        raise CommandError(
            f"{out} exists and is not an earlier kit, so it is left as it is.",
            "Choose another --out, or move it away.",
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".kit-", dir=out.parent, ignore_cleanup_errors=True) as temporary:
        kit = Path(temporary) / KIT
        export_course(kit / COURSE)
        for platform in platforms:
            for python in pythons:
                download_wheels(kit / COURSE / "wheels", platform, python)
        if site is not None:
            shutil.copytree(site, kit / "reading")
        names = {"platforms": ", ".join(platforms), "pythons": ", ".join(pythons)}
        (kit / "README.txt").write_text(README.read_text("utf-8").format(**names), encoding="utf-8")
        write_json(kit / "kit.json", {"course": __version__, "platforms": platforms, "pythons": pythons})
        write_checksums(kit)
        if out.suffix == ".zip":
            kit = Path(shutil.make_archive(str(kit), "zip", temporary, KIT))
        put_in_place(kit, out, Path(temporary) / "earlier")


def is_kit(path: Path) -> bool:
    """Whether a folder or an archive is a kit that this program made."""
    if path.is_file():
        try:
            with zipfile.ZipFile(path) as archive:
                return f"{KIT}/kit.json" in archive.namelist()
        except zipfile.BadZipFile:
            return False
    return (path / "kit.json").is_file() and (path / COURSE).is_dir()


def export_course(folder: Path) -> None:
    """Write the files of the last commit: what is tracked, and not a learner's half-finished notebooks."""
    folder.mkdir(parents=True)
    archive = folder.parent / "course.zip"
    command = ["git", "-C", str(PROJECT_ROOT), "archive", "--format=zip", f"--output={archive}", "HEAD"]
    if shutil.which("git") is None or subprocess.run(command).returncode:
        raise CommandError(
            "The kit contains the files that git tracks, but git is not installed or can't read them.",
            "Install git, and make the kit in a folder that was created by `git clone`.",
        )
    with zipfile.ZipFile(archive) as files:
        files.extractall(folder)
    archive.unlink()


# ---- wheels


def lock() -> dict:
    return tomllib.loads((PROJECT_ROOT / "uv.lock").read_text(encoding="utf-8"))


def packages_for(platform: str, python: str) -> list[str]:
    """What the lessons need on a platform, according to uv.lock: ["anyio==4.16.0", ...].

    pip can't tell: it decides by the machine it runs on whether a dependency is needed.
    """
    from packaging.markers import Marker

    entries = {entry["name"]: entry for entry in lock()["package"]}
    values = PLATFORMS[platform].marker_values(python)

    def is_needed(requirement: dict) -> bool:
        applies = "marker" not in requirement or Marker(requirement["marker"]).evaluate(values)
        return applies and not requirement["name"].startswith(ONLY_WITH_CUDA)

    found, todo = set(), [(COURSE, "lab")]  # names, each with its extras
    while todo:
        package = todo.pop()
        if package not in found:
            found.add(package)
            entry, extras = entries[package[0]], package[1:]
            requirements = [entry.get("dependencies", [])]
            requirements += [entry["optional-dependencies"][extra] for extra in extras]
            needed = filter(is_needed, chain(*requirements))
            todo += [(each["name"], *each.get("extra", [])) for each in needed]
    names = sorted({name for name, *_ in found} - {COURSE})
    return [f"{name}=={entries[name]['version']}" for name in names]


def download_wheels(folder: Path, platform: str, python: str) -> None:
    """Download the wheels for one platform and Python. torch for Linux is the build without CUDA."""
    target, pins = PLATFORMS[platform], packages_for(platform, python)
    print(f"\n==== {len(pins)} packages for {platform}, Python {python}", flush=True)
    options = ["--no-deps", "--only-binary", ":all:", "--dest", folder, "--python-version", python]
    options += ["--implementation", "cp", *(word for tag in target.tags for word in ("--platform", tag))]
    downloads = [pins]
    if target.sys_platform == "linux":
        torch = [pin for pin in pins if pin.startswith("torch==")]
        downloads = [["--index-url", CPU_TORCH, *torch], [pin for pin in pins if pin not in torch]]
    for words in downloads:
        if run([sys.executable, "-m", "pip", "--no-input", "download", *options, *words]):
            raise CommandError(
                f"pip couldn't download the packages for {platform} and Python {python}; "
                "see its error message above. No kit was made.",
                "Check that you are online and have enough disk space, then run the same command again.\n"
                "If pip found no matching distribution, choose another --python.",
            )


def write_checksums(kit: Path) -> None:
    """Write SHA256SUMS in the format of `sha256sum`."""
    lines = []
    for path in sorted(path for path in kit.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines.append(f"{digest}  {path.relative_to(kit).as_posix()}\n")
    (kit / "SHA256SUMS").write_text("".join(lines), encoding="utf-8", newline="\n")

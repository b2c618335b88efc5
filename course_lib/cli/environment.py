"""The environment the course runs in: found where there is one, else made as `.venv` in the course's folder.

    enter("lab", ["lab"])     # comes back in an interpreter that has what the lab needs

A set-up ends by writing a stamp into `.venv`: no stamp, no environment. So whatever stopped an earlier
one (Ctrl-C, a full disk, a power cut), the next start sees it and goes on from there.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from course_lib.cli.installing import run_pip
from course_lib.cli.pins import STAGES, fingerprint, missing, requirements
from course_lib.cli.place import WINDOWS, Place
from course_lib.cli.trouble import Trouble

GIGABYTE = 10**9
ROOM = 2.5 * GIGABYTE  # 1.4 for the packages, the rest while pip unpacks torch
ROOM_TO_ADD = 0.5 * GIGABYTE
CAME_THROUGH = "COURSE_CAME_THROUGH_THE_DOOR"  # set while `.venv` takes over, so that nobody goes in circles


def enter(stage: str, argv: list[str], place: Place | None = None) -> None:
    """Come back only in an interpreter that has what a stage needs; else run the command anew in `.venv`."""
    place = place or Place()
    came_through = os.environ.pop(CAME_THROUGH, None)
    lacking = missing(stage, place.root)
    if not lacking:
        return
    if came_through:
        write_stamp(place, {})  # it promised too much: a package taken out by hand, another Python underneath
        raise Trouble(
            f"{place.shown(place.venv)} should have {lacking[0]} and has not.",
            "Run the same command again: it will be put right.",
        )
    with told_plainly(place):
        if not is_ready(place, stage):
            place.lock.parent.mkdir(exist_ok=True)
            with one_at_a_time(place.lock):
                if not is_ready(place, stage):  # the other window may have made it meanwhile
                    set_up(place, stage, lacking)
        restart(place, argv)


# ---- is it there?


def read_stamp(place: Place) -> dict | None:
    """What an earlier set-up wrote: {} where it did not come to its end, None without a stamp of ours."""
    try:
        return json.loads(place.stamp.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return {}


def write_stamp(place: Place, content: dict) -> None:
    temporary = place.stamp.with_suffix(".new")
    temporary.write_text(json.dumps(content), encoding="utf-8")
    os.replace(temporary, place.stamp)


def is_ready(place: Place, stage: str) -> bool:
    stamp = read_stamp(place) or {}
    return (
        stamp.get("pins") == fingerprint(place.root)
        and STAGES.index(stamp["stage"]) >= STAGES.index(stage)
        and place.python.exists()  # not so when the Python it points to has been removed
    )


# ---- make it


def set_up(place: Place, stage: str, lacking: list[str]) -> None:
    """Make `.venv`, or bring it up to what a stage needs, and stamp it."""
    stamp = read_stamp(place)
    if stamp is None and place.venv.exists() and any(place.venv.iterdir()):
        raise Trouble(
            f"The folder {place.shown(place.venv)} was not made by the course, and it lacks {lacking[0]}.",
            "Move it away, then run the same command again. Or activate it, run\n"
            "    python -m pip install -c constraints.txt -e .[lab,test]\n"
            "and then the same command.",
        )
    check_room(place, ROOM_TO_ADD if stamp else ROOM)
    announce(place, stage, lacking, fresh=not stamp)
    if not has_pip(place):
        make_venv(place)
    drop_half_installed(place)
    place.log.unlink(missing_ok=True)
    constraints = ["-c", str(place.root / "constraints.txt")]
    # Wheels only: a learner's machine has no compiler, and every pin of ours has a wheel.
    run_pip(place, ["--only-binary", ":all:", *constraints, *requirements(stage, place.root)])
    run_pip(place, ["--no-deps", "--no-build-isolation", "--editable", str(place.root)])
    write_stamp(place, {"pins": fingerprint(place.root), "stage": stage})


def announce(place: Place, stage: str, lacking: list[str], *, fresh: bool) -> None:
    active = sys.prefix != sys.base_prefix or "CONDA_PREFIX" in os.environ
    if active and Path(sys.prefix) != place.venv:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        print(f"The active environment lacks {lacking[0]}{more}: the course uses a .venv of its own.")
    if fresh:
        print("First start: setting up the course in .venv. This happens once and takes a few minutes.")
        if sys.platform == "linux":
            print("(On Linux torch may bring the libraries for NVIDIA's GPUs along, several gigabytes.)")
    else:
        print("Bringing .venv up to date" + (" for the tests." if stage == "test" else "."))
    sys.stdout.flush()


def check_room(place: Place, room: float) -> None:
    free = shutil.disk_usage(place.root).free
    if free < room:
        raise Trouble(
            f"The disk is too full: the set-up needs about {room / GIGABYTE:.1f} GB here, "
            f"{free / GIGABYTE:.1f} GB are free.",
            "Make room, or move the course's folder to another disk, then run the same command again.",
        )


def has_pip(place: Place) -> bool:
    """Whether `.venv` has a Python that runs, with a pip: else it is half made, or its Python is gone."""
    if not place.python.exists():
        return False
    try:
        answer = subprocess.run([place.python, "-m", "pip", "--version"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0


def make_venv(place: Place) -> None:
    if any(importlib.util.find_spec(module) is None for module in ("venv", "ensurepip")):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise Trouble(
            f"This Python ({sys.executable}) cannot make environments: its venv module is not installed.",
            "Debian and Ubuntu keep it in a package of its own:\n"
            f"    sudo apt install python{version}-venv\n"
            "Then run the same command again.",
        )
    if place.venv.exists():
        shutil.rmtree(place.venv)
    place.venv.mkdir()
    write_stamp(place, {})  # first of all, so that what is left after a power cut is known to be ours
    # Not by the Python of `.venv` itself, which is gone by now.
    base = getattr(sys, "_base_executable", None) or sys.executable
    made = subprocess.run([base, "-m", "venv", place.venv], capture_output=True, text=True)
    if made.returncode:
        raise Trouble(
            f"Python could not make an environment in {place.shown(place.venv)}.",
            "Put that right, then run the same command again.",
            evidence="\n".join((made.stdout + made.stderr).strip().splitlines()[-8:]),
        )


def drop_half_installed(place: Place) -> None:
    """Make pip forget packages it was stopped in: INSTALLER is written after all files of a package."""
    for info in place.packages().glob("*.dist-info"):
        if not (info / "INSTALLER").exists():
            shutil.rmtree(info)


# ---- two windows, and what the machine may say


@contextlib.contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock that the system lets go of when we end, however we end."""
    with path.open("a") as file:
        if not try_to_lock(file.fileno()):
            print("Another window is setting up the course. Waiting for it (Ctrl-C to stop) ...", flush=True)
            while not try_to_lock(file.fileno()):
                time.sleep(0.5)
        yield


def try_to_lock(descriptor: int) -> bool:
    try:
        if WINDOWS:
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network disks know no locks: better no lock than no course.
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True


@contextlib.contextmanager
def told_plainly(place: Place) -> Iterator[None]:
    """What the machine refuses during a set-up, said so that someone can act on it."""
    try:
        yield
    except KeyboardInterrupt:
        print("\nThe set-up was stopped. Run the same command again to go on: what was fetched is kept.")
        raise SystemExit(130) from None
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        if error.errno == errno.ENOSPC:
            happened, todo = "The disk is full.", f"Make room (about {ROOM / GIGABYTE:.1f} GB)"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            happened = f"The course may not write in its folder{where}."
            todo = "Copy the course to a folder of yours, or make this one writable (and close what uses it)"
        else:
            happened, todo = f"The set-up stopped: {error.strerror or error}{where}.", "Put that right"
        raise Trouble(happened, f"{todo}, then run the same command again.") from error


def restart(place: Place, argv: list[str]) -> None:
    """Run the command anew in `.venv`: in place of this process, or on Windows as its child."""
    path = [str(place.root), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        CAME_THROUGH: "1",
        "PYTHONPATH": os.pathsep.join(path),
        "VIRTUAL_ENV": str(place.venv),
        "PATH": os.pathsep.join([str(place.programs), os.environ.get("PATH", "")]),
    }
    command = [str(place.python), "-m", "course_lib", *argv]
    sys.stdout.flush()
    if not WINDOWS:
        os.execve(command[0], command, environment)
    child = subprocess.Popen(command, env=environment)
    while True:
        try:
            raise SystemExit(child.wait())
        except KeyboardInterrupt:  # the child has it too, and decides
            continue

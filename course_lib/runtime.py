"""Paths, seeds, the device, and the environment variables that change how the course behaves.

    >>> import torch
    >>> generator = seed_everything(7)
    >>> torch.rand(1, generator=generator).shape
    torch.Size([1])

Each variable is read when it is needed, so a test can set it. A relative path starts at the course's folder.

    COURSE_HOME         folder for the learner's progress
    COURSE_DEVICE       force a device, such as "cpu" or "cuda:1"
    COURSE_OPEN         "1": predictions open without a guess (for CI, or a learner in a hurry)
    COURSE_STRICT       "1": a check raises an error if the attempt fails or can't be saved (for graders)
    NBGRADER_EXECUTION  set by nbgrader while it grades or validates a notebook: the same as COURSE_STRICT=1
    COURSE_CLASSROOM    "1": quizzes ask for a vote, a discussion and a second vote
    COURSE_MULTI30K     folder with the Multi30k files
    COURSE_STILLS       "1": pictures as PNG, for notebooks that are stored; the builder sets it
    COURSE_BAR          "1" or "0": progress bars on or off, on any output
    COURSE_CALLED       how the course was started; the command line sets it, messages quote it

torch is imported inside functions, because the command line starts before it is installed.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import secrets
import shlex
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

PROJECT_ROOT = Path(__file__).resolve().parent.parent
STARTED_BY_NBGRADER = "NBGRADER_EXECUTION" in os.environ  # a notebook could remove the variable later
WORK_OF_OTHERS = ("my_road.py", "progress.jsonl")  # in strict mode, a submission must not find them


class UsedFolderError(RuntimeError):
    """In strict mode, COURSE_HOME names a folder with another submission's work."""


def data_path(*parts: str) -> Path:
    """A file or folder of the course's own data: `data_path("toy", "lexicon.json")`."""
    path = PROJECT_ROOT.joinpath("data", *parts)
    if not (PROJECT_ROOT / "data").is_dir():
        raise FileNotFoundError(
            "The course's data/ folder is missing: this is a copy made by `pip install`, not a clone. "
            "Get the course with `git clone`. If you install it, use `pip install --editable .`."
        )
    if not path.exists():
        raise FileNotFoundError(
            f"The course needs {path.relative_to(PROJECT_ROOT)}, which is missing. Is this a complete clone? "
            "`git status` shows what is missing, and `git checkout -- data` restores it."
        )
    return path


def shipped_weights(system: str) -> Path:
    """The file with the trained weights of a system, which comes with the course."""
    return PROJECT_ROOT / "data" / "checkpoints" / f"{system}.safetensors"


def user_folder() -> Path:
    """The folder for this learner's progress; it is made when something is written to it.

    In strict mode it is a new one for each process: a submission must not use another student's functions.
    """
    if chosen := folder_from("COURSE_HOME"):
        if is_strict():
            _check_new(chosen)
        return chosen
    if is_strict():
        return _fresh_folder()
    if sys.platform == "win32":
        base = folder_from("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = folder_from("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return base / "attention-course"


def folder_from(variable: str) -> Path | None:
    """The folder that an environment variable names, as an absolute path; None if it isn't set.

    A relative one starts at the course's folder, not at the working directory: that of a notebook is the
    folder it is in, so two notebooks would otherwise use different folders.
    """
    value = os.environ.get(variable)
    return PROJECT_ROOT / Path(value).expanduser() if value else None


@cache  # called before this process writes to the folder; an error is raised again at every call
def _check_new(folder: Path) -> None:
    if found := [name for name in WORK_OF_OTHERS if (folder / name).exists()]:
        raise UsedFolderError(
            f"Expected a new folder for this submission, but COURSE_HOME names {folder}, which has a "
            f"{' and a '.join(found)} from an earlier run. Unset COURSE_HOME, so that each submission gets a "
            "folder of its own, and grade again."
        )


@cache
def _fresh_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="attention-course-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file completely or not at all, so that half a file is never read.

    A symbolic link stays, and its target is written. A file that exists keeps its permissions.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe: must not be replaced
        path.write_bytes(data)
        return
    target = path.resolve() if path.is_symlink() else path
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            if target.exists():
                shutil.copymode(target, temporary)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except BaseException as error:
        with suppress(OSError):  # the folder itself may be the problem
            temporary.unlink()
        if isinstance(error, OSError) and error.errno:
            error.filename = str(path)  # the error of a full disk doesn't name the file
        raise


def _sync_folder(folder: Path) -> None:
    """Write the new file name to the disk too, so that it survives a power cut."""
    if os.name == "posix":  # Windows can't open folders
        with suppress(OSError):  # not on some network disks, nor in a folder that may be written but not read
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def write_json(path: Path, content: object) -> None:
    """Write plain data as readable JSON, atomically."""
    write_atomically(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def seed_everything(seed: int) -> torch.Generator:
    """Seed Python, NumPy and torch, and return a generator for code that takes one."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return torch.Generator().manual_seed(seed)


def device() -> torch.device:
    """An NVIDIA GPU if there is one, else the CPU.

    Apple's GPU has no float64, which some lessons use, so it must be requested (COURSE_DEVICE=mps).
    """
    import torch

    if chosen := os.environ.get("COURSE_DEVICE"):
        try:
            return torch.device(chosen)
        except RuntimeError as error:
            raise ValueError(
                f"COURSE_DEVICE is {chosen!r}, which is not a device that torch knows. Try cpu, cuda or mps."
            ) from error
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def switched_on(name: str) -> bool:
    """Whether an environment switch such as `COURSE_OPEN` is on."""
    return os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}


def is_strict() -> bool:
    """Whether a grader runs this notebook: a check that isn't passed must raise an error."""
    return STARTED_BY_NBGRADER or switched_on("COURSE_STRICT") or "NBGRADER_EXECUTION" in os.environ


def program_name() -> str:
    """How the course was started, so that a message can name a command as the user would type it.

    >>> f"{program_name()} data multi30k"
    'python3 -m course_lib data multi30k'
    """
    if "COURSE_CALLED" in os.environ:  # set by the process that started this one
        return os.environ["COURSE_CALLED"]
    if Path(sys.argv[0]).stem == "course":
        return "course"
    by_hand = sys.orig_argv[1:3] == ["-m", "course_lib"]  # torchrun and Jupyter start Python differently
    return f"{shlex.quote(sys.orig_argv[0]) if by_hand else 'python3'} -m course_lib"

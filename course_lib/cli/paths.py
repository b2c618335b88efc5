"""Paths as somebody typed them, made into ones that can be used.

>>> user_path("runs/toy_transformer_0").parts
('runs', 'toy_transformer_0')
"""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from course_lib.cli.trouble import Trouble


def user_path(text: str | Path) -> Path:
    """The path with its `~` written out. It need not exist, but it must be one that could."""
    if not str(text):
        raise Trouble("Expected the path of a file or a folder, but got an empty text.", "Write one there.")
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise Trouble(
            f"{text} cannot be found: this computer knows no {Path(text).parts[0]}.",
            "Write the path out. A name that really begins with ~ needs ./ before it.",
        ) from error
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # too long, a folder nobody may enter, a sign that no path has
        raise Trouble(
            f"{shortened(path)} cannot be used: {reason(error)}.", "Choose another path."
        ) from error
    return path


def target_path(text: str | Path) -> Path:
    """The path of a file to be written, tried now: nobody wants to hear of it after an hour's work."""
    path = user_path(text)
    if path.is_dir():
        raise Trouble(f"{path} is a folder.", f"Add the name of a file: {path / 'name'}{path.suffix}")
    if path.exists() and not path.is_file():
        raise Trouble(f"{path} is no ordinary file, and would be lost.", "Choose another path.")
    if not path.parent.is_dir():
        raise Trouble(
            f"{path} cannot be written: there is no folder {path.parent}.",
            f"Make it first: mkdir -p {shlex.quote(str(path.parent))}",
        )
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def unwritable(path: Path, error: OSError) -> Trouble:
    """The trouble with a file that could not be written after all."""
    return Trouble(f"{path} cannot be written: {reason(error)}.", "Choose another place for it.")


def reason(error: Exception) -> str:
    """Why the system refused, without numbers and without names of temporary files.

    >>> reason(PermissionError(13, "Permission denied", ".look.png.x7k2"))
    'Permission denied'
    """
    return getattr(error, "strerror", None) or str(error)


def shortened(path: Path, *, most: int = 120) -> str:
    """A path that fits into a message: the middle of a very long one is left out.

    >>> shortened(Path("x" * 300), most=11)
    'xxxxx…xxxxx'
    """
    text = str(path)
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2) :]}"

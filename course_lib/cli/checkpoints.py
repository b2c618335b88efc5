"""A trained system for a command: found by its file or its name, or a word about how to get one.

    open_translator(find("runs/toy_bahdanau_0", None), device=None)

A folder of a run stands for its best weights. Without file and name it is the course's Transformer.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from course_lib.cli.pins import PROJECT_ROOT
from course_lib.cli.trouble import Trouble

SHIPPED = PROJECT_ROOT / "data" / "checkpoints"
USUAL = "transformer"
BEST = "best.safetensors"


def add_arguments(parser: argparse.ArgumentParser, *, several: bool) -> None:
    """--checkpoint, --system and --device; `several`: of each as many as one likes."""
    many = {"nargs": "+"} if several else {}
    chosen = parser if several else parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="its weights: a .safetensors file, or the folder of a run",
        **many,
    )
    chosen.add_argument(
        "--system", metavar="NAME", help=f"a system whose weights come with the course ({USUAL})", **many
    )
    parser.add_argument("--device", help="cpu, cuda, ...; else a GPU where there is one")


def find(checkpoint: str | None, system: str | None) -> Path:
    """The file with the weights that were asked for."""
    if checkpoint is not None:
        path = Path(checkpoint).expanduser()
        return path / BEST if path.is_dir() else path
    name = system or USUAL
    path = SHIPPED / f"{name}.safetensors"
    if not path.is_file():
        check_name(name)
        raise Trouble(
            f"The course has no weights for {name} yet: {path.relative_to(PROJECT_ROOT)} is not there.",
            f"Train it with `course train {name}`, then add --checkpoint runs/toy_{name}_0/{BEST}",
        )
    return path


def check_name(name: str) -> None:
    """Whether there is such a system; where not, which ones are called alike."""
    from course_lib.models.registry import system

    try:
        system(name)
    except ValueError as error:
        raise Trouble(str(error), "`course train --list` shows them all.") from error


def open_translator(path: Path, *, device: str | None):
    """Load a system that translates: a `SavedSystem`."""
    from course_lib.models.registry import system
    from course_lib.training.checkpoint import CheckpointError, read_about
    from course_lib.training.saved_system import load_system

    try:
        if "standing" in read_about(path):
            raise Trouble(
                f"{path} keeps where a run stands, Adam's memory and all; it is there to go on from.",
                f"Its best weights are beside it: {path.with_name(BEST)}",
            )
        saved = load_system(path, device=find_device(device))
    except (CheckpointError, OSError) as error:
        raise Trouble(str(error), "`course train --list` shows what can be trained.") from error
    kind = system(saved.name).kind
    if kind != "translator":
        raise Trouble(
            f"{path} holds {saved.name}. That is a {kind}, and does not translate.",
            "Take a checkpoint of a translator: `course train --list` shows which systems are.",
        )
    return saved


def find_device(name: str | None):
    """The `torch.device` that was asked for, if it is there; else the usual one."""
    import torch

    from course_lib.runtime import device

    try:
        if name is None:
            return device()
        chosen = torch.device(name)
        torch.empty(1, device=chosen)  # knowing its name is not having it
    except (RuntimeError, AssertionError, ValueError, NotImplementedError) as error:
        reason = (str(error).splitlines() or ["torch does not say why"])[0]
        raise Trouble(f"The device {name!r} cannot be used here: {reason}", "Try --device cpu.") from error
    return chosen

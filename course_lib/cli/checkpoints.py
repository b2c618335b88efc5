"""A trained system for a command: found by its file or its name, or a word about how to get one.

    open_translator(find("runs/toy_bahdanau_0", None), device=find_device(None))

A folder of a run stands for its best weights. Without file and name it is the course's Transformer.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from course_lib.cli.paths import reason, user_path
from course_lib.cli.pins import PROJECT_ROOT
from course_lib.cli.trouble import Trouble

SHIPPED = PROJECT_ROOT / "data" / "checkpoints"
USUAL = "transformer"
BEST, LAST = "best.safetensors", "last.safetensors"
OF_THE_COURSE = "`--system NAME` takes weights that come with the course."


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
        path = user_path(checkpoint)
        if path.is_dir():
            path = user_path(path / BEST)
        check_file(path)
        return path
    name = USUAL if system is None else system
    check_name(name)
    path = SHIPPED / f"{name}.safetensors"
    if not path.is_file():
        raise Trouble(
            f"The course has no weights for {name} yet: {path.relative_to(PROJECT_ROOT)} is not there.",
            f"Train it with `python3 -m course_lib train {name}`,\n"
            f"then add --checkpoint runs/toy_{name}_0/{BEST}",
        )
    return path


def check_file(path: Path) -> None:
    """Whether there is a file that can be read; where not, what may have been meant."""
    if not path.exists():
        raise missing(path)
    if not path.is_file():
        raise Trouble(
            f"{path} is no ordinary file, and holds no weights.",
            "Name a .safetensors file, or a run's folder.",
        )
    try:
        path.open("rb").close()
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {reason(error)}.", "Who owns it can allow it.") from error


def missing(path: Path) -> Trouble:
    """The trouble with a checkpoint that is not there."""
    from course_lib.models.registry import SYSTEMS

    if path.name in {one.name for one in SYSTEMS}:
        return Trouble(
            f"There is no file {path}, but a system of that name.",
            f"--system {path.name} takes the weights that come with the course.",
        )
    if path.name != BEST or not path.parent.is_dir():
        return Trouble(f"There is no file {path}.", f"A run's folder will do as well. {OF_THE_COURSE}")
    if path.with_name(LAST).exists():
        return Trouble(
            f"{path.parent} has no {BEST}: its run was stopped before its first look at the validation set.",
            "Go on with it: the command that began it does so.",
        )
    return Trouble(
        f"{path.parent} is a folder, but not of a run: it holds no {BEST}.", f"Name a run's. {OF_THE_COURSE}"
    )


def check_name(name: str) -> None:
    """Whether there is such a system; where not, which ones are called alike."""
    from course_lib.models.registry import system

    try:
        system(name)
    except ValueError as error:
        raise Trouble(str(error), "`python3 -m course_lib train --list` shows them all.") from error


def open_translator(path: Path, *, device):
    """Load a system that translates, onto a `torch.device`: a `SavedSystem`."""
    from course_lib.models.registry import system
    from course_lib.training.checkpoint import CheckpointError, read_about
    from course_lib.training.saved_system import load_system

    try:
        if "standing" in read_about(path):
            raise Trouble(
                f"{path} keeps where a run stands, Adam's memory and all; it is there to go on from.",
                f"Its best weights are beside it: {path.with_name(BEST)}",
            )
        saved = load_system(path, device=device)
    except CheckpointError as error:
        shipped = path.parent == SHIPPED
        raise Trouble(
            str(error), "`git checkout -- data/checkpoints` brings it back." if shipped else OF_THE_COURSE
        ) from error
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {reason(error)}.", OF_THE_COURSE) from error
    kind = system(saved.name).kind
    if kind != "translator":
        raise Trouble(
            f"{path} holds {saved.name}. That is a {kind}, and does not translate.",
            "Take a checkpoint of a translator. `python3 -m course_lib train --list` shows which are.",
        )
    return saved

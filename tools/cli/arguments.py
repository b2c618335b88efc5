"""Arguments that several commands take, and the device, trained system or corpus they name.

parser = command(commands, "sample", "generate text with a language model", sample)
add_weights(parser, "transformer_lm")                         # --checkpoint, --system, --device
saved, kind = open_system(find_weights(args.checkpoint, args.system), find_device(args.device))
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from course_lib.runtime import shipped_weights
from tools.cli.environment import CommandError

BEST, LAST = "best.safetensors", "last.safetensors"
MAX_STEPS = 10**9
CHECKPOINT_OR_SYSTEM = (
    "Use --checkpoint with a .safetensors file or the folder of a run,\n"
    "or --system with the name of a system that comes with the course."
)


def command(
    commands, name: str, help: str, run: Callable, stage: str | None = "training"
) -> argparse.ArgumentParser:
    """Add a command. `run` executes it; `stage` says what must be installed (`environment.STAGES`)."""
    parser = commands.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, stage=stage, refuse=parser.error)
    return parser


def at_least(least: float, most: float = math.inf) -> Callable[[str], float]:
    """An argparse type: numbers of `least`'s type, from `least` to `most`.

    >>> at_least(1)("8")
    8
    """
    number = type(least)

    def parse(text: str) -> float:
        if not least <= (value := number(text)) <= most:
            wanted = (
                f"a number of at least {least:g}"
                if most == math.inf
                else f"a number from {least} to {most:,}"
            )
            raise argparse.ArgumentTypeError(f"expected {wanted}, got {text}")
        return value

    parse.__name__ = number.__name__  # argparse's messages name the type
    return parse


def above_zero(text: str) -> float:
    """An argparse type: a finite number above 0."""
    if not 0 < (value := float(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")
    return value


def seed(text: str) -> int:
    """An argparse type: a seed that Python, NumPy and torch all accept."""
    if not 0 <= (value := int(text)) < 2**32:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to {2**32 - 1:,}, got {text}")
    return value


def not_empty(text: str) -> str:
    """An argparse type: a name. An empty one, as from an unset shell variable, is probably a mistake."""
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"expected a name, got {text!r}")
    text.encode()  # a ValueError, which argparse reports: safetensors opens only files with names in UTF-8
    return text


def path_name(text: str) -> Path:
    """An argparse type: the path of a file or folder."""
    return Path(not_empty(text))


def system_name(text: str) -> str:
    """An argparse type: the name of a system. It doesn't import torch."""
    from course_lib.models.registry import system

    try:
        return system(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


# ---- --device


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        help="device to use: cpu, cuda, mps, ... (default: an NVIDIA GPU if there is one, otherwise the CPU)",
    )


def find_device(name: str | None):
    """The `torch.device` that --device names, or the default one; an error if it can't be used here."""
    import torch

    from course_lib.runtime import device

    try:
        chosen = device() if name is None else torch.device(name)
        # torch.device accepts devices that this machine doesn't have, and some that can't compute anything.
        torch.ones(1, device=chosen).item()
    except (RuntimeError, AssertionError, ValueError, ImportError) as error:
        reason = (str(error).splitlines() or ["torch gives no reason"])[0].partition(". ")[0]
        wanted = "the default device" if name is None else f"device {name!r}"
        raise CommandError(
            f"This machine can't use {wanted}: {reason}.",
            "Use --device cpu, which works on every machine.",
        ) from error
    return chosen


# ---- --checkpoint or --system


def add_weights(parser: argparse.ArgumentParser, system: str, nargs: str | None = None) -> None:
    """Add --checkpoint, --system (by default `system`) and --device."""
    group = parser.add_mutually_exclusive_group()
    file = "the weights to use: a .safetensors file, or the folder of a run"
    shipped = f"a trained system that comes with the course (default: {system})"
    group.add_argument("--checkpoint", type=path_name, nargs=nargs, metavar="FILE", help=file)
    # Not as its default: argparse would then accept --checkpoint together with that name.
    group.add_argument("--system", type=system_name, nargs=nargs, metavar="NAME", help=shipped)
    parser.set_defaults(default_system=system)
    add_device(parser)


def find_weights(checkpoint: Path | None, system: str | None) -> Path:
    """The file with the weights; in a run's folder, that of the best ones."""
    if checkpoint is None:
        return shipped_weights(system)
    return checkpoint / BEST if checkpoint.is_dir() else checkpoint


def add_model_file(parser: argparse.ArgumentParser) -> None:
    help = "run the class Transformer of this Python file (lesson 14) with the weights of --checkpoint"
    parser.add_argument("--model", type=path_name, metavar="FILE", help=help)


@contextmanager
def model_file_errors() -> Iterator[None]:
    """Where the code of --model runs: report what is wrong with it, with its line in the file."""
    from course_lib.models.own_file import OwnFileError

    try:
        yield
    except OwnFileError as error:
        raise CommandError(f"--model: {error}") from error


def open_system(path: Path, device, model_file: Path | None = None):
    """Load a `SavedSystem`; also return its kind: translator, language model or sentence encoder.

    With a model file, it says that the code of that file runs.
    """
    from course_lib.models.registry import system
    from course_lib.training.checkpoint import CheckpointError, load_system

    if path.name == BEST and not path.exists() and path.with_name(LAST).exists():
        raise CommandError(
            f"The run in {path.parent} has no {BEST} yet; {LAST} is only for resuming it.",
            "Run the same `train` command again to resume the run.",
        )
    if model_file:
        print(f"Running the code of {model_file}.", file=sys.stderr)
    try:
        with model_file_errors():
            saved = load_system(path, device=device, model_file=model_file)
    except CheckpointError as error:
        is_shipped = path == shipped_weights(path.stem)  # then the error says how to restore it
        raise CommandError(str(error), *([] if is_shipped else [CHECKPOINT_OR_SYSTEM])) from error
    return saved, system(saved.name).kind


# ---- --data and --beam


def add_corpus(parser: argparse.ArgumentParser, help: str, default: str | None = None) -> None:
    parser.add_argument("--data", type=not_empty, default=default, metavar="CORPUS", help=help)
    parser.add_argument(
        "--from",
        dest="src",
        type=not_empty,
        metavar="LANG",
        help="source language, for Multi30k or a folder",
    )
    parser.add_argument(
        "--to",
        dest="tgt",
        type=not_empty,
        metavar="LANG",
        help="target language, for Multi30k or a folder",
    )
    parser.add_argument(
        "--multi30k", type=path_name, metavar="FOLDER", help="the folder that contains Multi30k"
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--beam", type=at_least(1, 1000), default=1, metavar="N", help="beam size (default: 1, greedy)"
    )
    penalty = "for beam search: 0 ignores the length, higher values favour long sentences (default: 0.6)"
    parser.add_argument("--length-penalty", type=at_least(0.0, 10.0), default=0.6, metavar="X", help=penalty)

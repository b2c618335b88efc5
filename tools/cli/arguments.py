"""Arguments that several commands take, and what they stand for: a device, a trained system, a corpus.

own = command(commands, "sample", "let a language model write", sample)
add_weights(own, "transformer_lm")                            # --checkpoint, --system, --device
saved, kind = open_system(find_weights(args.checkpoint, args.system), find_device(args.device))
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

from course_lib.runtime import shipped_weights
from tools.cli.environment import CommandError

BEST = "best.safetensors"
WHICH = "--checkpoint takes a .safetensors file or a run's folder, --system NAME what comes with the course."


def command(to, name: str, help: str, run: Callable, stage: str = "training") -> argparse.ArgumentParser:
    """One command: what it is for, what runs it, what must be installed (`environment.STAGES`)."""
    own = to.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.set_defaults(run=run, stage=stage, refuse=own.error)
    return own


def at_least(least: float, most: float = math.inf) -> Callable[[str], float]:
    """A reader for numbers of the same kind that are not smaller, and not larger than `most`.

    >>> at_least(1)("8")
    8
    """
    kind = type(least)

    def read(text: str) -> float:
        if not least <= (value := kind(text)) <= most:
            wanted = f"{least} or more" if most == math.inf else f"{least} to {most:,}"
            raise argparse.ArgumentTypeError(f"expected {wanted}, got {text}")
        return value

    read.__name__ = kind.__name__  # what argparse calls it
    return read


def seed(text: str) -> int:
    """A seed that every generator takes."""
    if not 0 <= (value := int(text)) < 2**32:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to {2**32 - 1:,}, got {text}")
    return value


def system_name(text: str) -> str:
    """A reader for the names of systems; it loads no torch."""
    from course_lib.models.registry import system

    try:
        return system(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


# ---- --device


def add_device(own: argparse.ArgumentParser) -> None:
    own.add_argument("--device", help="cpu, cuda, ...; else a GPU where there is one")


def find_device(name: str | None):
    """The `torch.device` that --device names, or else the usual one, if it is there."""
    import torch

    from course_lib.runtime import device

    try:
        found = torch.device(name) if name else device()
        torch.zeros(1, device=found)  # knowing its name is not having it
    except (RuntimeError, AssertionError, ValueError) as error:
        why = (str(error).splitlines() or ["torch does not say why"])[0]
        raise CommandError(
            f"The device cannot be used here: {why}", "--device cpu is always there."
        ) from error
    return found


# ---- --checkpoint or --system


def add_weights(own: argparse.ArgumentParser, usual: str, nargs: str | None = None) -> None:
    which = own.add_mutually_exclusive_group()
    file, shipped = "a .safetensors file, or a run's folder", f"one that comes with the course ({usual})"
    which.add_argument("--checkpoint", type=Path, nargs=nargs, metavar="FILE", help=file)
    usual = [usual] if nargs else usual
    which.add_argument("--system", type=system_name, nargs=nargs, default=usual, metavar="NAME", help=shipped)
    add_device(own)


def find_weights(checkpoint: Path | None, system: str | None) -> Path:
    """The file with the weights; a run's folder stands for its best ones."""
    if checkpoint is None:
        return shipped_weights(system)
    return checkpoint / BEST if checkpoint.is_dir() else checkpoint


def open_system(path: Path, device):
    """The `SavedSystem` in a file, and its kind: translator, language model or sentence encoder."""
    from course_lib.models.registry import system
    from course_lib.training.checkpoint import CheckpointError, load_system

    try:
        saved = load_system(path, device=device)
    except CheckpointError as error:
        todo = (
            "`git checkout -- data/checkpoints` brings it back."
            if path == shipped_weights(path.stem)
            else WHICH
        )
        raise CommandError(str(error), todo) from error
    return saved, system(saved.name).kind


# ---- --data and --beam


def add_corpus(own: argparse.ArgumentParser, help: str, usual: str | None = None) -> None:
    own.add_argument("--data", default=usual, metavar="CORPUS", help=help)
    own.add_argument("--from", dest="src", metavar="LANG", help="source language, of Multi30k or a folder")
    own.add_argument("--to", dest="tgt", metavar="LANG", help="target language, of Multi30k or a folder")
    own.add_argument("--multi30k", type=Path, metavar="FOLDER", help="where Multi30k is")


def add_search(own: argparse.ArgumentParser) -> None:
    own.add_argument("--beam", type=at_least(1, 1000), default=1, metavar="N", help="beam size (1: greedy)")
    penalty = "of a beam: 0 does not look at the length, more favours long sentences (0.6)"
    own.add_argument("--length-penalty", type=at_least(0.0, 10.0), default=0.6, metavar="X", help=penalty)

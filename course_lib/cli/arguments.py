"""What can be typed after each command, and how words are read: numbers within bounds, paths, systems.

    own.add_argument("--beam", type=number(int, 1, 1000))

A wrong one is answered by argparse, with the usage, before anything is loaded.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

from course_lib.cli.measuring import ALL, SPLITS


def add_train(own: argparse.ArgumentParser) -> None:
    own.add_argument(
        "system", type=system_name, nargs="?", metavar="SYSTEM", help="its name; --list shows them"
    )
    own.add_argument("--list", action="store_true", help="show every system that can be trained")
    add_corpus(own, "what to train on: toy (default), multi30k, a file with tabs, or a folder", "toy")
    own.add_argument("--scale", choices=["tiny", "toy", "multi30k"], help="its size; else made for the data")
    own.add_argument(
        "--seed", type=number(int, 0, 2**63 - 1), default=0, help="of weights, order, dropout (0)"
    )
    own.add_argument("--steps", type=number(int, 1), dest="n_steps", metavar="N", help="else the recipe's")
    own.add_argument("--tokens-per-batch", type=number(int, 1), metavar="N", help="of one side of a batch")
    own.add_argument("--learning-rate", type=number(float, 1e-300), metavar="X", help="the highest one")
    own.add_argument("--r-drop", type=number(float, 0), metavar="X", help="R-Drop's alpha (0: off)")
    own.add_argument("--quick", action="store_true", help="a quarter of the tokens, for a CPU")
    own.add_argument("--folder", type=path, help="where the run is kept; else runs/DATA_SYSTEM_SEED")
    own.add_argument("--restart", action="store_true", help="begin anew, in place of going on")
    add_device(own)


def add_corpus(own: argparse.ArgumentParser, help: str, usual: str | None = None) -> None:
    own.add_argument("--data", default=usual, metavar="CORPUS", help=help)
    own.add_argument("--from", dest="src", metavar="LANG", help="source language, of Multi30k or a folder")
    own.add_argument("--to", dest="tgt", metavar="LANG", help="target language, of Multi30k or a folder")
    own.add_argument("--multi30k", type=path, metavar="FOLDER", help="where Multi30k is")


def add_weights(own: argparse.ArgumentParser, usual: str) -> None:
    which = own.add_mutually_exclusive_group()
    which.add_argument(
        "--checkpoint", type=path, metavar="FILE", help="a .safetensors file, or a run's folder"
    )
    shipped = f"a system whose weights come with the course ({usual})"
    which.add_argument("--system", type=system_name, default=usual, metavar="NAME", help=shipped)
    add_device(own)


def add_device(own: argparse.ArgumentParser) -> None:
    own.add_argument("--device", help="cpu, cuda, ...; else a GPU where there is one")


def add_search(own: argparse.ArgumentParser) -> None:
    own.add_argument(
        "--beam", type=number(int, 1, 1000), default=1, metavar="N", help="beam size (1: greedy)"
    )
    penalty = "of a beam: 0 does not look at the length, more favours long sentences (0.6)"
    own.add_argument("--length-penalty", type=number(float, 0, 10), default=0.6, metavar="X", help=penalty)


def add_translate(own: argparse.ArgumentParser) -> None:
    own.add_argument(
        "texts", nargs="*", metavar="SENTENCE", help="what to translate; else stdin, a line each"
    )
    add_weights(own, "transformer")
    add_search(own)
    own.add_argument("--attention", action="store_true", help="show where each word looked, as text")
    own.add_argument("--picture", type=picture, metavar="FILE", help="draw it, as .png or .svg; one sentence")
    own.add_argument(
        "--layer", type=number(int, 1), metavar="N", help="whose attention: this layer's (the last)"
    )
    own.add_argument("--head", type=number(int, 1), metavar="N", help="this head's (the mean of all)")


def add_sample(own: argparse.ArgumentParser) -> None:
    own.add_argument(
        "text", nargs="?", default="", metavar="TEXT", help="what to go on with; else from nothing"
    )
    add_weights(own, "transformer_lm")
    own.add_argument("--n", type=number(int, 1), default=5, metavar="N", help="how many texts (5)")
    own.add_argument(
        "--words", type=number(int, 1), default=30, metavar="N", help="at most so many tokens (30)"
    )
    draw = "1 draws as the model thinks, 0 takes the likeliest word (1)"
    own.add_argument("--temperature", type=number(float, 0), default=1.0, metavar="X", help=draw)
    own.add_argument("--top-k", type=number(int, 1), metavar="N", help="draw from the N likeliest words only")
    own.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, other texts (0)")


def add_evaluate(own: argparse.ArgumentParser) -> None:
    files = ".safetensors files, or runs' folders"
    own.add_argument("--checkpoint", type=path, nargs="+", metavar="FILE", help=files)
    shipped = "systems whose weights come with the course (transformer)"
    own.add_argument("--system", type=system_name, nargs="+", metavar="NAME", help=shipped)
    add_device(own)
    add_corpus(own, "toy, multi30k, a file with tabs, or a folder; else what they were trained on")
    splits = "which part of it (test); all: every test split of the toy language"
    own.add_argument("--split", choices=[*SPLITS, ALL], default="test", help=splits)
    add_search(own)
    own.add_argument("--first", type=number(int, 1), metavar="N", help="only the first N sentences")
    own.add_argument("--json", type=new_file, metavar="FILE", help="keep every number there")


def add_experiment(own: argparse.ArgumentParser) -> None:
    own.add_argument("names", nargs="*", metavar="NAME", help="one or more; --list shows them")
    own.add_argument("--list", action="store_true", help="show every experiment, and what it asks")
    own.add_argument("--table", action="store_true", help="show what --out holds, and run nothing")
    own.add_argument("--variants", nargs="+", metavar="VARIANT", help="only these")
    own.add_argument("--seeds", nargs="+", type=int, metavar="N", help="else the experiment's own, 0 1 2")
    own.add_argument("--steps", type=int, dest="n_steps", metavar="N", help="else the usual recipe's")
    own.add_argument("--at-a-time", type=int, default=1, metavar="N", help="how many runs at once (1)")
    add_device(own)
    out = Path("runs/experiments")
    own.add_argument(
        "--out", type=path, default=out, metavar="FOLDER", help=f"where results are kept ({out})"
    )


# ---- kinds of words


def number(kind: type, least: float, most: float = math.inf) -> Callable[[str], float]:
    """A reader for a number within bounds.

    >>> number(int, 1)("8")
    8
    """

    def read(text: str) -> float:
        value = kind(text)
        if not least <= value <= most:
            to = "" if most == math.inf else f" to {most:g}"
            raise argparse.ArgumentTypeError(f"expected {least:g}{to or ' or more'}, got {text}")
        return value

    read.__name__ = kind.__name__  # what argparse calls it
    return read


def path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error


def new_file(text: str) -> Path:
    """A file to be written at the end: nobody wants to hear after an hour that it cannot be."""
    found = path(text)
    if found.is_dir() or not found.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{found} cannot be written: there is no folder {found.parent}")
    return found


def picture(text: str) -> Path:
    if not text.lower().endswith((".png", ".svg")):
        raise argparse.ArgumentTypeError(f"expected a file ending in .png or .svg, got {text}")
    return new_file(text)


def system_name(text: str) -> str:
    from course_lib.models.registry import system

    try:
        return system(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error

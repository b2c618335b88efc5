"""`bench`: how fast it is here."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from subprocess import CalledProcessError

from tools.cli.arguments import add_device, command, find_device


def add(commands) -> None:
    own = command(commands, "bench", "measure how fast it is: a step, a sentence, a slider", bench)
    chosen = own.add_subparsers(dest="what", metavar="WHAT", required=True)
    add_device(command(chosen, "training", "how fast a step of training is", bench))
    add_device(command(chosen, "decoding", "what a cache is worth to a decoder", bench))
    command(chosen, "decoding_speed", "how many words a second every translator says, on a CPU", bench)
    command(chosen, "explorables", "how fast the explorables answer", bench, "lab")
    command(chosen, "cost", "what attention costs beside the rest of its block, on a CPU", bench)
    command(chosen, "clock", "from raw Multi30k to a scored Transformer; best on a GPU", bench)


def current(device=None) -> AbstractContextManager:
    """Make a GPU the one that the timer waits for; a device by itself in a `with` would do much more."""
    import torch

    return torch.cuda.device(device) if device is not None and device.type == "cuda" else nullcontext()


def bench(args: argparse.Namespace) -> int:
    """How fast it is here. It informs, and fails nobody's machine."""
    home = "lessons.l17_what_it_costs" if args.what == "cost" else "tools.bench"
    run = import_module(f"{home}.{args.what}").run
    given = [find_device(args.device)] if "device" in args else []
    try:
        with current(*given):
            run(*given)
    except CalledProcessError as error:  # a command that was timed has said why
        return error.returncode
    return 0

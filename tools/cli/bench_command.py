"""`bench`: measure speed on this machine."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from subprocess import CalledProcessError

from tools.cli.arguments import add_device, command, find_device


def add(commands) -> None:
    parser = command(commands, "bench", "measure how fast it is: a step, a sentence, a slider", bench)
    chosen = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    add_device(command(chosen, "training", "how fast a step of training is", bench))
    add_device(command(chosen, "decoding", "what a cache is worth to a decoder", bench))
    command(chosen, "decoding_speed", "how many words a second every translator says, on a CPU", bench)
    command(chosen, "explorables", "how fast the explorables answer", bench, "lab")
    command(chosen, "cost", "what attention costs beside the rest of its block, on a CPU", bench)
    command(chosen, "clock", "from raw Multi30k to a scored Transformer; best on a GPU", bench)


def current_device(device=None) -> AbstractContextManager:
    """Make a GPU torch's current_device one, which the timer waits for.

    `with device:` would also create every new tensor there, and slow down every call.
    """
    import torch

    return torch.cuda.device(device) if device is not None and device.type == "cuda" else nullcontext()


def bench(args: argparse.Namespace) -> int:
    """Run one benchmark and print its table. There is no speed at which it fails."""
    package = "lessons.l17_what_it_costs" if args.what == "cost" else "tools.bench"
    run = import_module(f"{package}.{args.what}").run
    devices = [find_device(args.device)] if "device" in args else []
    try:
        with current_device(*devices):
            run(*devices)
    except CalledProcessError as error:  # the timed command has printed its own error
        return error.returncode
    return 0

"""`bench`: measure speed on this machine."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from subprocess import CalledProcessError

from tools.cli.arguments import add_device, command, find_device


def add(commands) -> None:
    about = "measure the speed of training, decoding and the interactive figures"
    parser = command(commands, "bench", about, bench)
    chosen = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    add_device(command(chosen, "training", "measure how long a training step takes", bench))
    add_device(command(chosen, "decoding", "measure how much a cache speeds up decoding", bench))
    own = "compare the training of a Transformer from an empty file (lesson 15) with the library's"
    add_device(command(chosen, "own_file", own, bench))
    roofline = "measure where the operations of a Transformer lie below the ceilings of a GPU"
    add_device(command(chosen, "roofline", roofline, bench))
    words = "measure how many words per second each translator generates, on a CPU"
    command(chosen, "decoding_speed", words, bench)
    command(chosen, "explorables", "measure how quickly the interactive figures respond", bench, "lab")
    cost = "measure what attention costs compared with the rest of its block, on a CPU"
    command(chosen, "cost", cost, bench)
    clock = "measure the time from raw Multi30k to an evaluated Transformer; slow without a GPU"
    command(chosen, "clock", clock, bench)
    start = "measure the CPU time of each lesson's first code cell, compared with `import torch`"
    lessons = "the number or topic of a lesson, such as 08 or query_key_value (default: all lessons)"
    parser = command(chosen, "start", start, bench, "lab")
    parser.add_argument("lessons", nargs="*", metavar="NN", help=lessons)


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
            run(*devices, *([args.lessons] if "lessons" in args else []))
    except CalledProcessError as error:  # the timed command has printed its own error
        return error.returncode
    return 0

"""The table of commands: what each is called, what it needs installed, which module runs it."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from types import ModuleType

from course_lib import __version__
from course_lib.cli import bench, build, data, evaluate, experiment, lab, progress, test, train, translate
from course_lib.cli.endings import ended
from course_lib.cli.environment import enter
from course_lib.cli.pins import PROJECT_ROOT
from course_lib.cli.trouble import Trouble

PROGRAM = "python3 -m course_lib"  # works in the course's folder, whatever is on the path


@dataclass(frozen=True)
class Command:
    """One word on the command line. Its module has `add_arguments(parser)` and `run(args) -> int`.

    `stage` is what must be installed for it (`pins.STAGES`); arguments may ask for another (`args.stage`).
    """

    module: ModuleType
    stage: str
    help: str
    passes_on: bool = False  # arguments it does not know are someone else's: they arrive as args.further


COMMANDS = {
    "lab": Command(lab, "lab", "set up on the first run, then open JupyterLab", passes_on=True),
    "test": Command(test, "test", "set up what is missing, then run every test"),
    "build": Command(build, "lab", "make the notebooks from their sources"),
    "data": Command(data, "training", "show samples of the toy language, or get the real corpus"),
    "train": Command(train, "training", "train a system of the road"),
    "translate": Command(translate, "training", "translate sentences, and show where each word looked"),
    "evaluate": Command(evaluate, "training", "measure how well trained systems translate"),
    "experiment": Command(experiment, "training", "run an experiment that a lesson quotes again"),
    "progress": Command(progress, "lab", "show what you have done so far, or delete it"),
    "bench": Command(bench, "training", "measure how fast it is: explorables, text, training, decoding"),
}


def parser() -> argparse.ArgumentParser:
    program = argparse.ArgumentParser(
        prog=PROGRAM,
        description="The attention course: from the bottlenecks of recurrent networks to the Transformer.",
        epilog="Start with `lab`. Each command tells more with --help.",
        allow_abbrev=False,
    )
    program.add_argument("--version", action="version", version=f"attention-course {__version__}")
    chosen = program.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        own = chosen.add_parser(name, help=command.help, description=command.module.__doc__)
        own.allow_abbrev, own.formatter_class = False, argparse.RawDescriptionHelpFormatter
        own.set_defaults(refuse=own.error)
        command.module.add_arguments(own)
    return program


def run_command(argv: list[str]) -> int:
    """Read the command line, see to the environment, run the command; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a Windows pipe may not know the sign for "done"
    program = parser()
    if not argv:
        program.print_help()
        return 2
    args, further = program.parse_known_args(argv)
    if args.command is None:
        program.error(f"expected a command first: {', '.join(COMMANDS)}; got {argv[0]}")
    args.words, args.further = argv, further
    if further and not COMMANDS[args.command].passes_on:
        more = f"`{PROGRAM} {args.command} --help` tells what it knows"
        args.refuse(f"{args.command} does not know {' '.join(further)}; {more}")
    return ended(lambda: run_here(COMMANDS[args.command], args))


def run_here(command: Command, args: argparse.Namespace) -> int:
    """Run a command in the course's folder, in an environment that has what it needs."""
    if not (PROJECT_ROOT / "notebooks").is_dir() or not (PROJECT_ROOT / "pyproject.toml").is_file():
        raise Trouble(
            f"The course runs from its own folder, and {PROJECT_ROOT} does not hold its notebooks.",
            "Get the whole course (git clone), and run the command there.",
        )
    enter(getattr(args, "stage", command.stage), args.words)
    return command.module.run(args)

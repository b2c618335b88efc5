"""`experiment`: repeat an experiment that a lesson quotes."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from course_lib.runtime import program_name
from tools.cli.arguments import add_device, at_least, command, find_device, seed
from tools.cli.environment import CommandError


def add(commands) -> None:
    help_text = "run again an experiment that a lesson quotes"
    parser = command(commands, "experiment", help_text, experiment)
    parser.epilog = "What is done is kept; the same command goes on."
    parser.add_argument("names", nargs="*", metavar="NAME", help="one or more; --list shows them")
    parser.add_argument("--list", action="store_true", help="show every experiment, and what it asks")
    parser.add_argument("--table", action="store_true", help="show what --out holds, and run nothing")
    parser.add_argument("--variants", nargs="+", metavar="VARIANT", help="only these")
    parser.add_argument("--seeds", nargs="+", type=seed, metavar="N", help="else the experiment's own, 0 1 2")
    parser.add_argument(
        "--steps", type=at_least(1), dest="n_steps", metavar="N", help="a trial; else the recipe's"
    )
    parser.add_argument("--at-a-time", type=at_least(1), default=1, metavar="N", help="runs at once (1)")
    add_device(parser)
    out = "where results are kept (runs/experiments)"
    parser.add_argument("--out", type=Path, default="runs/experiments", metavar="FOLDER", help=out)


def experiment(args: argparse.Namespace) -> int:
    """Run experiments, list them, or print the tables of stored results."""
    from tools.experiments.catalogue import experiments, results_file
    from tools.experiments.tables import table

    catalogue = experiments()
    if args.list or not args.names:
        for entry in catalogue.values():
            print(f"{entry.name}  (lesson {entry.lesson}; {len(entry.variants)} variants)\n    {entry.asks}")
        return 0
    if unknown := [name for name in args.names if name not in catalogue]:
        raise CommandError(f"There is no experiment {unknown[0]!r}.", f"There are: {', '.join(catalogue)}.")
    if args.table:
        for name in args.names:
            path = results_file(args.out, name, args.n_steps)
            if not path.exists():
                raise CommandError(
                    f"{path} is not there.", f"Run `{program_name()} experiment {name}` first."
                )
            print(f"{name}\n\n{table(json.loads(path.read_text(encoding='utf-8')))}\n")
        return 0
    find_device(args.device)

    from tools.experiments.runner import run

    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # an exit, unlike a signal, also ends the runs' processes
    options = ("out", "seeds", "variants", "n_steps", "device", "at_a_time")
    try:
        n_failed = run(args.names, **{name: getattr(args, name) for name in options})
    except ValueError as error:
        raise CommandError(str(error), f"`{program_name()} experiment --list` shows them all.") from error
    return 1 if n_failed else 0

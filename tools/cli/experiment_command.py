"""`experiment`: repeat an experiment that a lesson quotes."""

from __future__ import annotations

import argparse
import json
import signal
import sys

from course_lib.runtime import program_name
from tools.cli.arguments import MAX_STEPS, add_device, at_least, command, find_device, path_name, seed
from tools.cli.environment import CommandError

EACH = object()  # --compare without a variant


def add(commands) -> None:
    help_text = "repeat an experiment whose results a lesson quotes"
    parser = command(commands, "experiment", help_text, experiment)
    parser.epilog = "Each finished run is stored. If you stop an experiment, the same command continues it."
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="one or more experiments; --list shows them all"
    )
    parser.add_argument(
        "--list", action="store_true", help="list all experiments and the question each one answers"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--table",
        action="store_true",
        help="print the stored results and how they compare; runs nothing",
    )
    compare = (
        "print how the variants compare in one column of the stored results: each with this one, or each "
        "with each other; better, worse, or no clear difference"
    )
    shown.add_argument("--compare", nargs="?", const=EACH, metavar="VARIANT", help=compare)
    column = "with --compare: a heading of the table, or the path of a number in a run (default: the first)"
    parser.add_argument("--column", metavar="COLUMN", help=column)
    parser.add_argument("--variants", nargs="+", metavar="VARIANT", help="run only these variants")
    seeds = "random seeds (default: those of the experiment, usually 0 1 2)"
    parser.add_argument("--seeds", nargs="+", type=seed, metavar="N", help=seeds)
    steps = "number of training steps, for a short trial (default: as in the lesson)"
    parser.add_argument("--steps", type=at_least(1, MAX_STEPS), dest="n_steps", metavar="N", help=steps)
    at_a_time = "number of runs in parallel (default: 1)"
    parser.add_argument("--at-a-time", type=at_least(1, 1000), default=1, metavar="N", help=at_a_time)
    add_device(parser)
    out = "where the results are stored (default: runs/experiments)"
    parser.add_argument("--out", type=path_name, default="runs/experiments", metavar="FOLDER", help=out)


def experiment(args: argparse.Namespace) -> int:
    """Run experiments, list them, or print the tables of stored results."""
    from course_lib.formatting import counted
    from tools.experiments.catalogue import experiments, results_file

    catalogue = experiments()
    if args.compare is not None and not args.names:
        raise CommandError(
            "--compare needs the name of an experiment.", "Put it first: experiment NAME --compare VARIANT."
        )
    if args.list or not args.names:
        for entry in catalogue.values():
            lessons = f"lesson{'s' if ',' in entry.lesson else ''} {entry.lesson}"
            print(f"{entry.name}  ({lessons}; {counted(len(entry.variants), 'variant')})\n    {entry.asks}")
        return 0
    if unknown := [name for name in args.names if name not in catalogue]:
        raise CommandError(f"Unknown experiment {unknown[0]!r}.", f"Choose from: {', '.join(catalogue)}.")
    if args.column is not None and args.compare is None:
        raise CommandError("--column has no effect without --compare.", "Add --compare.")
    if args.table or args.compare is not None:
        for name in args.names:
            path = results_file(args.out, name, args.n_steps)
            if not path.exists():
                raise CommandError(
                    f"There is no results file {path}.",
                    f"Run `{program_name()} experiment {name} --out {args.out}` first.",
                )
            print(f"{stored_results(args, json.loads(path.read_text(encoding='utf-8')))}\n")
        return 0
    find_device(args.device)
    args.out.mkdir(parents=True, exist_ok=True)  # before the first run, whose result would be lost

    from tools.experiments.runner import run

    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # an exit, unlike a signal, also ends the runs' processes
    options = ("out", "seeds", "variants", "n_steps", "device", "at_a_time")
    try:
        n_failed = run(args.names, **{name: getattr(args, name) for name in options})
    except ValueError as error:
        raise CommandError(
            str(error), f"Run `{program_name()} experiment --list` to see all experiments."
        ) from error
    return 1 if n_failed else 0


def stored_results(args: argparse.Namespace, results: dict) -> str:
    """All that is known of the experiment, or the comparison that was asked for."""
    from tools.experiments.compare import comparison_table
    from tools.experiments.page import section

    if args.compare is None:
        return section(results, whole=True)
    try:
        return comparison_table(results, args.column, None if args.compare is EACH else args.compare)
    except ValueError as error:
        raise CommandError("The variants can't be compared.", str(error)) from error

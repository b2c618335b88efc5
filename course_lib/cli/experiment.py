"""Run one of the course's experiments again: what the lessons quote, with three seeds.

    python3 -m course_lib experiment --list
    python3 -m course_lib experiment positions --at-a-time 4
    python3 -m course_lib experiment positions --variants none rotary --seeds 0 --steps 200

What is done is kept in --out, and the same command goes on with the rest.
"""

from __future__ import annotations

import argparse

from course_lib.cli.device import find_device
from course_lib.cli.paths import user_path
from course_lib.cli.trouble import Trouble

OUT = "runs/experiments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="one or more; --list shows them")
    parser.add_argument("--list", action="store_true", help="show every experiment, and what it asks")
    parser.add_argument(
        "--table", action="store_true", help="show what --out holds, as Markdown, and run nothing"
    )
    parser.add_argument("--variants", nargs="+", metavar="VARIANT", help="only these")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help="else the experiment's own, 0 1 2")
    parser.add_argument("--steps", type=int, dest="n_steps", metavar="N", help="else the usual recipe's")
    parser.add_argument("--at-a-time", type=int, default=1, metavar="N", help="how many runs at once (1)")
    parser.add_argument("--device", help="cpu, cuda, ...; else a GPU where there is one")
    parser.add_argument("--out", default=OUT, metavar="FOLDER", help=f"where results are kept ({OUT})")


def run(args: argparse.Namespace) -> int:
    from course_lib.bench.experiments import experiments
    from course_lib.bench.experiments import run as run_experiments

    known = experiments()
    if args.list or not args.names:
        for one in known.values():
            print(f"{one.name}  (lesson {one.lesson}, {len(one.variants)} variants)\n    {one.asks}")
        return 0
    for name in args.names:
        if name not in known:
            raise Trouble(f"There is no experiment {name!r}.", f"There are: {', '.join(known)}.")
    if args.table:
        return show_tables(args)
    find_device(args.device)
    try:
        failed = run_experiments(
            args.names,
            out=user_path(args.out),
            seeds=args.seeds,
            variants=args.variants,
            n_steps=args.n_steps,
            device=args.device,
            at_a_time=args.at_a_time,
        )
    except ValueError as error:
        raise Trouble(str(error), "`python3 -m course_lib experiment --list` shows them all.") from error
    return 1 if failed else 0


def show_tables(args: argparse.Namespace) -> int:
    import json

    from course_lib.bench.tables import table

    for name in args.names:
        path = user_path(args.out) / f"{name}.json"
        if not path.exists():
            raise Trouble(f"{path} is not there.", f"Run `python3 -m course_lib experiment {name}` first.")
        print(f"{name}\n\n{table(json.loads(path.read_text(encoding='utf-8')))}\n")
    return 0

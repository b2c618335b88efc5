"""`agenda`: the run sheet of a workshop."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT, write_atomically
from tools.cli.arguments import at_least, command, path_name
from tools.cli.environment import CommandError


def add(commands) -> None:
    parser = command(commands, "agenda", "make the run sheet of a workshop", agenda, "lab")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument(
        "--hours", type=at_least(0.5, 10.0), metavar="H", help="one session of H hours, such as 1.5"
    )
    length.add_argument("--days", type=at_least(1, 10), metavar="D", help="D days of eight hours, with lunch")
    parser.add_argument(
        "--start", type=time_of_day, default="9:00", metavar="H:MM", help="when it starts (default: 9:00)"
    )
    lessons = "teach these lessons, by number or topic, instead of those that suit the duration"
    parser.add_argument("--lessons", nargs="+", default=[], metavar="NN", help=lessons)
    parser.add_argument(
        "--out", type=path_name, metavar="FILE", help="write the sheet to this file (Markdown)"
    )


def time_of_day(text: str) -> int:
    """An argparse type: the minutes since midnight of 9:00 or 13:30."""
    match = re.fullmatch(r"(\d{1,2}):(\d\d)", text, re.ASCII)
    if not match or int(match[1]) > 23 or int(match[2]) > 59:
        raise argparse.ArgumentTypeError(f"expected a time such as 9:00 or 13:30, got {text!r}")
    return 60 * int(match[1]) + int(match[2])


def agenda(args: argparse.Namespace) -> int:
    from tools.authoring.build import choose
    from tools.authoring.lesson import sources
    from tools.workshop.plans import DAY
    from tools.workshop.run_sheet import run_sheet

    if args.out is not None and os.path.lexists(args.out) and not args.out.is_file():
        raise CommandError(f"{args.out} is not a file.", "Name a file for --out, such as agenda.md.")
    chosen, problems = choose(sources(PROJECT_ROOT), args.lessons)
    if problems:
        raise CommandError(problems[0])
    sheet = run_sheet(
        PROJECT_ROOT,
        n_days=args.days or 1,
        session=DAY if args.days else round(60 * args.hours),
        start=args.start,
        numbers=sorted(path.parent.name[1:3] for path in chosen) if args.lessons else (),
        links=link_to_course(args.out),
    )
    if args.out is None:
        print(sheet, end="")
    else:
        write_atomically(args.out, sheet)
        print(f"The run sheet is in {args.out}.")
    return 0


def link_to_course(out: Path | None) -> str:
    """What the links of the sheet start with: they lead from its file, or from the course's folder."""
    folder = PROJECT_ROOT if out is None else out.absolute().parent
    try:
        return f"{os.path.relpath(PROJECT_ROOT, folder)}/".replace(os.sep, "/").removeprefix("./")
    except ValueError:  # another drive of Windows
        return f"{PROJECT_ROOT.as_uri()}/"

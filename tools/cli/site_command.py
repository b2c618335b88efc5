"""`site`: build the reading edition, all lessons and docs as web pages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.cli.arguments import command, path_name
from tools.cli.environment import CommandError, missing

SITE = PROJECT_ROOT / "build" / "site"


def add(commands) -> None:
    parser = command(
        commands, "site", "build the reading edition: the lessons and docs as web pages", build, "lab"
    )
    out = "where to write the site: a new or empty folder, or an earlier site (default: build/site)"
    parser.add_argument("--out", type=path_name, default=SITE, metavar="FOLDER", help=out)


def build(args: argparse.Namespace) -> int:
    if packages := missing("lab", "site"):
        raise CommandError(
            f"The site needs {packages[0]}, which this Python lacks. Install what it needs with",
            f'    {sys.executable} -m pip install -c constraints.txt -e ".[site]"',
            "in the course's folder, then run the same command again.",
        )
    from tools.site.build import build_site

    build_site(args.out)
    print(f"The site is in {args.out}. Open {Path(args.out, 'index.html')} in a browser.")
    return 0

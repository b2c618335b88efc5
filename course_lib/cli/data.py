"""Look at the toy language, or get the real corpus, Multi30k."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from course_lib.cli import data_show
from course_lib.cli.trouble import Trouble

MULTI30K = """Find Multi30k, check it, and get it where it is missing.

31,014 captions of photographs in German, English and French, from their makers' public repository. Looked
for in FOLDER, else in the folder that the environment variable COURSE_MULTI30K names, else in a folder of
the course on this computer. It is never part of the course: please do not pass it on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="what", metavar="WHAT", required=True, title="what")
    show = chosen.add_parser(
        "show",
        help="print samples of the toy language",
        description=data_show.__doc__,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    data_show.add_arguments(show)
    multi30k = chosen.add_parser(
        "multi30k",
        help="find, check or download the Multi30k corpus",
        description=MULTI30K,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    multi30k.add_argument("folder", nargs="?", metavar="FOLDER", help="where the files are, or shall be")
    multi30k.add_argument("--download", action="store_true", help="get what is missing, without asking")


def run(args: argparse.Namespace) -> int:
    return data_show.run(args) if args.what == "show" else run_multi30k(args)


def run_multi30k(args: argparse.Namespace) -> int:
    """0 when all nine files are there and right, in the end."""
    from course_lib.text import multi30k
    from course_lib.text.download import DownloadError

    place = multi30k.find_place(args.folder)
    try:
        if wrong := report(place.folder, place.why):
            if not args.download:
                print(instructions(place.folder, place.command, wrong))
                if not agreed():
                    return 1
            multi30k.fetch(place.folder)
    except (DownloadError, OSError) as error:
        raise Trouble(str(error), f"The files also come by hand, from {multi30k.HOME}.") from error
    if wrong:
        print()
        report(place.folder, place.why)
    print("All nine files are there, and every checksum is right.")
    print("Whoever writes about results on them cites Elliott et al. 2016 and 2017.")
    return 0


def report(folder: Path, why: str) -> list[str]:
    """Print how it is with each file; the names of those that are missing or wrong."""
    from course_lib.text.multi30k import published, state

    print(f"Multi30k in {folder} ({why})")
    found = {name: state(folder, name) for name in published()}
    for name, how in found.items():
        print(f"  {'✓' if how == 'right' else '·'} {name:24} {how}")
    return [name for name, how in found.items() if how != "right"]


def instructions(folder: Path, command: str, wrong: list[str]) -> str:
    """Where to get what is missing, to the letter."""
    from course_lib.text.multi30k import HOME, SOURCE

    return "\n".join(
        [
            "",
            f"Multi30k is public: {HOME}, folder data/task1/raw. It comes to 2 MB. The command",
            f"    {command}",
            f"gets what is missing. By hand: put these files into {folder}",
            *(f"    {SOURCE}/{name}" for name in wrong),
            "",
        ]
    )


def agreed() -> bool:
    """Ask, where there is somebody to answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("Download them now? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        print()
        return False

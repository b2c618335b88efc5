"""`progress`: what the learner has done so far, as a report or an export; and the progress of a class."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from tools.cli.arguments import command, not_empty, path_name

EXPORTED_EVENTS = {  # how the export of each kind of event is described, in this order
    "lesson": "opened lessons",
    "exercise": "checks of exercises",
    "quiz": "quiz answers",
    "prediction": "results of predictions",
    "estimate": "results of estimates",
    "goal": "goals reached",
}
MOST_STUCK = 3  # checkpoints in the printed summary of a class


def add(commands) -> None:
    parser = command(
        commands, "progress", "show, export or delete your progress; show a class", progress, "lab"
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--delete", action="store_true", help="delete your progress, but keep your functions")
    action.add_argument(
        "--track", choices=("full", "short"), help="take the full course or the short track from now on"
    )
    action.add_argument(
        "--export",
        type=not_empty,
        nargs="?",
        const=".",
        metavar="PATH",
        help="write your results for your instructor to a file, or to progress-ID.json in a folder "
        "(FOLDER/ creates it; default: this folder)",
    )
    action.add_argument(
        "--class",
        dest="class_folder",
        type=path_name,
        metavar="FOLDER",
        help="for instructors: show the progress of a class, from a folder with exports",
    )
    parser.add_argument(
        "--name", type=not_empty, help="with --export: a name or pseudonym that your instructor will see"
    )
    parser.add_argument(
        "--out",
        type=path_name,
        metavar="FOLDER",
        help="with --class: the folder for the page and the CSV file (default: the folder with the exports)",
    )


def progress(args: argparse.Namespace) -> int:
    """It must not import torch, which takes seconds to load."""
    if args.name is not None and args.export is None:
        args.refuse("argument --name: only allowed with argument --export")
    if args.out is not None and args.class_folder is None:
        args.refuse("argument --out: only allowed with argument --class")
    if args.export is not None:
        return export(args.export, args.name or "")
    if args.class_folder is not None:
        return show_class(args.class_folder, args.out or args.class_folder)
    return delete() if args.delete else report(args.track)


def report(track: str | None) -> int:
    from course_lib.teaching import progress
    from course_lib.teaching.own_code.kept_file import KeptFileError, kept_file, read_kept_file

    if track:
        progress.choose_track(track)
    print(progress.read().report())
    try:
        _, saved_functions = read_kept_file()
    except KeptFileError as error:
        print(f"\nYour own functions: {error}.")
        return 0
    if saved_functions:
        print("\nYour own functions")
        for name, number, day, _ in saved_functions:
            print(f"  {name} (lesson {number}, {day})")
        print(f"They are saved in {kept_file()}, which you may read and edit.")
    else:
        print(
            "\nYour own functions: none yet. When a function passes its check, it is saved for later lessons."
        )
    return 0


def delete() -> int:
    from course_lib.teaching import progress

    print(progress.delete())
    file = progress.progress_file()
    others = [path for path in file.parent.glob("*") if path != file and path.suffix != ".lock"]
    if others:
        names = ", ".join(sorted(path.name for path in others))
        print(f"Everything else in {file.parent} has been kept: {names}.")
    return 1 if file.exists() else 0


def export(destination: str, name: str) -> int:
    from tools.class_view.export import export_progress

    path, content = export_progress(destination, name)
    kinds = Counter(event["kind"] for event in content["events"])
    counts = ", ".join(f"{text} {kinds[kind]}" for kind, text in EXPORTED_EVENTS.items() if kinds[kind])
    named = f"the name you chose ({content['name']})" if content["name"] else "no name"
    print(f"Your results have been exported to {path.resolve()}.")
    print(f"The file contains a random id ({content['learner']}), {named}, your track, and {counts}.")
    print("It doesn't contain your code, your explanations, or when you worked.")
    print("Nothing has been sent over the network. People who can read this file see your results.")
    return 0


def show_class(folder: Path, out: Path) -> int:
    from tools.class_view.folder import read_exports, write_class
    from tools.class_view.summary import ClassSummary, learner_of

    exports, n_older = read_exports(folder)
    group = ClassSummary(tuple(map(learner_of, exports)))
    page, table = write_class(group, out)
    older = f" Older exports of the same learners, which don't count: {n_older}." if n_older else ""
    print(f"Learners: {len(exports)}.{older}")
    where = group.front.label if group.front else "the end of the course"
    print(f"Most learners ({group.positions[group.front]}) are at {where}.")
    for checkpoint in group.stuck[:MOST_STUCK]:
        n_now, n_stuck = group.n_stuck_now(checkpoint), len(group.stuck_at(checkpoint))
        print(f"Stuck at {checkpoint.label}: {n_now} now, {n_stuck} in all.")
    for row in group.misconceptions[:1]:
        print(
            f"Top misconception: “{row.misconception.belief}” ({row.n_shown}, corrected {row.n_corrected})."
        )
    print(f"The page: {page.resolve()}\nThe table: {table.resolve()}")
    return 0

"""The folder of a class: the exports in it, and the page and the CSV file that are made from them."""

from __future__ import annotations

from pathlib import Path

from course_lib.runtime import write_atomically
from tools.class_view.export import Export, read_export
from tools.class_view.page import PAGE_START, class_page
from tools.class_view.summary import ClassSummary
from tools.class_view.table import HEADER, csv_table
from tools.cli.environment import CommandError

PAGE, TABLE = "class_progress.html", "class_progress.csv"
IGNORED = {PAGE, TABLE, "desktop.ini", "Thumbs.db"}  # Windows hides the last two
BOM = "\ufeff"  # Excel reads a CSV file without it in an old encoding


def read_exports(folder: Path) -> tuple[list[Export], int]:
    """The newest export of each learner, and how many older ones there were; subfolders are ignored."""
    if not folder.is_dir():
        raise CommandError(
            f"There is no folder {folder}.",
            "Put the learners' exports into a folder, and give its path to --class.",
        )
    exports, problems = [], []
    for path in sorted(folder.iterdir()):
        if path.is_dir() or path.name.startswith(".") or path.name in IGNORED:
            continue
        try:
            exports.append(read_export(path))
        except ValueError as error:
            problems.append(f"{path} can't be used: {error}.")
    if problems:
        raise CommandError(*problems, "Move it out of the folder or replace it. Nothing has been written.")
    if not exports:
        raise CommandError(
            f"There are no progress exports in {folder}.",
            "Learners make them with `python3 -m course_lib progress --export`.",
        )
    newest: dict[str, Export] = {}
    for export in sorted(exports, key=lambda export: (export.exported, len(export.progress.events))):
        newest[export.learner] = export
    return sorted(newest.values(), key=lambda export: export.learner), len(exports) - len(newest)


def write_class(group: ClassSummary, folder: Path) -> tuple[Path, Path]:
    """Write the page and the CSV file; other files with these names are not replaced."""
    page, table = folder / PAGE, folder / TABLE
    for path, start in ((page, PAGE_START), (table, BOM + f'"{HEADER[0]}","{HEADER[1]}"')):
        if path.exists() and not (path.is_file() and path.read_bytes().startswith(start.encode())):
            raise CommandError(
                f"{path} wasn't written by the course, so it is not replaced.",
                "Move it elsewhere, or choose another folder with --out.",
            )
    write_atomically(page, class_page(group))
    write_atomically(table, BOM + csv_table(group))
    return page, table

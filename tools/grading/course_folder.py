"""`course_lib build --edition homework`: a course folder for nbgrader.

    nbgrader_config.py                                     written once
    source/06_bahdanau_attention/06_bahdanau_attention.ipynb

nbgrader adds its own folders (release, submitted, autograded, feedback) and gradebook.db. What is in the
folder already stays: a notebook that differs from what would be written is a problem, unless `force` is on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from course_lib.models.own_file import FILE, FIRST_LINE
from course_lib.runtime import PROJECT_ROOT, write_atomically
from tools.authoring.build import choose, code_cells, draft, staleness, target
from tools.authoring.editions import LessonDraft, as_text, from_text
from tools.authoring.glossary import read_glossary
from tools.authoring.lesson import sources
from tools.cli.environment import CommandError
from tools.grading.homework import homework_notebook

CONFIG = Path(__file__).with_name("nbgrader_config.py")


def write_course_folder(
    names: Sequence[str], folder: Path, *, force: bool = False, root: Path = PROJECT_ROOT
) -> int:
    """Write the assignments of the lessons named by number or topic (default: all); 0 if all were written."""
    from course_lib.formatting import counted  # here, because it loads torch

    chosen, problems = choose(sources(root), names)
    if problems:
        raise CommandError(*problems)
    glossary = read_glossary(root)
    files = {folder / CONFIG.name: CONFIG.read_text(encoding="utf-8")}
    for path in chosen:
        files |= assignment_files(draft(path, root, glossary), folder / "source", root)
    changed = [path for path, text in files.items() if is_changed(path, text)]
    kept = [path for path in changed if path.name == CONFIG.name or not force]
    for path in files.keys() - kept:
        write_atomically(path, files[path])
    notebooks = [path for path in kept if path.name != CONFIG.name]
    for path in notebooks:
        print(f"{path} exists and differs, so it wasn't changed. To replace it, add --force.")
    n_kept = len({path.parent for path in notebooks})
    written = counted(len(chosen) - n_kept, "assignment")
    print(f"{written} written to {folder}" + (f", {n_kept} left unchanged" if n_kept else ""))
    return 1 if notebooks else 0


def is_changed(path: Path, text: str) -> bool:
    """Whether there is another version of the file, which may be the instructor's."""
    return path.exists() and path.read_text(encoding="utf-8") != text


def assignment_files(made: LessonDraft, source: Path, root: Path) -> dict[Path, str]:
    """The files of one assignment, with their content."""
    if problems := staleness(root, made):
        raise CommandError(*problems)
    name = made.lesson.name
    learners = from_text(target(root, made, "learner").read_text(encoding="utf-8"))
    outputs = [cell["outputs"] for cell in code_cells(learners)]
    files = {source / name / f"{name}.ipynb": as_text(homework_notebook(made, outputs))}
    if any(cell.options.get("mode") == "file" for cell in made.lesson.cells):
        files[source / name / FILE] = FIRST_LINE
    return files

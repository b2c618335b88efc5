"""Build the site in a temporary folder, then put it in place: completely, or not at all.

build_site(Path("build/site"))
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.cli.environment import CommandError
from tools.cli.put_in_place import put_in_place
from tools.site.npm import MATHJAX, npm_file

MARKER = ".attention-course-site"  # in every site, so that only sites are ever replaced


def build_site(out: Path) -> None:
    """Write the site to `out`, which may be new, empty or an earlier site."""
    from tools.site.live import write_live
    from tools.site.pages import write_pages
    from tools.site.quizzes import page_files

    out = out.absolute()
    refuse_other_folders(out)
    mathjax = npm_file(MATHJAX)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".site-", dir=out.parent) as folder:
        work = Path(folder)
        write_pages(PROJECT_ROOT, work / "source", work / "extra")
        write_live(work / "extra")
        (work / "extra" / "mathjax").mkdir()
        shutil.copy(mathjax, work / "extra" / "mathjax")
        (work / "static").mkdir()
        for name, text in page_files().items():
            (work / "static" / name).write_text(text, encoding="utf-8")
        run_sphinx(work)
        (work / "html" / MARKER).touch()
        put_in_place(work / "html", out, work / "earlier")


def refuse_other_folders(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise CommandError(f"{out} isn't a folder.", "Choose another path for --out.")
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists():
        raise CommandError(
            f"The folder {out} contains files that aren't an earlier site, and building would delete them.",
            "Choose a new or an empty folder for --out.",
        )


def run_sphinx(work: Path) -> None:
    """Run Sphinx on work/source, with its result in work/html. Any warning of Sphinx is an error."""
    from sphinx.application import Sphinx

    warnings = io.StringIO()
    app = Sphinx(
        work / "source",
        Path(__file__).parent,
        work / "html",
        work / "doctrees",
        "html",
        confoverrides={"html_extra_path": [str(work / "extra")], "html_static_path": [str(work / "static")]},
        status=None,
        warning=warnings,
        parallel=os.cpu_count() or 1,
    )
    app.build(force_all=True)
    if problems := warnings.getvalue().replace(f"{work / 'source'}{os.sep}", "").strip():
        raise CommandError("The site wasn't written, because Sphinx reports problems in its pages:", problems)

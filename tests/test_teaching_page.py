"""The guide for instructors names every switch that the code reads, and links to files that exist."""

from __future__ import annotations

import re

from course_lib.runtime import PROJECT_ROOT

PAGE = (PROJECT_ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
SWITCH = re.compile(r"\bCOURSE_[A-Z0-9]+\b")


def test_the_page_names_every_switch_that_the_code_reads():
    code = [
        path
        for folder in ("course_lib", "tools", "lessons")
        for path in (PROJECT_ROOT / folder).rglob("*.py")
    ]
    read = {switch for path in code for switch in SWITCH.findall(path.read_text(encoding="utf-8"))}
    rows = set(re.findall(r"^\| `(COURSE_[A-Z0-9]+)", PAGE, re.MULTILINE))
    assert len(read) >= 8 and rows == read


def test_the_files_it_links_to_exist():
    targets = {target for target in re.findall(r"\]\(([^)#]+)", PAGE) if not target.startswith("http")}
    assert targets and all((PROJECT_ROOT / "docs" / target).exists() for target in targets)

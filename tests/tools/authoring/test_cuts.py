"""What can be left out of a lesson: one row per exercise, and an order in which the rest still runs."""

from __future__ import annotations

import re
from functools import cache

import pytest

from course_lib.runtime import PROJECT_ROOT
from tools.authoring.build import draft
from tools.authoring.cell_kinds import CODE, SHORT
from tools.authoring.cuts import YOURS, lesson_cuts, read_and_defined
from tools.authoring.lesson import sources
from tools.authoring.tracks import split_at_headings

LESSONS = {path.parent.name[1:3]: path for path in sources(PROJECT_ROOT)}
ADVICE = re.compile(r"If time is short.*?(?=[Kk]eep|\n\n|$)", re.DOTALL)


@cache
def instructor_cells(number: str):
    return draft(LESSONS[number], PROJECT_ROOT).cells["instructor"][1:]


@pytest.mark.parametrize(
    ("source", "read", "defined"),
    [
        ("a = b", {"b"}, {"a"}),
        ("a = 1\nprint(a, b)", {"print", "b"}, {"a"}),
        ("import x.y as z\nfrom q import r", set(), {"z", "r"}),
        ("def f(n):\n    m = n\n    return m + k + g()\ng = 1", {"k"}, {"f", "g"}),
        (
            "class C(Base):\n    size = width\n    def f(self):\n        return self.size + k",
            {"Base", "width", "k"},
            {"C"},
        ),
        ("a += 1", {"a"}, {"a"}),
        ("c = [n * k for n in range(3)]", {"k", "range"}, {"c"}),
    ],
)
def test_what_a_cell_reads_from_others_and_what_it_defines(source, read, defined):
    found, stored = read_and_defined(source)
    assert (found - {"__name__"}, stored) == (read, defined)


@pytest.mark.parametrize("number", LESSONS)
def test_what_is_off_the_short_track_is_in_one_row_and_every_minute_counts(number):
    cells = instructor_cells(number)
    cuts = [part for part, _ in lesson_cuts(split_at_headings(cells))]
    rows = [cell for part in cuts for cell in part.cells]
    optional = [cell for cell in cells if cell.track != SHORT and cell.kind != "instructor"]
    assert sorted(map(id, rows)) == sorted(map(id, optional))
    assert sum(part.minutes for part in cuts) == pytest.approx(sum(cell.minutes for cell in optional))
    for part in cuts:
        inside = {cell.options["exercise"] for cell in part.cells if "exercise" in cell.options}
        assert not inside & {cell.options.get("exercise") for cell in rows if cell not in part.cells}
    tracks = [part.track for part in cuts if not part.whole]
    assert len({part.label for part in cuts}) == len(cuts) and (number != "13" or tracks[0] == "stretch")


@pytest.mark.parametrize("number", LESSONS)
def test_whatever_has_been_cut_the_rest_of_the_lesson_finds_its_names(number):
    cells = [cell for cell in instructor_cells(number) if cell.form == CODE]
    reads = {id(cell): read_and_defined(cell.text) for cell in cells}
    in_lesson = set().union(*(defined for _, defined in reads.values()))
    gone: set[int] = set()
    for part, uses_the_course_s_version in lesson_cuts(split_at_headings(instructor_cells(number))):
        gone |= {id(cell) for cell in part.cells}
        known: set[str] = set()
        exercises = {cell.options["exercise"] for cell in part.cells if cell.kind == "exercise"}
        for cell in (cell for cell in cells if id(cell) not in gone):
            read, defined = reads[id(cell)]
            assert not read & in_lesson - known - defined, (part.label, cell.line)
            assert uses_the_course_s_version or not exercises & set(YOURS.findall(cell.text)), part.label
            known |= defined


def test_what_the_notes_say_to_cut_is_in_the_cut_list():
    n_named = 0
    for number in LESSONS:
        cells = instructor_cells(number)
        cuts = [part for part, _ in lesson_cuts(split_at_headings(cells))]
        exercises = {cell.options["exercise"] for cell in cells if cell.kind == "exercise"}
        sections = {part.section.split(" · ")[0] for part in cuts}
        cut_exercises = {cell.options.get("exercise") for part in cuts for cell in part.cells}
        for cell in (cell for cell in cells if cell.kind == "instructor"):
            advice = " ".join(ADVICE.findall(cell.text))
            named = set(re.findall(r"`(\w+)`", advice)) & exercises
            numbered = {
                digit
                for run in re.findall(r"sections? ([\d, and]+)", advice)
                for digit in re.findall(r"\d", run)
            }
            assert named <= cut_exercises and numbered <= sections, (number, advice)
            n_named += len(named) + len(numbered)
    assert n_named > 10

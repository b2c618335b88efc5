"""Run sheets: they fit their time, are at least half hands-on, and cut nothing that is still needed."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import FULL, lessons
from tools.authoring.cell_kinds import CODE
from tools.authoring.cuts import YOURS, read_and_defined
from tools.authoring.tracks import split_at_headings
from tools.cli import main
from tools.workshop.plans import DAY, PLANS, Part, Plan
from tools.workshop.run_sheet import fit, run_sheet
from tools.workshop.schedule import BREAK, LONGEST_BLOCK, LUNCH, schedule
from tools.workshop.sections import EDITION, in_order_of_cutting, taught_sections

NINE = 9 * 60
DURATIONS = {
    "90 minutes": (1, 90),
    "3 hours": (1, 180),
    "one day": (1, DAY),
    "2 days": (2, DAY),
    "3 days": (3, DAY),
}
DURATIONS |= {"5 days": (5, DAY), "2 hours": (1, 120), "4 days": (4, DAY)}
PLANNED = [name for name in DURATIONS if name not in ("2 hours", "4 days")]


@cache
def fitted(name: str):
    n_days, session = DURATIONS[name]
    return fit(PROJECT_ROOT, n_days, session, NINE, ())


def minutes(entries, *kinds: str) -> int:
    return sum(entry.minutes for entry in entries if entry.kind in kinds)


@pytest.mark.parametrize("name", DURATIONS)
def test_it_fits_with_breaks_and_slack_and_is_half_hands_on(name):
    (n_days, session), (_, sections, days, left_out) = DURATIONS[name], fitted(name)
    assert len(days) == n_days and bool(left_out) == (name not in PLANNED)
    taught = [entry.section for entries in days for entry in entries if entry.kind == "section"]
    assert taught == sections
    for entries in days:
        assert entries[0].start == NINE and entries[-1].end <= NINE + session
        assert all(entry.end == following.start for entry, following in pairwise(entries))
        assert minutes(entries, "checkpoint") >= 0.1 * minutes(entries, "section")
        assert (minutes(entries, "lunch") == LUNCH) == (session == DAY)
        blocks, at_work = [], 0
        for entry in entries:
            at_work = 0 if entry.kind in ("break", "lunch") else at_work + entry.minutes
            blocks.append(at_work)
        assert max(blocks) <= 1.1 * LONGEST_BLOCK + 11, "welcome or wrap-up, and rounding"
    total = sum(section.minutes for section in sections)
    assert sum(section.hands_on for section in sections) >= total / 2
    spent = sum(minutes(entries, "section", "checkpoint") for entries in days)
    assert spent >= 0.6 * n_days * (session - LUNCH * (session == DAY)) - n_days * BREAK


@cache
def names(code: str) -> tuple[set[str], set[str]]:
    return read_and_defined(code)


def missing_names(sections, part) -> set[str]:
    """What the sections of a part read, that only a section that isn't taught defines."""
    taught = [section for section in sections if section.part is part]
    if not taught or part.only:  # with `only`, `catch_up` runs what is left out
        return set()
    lesson = [
        cell for _, cells in split_at_headings(taught[0].draft.cells[EDITION[part.track]]) for cell in cells
    ]
    anywhere = set().union(*(names(cell.text)[1] for cell in lesson if cell.form == CODE))
    known, missing = set(), set()
    for cell in (cell for section in taught for cell in section.cells if cell.form == CODE):
        read, defined = names(cell.text)
        missing |= read & anywhere - known - defined
        known |= defined
    return missing


@pytest.mark.parametrize("name", DURATIONS)
def test_no_section_needs_what_is_left_out_or_cut_before_it(name):
    """In a lesson, names; between lessons, exercises."""
    plan, remaining, _, _ = fitted(name)
    assert not [part for part in plan.parts if missing_names(remaining, part)]
    for cut in in_order_of_cutting(remaining):
        remaining = [section for section in remaining if section is not cut]
        assert not missing_names(remaining, cut.part), cut.title
        asked = {ask for section in remaining for cell in section.cells for ask in YOURS.findall(cell.text)}
        assert not asked & set(cut.exercises), cut.title


def test_a_section_that_a_later_one_uses_is_not_offered_before_it():
    plan = Plan(180, "", (Part("08", "short", ""), Part("09", "short", "", only=(1, 2))))
    sections = taught_sections(plan, PROJECT_ROOT)
    order = [(section.lesson, section.number) for section in in_order_of_cutting(sections)]
    assert 'yours("scaled_attention")' in "".join(cell.text for s in sections for cell in s.cells)
    assert order.index(("09", 2)) < order.index(("08", 3)) < order.index(("08", 1))
    assert order.index(("08", 4)) < order.index(("08", 3)), "sections without an exercise come first"
    attention = taught_sections(Plan(90, "", (Part("06", "short", ""),)), PROJECT_ROOT)
    order = [section.number for section in in_order_of_cutting(attention)]
    assert order.index(6) < order.index(3), "section 6 uses `translate`, although only it has an exercise"
    keeping = taught_sections(Plan(180, "", (Part("08", "short", "", keep=(4,)),)), PROJECT_ROOT)
    on_the_day, to_fit = in_order_of_cutting(keeping), in_order_of_cutting(keeping, cut_kept=True)
    assert 4 not in [section.number for section in on_the_day]
    assert [section.number for section in to_fit[-2:]] == [4, 1], "the first one introduces the lesson"


def test_warm_ups_follow_the_lesson_before_and_reading_is_for_home():
    plan = Plan(180, "", (Part("08", FULL, ""), Part("09", FULL, ""), Part("14", FULL, "")))
    titles = [(section.lesson, section.title) for section in taught_sections(plan, PROJECT_ROOT)]
    assert [number for number, title in titles if title == "Warm up"] == ["09"]
    assert "Reading" not in [title for _, title in titles]


def test_what_does_not_fit_has_no_schedule():
    sections = taught_sections(PLANS[0], PROJECT_ROOT)
    assert schedule(sections, 1, 90, NINE) and schedule(sections, 1, 70, NINE) is None


def test_a_day_does_not_end_with_lunch():
    """All that 3 hours teach is over by noon."""
    [entries] = schedule(fitted("3 hours")[1], 1, DAY, NINE)
    assert [entry.kind for entry in entries[-2:]] == ["checkpoint", "wrap-up"]


def test_chosen_lessons_are_taught_in_full_if_they_fit():
    plan, _, _, left_out = fit(PROJECT_ROOT, 1, 300, NINE, ["06", "08"])
    assert {part.track for part in plan.parts} == {FULL} and not left_out
    plan, sections, _, left_out = fit(PROJECT_ROOT, 1, 120, NINE, ["06", "08"])
    assert {part.track for part in plan.parts} == {"short"} and left_out
    assert {section.lesson for section in sections} == {"06", "08"}


@pytest.mark.parametrize("name", DURATIONS)
def test_every_section_of_a_notebook_is_taught_skipped_or_left_out(name):
    n_days, session = DURATIONS[name]
    _, sections, _, left_out = fitted(name)
    sheet = run_sheet(PROJECT_ROOT, n_days=n_days, session=session, start=NINE)
    skipped = dict(re.findall(r"^- (\d\d): (.+)$", sheet, re.MULTILINE))
    for part in {section.part: None for section in sections}:
        taught = [section for section in (*sections, *left_out) if section.part is part]
        titles = {section.title for section in taught}
        if part.only:
            titles = {title for title in titles if title[0].isdecimal()}
            assert skipped[part.lesson] == f"everything except {'; '.join(sorted(titles))}"
        else:
            cells = taught[0].draft.cells[EDITION[part.track]]
            all_titles = {title for title, _ in split_at_headings(cells)} - {"Opening", "Reading"}
            named = set(skipped[part.lesson].split("; ")) if part.lesson in skipped else set()
            assert named == all_titles - titles and not named & titles
    assert set(skipped) <= {section.lesson for section in sections}


@pytest.mark.parametrize("name", DURATIONS)
def test_links_and_catch_up_lines_lead_to_what_exists(name):
    n_days, session = DURATIONS[name]
    sheet = run_sheet(PROJECT_ROOT, n_days=n_days, session=session, start=NINE)
    links = set(re.findall(r"\]\(([^)]+)\)", sheet))
    assert links and all((PROJECT_ROOT / link).exists() for link in links)
    notebooks = {lesson.number: lesson.notebook for lesson in lessons()}
    folder = "" if PLANS[-1].purpose in sheet else "short"
    calls = re.findall(r'catch_up\("(\d\d)", (\d+)\)', sheet)
    assert calls
    for number, section in calls:
        text = (PROJECT_ROOT / "notebooks" / folder / notebooks[number]).read_text(encoding="utf-8")
        assert f"## {section} · " in text


# ---- the command


def test_the_command_prints_or_writes_the_sheet(capsys, tmp_path):
    assert main(["agenda", "--hours", "1.5", "--start", "13:30"]) == 0
    printed = capsys.readouterr().out
    assert "13:30 to 15:00" in printed and "| 13:30 |" in printed and "(notebooks/short/06_" in printed
    file = tmp_path / "sheets" / "mine.md"
    assert main(["agenda", "--hours", "3", "--lessons", "8", "bahdanau_attention", "--out", str(file)]) == 0
    sheet = file.read_text(encoding="utf-8")
    assert sheet.index("06 · Bahdanau attention") < sheet.index("08 · Query, key, value")
    (link, *_) = re.findall(r"\]\(([^)]+06_[^)]+)\)", sheet)
    assert (file.parent / link).resolve().exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("--hours 0", 2, "0.5"),
        ("--hours nan", 2, "nan"),
        ("--hours 30", 2, "10"),
        ("--days 0", 2, "1"),
        ("--days 1.5", 2, "1.5"),
        ("--hours 3 --days 1", 2, "not allowed with argument --hours"),
        ("", 2, "--hours --days"),
        ("--hours 3 --start noon", 2, "noon"),
        ("--hours 3 --start 25:00", 2, "25:00"),
        ("--hours 3 --lessons 06 23", 1, "Unknown lesson '23'"),
        ("--hours 0.5 --lessons 00", 1, "fewer lessons"),
    ],
)
def test_bad_input_is_one_clear_message(capsys, tmp_path, monkeypatch, words, code, message):
    monkeypatch.chdir(tmp_path)
    try:
        status = main(["agenda", *words.split(), "--out", "sheet.md"])
    except SystemExit as stopped:
        status = stopped.code
    err = capsys.readouterr().err
    assert status == code and message in err and "Traceback" not in err
    assert not list(tmp_path.glob("*.md"))

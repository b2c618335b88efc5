"""The sizing section of docs/hosting.md says what was measured."""

from __future__ import annotations

import json

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import lessons
from tools.sizing import arithmetic, page
from tools.sizing.arithmetic import demand_of, hub_of


def read(name: str) -> str:
    return (PROJECT_ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def measured():
    return json.loads(read(page.MEASURED))


@pytest.fixture(scope="module")
def trial():
    return json.loads(read(page.TRIAL))


@pytest.fixture(scope="module")
def hub(measured, trial):
    return hub_of(measured["lessons"], trial["servers"])


@pytest.fixture(scope="module")
def demands(measured):
    return {lesson: demand_of(measured["lessons"][lesson.number], lesson.minutes) for lesson in lessons()}


def cells(table: str) -> list[list[str]]:
    """The cells of a Markdown table, without its head."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def test_the_page_has_the_section_that_the_measurements_give(measured, trial):
    text = read(page.PAGE)
    assert page.IN_PAGE.search(text), "the page needs both comments"
    expected = page.page_with_sizing(text, measured, trial, lessons())
    assert text == expected, "run `python3 -m course_lib build`"


def test_every_lesson_has_a_row_and_the_text_names_the_largest(measured, trial):
    figures = {lesson: dict(measured["lessons"][lesson.number], peak_mb=400) for lesson in lessons()}
    large = lessons()[3]
    figures[large]["peak_mb"] = 1400
    rows = cells(page.lesson_table(figures, 155))
    assert [row[0] for row in rows] == [lesson.label for lesson in lessons()]
    assert rows[3][:3] == [large.label, "1,400 MB", "1,555 MB"]
    assert rows[4][1:3] == ["400 MB", "555 MB"]
    numbers = page.lesson_numbers(figures, measured["full_run"], trial["servers"])
    assert (numbers["kernel_mb"], numbers["largest"], numbers["largest_mb"]) == ("400", large.number, 1400)


def test_the_table_of_classes_has_what_the_arithmetic_gives(demands, hub):
    demands = list(demands.values())
    rows = cells(page.class_table(demands, hub, disk=50))
    assert [row[0] for row in rows] == ["10", "25", "40", "50", "100", "250", "500", "1,000"]
    for n, row in zip(page.CLASSES, rows, strict=True):
        assert row[2] == f"{hub.memory_gb(n, page.largest(demands)):,} GB"
        assert int(row[-1]) * hub.learners_per_node(page.typical(demands)) >= n
    n = hub.learners_per_node(page.typical(demands))  # the page says that memory is the limit, not the cores
    assert hub.memory_gb(n + 1, page.typical(demands)) > arithmetic.NODE_GB


def test_the_machine_of_the_example_is_large_enough(measured, demands, hub):
    figures = {lesson: measured["lessons"][lesson.number] for lesson in lessons()}
    numbers, large = page.class_numbers(demands, figures, hub), page.largest(list(demands.values()))
    assert hub.memory_gb(page.EXAMPLE, large) == numbers["example_gb"] <= numbers["rented_gb"]
    assert arithmetic.cores(page.EXAMPLE, page.typical(list(demands.values()))) <= numbers["rented_cores"]


def test_a_trial_is_compared_with_the_measurements_of_one_learner():
    alone = {"own_mb": 300, "files_mb": 120, "peak_mb": 450, "cpu_seconds": 16}
    kernel = {"peak_mb": 478, "pss_mb": 372, "cpu_seconds": 17.4}
    trial = {"learners": 3, "lesson": "14", "cores": 2, "kernel": kernel, "run_seconds": {"median": 30.2}}
    trial |= {"start_seconds": {"median": 8.4}}
    trial |= {"servers": {"jupyterhub-singleuser": {"start_cpu_seconds": 4}}}
    rows = cells(page.trial_table(trial, {"14": alone}))
    assert [row[1:] for row in rows] == [
        ["8 s", "6 s"],
        ["478 MB", "450 MB"],
        ["372 MB", "340 MB"],
        ["17 s", "16 s"],
        ["30 s", "24 s"],
    ]


def test_the_trial_is_one_of_ten_learners_with_their_own_system_users(trial):
    assert trial["learners"] >= 10 and trial["system_users"] and trial["machine"]

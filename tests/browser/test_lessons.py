"""What learners do, in a real JupyterLab in a real browser: every lesson whole, the cards in 00 and 08."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import expect

from course_lib import explore
from course_lib.authoring.editions import assemble
from course_lib.authoring.source import read_lesson
from course_lib.runtime import PROJECT_ROOT
from tests.explore.stops import places, stops

pytestmark = pytest.mark.browser

PAINT = "canvas => canvas.toDataURL()"  # what is on the screen, as text that can be compared
LESSONS = sorted(path.name for path in (PROJECT_ROOT / "notebooks").glob("*.ipynb"))
SOURCES = PROJECT_ROOT / "notebooks" / "source"
THEMES = itertools.cycle(["JupyterLab Light", "JupyterLab Dark"])  # each lesson in one of the two


def assert_clean(lab) -> None:
    """No error in the console, nothing fetched from another machine, no cell that failed."""
    assert lab.errors == []
    assert lab.strangers == []
    failed = [
        output for cell in lab.cells() for output in cell["outputs"] if output["output_type"] == "error"
    ]
    assert failed == []


@pytest.mark.parametrize(("name", "theme"), list(zip(LESSONS, THEMES, strict=False)))
def test_every_cell_runs(lab, photograph, name, theme):
    lab.open(name)
    lab.use_theme(theme)
    cells = lab.run_all()
    code = [cell for cell in cells if cell["type"] == "code"]
    assert [cell["count"] for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        if cell["course"]["kind"] in {"predict", "check", "quiz", "see", "exercise"}:
            photograph(lab.cell(cell["index"]), f"{theme[11:].lower()}-{cell['index']:02}")
    reach_every_goal(lab, photograph)
    type_every_solution(lab, name)
    assert_clean(lab)


def type_every_solution(lab, name: str) -> None:
    """Each exercise solved by hand: its check passes, and the function is kept for later lessons."""
    draft, _ = assemble(read_lesson(SOURCES / name.removesuffix(".ipynb") / "lesson.py", PROJECT_ROOT))
    for cell in (cell for cell in draft.cells["solved"] if cell.kind == "exercise"):
        name = cell.options["exercise"]
        [stub], [check] = (lab.indices_of(kind, exercise=name) for kind in ("exercise", "check"))
        lab.write_cell(stub, cell.text)
        lab.run_cell(stub)
        lab.run_cell(check)
        expect(lab.cell(check)).to_contain_text("Passed")
        assert "not kept" not in lab.cell(check).inner_text()


def reach_every_goal(lab, photograph) -> None:
    """Each explorable is uncovered, and every goal reached by the keyboard alone."""
    for cell in lab.cells():
        names = re.findall(r"\b([A-Z]\w+)\(\)", cell["source"]) if cell["type"] == "code" else []
        for kind in [getattr(explore, name) for name in names if name in explore.__all__]:
            there = lab.cell(cell["index"])
            if (cover := there.get_by_role("button", name="Show me without guessing")).count():
                cover.press("Enter")
            there.get_by_role("button", name="Reset", exact=True).press("Enter")  # presets do not count
            lab.in_kernel("pass")  # comes after the reset
            for goal in kind.goals:
                knobs = there.locator(".course-knobs > *")
                expect(knobs).to_have_count(len(kind.controls))
                for knob, control, place in zip(
                    knobs.all(), kind.controls, places(kind)[goal.id], strict=True
                ):
                    turn(knob, place, stops(kind, control)[place])
                expect(there.get_by_role("listitem").filter(has_text=goal.text)).to_contain_text("✓")
            photograph(there, f"goals-{cell['index']:02}")


def turn(knob, place: int, value: object) -> None:
    """A slider by its arrow keys from its beginning, a row of buttons by Enter, a field by its letters."""
    if (handle := knob.locator(".noUi-handle")).count():
        for key in ["Home", *["ArrowRight"] * place]:
            handle.press(key)
    elif (field := knob.locator("input[type=text]")).count():
        field.fill(value)
        field.press("Enter")
    else:
        knob.get_by_role("button").nth(place).press("Enter")


def test_stored_notebook_shows_stills_before_the_first_run(lab, photograph):
    """Reopened without a kernel run, a lesson shows pictures, not "model not found"."""
    lab.open("08_query_key_value.ipynb")
    index = lab.indices_of("predict")[0]
    still = lab.cell(index).locator(".jp-OutputArea img")
    expect(still).to_be_visible()
    assert still.evaluate("image => image.naturalWidth") > 600
    quiz = lab.cell(lab.indices_of("quiz")[0])
    expect(quiz.locator(".jp-OutputArea")).to_contain_text("What is the context?")
    photograph(quiz, "quiz")
    assert_clean(lab)


def test_a_guess_opens_the_explorable_and_a_key_press_moves_it(lab, photograph):
    lab.open("08_query_key_value.ipynb")
    lab.run_all()
    cell = lab.cell(lab.indices_of("predict")[2])  # the number: how large is the largest weight?
    picture = cell.get_by_role("img")
    expect(picture).to_have_count(0)
    cell.get_by_label("Your number").fill("0.5")
    cell.get_by_role("button", name="Commit my guess").click()
    expect(picture).to_be_visible()
    expect(cell).to_contain_text("0.96")
    photograph(cell, "opened")

    described, painted = picture.get_attribute("aria-label"), picture.evaluate(PAINT)
    cell.locator(".widget-slider .noUi-handle").first.focus()
    lab.page.keyboard.press("ArrowLeft")
    expect(picture).not_to_have_attribute("aria-label", described)
    assert picture.evaluate(PAINT) != painted
    photograph(cell, "moved")
    assert_clean(lab)


def test_quiz_answers_wrong_and_right_get_their_reasons(lab, photograph):
    lab.open("08_query_key_value.ipynb")
    lab.run_all()
    cell = lab.cell(lab.indices_of("quiz")[-1])
    question = cell.locator("form", has_text="T5 (2019)")
    question.get_by_label(re.compile("cannot overflow")).check()
    question.get_by_role("button", name="Check").click()
    expect(question).to_contain_text("subtracts the largest score first")
    photograph(cell, "wrong")
    question.get_by_label(re.compile("starts with smaller numbers")).check()
    question.get_by_role("button", name="Check").click()
    expect(question).to_contain_text("built into the numbers the matrix starts with")
    photograph(cell, "right")
    heard = lab.in_kernel("from course_lib.teaching import progress; print(progress.read().report())")
    assert "M06" in heard
    assert_clean(lab)


def test_a_goal_is_reached_by_keyboard_and_an_estimate_and_an_explanation_are_kept(lab, photograph):
    lab.open("00_start_here.ipynb")
    lab.run_all()
    estimate = lab.cell(lab.indices_of("estimate")[0])
    estimate.get_by_label("Your number").fill("1,000")
    estimate.get_by_role("button", name="Commit my guess").click()
    expect(estimate).to_contain_text("Is that 1000 or 1.000?")
    estimate.get_by_label("Your number").fill("500000")
    estimate.get_by_role("button", name="Commit my guess").click()
    expect(estimate).to_contain_text("Within 2 ×")
    explanation = lab.cell(lab.indices_of("explain")[0])
    explanation.get_by_label("Your explanation").fill("The word alone does not tell.")
    explanation.get_by_role("button", name="Compare with a model answer").click()
    explanation.get_by_label(re.compile("French must choose")).check()
    dial = lab.cell(lab.indices_of("predict")[0])
    dial.get_by_role("button", name="Show me without guessing").click()
    dial.locator(".widget-slider .noUi-handle").first.focus()
    lab.page.keyboard.press("Home")  # all the way to 0: three equal weights
    expect(dial.get_by_role("listitem").filter(has_text="all three shares equal")).to_contain_text("✓")
    photograph(dial, "goal")
    heard = lab.in_kernel("from course_lib.teaching import progress; print(progress.read().report())")
    for counted in ("estimates within 2 × 1 of 1", "goals 1", "explanations 1"):
        assert counted in heard
    assert_clean(lab)


def test_a_saved_lesson_reopens_with_what_was_done(lab, photograph):
    """The next day, before anything is run again: the answer is still there, and nothing is broken."""
    lab.open("00_start_here.ipynb")
    lab.run_all()
    index = lab.indices_of("quiz")[0]
    lab.cell(index).get_by_label("0.9").check()
    lab.cell(index).get_by_role("button", name="Check").first.click()
    expect(lab.cell(index)).to_contain_text("A softmax shares out exactly 1")
    lab.save()
    lab.open("00_start_here.ipynb")
    expect(lab.cell(index)).to_contain_text("A softmax shares out exactly 1")
    photograph(lab.cell(index), "quiz")
    photograph(lab.cell(lab.indices_of("predict")[0]), "predict")
    assert_clean(lab)


def test_quiz_by_keyboard_alone(lab):
    lab.open("00_start_here.ipynb")
    lab.run_all()
    question = lab.cell(lab.indices_of("quiz")[0]).locator("form").first
    question.get_by_role("radio").first.focus()
    lab.page.keyboard.press("Space")
    lab.page.keyboard.press("Tab")
    expect(question.get_by_role("button", name="Check")).to_be_focused()
    lab.page.keyboard.press("Enter")
    expect(question.locator(".cq-feedback")).not_to_be_empty()
    assert_clean(lab)


def test_typing_a_solution_makes_its_check_pass(lab, photograph):
    lab.open("08_query_key_value.ipynb")
    lab.run_all()
    check = lab.indices_of("check", exercise="soft_lookup")[0]
    expect(lab.cell(check)).to_contain_text("Not tried yet")
    stub = lab.indices_of("exercise", exercise="soft_lookup")[0]
    lab.write_cell(
        stub, "def soft_lookup(query, keys, values):\n    return (keys @ query) @ values, keys @ query"
    )
    lab.run_cell(stub)
    lab.run_cell(check)
    expect(lab.cell(check)).to_contain_text("softmax")
    photograph(lab.cell(check), "wrong")
    lab.write_cell(
        stub,
        "def soft_lookup(query, keys, values):\n"
        "    weights = torch.softmax(keys @ query, dim=-1)\n"
        "    return weights @ values, weights",
    )
    lab.run_cell(stub)
    lab.run_cell(check)
    expect(lab.cell(check)).to_contain_text("Passed")
    photograph(lab.cell(check), "passed")
    said = lab.in_kernel("from course_lib.teaching import yours; yours('soft_lookup')")
    assert said.strip() == "soft_lookup: yours, from lesson 08"
    assert_clean(lab)

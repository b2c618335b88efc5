"""What learners do, in a real JupyterLab in a real browser: each lesson in one visit, its cards and all.

Every cell is run, what it prints compared, every goal reached by keyboard, and a solution typed; nbval runs
the other solutions. In 00 and 08 a learner also guesses, answers and makes mistakes on the way.
"""

from __future__ import annotations

import html
import itertools
import json
import re
import time

import pytest
from playwright.sync_api import expect

from course_lib.explore.control import Point
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.questions.question import Question, questions
from course_lib.teaching.questions.quiz import choose_questions
from tests.browser.lab import lab_page
from tests.drafts import drafted
from tests.explore.settings import goal_settings, start_setting
from tools.bench.explorables import explorables

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)  # a kernel works off every key press before a goal is reached

ONE_WIDTH = (
    ".jp-InputArea-editor",
    ".course-card",
    ".jp-OutputArea-output > [style*=border-left]",
)  # verdicts
EDGES = """kind => [...document.querySelectorAll(kind)].filter(found => found.offsetWidth).map(found => {
  const {left, right} = found.getBoundingClientRect(); return [Math.round(left), Math.round(right)]; })"""
LESSONS = sorted(path.name for path in (PROJECT_ROOT / "notebooks").glob("*.ipynb"))
SOURCES = PROJECT_ROOT / "lessons"
THEMES = itertools.cycle(["JupyterLab Light", "JupyterLab Dark"])  # each lesson in one of the two


@pytest.fixture(scope="module")
def page_for_all(browser, server):
    with lab_page(browser, server) as page:
        yield page


@pytest.fixture
def lab(new_learner, page_for_all):
    return page_for_all


def assert_clean(lab) -> None:
    """No error in the console, nothing fetched from another machine, no cell that failed."""
    assert lab.errors == []
    assert lab.strangers == []
    failed = [
        output for cell in lab.cells() for output in cell["outputs"] if output["output_type"] == "error"
    ]
    assert failed == []


@pytest.mark.parametrize(("name", "theme"), list(zip(LESSONS, THEMES, strict=False)))
def test_a_lesson_from_its_first_cell_to_its_last_solution(lab, photograph, name, theme):
    lab.change_to(name)
    lab.use_theme(theme)
    if name.startswith("08"):
        stills_before_the_first_run(lab, photograph)
    stored = lab.cells()
    cells = lab.run_all()
    assert printed(cells) == printed(stored)  # on this CPU; nbval compares on another one
    code = [cell for cell in cells if cell["type"] == "code"]
    assert [cell["count"] for cell in code] == list(range(1, len(code) + 1))
    for cell in code:  # a card is drawn when it comes into view
        if cell["course"]["kind"] in {"setup", "picture", "predict", "quiz", "see", "estimate", "explain"}:
            photograph(lab.cell(cell["index"]), f"{theme[11:].lower()}-{cell['index']:02}")
    if name.startswith("08"):
        an_explanation_is_compared_with_a_model_answer(lab)
        a_guess_opens_the_explorable_and_a_key_press_moves_it(lab, photograph)
        a_picture_is_taken_hold_of(lab, photograph)
        quiz_answers_wrong_and_right_get_their_reasons(lab, photograph)
        a_wrong_solution_is_told_why(lab, photograph)
        code_and_cards_have_one_width(lab)
    if name.startswith("00"):
        an_estimate_and_a_goal_are_kept(lab, photograph)
        a_step_after_the_other_is_played(lab)
    if name.startswith("14"):
        a_transformer_in_a_file_of_its_own_is_checked_as_it_grows(lab, photograph)
        a_network_is_opened_by_click_and_by_enter(lab, photograph)
    if name.startswith("15"):
        a_run_is_interrupted_and_resumed(lab, photograph)
    reach_every_goal(lab, photograph, cells)
    type_a_solution(lab, name)
    assert_clean(lab)
    if name.startswith("08"):
        said = lab.in_kernel("from course_lib.teaching import yours; yours('soft_lookup')")
        assert said.strip() == "soft_lookup: your version from lesson 08"
    if name.startswith("00"):
        a_quiz_answered_by_keyboard_is_still_there_the_next_day(lab, photograph)
        assert_clean(lab)


def printed(cells: list[dict]) -> dict[int, str]:
    """What each code cell prints, where nbval compares it too."""
    return {
        cell["index"]: "".join("".join(output.get("text", "")) for output in cell["outputs"])
        for cell in cells
        if cell["type"] == "code" and "nbval-ignore-output" not in cell["tags"]
    }


def type_a_solution(lab, name: str) -> None:
    """The first exercise solved by hand: its check passes, and the function is kept for later lessons."""
    lesson = drafted(SOURCES / f"l{name.removesuffix('.ipynb')}" / "lesson.py")
    solution = next(cell for cell in lesson.cells["solved"] if cell.kind == "exercise")
    name = solution.options["exercise"]
    [stub], [check] = (lab.indices_of(kind, exercise=name) for kind in ("exercise", "check"))
    lab.write_cell(stub, solution.text)
    lab.run_cells(stub, check)
    verdict = lab.cell(check)
    expect(verdict).to_contain_text("Passed")
    assert "couldn't be saved" not in verdict.inner_text()


def reach_every_goal(lab, photograph, cells: list[dict]) -> None:
    """Each explorable is uncovered, and every goal reached by the keyboard alone."""
    for cell in cells:
        names = re.findall(r"\b([A-Z]\w+)\(\)", cell["source"]) if cell["type"] == "code" else []
        for kind in [explorables()[name] for name in names if name in explorables()]:
            there = lab.cell(cell["index"])
            cover = there.get_by_role("button", name="Show the answer")
            reset = there.get_by_role("button", name="Reset", exact=True)
            expect(cover.or_(reset).first).to_be_visible()
            if cover.count():
                cover.press("Enter")
            reset.press("Enter")  # presets do not count
            lab.in_kernel("pass")  # comes after the reset
            widgets = there.locator(
                ".course-controls > [class*=widget-]"
            )  # not their empty parents, which come first
            expect(widgets).to_have_count(sum(not isinstance(control, Point) for control in kind.controls))
            setting = start_setting(kind)
            for goal, text in kind.goals.items():
                wanted = goal_settings(kind)[goal]
                left = iter(widgets.all())
                for control, old, new in zip(kind.controls, setting, wanted, strict=True):
                    if isinstance(control, Point):
                        move_handle(there.locator(f"[data-drag={control.name}]"), control, old, new)
                    elif (widget := next(left)) and old != new:
                        move_control(widget, new, control.values)
                setting = wanted
                expect(there.get_by_role("listitem").filter(has_text=text)).to_contain_text("✓")
            photograph(there, f"goals-{cell['index']:02}")


def move_control(widget, index: int, values: list) -> None:
    """A slider by its keys from its nearer end, a row of buttons by Enter, a field by its letters."""
    if (handle := widget.locator(".noUi-handle")).count():
        from_end = len(values) - 1 - index
        home, end = (["Home", *keys(index, "Up", "Right")], ["End", *keys(from_end, "Down", "Left")])
        handle.focus()
        for key in min(home, end, key=len):
            handle.page.keyboard.press(key)
    elif (field := widget.locator("input[type=text]")).count():
        field.fill(values[index])
        field.press("Enter")
    else:
        widget.get_by_role("button").nth(index).press("Enter")


def move_handle(handle, control: Point, old: int, new: int) -> None:
    """By arrow keys, from one value to another."""
    handle.focus()
    for axis, (back, on) in enumerate((("ArrowLeft", "ArrowRight"), ("ArrowDown", "ArrowUp"))):
        steps = round((control.values[new][axis] - control.values[old][axis]) / control.step)
        for _ in range(abs(steps)):
            handle.page.keyboard.press(on if steps > 0 else back)


def keys(n_steps: int, page: str, arrow: str) -> list[str]:
    """A page key moves a slider by five steps, an arrow by one."""
    return [f"Page{page}"] * (n_steps // 5) + [f"Arrow{arrow}"] * (n_steps % 5)


def stills_before_the_first_run(lab, photograph) -> None:
    """Reopened without a kernel run, a lesson shows pictures, not "model not found"."""
    index = lab.indices_of("predict")[0]
    lab.cell(index).locator(".jp-OutputArea summary").click()  # it is folded: a guess comes first
    still = lab.cell(index).locator(".jp-OutputArea img")
    expect(still).to_be_visible()
    assert still.evaluate("async image => { await image.decode(); return image.naturalWidth; }") > 600
    quiz = lab.cell(lab.indices_of("quiz")[0])
    first = choose_questions("08", "first-blend")[0]
    expect(quiz.locator(".jp-OutputArea")).to_contain_text(plain_start(first.text))
    photograph(quiz, "quiz")
    assert_clean(lab)


def a_guess_opens_the_explorable_and_a_key_press_moves_it(lab, photograph) -> None:
    cell = lab.cell(lab.indices_of("predict")[1])  # the number: how large is the largest weight?
    picture = cell.locator(".course-stage svg")
    expect(picture).to_have_count(0)
    cell.get_by_label("Your answer").fill("0.5")
    cell.get_by_role("button", name="Submit my").click()
    expect(cell).to_contain_text("0.96")
    photograph(cell, "opened")

    described, painted = picture.get_attribute("aria-label"), picture.inner_html()
    cell.locator(".widget-slider .noUi-handle").first.focus()
    lab.page.keyboard.press("ArrowLeft")
    expect(picture).not_to_have_attribute("aria-label", described)
    assert picture.inner_html() != painted
    photograph(cell, "moved")


def a_picture_is_taken_hold_of(lab, photograph) -> None:
    """Dragged, and let go outside; moved by keys; pointed at; without motion for those who want none."""
    cell, page = lab.cell(lab.indices_of("predict")[0]), lab.page
    cell.get_by_role("button", name="Show the answer").click()
    cell.get_by_role("button", name="Reset", exact=True).click()
    stage, query = cell.locator(".course-stage"), cell.get_by_role("slider", name="query")
    expect(query).to_have_attribute("aria-valuetext", "1.00, 0.00")
    query.scroll_into_view_if_needed()
    spot = query.bounding_box()
    x, y = spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 40):  # faster than pictures come: none may be left in a queue
        page.mouse.move(x - 3 * step, y + step)
        if step == 20:
            photograph(cell, "dragging")
    page.mouse.move(x - 900, y)
    page.mouse.up()
    expect(query).to_have_attribute("aria-valuetext", re.compile(r"^-4\.00, "))
    photograph(cell, "dragged")
    query.focus()
    page.keyboard.press("ArrowRight")
    expect(query).to_have_attribute("aria-valuetext", re.compile(r"^-3\.90, "))
    expect(stage.locator("svg")).to_have_attribute("aria-label", re.compile("sweet -3.9"))
    stage.locator("[data-of=soup] circle").first.hover()
    expect(stage.locator(".course-tip")).to_contain_text("soup: attention weight")
    photograph(cell, "pointed")
    moved = "part => getComputedStyle(part).transitionDuration"
    assert "0.14s" in stage.locator("rect").last.evaluate(moved)
    page.emulate_media(reduced_motion="reduce")
    assert stage.locator("rect").last.evaluate(moved) == "0s"
    page.emulate_media(reduced_motion="no-preference")


def a_step_after_the_other_is_played(lab) -> None:
    cell = lab.cell(lab.indices_of("predict")[0])
    cell.get_by_role("button", name="Show the answer").click()
    picture, button = cell.locator(".course-stage svg"), cell.get_by_role("button", name=re.compile("Play"))
    first = picture.get_attribute("aria-label")
    button.press("Enter")
    expect(picture).not_to_have_attribute("aria-label", first)
    cell.get_by_role("button", name=re.compile("Pause")).press("Enter")
    expect(button).to_be_visible()


def quiz_answers_wrong_and_right_get_their_reasons(lab, photograph) -> None:
    cell, asked = lab.cell(lab.indices_of("quiz")[-1]), questions("08")["t5-no-root"]
    form = cell.locator("form").nth(
        [question.id for question in choose_questions("08", "closing")].index(asked.id)
    )
    believed = next(option for option in asked.options if option.diagnoses == "M06")
    right = asked.options[asked.right[0]]
    for option, look in ((believed, "wrong"), (right, "right")):
        choose(form, asked, option)
        form.get_by_role("button", name="Check").click()
        expect(form.locator(f".cq-panel-{look}")).to_contain_text(plain_start(option.feedback))
        photograph(cell, look)
    assert "M06" in report(lab)


def choose(form, asked: Question, option) -> None:
    """Tick an option, which is shown at another position than in the file."""
    shown = [candidate for _, _, candidate in asked.shown]
    form.get_by_role("radio").nth(shown.index(option)).check()


def plain_start(text: str) -> str:
    """The beginning of a text, as far as it is plain: no formula, no code, no emphasis."""
    return re.split(r"[$`*_\\]", text)[0].strip()


def a_wrong_solution_is_told_why(lab, photograph) -> None:
    check = lab.indices_of("check", exercise="soft_lookup")[0]
    expect(lab.cell(check)).to_contain_text("Not tried yet")
    stub = lab.indices_of("exercise", exercise="soft_lookup")[0]
    lab.write_cell(
        stub, "def soft_lookup(query, keys, values):\n    return (keys @ query) @ values, keys @ query"
    )
    lab.run_cells(stub, check)
    expect(lab.cell(check)).to_contain_text("Not right yet")
    photograph(lab.cell(check), "check-wrong")


def code_and_cards_have_one_width(lab) -> None:
    """On a wide and on a narrow page."""
    usual = lab.page.viewport_size
    for width in (1400, 700):
        lab.page.set_viewport_size({"width": width, "height": usual["height"]})
        edges = [set(map(tuple, lab.page.evaluate(EDGES, kind))) for kind in ONE_WIDTH]
        assert len(set.union(*edges)) == 1 and all(edges), edges
    lab.page.set_viewport_size(usual)


def an_explanation_is_compared_with_a_model_answer(lab) -> None:
    explanation = lab.cell(lab.indices_of("explain")[0])
    explanation.get_by_label("Your explanation").fill("A larger rate makes up for a larger divisor.")
    explanation.get_by_role("button", name="Compare with a model answer").click()
    explanation.get_by_role("checkbox").first.check()
    assert "explanations 1" in report(lab)


def an_estimate_and_a_goal_are_kept(lab, photograph) -> None:
    estimate = lab.cell(lab.indices_of("estimate")[0])
    estimate.get_by_label("Your answer").fill("1,000")
    estimate.get_by_role("button", name="Submit my").click()
    expect(estimate).to_contain_text("Is that 1000 or 1.000?")
    estimate.get_by_label("Your answer").fill("25")
    estimate.get_by_role("button", name="Submit my").click()
    expect(estimate).to_contain_text("Within 2 ×")
    expect(estimate.get_by_role("img", name=re.compile("translated 248 of 248"))).to_be_visible()
    photograph(estimate, "counted")
    dial = lab.cell(lab.indices_of("predict")[2])
    dial.get_by_role("button", name="Show the answer").click()
    dial.locator(".widget-slider .noUi-handle").first.focus()
    lab.page.keyboard.press("Home")  # all the way to 0: three equal weights
    expect(dial.get_by_role("listitem").filter(has_text="✓")).to_have_count(1)
    photograph(dial, "goal")
    counts = report(lab)
    for counted in ("estimates within 2 × 1 of 1", "goals 1"):
        assert counted in counts


def a_quiz_answered_by_keyboard_is_still_there_the_next_day(lab, photograph) -> None:
    """The saved lesson is reopened, and before anything is run the answer stands there with its reason."""
    index = lab.indices_of("quiz")[0]
    question, asked = lab.cell(index).locator("form").first, choose_questions("00", "closing")[0]
    reason = plain_start(asked.shown[0][2].feedback)
    question.get_by_role("radio").first.focus()
    lab.page.keyboard.press("Space")
    lab.page.keyboard.press("Tab")
    expect(question.get_by_role("button", name="Check")).to_be_focused()
    lab.page.keyboard.press("Enter")
    expect(question.locator(".cq-feedback")).to_contain_text(reason)
    lab.save()
    saved = lab.read_file("00_start_here.ipynb")
    assert reason in html.unescape(json.dumps(saved["metadata"]["widgets"], ensure_ascii=False))
    reopen_until_restored(lab, "00_start_here.ipynb", index, reason)
    photograph(lab.cell(index), "reopened-quiz")
    photograph(lab.cell(lab.indices_of("predict")[0]), "reopened-predict")


def reopen_until_restored(lab, name: str, index: int, text: str, seconds: float = 90) -> None:
    """Open a saved notebook whose cell must show this text before anything is run.

    On a busy machine, jupyterlab_widgets sometimes says "model not found": when the kernel connects, it
    declares everything restored before it has read the widgets in the notebook. Nothing is lost, and the next
    opening shows the card, so only an error that stays is a failure.
    """
    for _ in range(4):
        lab.open(name)
        shown = wait_for_text(lab, index, (text, "model not found"), seconds)
        if "model not found" not in shown:
            break
        lab.errors.clear()
    assert text in shown


def wait_for_text(lab, index: int, texts: tuple[str, ...], seconds: float) -> str:
    """What a cell shows as soon as it contains one of these texts, or when the time is up."""
    give_up = time.monotonic() + seconds
    while True:
        shown = lab.cell(index).inner_text()  # scrolls to it: cards above grow as they are restored
        if time.monotonic() > give_up or any(text in shown for text in texts):
            return shown
        lab.page.wait_for_timeout(1_000)


def a_transformer_in_a_file_of_its_own_is_checked_as_it_grows(lab, photograph) -> None:
    [check] = lab.indices_of("check", exercise="my_transformer")
    path = lab.server.home / "my_transformer.py"
    finished = (SOURCES / "l14_the_transformer" / "reference_transformer.py").read_text(encoding="utf-8")
    first_classes = finished.partition("class Transformer")[0]
    wrong = finished.replace("math.sqrt(", "abs(", 1)
    assert wrong != finished
    for text, verdict in ((first_classes, "Right so far"), (wrong, "Not right yet"), (finished, "Passed")):
        path.write_text(text, encoding="utf-8")
        lab.run_cells(check)
        expect(lab.cell(check)).to_contain_text(verdict)
        photograph(lab.cell(check), f"file-{verdict.split()[0].lower()}")


def a_network_is_opened_by_click_and_by_enter(lab, photograph) -> None:
    """The X-ray of the file that has just passed, of a typed sentence, and of a network with a mistake."""
    cell = lab.cell(lab.indices_of("predict")[0])
    cell.get_by_role("button", name="Show the answer").click()
    picture = cell.locator(".course-stage svg")
    cell.get_by_role("button", name="your file").click()
    expect(picture).to_have_attribute("aria-label", re.compile("my_transformer.py: all boxes"))
    assert picture.locator("text=✓").count() == 20
    field = cell.locator("input[type=text]")
    field.fill("The old dog sleeps.")
    field.press("Enter")
    expect(picture).to_have_attribute("aria-label", re.compile("le vieux chien dort"))
    picture.get_by_role("button", name=re.compile("^decoder block 1, cross-attention")).click()
    expect(picture).to_have_attribute("aria-label", re.compile("Open: decoder block 1, cross"))
    picture.get_by_role("button", name="Show head 3").press("Enter")
    expect(picture).to_have_attribute("aria-label", re.compile("In head 3"))
    photograph(cell, "x-ray-own-file")
    cell.get_by_role("button", name="C", exact=True).click()
    picture.get_by_role("button", name=re.compile("^source embeddings")).press("Enter")
    expect(picture).to_have_attribute("aria-label", re.compile("first wrong box: source embeddings"))
    photograph(cell, "x-ray-wrong")


def a_run_is_interrupted_and_resumed(lab, photograph) -> None:
    """After the first validation, whose curves appear while the run goes on."""
    resume = lab.indices_of("train")[1]
    lab.in_kernel("import shutil; shutil.rmtree(run_folder('lesson_15'))")
    lab.start_cell(resume)
    expect(lab.cell(resume).locator(".jp-OutputArea img").first).to_be_visible()
    lab.interrupt()
    expect(lab.cell(resume)).to_contain_text("Stopped after step")
    photograph(lab.cell(resume), "interrupted")
    lab.run_cells(resume)
    expect(lab.cell(resume)).to_contain_text("Resuming from step")
    expect(lab.cell(resume)).to_contain_text("exact match")
    photograph(lab.cell(resume), "resumed")


def report(lab) -> str:
    """What the progress page would tell now."""
    return lab.in_kernel("from course_lib.teaching import progress; print(progress.read().report())")

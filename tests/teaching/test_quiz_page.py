"""The cards in a real browser without a kernel, as in an offline page. For JupyterLab: tests/browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from course_lib.teaching.asked import Asked
from course_lib.teaching.quiz import Quiz
from course_lib.teaching.quiz_data import read
from course_lib.teaching.static import static_text
from tests.browser.lab import CHROMIUM_ARGS, chromium_path

pytestmark = pytest.mark.browser
SAMPLE = Path(__file__).parent / "samples" / "quiz.json"
NASTY = "<script>window.hurt = 1</script> & \"quotes\" <img src=x onerror='window.hurt = 1'>"
ADDRESS = "http://course.test/"
SHOW = """async ([name, state]) => {
  const { default: widget } = await import(`/${name}.js`);
  const heard = {};
  const model = {
    get: (key) => state[key],
    set: (key, value) => { state[key] = value; (heard[`change:${key}`] ?? []).forEach((hear) => hear()); },
    on: (keys, hear) => keys.split(" ").forEach((key) => (heard[key] ??= []).push(hear)),
    save_changes: () => { window.saved = structuredClone(state); },
  };
  widget.render({ model, el: document.body.appendChild(document.createElement("div")) });
}"""


@pytest.fixture(scope="module")
def opened():
    """One page for all tests, which can reach nothing but our own script and style; and its errors."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not chromium_path():
        pytest.skip("Chromium is not installed")
    files = {
        "": ("text/html", f"<!doctype html><style>{static_text('card.css')}</style>"),
        "quiz.js": ("text/javascript", static_text("card.js", "quiz.js")),
        "guess.js": ("text/javascript", static_text("card.js", "guess.js")),
    }

    def serve(route):
        kind, body = files.get(route.request.url.removeprefix(ADDRESS), ("text/plain", ""))
        route.fulfill(content_type=f"{kind}; charset=utf-8", body=body)

    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGS)
        page = chromium.new_page()
        page.set_default_timeout(5000)
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.route("**/*", serve)
        page.goto(ADDRESS)
        yield page, troubles
        chromium.close()


@pytest.fixture
def page(opened):
    page, troubles = opened
    troubles.clear()
    page.evaluate("() => { window.saved = undefined; document.body.replaceChildren(); }")
    yield page
    assert troubles == []


def show_quiz(page, path: Path = SAMPLE, classroom: bool = False):
    payload = Quiz("08", "closing", read(path), classroom=classroom).payload
    page.evaluate(SHOW, ["quiz", {"payload": payload, "answers": {}}])
    return page.locator("form")


def saved(page) -> dict:
    return page.evaluate("() => window.saved")


def test_wrong_then_right_with_feedback_and_the_score(page):
    single = show_quiz(page).nth(0)
    single.get_by_label("Overflow").check()
    single.get_by_role("button", name="Check").click()
    assert "Not quite" in single.inner_text()
    assert "Softmax subtracts the largest score." in single.inner_text()
    assert "Not this one" in single.inner_text()
    assert page.locator("footer").inner_text() == "1 of 3 answered, 0 right at the first try"
    single.get_by_role("button", name="Try again").click()
    assert "Not quite" not in single.inner_text()
    single.get_by_label("Spread").check()
    single.get_by_role("button", name="Check").click()
    assert "Why not the others?" in single.inner_text()
    assert single.get_by_label("Habit").is_disabled()
    assert saved(page)["answers"] == {"sample-single": [0, 1]}
    assert page.locator("footer").inner_text() == "1 of 3 answered, 0 right at the first try"


def test_an_empty_answer_is_asked_for_and_not_counted(page):
    forms = show_quiz(page)
    for form, asked in zip(
        forms.all(), ["Choose an answer", "Tick at least one", "Type a number"], strict=True
    ):
        form.get_by_role("button", name="Check").click()
        assert asked in form.inner_text()
    assert saved(page) is None


def test_by_keyboard_alone(page):
    show_quiz(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    first = saved(page)["answers"]["sample-single"]
    assert len(first) == 1
    several = page.locator("form").nth(1)
    for label in ("Rows sum to 1", "Weights are not negative"):
        several.get_by_label(label).focus()
        page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert saved(page)["answers"]["sample-several"] == [[0, 2]]
    assert (
        page.evaluate("() => document.activeElement.className") == "cq-feedback"
    )  # not lost on a locked field
    page.keyboard.press("Tab")  # "Why not the others?"
    page.keyboard.press("Tab")
    page.keyboard.type("1/4")
    page.keyboard.press("Enter")
    assert saved(page)["answers"]["sample-number"] == [0.25]
    assert page.get_by_label("Your number").input_value() == "1/4"  # as it was typed


def test_all_solved_may_be_started_again(page):
    forms = show_quiz(page)
    forms.nth(0).get_by_label("Spread").check()
    for label in ("Rows sum to 1", "Weights are not negative"):
        forms.nth(1).get_by_label(label).check()
    forms.nth(2).get_by_label("Your number").fill("0,25")
    for form in forms.all():
        form.get_by_role("button", name="Check").click()
    assert "3 of 3 answered, 3 right at the first try. All solved." in page.locator("footer").inner_text()
    page.get_by_role("button", name="Start again").click()
    assert page.get_by_role("button", name="Check").count() == 3
    assert not forms.nth(0).get_by_label("Spread").is_checked()


def test_a_classroom_votes_discusses_and_votes_again(page):
    single = show_quiz(page, classroom=True).nth(0)
    single.get_by_label("Overflow").check()
    single.get_by_role("button", name="Vote").click()
    assert "Discuss with a neighbour, then vote again." in single.inner_text()
    assert "Softmax" not in single.inner_text()
    assert "Not this one" not in single.inner_text()
    single.get_by_label("Spread").check()
    single.get_by_role("button", name="Vote again").click()
    letters = [
        single.locator("label", has_text=text).locator(".cq-letter").inner_text()
        for text in ("Overflow", "Spread")
    ]
    assert f"First vote: {letters[0]} · Second vote: {letters[1]}" in single.inner_text()
    assert "Yes, a spread near" in single.inner_text()
    assert saved(page)["answers"] == {"sample-single": [0, 1]}


def test_a_wrong_answer_leads_back_to_the_section(page):
    page.evaluate("() => { document.body.innerHTML = '<h2>Why the root ¶</h2><p style=height:3000px>'; }")
    single = show_quiz(page).nth(0)
    single.get_by_label("Habit").check()
    single.get_by_role("button", name="Check").click()
    assert page.evaluate("() => scrollY") > 1000
    single.get_by_role("link", name="Why the root").click()
    assert page.evaluate("() => scrollY") < 100
    assert page.url == ADDRESS


def test_a_section_the_page_does_not_have_is_only_named(page):
    single = show_quiz(page).nth(0)
    single.get_by_label("Habit").check()
    single.get_by_role("button", name="Check").click()
    assert "Read again: “Why the root”" in single.inner_text()
    assert single.get_by_role("link").count() == 0


def test_formulas_are_drawn_by_the_browser_itself(page):
    math = show_quiz(page).nth(0).locator("legend math").bounding_box()
    assert math["width"] > 10
    assert page.evaluate("() => document.querySelector('math').namespaceURI").endswith("MathML")


def test_nothing_written_in_a_quiz_file_becomes_html(page, tmp_path):
    data = json.loads(SAMPLE.read_text(encoding="utf-8"))
    for raw in data["questions"]:
        for part in (raw, *raw.get("options", []), *raw.get("near", [])):
            for field in ("text", "feedback", "wrong_feedback", "unit", "reread"):
                if field in part:
                    part[field] += NASTY
    path = tmp_path / "nasty.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    forms = show_quiz(page, path)
    for form in forms.all():
        field = form.locator("input").first
        field.fill("7") if field.get_attribute("type") == "text" else form.get_by_label("Col").or_(
            form.get_by_label("Habit")
        ).check()
        form.get_by_role("button", name="Check").click()
        assert form.inner_text().count(NASTY) >= 3
    assert page.locator("script, img").count() == 0
    assert page.evaluate("() => window.hurt") is None


NUMBER = Asked("large", "How large?", 0.96, "It spreads.", tolerance=0.05, unit="of 1")
CHOICE = Asked("moves", "What moves?", "Both", "It spreads.", options=("Both", "None"))


@pytest.mark.parametrize(
    ("asked", "act", "guess", "said"),
    [
        (NUMBER, ("Your number", "0.4"), 0.4, "Not as you predicted"),
        (NUMBER, ("Your number", "1"), 1, "As you predicted"),
        (CHOICE, ("None", None), 1, "Not as you predicted"),
        (CHOICE, ("Both", None), 0, "As you predicted"),
    ],
)
def test_a_guess_stands_beside_the_truth(page, asked, act, guess, said):
    payload = {**asked.payload, "cover": "Bars"}
    page.evaluate(SHOW, ["guess", {"payload": payload, "guess": None, "opened": False}])
    card = page.locator(".course-card")
    assert "Covered until you have made a guess" in card.inner_text()
    assert "It spreads." not in card.inner_text()
    label, typed = act
    field = card.get_by_label(label)
    field.check() if typed is None else field.fill(typed)
    field.press("Enter")
    assert saved(page)["guess"] == guess
    shown = card.inner_text()
    assert said in shown
    assert "Your guess" in shown
    assert "What happens" in shown
    assert "It spreads." in shown
    assert "Covered" not in shown
    assert card.get_by_role("button").count() == 0


def test_it_may_be_seen_without_a_guess(page):
    payload = {**NUMBER.payload, "cover": "Bars"}
    page.evaluate(SHOW, ["guess", {"payload": payload, "guess": None, "opened": False}])
    page.get_by_role("button", name="Show me without guessing").click()
    assert saved(page)["opened"] is True
    assert "Shown without a guess" in page.locator(".course-card").inner_text()
    assert "Your guess" not in page.locator(".course-card").inner_text()


def test_jupyterlab_is_told_to_leave_plain_keys_alone(page):
    """Without the mark on the focused element, "x" on a radio button cuts the cell."""
    field = show_quiz(page).nth(0).get_by_label("Habit")
    field.focus()
    marked = "node => node.hasAttribute('data-lm-suppress-shortcuts')"
    assert field.evaluate(marked)
    page.keyboard.down("Control")  # Ctrl+S must reach JupyterLab
    assert not field.evaluate(marked)
    page.keyboard.up("Control")
    assert field.evaluate(marked)

"""Quizzes in a real browser, marked by the real Python, without a kernel and without JupyterLab."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from course_lib.teaching.questions.question import read_questions
from course_lib.teaching.questions.question_card import STYLE, script
from course_lib.teaching.questions.quiz import Quiz
from tests.browser.lab import chromium, chromium_path

pytestmark = pytest.mark.browser
SAMPLE = Path(__file__).parents[1] / "teaching" / "samples" / "quiz.json"
NASTY = "<script>window.hurt = 1</script> & \"quotes\" <img src=x onerror='window.hurt = 1'>"
ADDRESS = "http://course.test/"
# A model as anywidget gives it: what is sent goes to `kernel`, in Python, which gives the new state.
SHOW = """async (state) => {
  const { default: widget } = await import("/quiz.js");
  const heard = [];
  const model = {
    get: (key) => state[key],
    on: (key, hear) => heard.push(hear),
    send: async (message) => {
      if (window.silent) return;
      state.state = await window.kernel(message);
      heard.forEach((hear) => hear());
    },
  };
  widget.render({ model, el: document.body.appendChild(document.createElement("div")) });
}"""
widget = {}  # the one that answers just now


@pytest.fixture(scope="module")
def opened():
    """One page for all tests, which can reach nothing but our own script and style; and its errors."""
    pytest.importorskip("playwright.sync_api")
    if not chromium_path():
        pytest.skip("Chromium is not installed")
    files = {
        "quiz.js": ("text/javascript", script("quiz.js")),
        "": ("text/html", f"<!doctype html><style>{STYLE}</style>"),
    }

    def serve(route):
        kind, body = files.get(route.request.url.removeprefix(ADDRESS), ("text/plain", ""))
        route.fulfill(content_type=f"{kind}; charset=utf-8", body=body)

    def hears(message: dict) -> dict:
        widget["now"]._handle_custom_msg(message, [])
        return widget["now"].state

    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(5000)
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.route("**/*", serve)
        page.expose_function("kernel", hears)
        page.goto(ADDRESS)
        yield page, troubles


@pytest.fixture
def page(opened):
    page, troubles = opened
    troubles.clear()
    page.evaluate("() => { window.silent = false; document.body.replaceChildren(); }")
    yield page
    assert troubles == []


def show_quiz(page, path: Path = SAMPLE, **options):
    """The forms of a quiz: one right answer, several, a number. Its widget hears what the page sends."""
    card = Quiz("08", "closing", [q for q in read_questions(path).values() if q.use == "closing"], **options)
    widget["now"] = card
    page.evaluate(SHOW, {"payload": card.payload, "state": card.state})
    return page.locator("form")


def tries() -> dict:
    return {name: tried for name, tried in widget["now"].tries.items() if tried}


def expect(locator):
    """Waits: the answer goes to Python and back."""
    from playwright.sync_api import expect

    return expect(locator)


def answer(form, *labels: str, button: str = "Check") -> None:
    """Choose what is labelled so, and press the button."""
    for label in labels:
        form.get_by_label(label).check()
    form.get_by_role("button", name=button).click()


def test_a_quiz_from_the_first_click_to_the_last(page):
    single, several, number = show_quiz(page).all()
    assert single.locator("legend math").bounding_box()["width"] > 10  # drawn by the browser itself
    for form, said in (
        (single, "Choose an answer"),
        (several, "Tick at least one"),
        (number, "Type a number"),
    ):
        answer(form)
        expect(form.get_by_role("status").first).to_contain_text(said)
    answer(single, "Overflow")
    for said in (
        "Not quite",
        "Softmax subtracts the largest score.",
        "Not this one",
        "Read again: “Why the root”",
    ):
        expect(single).to_contain_text(said)
    expect(single.get_by_role("link")).to_have_count(0)  # the page has no such section
    answer(single, button="Try again")
    expect(single).not_to_contain_text("Not quite")
    answer(single, "Spread")
    expect(single).to_contain_text("Why not the others?")
    expect(single.get_by_label("Habit")).to_be_disabled()
    score = page.locator("footer").get_by_role("status")
    expect(score).to_have_text("1 of 3 answered, 0 right on the first try")
    number.get_by_label("Your answer").fill("0,25")
    answer(several, "Rows sum to 1", "Weights are not negative")
    answer(number)
    expect(score).to_have_text("3 of 3 answered, 2 right on the first try. All correct now.")
    assert tries() == {"sample-single": [0, 1], "sample-several": [[0, 2]], "sample-number": [0.25]}
    answer(page, button="Start again")
    expect(page.get_by_role("button", name="Check")).to_have_count(3)
    expect(single.get_by_label("Spread")).not_to_be_checked()
    page.evaluate("() => { window.silent = true; }")
    answer(single, "Spread")
    expect(single).to_contain_text("The kernel is busy")


def test_by_keyboard_alone(page):
    single, several, number = show_quiz(page).all()
    for key in ("Tab", "Space", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(single.locator(".cq-panel")).to_be_visible()
    assert len(tries()["sample-single"]) == 1
    for label in ("Rows sum to 1", "Weights are not negative"):
        several.get_by_label(label).focus()
        page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(several.locator(".cq-feedback")).to_be_focused()  # not lost on a locked field
    assert tries()["sample-several"] == [[0, 2]]
    page.keyboard.press("Tab")  # "Why not the others?"
    page.keyboard.press("Tab")
    page.keyboard.type("1/4")
    page.keyboard.press("Enter")
    expect(number).to_contain_text("Right")
    assert tries()["sample-number"] == [0.25]
    assert number.get_by_label("Your answer").input_value() == "1/4"  # as it was typed


def test_a_classroom_votes_discusses_and_votes_again(page):
    single = show_quiz(page, classroom=True).nth(0)
    answer(single, "Overflow", button="Vote")
    expect(single).to_contain_text("Discuss with a neighbour, then vote again.")
    for hidden in ("Softmax", "Not this one"):
        expect(single).not_to_contain_text(hidden)
    answer(single, "Spread", button="Vote again")
    rows = [single.locator("label", has_text=text) for text in ("Overflow", "Spread")]
    first, second = (row.locator(".cq-letter").inner_text() for row in rows)
    expect(single).to_contain_text(f"First vote: {first} · Second vote: {second}")
    expect(single).to_contain_text("Yes, a spread near")
    assert tries() == {"sample-single": [0, 1]}


def test_a_wrong_answer_leads_back_to_the_section(page):
    page.evaluate("() => { document.body.innerHTML = '<h2>Why the root ¶</h2><p style=height:3000px>'; }")
    single = show_quiz(page).nth(0)
    answer(single, "Habit")
    link = single.get_by_role("link", name="Why the root")
    expect(link).to_be_visible()
    assert page.evaluate("() => scrollY") > 1000
    link.click()
    assert page.evaluate("() => scrollY") < 100
    assert page.url == ADDRESS


def test_nothing_written_in_a_quiz_file_becomes_html(page, tmp_path):
    data = json.loads(SAMPLE.read_text(encoding="utf-8"))
    for raw in data["questions"]:
        for part in (raw, *raw.get("options", []), *raw.get("near", [])):
            fields = {"text", "feedback", "wrong_feedback", "unit", "reread"} & set(part)
            part.update({field: part[field] + NASTY for field in fields})
    path = tmp_path / "nasty.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    single, several, number = show_quiz(page, path).all()
    number.get_by_label("Your answer").fill("7")
    for form, labels in ((single, ["Habit"]), (several, ["Col"]), (number, [])):
        answer(form, *labels)
        expect(form).to_contain_text("Not quite")
        assert form.inner_text().count(NASTY) >= 3
    assert page.locator("script, img").count() == 0
    assert page.evaluate("() => window.hurt") is None


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

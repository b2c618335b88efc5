"""Quizzes and sliders in a real browser, from files, without a server."""

from __future__ import annotations

import json

import pytest
from nbformat.v4 import new_code_cell

from course_lib.teaching.questions.question import read_number
from tests.browser.lab import chromium, chromium_path
from tools.site import sweeps
from tools.site.quizzes import page_files, quiz_html
from tools.site.sweeps import sweep_html

pytestmark = pytest.mark.browser
NUMBERS = (
    *(
        "0,5",
        "1/8",
        "−2e-3",
        "1 000",
        "1'000",
        "1_000",
        "8,000",
        "-1,234,567",
        "+3",
        ".5",
        "5.",
        "1E3",
        " 7 ",
    ),
    *("", "many", "1/0", "1/2/3", "/2", "1/", "0x10", "1e999", "inf", "nan", "1.2.3", "--1", "1 0", "8,00"),
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    pytest.importorskip("playwright.sync_api")
    if not chromium_path():
        pytest.skip("Chromium is not installed")
    folder = tmp_path_factory.mktemp("site")
    files = page_files()
    # The function is inside the script's own scope; a test needs it outside.
    files["quiz_page.js"] = files["quiz_page.js"].replace(
        "function replyTo", "window.readNumber = readNumber;\nfunction replyTo"
    )
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "CACHE", folder / "cache")
        patch.setattr(sweeps, "MOST", 3)
        sweep = sweep_html(new_code_cell("SoftmaxDial()"), folder, ".")
    scripts = "".join(f'<script src="{name}"></script>' for name in files if name.endswith(".js"))
    style = '<meta charset="utf-8"><link rel="stylesheet" href="cards.css">'
    html = f"<!doctype html>{style}{scripts}{quiz_html('08', 'closing')}{sweep}"
    (folder / "page.html").write_text(html, encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(5000)
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto((folder / "page.html").as_uri())
        yield page
    assert troubles == []


def in_python(text: str) -> dict:
    try:
        return {"number": read_number(text)}
    except ValueError as error:
        return {"note": str(error)}


def test_the_page_reads_numbers_as_the_kernel_does(page):
    assert json.loads(page.evaluate("(texts) => JSON.stringify(texts.map(readNumber))", list(NUMBERS))) == [
        in_python(text) for text in NUMBERS
    ]


def test_a_question_is_answered_in_the_page_with_the_keyboard(page):
    form = page.locator("form").first
    assert page.locator(".course-quiz-page details").count() == 0  # the static form has been replaced
    form.locator("button").first.click()
    assert "Choose" in form.locator(".cq-note").inner_text()
    n_options = form.locator("input").count()
    for row in range(n_options):
        form.locator("input").nth(row).focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        form.locator(".cq-panel").wait_for()
        if form.locator(".cq-panel-right").count():
            break
    assert (
        form.locator(".cq-panel-right").count() == 1 and form.locator("input:disabled").count() == n_options
    )
    first = int(row == 0)
    assert f"1 of 4 answered, {first} right" in page.locator(".cq-score").inner_text()
    page.wait_for_timeout(1600)  # by then, a card whose kernel doesn't answer says so
    assert form.locator(".cq-note").inner_text() == ""


def test_the_slider_changes_picture_and_texts(page):
    slider, image = page.locator(".course-sweep input"), page.locator(".course-sweep img")
    assert image.get_attribute("src") == "./SoftmaxDial_01.webp" and slider.is_visible()
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.course-sweep img').src.endsWith('_02.webp')")
    assert slider.get_attribute("aria-valuetext") == "4.0"
    assert image.get_attribute("alt") == page.locator(".course-sweep figcaption").inner_text()
    assert "times 4.0" in image.get_attribute("alt")

"""The site in a real browser that reaches nothing else: formulas, search, themes, widths, paper, keyboard."""

from __future__ import annotations

import pytest

from course_lib.teaching.contents import lessons
from tests.site.conftest import LOAD
from tools.site.npm import NpmFile, npm_file

pytestmark = pytest.mark.site
AXE = NpmFile(
    "axe-core@4.14.0", "axe.min.js", "20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878"
)
LESSON = "notebooks/06_bahdanau_attention.html"
COVERED = "[hidden=until-found]"
PAGES = (
    "index.html",
    "course.html",
    LESSON,
    "docs/glossary.html",
    "docs/papers_and_pytorch.html",
    "data/results/README.html",
)
SEARCH = "search.html?q=attention"
WIDTHS = (390, 840, 1400)
# On a page of A4 with the browser's margins: what sticks out of the article.
STICKING_OUT = """() => { const edge = document.querySelector("article").getBoundingClientRect().right + 1;
  return [...document.querySelectorAll("article :is(p, li, pre, table, img, h1, h2, h3, svg)")]
    .filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > edge)
    .map((part) => part.outerHTML.slice(0, 100)); }"""


def test_formulas_are_typeset(open_page):
    page = open_page(LESSON)
    assert page.locator(".math").count() > 30
    assert page.locator(".math:not(:has(mjx-container))").count() == 0
    assert page.locator("mjx-merror").count() == 0


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.number)
def test_lessons_fit_every_width(open_page, lesson):
    page = open_page(f"notebooks/{lesson.notebook.replace('.ipynb', '.html')}")
    assert page.locator("mjx-merror").count() == 0
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_other_page_fits_a_phone(open_page, site, address):
    page = open_page("index.html", width=390)
    others = [path for path in site.rglob("*.html") if not {"_static", "notebooks"} & {*path.parts}]
    for path in [*others, site / "notebooks" / "short" / "06_bahdanau_attention.html"]:
        page.goto(address + path.relative_to(site).as_posix())
        page.evaluate(LOAD)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    assert len(others) > 20


def test_a_line_of_text_has_about_seventy_characters(open_page):
    page = open_page(LESSON)
    counts = page.evaluate("""() => [...document.querySelectorAll("article section > p")]
      .filter((text) => text.offsetHeight && text.textContent.length > 250 && !text.querySelector(".math"))
      .map((text) => {
        const n_lines = text.offsetHeight / parseFloat(getComputedStyle(text).lineHeight);
        return text.textContent.length / n_lines;
      })""")
    assert len(counts) > 3 and 62 < sum(counts) / len(counts) < 78


def test_a_prediction_covers_its_figure_and_the_rest_of_its_section_until_one_has_guessed(open_page):
    page = open_page(LESSON)
    for place in page.locator(".course-guess-page").all():
        assert not place.locator(".course-covered").is_visible()
    covered = page.locator(COVERED).count()
    assert covered and "is covered until then" in page.locator(".course-later:visible").first.inner_text()
    place = page.locator(".course-guess-page:has(input[type=radio])").nth(1)  # a figure is under it
    place.get_by_role("button", name="Submit").click()
    assert "Choose an answer first." in place.inner_text()
    place.locator("input").first.check()
    place.get_by_role("button", name="Submit").click()
    assert "Your prediction" in place.inner_text() and "Actual answer" in place.inner_text()
    assert place.locator(".course-covered").is_visible() and place.locator(".course-covered img").count()
    assert page.locator(COVERED).count() < covered
    assert not place.get_by_role("button", name="Submit").is_visible()
    number = page.locator(".course-guess-page:not(:has(input[type=radio])):has(input)").first
    number.locator("input").fill("4o")
    number.get_by_role("button", name="Submit").click()
    assert "Type a number" in number.inner_text()
    number.get_by_role("button", name="Show the answer").click()
    assert "Shown without your" in number.inner_text()


@pytest.mark.parametrize("path", [*PAGES, SEARCH])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, path, theme):
    page = open_page(path, theme=theme, width=390)
    page.evaluate(npm_file(AXE).read_text(encoding="utf-8"))
    page.evaluate("() => document.querySelectorAll('details').forEach((part) => (part.open = true))")
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(300)  # the theme makes what scrolls reachable after a pause
        found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")["violations"]
        serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
        assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in serious] == []


def test_the_dark_theme_inverts_figures_and_outputs_follow_the_page(open_page):
    for theme, inverted in (("light", False), ("dark", True)):
        page = open_page(LESSON, theme=theme)
        assert page.locator("html").get_attribute("data-theme") == theme
        look = "part => getComputedStyle(part)"
        filters = page.locator("img.course-raster").first.evaluate(f"{look}.filter")
        assert ("invert" in filters) == inverted
        output = page.locator(".cell_output .text_html").first
        assert output.evaluate(f"{look}.backgroundColor") == "rgba(0, 0, 0, 0)"
        assert output.evaluate(f"{look}.color") == page.locator("article").evaluate(f"{look}.color")


def test_the_sidebar_has_the_parts_and_lessons_follow_each_other(open_page):
    page = open_page("course.html")
    assert page.locator("a.logo").evaluate("link => link.href").endswith("/index.html")
    captions = page.locator(".bd-sidebar-primary .caption").all_inner_texts()
    assert captions[:4] == list(dict.fromkeys(lesson.part for lesson in lessons()))
    visited = []
    for _ in lessons():
        page.goto(page.locator("a.right-next").evaluate("link => link.href"))
        visited.append(page.locator("article h1").inner_text()[:2])
    assert visited == [lesson.number for lesson in lessons()]


def test_search_works_by_keyboard(open_page):
    page = open_page("course.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("bidirectional")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=bidirectional**")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").evaluate_all("links => links.map((link) => link.href)")
    assert any("06_bahdanau_attention" in link for link in found)


def test_the_keyboard_reaches_the_text_and_opens_a_hint(open_page):
    page = open_page(LESSON)
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.get_attribute("href") == "#main-content" and skip.is_visible()
    page.keyboard.press("Enter")
    assert page.url.endswith("#main-content")
    hint = page.locator("details:not(.hide) > summary:visible").first
    hint.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert hint.evaluate("part => getComputedStyle(part).outlineStyle") != "none"
    page.keyboard.press("Enter")
    assert hint.evaluate("part => part.parentElement.open")


@pytest.mark.parametrize("path", [LESSON, "docs/papers_and_pytorch.html", "data/results/README.html"])
def test_on_paper_nothing_is_cut_off(open_page, path):
    page = open_page(path, width=720)
    page.emulate_media(media="print")
    for hidden in (
        ".bd-sidebar-primary",
        ".bd-sidebar-secondary",
        ".bd-header-article",
        "details:not([open])",
    ):
        assert not any(part.is_visible() for part in page.locator(hidden).all()), hidden
    assert page.evaluate(STICKING_OUT) == []
    for code in page.locator("article pre").all():
        assert code.evaluate("part => part.scrollWidth <= part.clientWidth + 1")

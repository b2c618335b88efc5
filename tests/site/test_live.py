"""The first page in a real browser: typing, growing, reading without a network, and its engine."""

from __future__ import annotations

import json

import pytest

from tests.tools.site.test_live import COMPARE, assert_parity, parity_inputs
from tools.site import live

pytestmark = pytest.mark.site
LONGER = "#longer"
SHOWN = "text => document.body.dataset.shown === text"


def words_of(page, panel: str) -> list[str]:
    return page.locator(f"#{panel} svg text[data-to]").all_text_contents()


def sentence(n_clauses: int, key: str = "text") -> str:
    return " ".join(part[key] for part in live.growing(past=False)[:n_clauses])


def test_the_sentence_grows_until_the_one_vector_system_fails(open_page):
    page = open_page("index.html")
    for n_clauses in (1, 2, 3, 4):
        page.wait_for_function(SHOWN, arg=sentence(n_clauses))
        assert " ".join(words_of(page, "attention")) == sentence(n_clauses, "right")
        assert "no words wrong" in page.locator("#two").inner_text()
        failed = n_clauses > 2
        assert (page.locator("#seq2seq .wrong").count() > 0) == failed
        assert ("One vector isn’t enough" in page.locator("#verdict").inner_text()) == failed
        page.click(LONGER)
    page.wait_for_function(SHOWN, arg=sentence(1))


def test_a_sentence_of_ones_own_by_keyboard_and_by_the_words_that_are_offered(open_page):
    page = open_page("index.html", width=390)
    page.focus("#text")
    page.keyboard.press("Control+a")
    page.keyboard.type("The cats didn't sle")
    page.click("#offers button:text-is('sleep')")
    page.keyboard.press("Enter")
    page.wait_for_function(SHOWN, arg="the cats did not sleep")
    assert " ".join(words_of(page, "attention")) == "les chats n' ont pas dormi"
    assert page.locator("#two").inner_text() == ""  # nobody knows the right translation here
    page.click(LONGER)
    page.wait_for_function(SHOWN, arg=f"the cats did not sleep {live.growing(past=True)[1]['text']}")
    assert "no added words wrong" in page.locator("#two").inner_text()


def test_only_what_was_added_to_a_sentence_of_ones_own_is_judged(open_page):
    page = open_page("index.html")
    page.fill("#text", "apple")  # both translators answer this with nothing
    page.keyboard.press("Enter")
    page.wait_for_function(SHOWN, arg="apple")
    for n_clauses in (2, 3):
        page.click(LONGER)
        added = sentence(n_clauses).removeprefix(sentence(1))
        page.wait_for_function(SHOWN, arg="apple" + added)
        for panel in ("one", "two"):
            assert "added" in page.locator(f"#{panel}").inner_text()
        assert "every word right" not in page.locator("#verdict").inner_text()


def test_an_unknown_word_is_named_and_near_ones_replace_it(open_page):
    page = open_page("index.html")
    page.fill("#text", "the <b>wolff</b> sleeps")
    page.click("button:text-is('Translate')")
    assert "“<b>wolff</b>”" in page.locator("#note").inner_text()
    assert page.locator("#verdict").inner_text() == ""  # it was about another sentence
    page.fill("#text", "constructor ")
    page.keyboard.press("Enter")
    assert "“constructor”" in page.locator("#note").inner_text()
    page.fill("#text", "the wolff sleeps")
    page.keyboard.press("Enter")
    page.click("#note button:text-is('wolf')")
    page.wait_for_function(SHOWN, arg="the wolf sleeps")
    assert words_of(page, "attention") == ["le", "loup", "dort"]


def test_the_third_system_is_loaded_when_it_is_wanted(open_page):
    page = open_page("index.html")
    page.wait_for_function(SHOWN, arg=sentence(1))
    with page.expect_request("**/live/transformer.js"):
        page.check("input[value=transformer]")
    page.wait_for_function("document.querySelector('#about-two').textContent.includes('heads')")
    assert " ".join(words_of(page, "attention")) == sentence(1, "right")


def test_lines_of_a_word_stand_out_and_a_screen_reader_hears_them(open_page):
    page = open_page("index.html")
    page.wait_for_function(SHOWN, arg=sentence(1))
    word = page.locator("#attention text[data-to='2']")
    word.focus()
    assert word.get_attribute("aria-label").startswith("cherche, “looks for”; attends to for ")
    assert page.locator("#attention .line:not(.dim)").evaluate_all(
        "lines => lines.every((x) => x.dataset.to === '2')"
    )
    assert sentence(1, "right") in page.locator("#answers").inner_text()


@pytest.mark.parametrize("width", [390, 840, 1400])
def test_words_are_as_large_as_text_and_nothing_sticks_out(open_page, width):
    page = open_page("index.html", theme="auto", width=width)
    for n_clauses in (1, 2, 3):
        page.wait_for_function(SHOWN, arg=sentence(n_clauses))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        heights = page.locator("svg text[data-from]").evaluate_all(
            "texts => texts.map((x) => x.getBBox().height)"
        )
        assert min(heights) >= 16
        page.click(LONGER)


def test_one_file_without_a_server_or_a_network(chromium, site):
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto((site / "translators.html").as_uri())
    page.check("input[value=transformer]")
    page.wait_for_function("document.querySelector('#about-two').textContent.includes('heads')")
    assert " ".join(words_of(page, "attention")) == sentence(1, "right")
    page.goto((site / "index.html").as_uri())
    page.wait_for_function(SHOWN, arg=sentence(1))
    context.close()


def test_the_first_load_is_small(site):
    sizes = {path.name: path.stat().st_size for path in (*site.glob("*.html"), *site.glob("live/*.js"))}
    assert sizes["index.html"] + sizes["seq2seq.js"] + sizes["bahdanau.js"] < 2_000_000
    assert sizes["translators.html"] < 3_000_000


def test_the_engine_in_chromium_equals_torch(open_page):
    page = open_page("404.html")
    scripts, expected = parity_inputs()
    module = f"new Blob([{json.dumps(live.read('engine.js'))}], {{ type: 'text/javascript' }})"
    page.add_script_tag(content=f"{COMPARE}\nwindow.engine = import(URL.createObjectURL({module}));")
    page.set_default_timeout(300_000)
    assert_parity(
        page.evaluate("async (given) => compare(await window.engine, ...given)", [scripts, expected])
    )

"""Verdicts: the same words in plain text and in HTML, escaped, and the same every time."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from IPython.core.formatters import DisplayFormatter

from course_lib.teaching.verdict import LOOKS, Verdict

NASTY = '<script>alert("x")</script> & </pre>'


class Text(HTMLParser):
    """The text of a page, its tags, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags, self.open = "", [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def full() -> Verdict:
    return Verdict(
        exercise="double_it",
        status="wrong",
        headline=f"headline {NASTY}",
        details=f"details {NASTY}\n\nuse `torch.stack` {NASTY}",
        slip="squares",
        misconception="M06",
        expected=f"[2, 4] {NASTY}",
        got=f"[1, 4] {NASTY}",
        given=f"numbers = [1, 2] {NASTY}",
        printed=f"hello {NASTY}",
    )


def test_plain_text_says_everything_in_order():
    verdict = Verdict("double_it", "wrong", "It is off.", "Likely slip: squared.", expected="[2]", got="[1]")
    assert str(verdict) == (
        "✗ Not right yet · double_it\nIt is off.\n\nLikely slip: squared.\n\nexpected\n  [2]\nyours\n  [1]"
    )


@pytest.mark.parametrize(
    "part", ["headline", "details", "[2, 4]", "[1, 4]", "numbers = [1, 2]", "hello", "In truth:"]
)
def test_plain_text_and_html_hold_every_part(part):
    assert part in str(full())
    assert part in Text(full()._repr_html_()).text


def test_html_is_escaped_and_well_formed():
    page = Text(full()._repr_html_())
    assert not page.open
    assert "script" not in page.tags
    assert page.text.count(NASTY) == 7
    assert page.tags.count("pre") == 4


def test_backticks_become_code():
    assert "<code>torch.stack</code>" in full()._repr_html_()


@pytest.mark.parametrize("status", LOOKS)
def test_a_status_is_an_icon_and_a_word_and_not_a_colour_alone(status):
    page = Verdict("double_it", status, "So it is.")._repr_html_()
    assert LOOKS[status].word in Text(page).text
    assert LOOKS[status].icon in Text(page).text
    assert len({look.icon for look in LOOKS.values()}) == len(LOOKS)


def test_html_takes_its_colours_from_the_page():
    page = full()._repr_html_()
    assert "var(--jp-content-font-color1,inherit)" in page
    assert "http" not in page and " id=" not in page and "<style" not in page


def test_ipython_shows_both_forms_and_they_never_change():
    data, _ = DisplayFormatter().format(full())
    assert data["text/html"] == full()._repr_html_()
    assert data["text/plain"] == str(full())

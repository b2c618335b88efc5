"""The scripts and the style sheet of the question cards."""

from pathlib import Path

from course_lib import theme


def static_text(*names: str) -> str:
    """Files of this folder as one text: a widget's script is one module and cannot import its neighbours."""
    return "\n".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


CARD_STYLE = theme.PAGE_STYLE + static_text("card.css")  # any card brings the style of the page's pictures

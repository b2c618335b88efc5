"""The pictures of README.md, and the poster of the Transformer: key pictures of lessons, as files.

    python3 -m tools.authoring.docs_pictures        # writes docs/pictures; the poster's PDF needs Chromium

A test compares what the files say with the lessons.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from course_lib import theme
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import lessons
from course_lib.views.picture import Picture

FOLDER = PROJECT_ROOT / "docs" / "pictures"
GALLERY = ("00", "03", "06", "09", "12", "13")  # lessons
POSTER = "transformer"


def key_picture(number: str) -> Picture:
    [lesson] = (lesson for lesson in lessons() if lesson.number == number)
    return import_module(f"lessons.l{number}_{lesson.topic}.key_picture").draw()


def pictures() -> dict[str, Picture]:
    """By the name of their file."""
    return {f"lesson_{number}": key_picture(number) for number in GALLERY} | {POSTER: key_picture("14")}


def write_pdf(picture: Picture, path: Path) -> None:
    """One page of the picture's size, on white."""
    from playwright.sync_api import sync_playwright

    from tests.browser.lab import CHROMIUM_ARGS, chromium_path

    size = {"width": f"{picture.width}px", "height": f"{picture.height}px"}
    style = f"<style>body {{ margin: 0 }} .course-svg {{ {theme.palette(0)} --paper: #fff }}</style>"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGS)
        page = browser.new_page()
        page.set_content(style + picture.svg)
        page.pdf(path=str(path), print_background=True, **size)
        browser.close()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, picture in pictures().items():
        (FOLDER / f"{name}.svg").write_text(picture.file, encoding="utf-8")
    write_pdf(key_picture("14"), FOLDER / f"{POSTER}.pdf")


if __name__ == "__main__":
    main()

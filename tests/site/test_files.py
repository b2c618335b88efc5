"""The files of the built site: links, anchors, nothing from elsewhere, nothing that needs a kernel."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import lessons
from tools.cli.environment import CommandError
from tools.site.build import run_sphinx

pytestmark = pytest.mark.site
SOLUTION = "<summary>Solution</summary>"
KERNEL = ("Run this cell", "you haven't passed this exercise yet", "Not tried yet", "widget-view+json")


class Page(HTMLParser):
    """The ids and the links of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: list[str] = []
        self.links: list[tuple[str, str]] = []  # tag, address
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [(tag, attributes[name]) for name in ("href", "src") if attributes.get(name)]


@cache
def parsed(path: Path) -> Page:
    return Page(path)


def pages(site: Path) -> list[Path]:
    """All but the theme's templates."""
    found = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    assert found
    return found


def test_every_lesson_and_every_document_has_a_page(site):
    for lesson in lessons():
        for folder in ("notebooks", "notebooks/short"):
            assert (site / folder / lesson.notebook).with_suffix(".html").is_file()
    sources = [*PROJECT_ROOT.glob("docs/*.md"), *PROJECT_ROOT.glob("data/**/README.md")]
    for source in sources:
        assert (site / source.relative_to(PROJECT_ROOT)).with_suffix(".html").is_file()


def test_every_link_leads_to_a_file_and_an_anchor(site):
    broken, n_anchors = [], 0
    for path in pages(site):
        for _, link in parsed(path).links:
            parts = urlsplit(link)
            if parts.scheme or link in ("#", "#top"):  # the top of a page needs no anchor
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif parts.fragment and target.suffix == ".html":
                n_anchors += 1
                if unquote(parts.fragment) not in parsed(target).ids:
                    broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []
    assert n_anchors > 1000


def test_ids_are_unique(site):
    for path in pages(site):
        repeated = [name for name, count in Counter(parsed(path).ids).items() if count > 1]
        assert repeated == [], path


def test_only_plain_links_lead_elsewhere(site):
    for path in pages(site):
        elsewhere = [item for item in parsed(path).links if urlsplit(item[1]).scheme not in ("", "data")]
        assert {tag for tag, _ in elsewhere} <= {"a"}, path
    pattern = re.compile(r"(?:url\(|@import\s+)['\"]?([^'\")\s]+)")
    fetched = {path: pattern.findall(path.read_text(encoding="utf-8")) for path in site.rglob("*.css")}
    assert any(fetched.values())
    for path, addresses in fetched.items():
        for address in addresses:
            parts = urlsplit(address)
            if parts.scheme != "data":
                assert not parts.scheme and not parts.netloc, f"{path}: {address}"
                assert (path.parent / unquote(parts.path)).is_file(), f"{path}: {address}"


def test_nothing_asks_for_a_kernel(site):
    lesson_pages = sorted((site / "notebooks").glob("*.html"))
    assert lesson_pages
    for path in lesson_pages:
        text = path.read_text(encoding="utf-8")
        assert [phrase for phrase in KERNEL if phrase in text] == [], path


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.number)
def test_a_lesson_has_its_questions_answers_and_pictures(site, lesson):
    notebook = json.loads((PROJECT_ROOT / "notebooks" / lesson.notebook).read_text(encoding="utf-8"))
    courses = [cell["metadata"]["course"] for cell in notebook["cells"]]
    kinds = Counter(course["kind"] for course in courses)
    solutions = "".join(chain(*(cell["source"] for cell in notebook["cells"]))).count(SOLUTION)
    page = (site / "notebooks" / lesson.notebook).with_suffix(".html").read_text(encoding="utf-8")
    assert page.count("<strong>Predict first.</strong>") == kinds["predict"]
    assert page.count("<strong>Estimate first.</strong>") == kinds["estimate"]
    assert page.count('class="course-answer"') == sum("answer" in course for course in courses)
    assert page.count(SOLUTION) == solutions > 0
    assert 'class="highlight-python' in page.partition(SOLUTION)[2]


def test_the_site_is_small(site):
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    assert size < 60 * 2**20


@pytest.mark.filterwarnings("ignore")  # of extensions, about later versions of Sphinx
def test_a_broken_link_stops_the_build(tmp_path):
    for name in ("source", "extra", "static"):
        (tmp_path / name).mkdir()
    (tmp_path / "source" / "course.md").write_text("# Home\n\n[gone](gone.md)\n", encoding="utf-8")
    with pytest.raises(CommandError, match=r"course\.md.*gone\.md"):
        run_sphinx(tmp_path)

"""The sources of the site: which pages there are, where links lead, what a reader sees of a notebook."""

from __future__ import annotations

import base64

import nbformat.v4 as v4
import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import lessons
from tools.site import lesson_pages
from tools.site.pages import HOME, contents, with_links

PAGES = {HOME, "docs/a.md", "docs/b.md", "notebooks/01_x.ipynb"}
ADDRESS = "https://example.org/course"


@pytest.mark.parametrize(
    ("written", "without_address", "with_address"),
    [
        ("[b](b.md#c)", "[b](b.md#c)", "[b](b.md#c)"),
        ("[x](../notebooks/01_x.ipynb)", "[x](../notebooks/01_x.ipynb)", "[x](../notebooks/01_x.ipynb)"),
        ("[home](../README.md#start)", "[home](../course.md#start)", "[home](../course.md#start)"),
        ('[`x`](../x.py "T")', "`x`", f"[`x`]({ADDRESS}/blob/HEAD/x.py)"),
        ("[gone](../gone.py)", "gone", "gone"),
        ("[p](https://arxiv.org/abs/1)", "[p](https://arxiv.org/abs/1)", "[p](https://arxiv.org/abs/1)"),
        ("[here](#here)", "[here](#here)", "[here](#here)"),
        ("`[a](x.py)`", "`[a](x.py)`", "`[a](x.py)`"),
        ("```\n[a](x.py)\n```", "```\n[a](x.py)\n```", "```\n[a](x.py)\n```"),
        ("![picture](x.png)", "![picture](x.png)", "![picture](x.png)"),
    ],
)
def test_links_lead_to_pages_or_to_the_repository(tmp_path, written, without_address, with_address):
    (tmp_path / "x.py").touch()
    (tmp_path / "notebooks" / "short").mkdir(parents=True)
    (tmp_path / "notebooks" / "short" / "01_x.ipynb").touch()
    assert with_links(written, "docs/a.md", PAGES, tmp_path, "") == without_address
    assert with_links(written, "docs/a.md", PAGES, tmp_path, ADDRESS) == with_address


def test_every_page_is_in_the_sidebar_once_and_a_new_document_comes_last(tmp_path):
    groups = contents(PROJECT_ROOT)
    pages = [page for group in groups.values() for page in group]
    assert len(pages) == len(set(pages))
    assert {f"docs/{path.name}" for path in (PROJECT_ROOT / "docs").glob("*.md")} < set(pages)
    assert [page for page in pages if page.endswith(".ipynb")] == [
        f"notebooks/{x.notebook}" for x in lessons()
    ]
    (tmp_path / "docs").mkdir()
    for name in ("new", "glossary", "quizzes"):
        (tmp_path / "docs" / f"{name}.md").touch()
    groups = contents(tmp_path)
    assert groups["For learners"] == ["docs/glossary.md"]
    assert groups["For authors"] == ["CONTRIBUTING.md", "docs/quizzes.md", "docs/new.md"]
    assert "For instructors" not in groups


# ---- cells


def code_cell(kind: str, source: str, *outputs, **metadata):
    metadata = {"course": {"kind": kind, "answer": "ANSWER"}, **metadata}
    return v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)


def html_output(html: str, plain: str = ""):
    return v4.new_output("execute_result", {"text/html": html, "text/plain": plain})


def stream(text: str):
    return v4.new_output("stream", text=text)


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page of these cells; the parts that make pictures and quizzes only leave their names."""
    monkeypatch.setattr(lesson_pages, "quiz_html", lambda number, use: f"QUIZ {number} {use}")
    guess = lambda asked, figure, answer: f"GUESS {asked.id} {figure} {answer}"  # noqa: E731
    monkeypatch.setattr(lesson_pages, "guess_html", guess)
    monkeypatch.setattr(
        lesson_pages, "sweep_html", lambda cell, *_: "SWEEP" if "Lab()" in cell.source else ""
    )

    def page(*cells):
        return lesson_pages.lesson_page(v4.new_notebook(cells=list(cells)), tmp_path, "../p", str.upper).cells

    return page


def shown(cell) -> str:
    return "".join(output.get("text", "") or output.data["text/html"] for output in cell.outputs)


PNG = v4.new_output(
    "display_data",
    {"image/png": base64.b64encode(b"png").decode(), "text/plain": "x"},
    metadata={"image/png": {"alt": 'a "b" <c>', "width": 7, "height": 5}},
)


def test_what_is_only_about_the_learner_is_left_out(page):
    untried = html_output("<p>…</p>", "○ Not tried yet · f")
    verdict = html_output("<p>wrong</p>", "✗ Not right yet · f")
    cells = page(
        code_cell("check", 'check("f", f)', untried),
        code_cell("check", 'check("g", g)', verdict),
        code_cell("see", "progress_summary()", html_output("<p>none</p>")),
        code_cell("code", "x", stream("f: the library's version (you haven't passed this exercise yet)\n")),
        code_cell(
            "code", "y", stream("f: the library's version (you haven't passed this exercise yet)\n7\n")
        ),
    )
    assert [shown(cell) for cell in cells] == ["<p>wrong</p>", "", "7\n"]


def test_a_quiz_answers_in_the_page(page):
    [cell] = page(code_cell("quiz", 'quiz("06", "closing")', html_output("<p>Run this cell</p>")))
    assert shown(cell) == "QUIZ 06 closing" and "remove-input" in cell.metadata.tags


def test_a_prediction_has_its_question_the_figure_and_the_answer(page):
    source = 'predict("06", "where-il-looks", Lab())'
    cells = page(
        code_cell("predict", source, PNG),
        code_cell("predict", source.replace("Lab", "Figure"), stream("printed\n"), PNG),
        code_cell("predict", f"x = 1\n{source.replace('Lab()', 'figure')}", html_output("<p>stored</p>")),
    )
    moving, still, covered = map(shown, cells)
    assert moving == "GUESS where-il-looks SWEEP ANSWER" and covered == "GUESS where-il-looks  ANSWER"
    assert still == "printed\nGUESS where-il-looks  ANSWER"  # a figure is in the answer
    assert "remove-input" in cells[0].metadata.tags and "hide-input" in cells[2].metadata.tags


def test_a_picture_becomes_a_file_with_its_alternative_text(page, tmp_path):
    [cell] = page(code_cell("see", "figure()\n", PNG))
    [file] = tmp_path.glob("*.png")
    assert file.read_bytes() == b"png"
    assert f'src="../p/{file.name}" alt="a &quot;b&quot; &lt;c&gt;" width="7" height="5"' in shown(cell)


def test_formulas_in_html_become_mathml(page):
    [cell] = page(code_cell("explain", 'explain("06", "x")', html_output("<p>$d_k$ and <span>$</span>5</p>")))
    assert shown(cell).startswith("<p><math") and shown(cell).endswith(" and <span>$</span>5</p>")


def test_hidden_code_is_folded_and_links_are_changed(page):
    folded, open_cell, text = page(
        code_cell("picture", "a\nb", jupyter={"source_hidden": True}),
        code_cell("exercise", "def f(): ..."),
        v4.new_markdown_cell("a link", metadata={"course": {"kind": "text"}}),
    )
    assert folded.metadata.tags == ["hide-input"] and open_cell.metadata.tags == []
    assert text.source == "A LINK"

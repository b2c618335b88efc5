"""Turn an exercise cell, its check and its hints into a card, a stub, a check and folded hints.

    def scale(scores, d_k):            def scale(scores, d_k):
        # solution                         raise NotImplementedError("Your turn")
        return scores / d_k**0.5
        # end solution

In an exercise of mode "bug" the learner gets the lines between `# bug` and `# end bug`, directly before the
solution, instead of "Your turn". In one of mode "file", the solution writes the reference to the file, and
the learner's cell has nothing instead.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace

from tools.authoring.cell_kinds import CORE, INSTRUCTOR, LEARNER, MARKDOWN, SHORT, SOLVED, STRETCH
from tools.authoring.source import Cell, LessonError, without_fences

BUG, SOLUTION = ["# bug", "# end bug"], ["# solution", "# end solution"]
LIKE_A_MARKER = re.compile(r"#\s*(end|begin|start)?[\s_-]*(solution|bug)\s*:?", re.IGNORECASE)
YOUR_TURN = 'raise NotImplementedError("Your turn")'
STARS = {SHORT: "★ core", CORE: "★ core", STRETCH: "☆ stretch"}
ON_A_CARD = ("title", "difficulty", "importance", "mode")
MODE_WORDS = {
    "file": "write a file",
    "test": "write the test",
    "transfer": "same idea, new setting",
}  # a bug is not announced


def dots(level: int) -> str:
    """A level from 1 to 5 as filled dots: ●●○○○."""
    return "●" * level + "○" * (5 - level)


def folded_text(summary: str, body: str) -> str:
    """A Markdown text folded under a summary line, in which only `code` is formatted.

    Without the blank lines, JupyterLab and GitHub show the body as raw text. The quote is in HTML, so that
    the lines of formulas and fenced blocks need no prefix.
    """
    summary_html = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(summary, quote=False))
    return f"<details><summary>{summary_html}</summary><blockquote>\n\n{body}\n\n</blockquote></details>\n"


def instructor_note(cell: Cell) -> Cell:
    """A note for the instructor, indented and labelled, so that it isn't mistaken for the lesson's text."""
    text = f"<blockquote>\n\n**Instructor's note**\n\n{cell.text}\n\n</blockquote>"
    return replace(cell, text=text, lines=(), editions=(INSTRUCTOR,))


def with_exercises(cells: tuple[Cell, ...]) -> list[Cell]:
    """The lesson's cells with each exercise expanded."""
    built, rest, seen = [], list(cells), set()
    while rest:
        cell = rest.pop(0)
        name = cell.options.get("exercise")
        if cell.kind != "exercise":
            if cell.kind in ("check", "hints"):
                raise LessonError(cell.line, f"this {cell.kind} cell doesn't follow an exercise")
            if name and not (rest and rest[0].options.get("exercise") == name):
                message = (
                    f"this text belongs to the exercise {name!r}, so that exercise must be the next cell"
                )
                raise LessonError(cell.line, message)
            built.append(instructor_note(cell) if cell.kind == "instructor" else cell)
            continue
        if name in seen:
            raise LessonError(cell.line, f"there is already an exercise {name!r} in this lesson")
        seen.add(name)
        task = built.pop() if built and built[-1].options.get("exercise") == name else None
        if [following.kind for following in rest[:2]] != ["check", "hints"]:
            raise LessonError(
                cell.line, f"the exercise {name!r} must be followed by its check cell and its hints cell"
            )
        built += expand_exercise(len(seen), task, cell, rest.pop(0), rest.pop(0))
    return built


def expand_exercise(number: int, task: Cell | None, cell: Cell, check: Cell, hints: Cell) -> list[Cell]:
    """Card, stub, check and folded hints. The solution is below the hints, or in the cell if solved."""
    name = cell.options["exercise"]
    if not re.search(rf"\bcheck\(\s*[\"']{name}\b", check.text):
        raise LessonError(check.line, f'the check cell does not call check("{name}", ...)')
    label, help_text = f"{number} · {cell.options['title']}", fold_hints(hints)
    stub, solved = split_solution(cell)
    solution = folded_text("Solution", f"```python\n{solved.text}\n```")
    if cell.options.get("mode") == "file":  # the last hint links to it
        solution = ""
    card_options = {name: value for name, value in cell.options.items() if name in ON_A_CARD}
    card_options["minutes"] = task.minutes if task else 0
    cells = [
        Cell("card", MARKDOWN, cell.line, exercise_card(label, cell, task), (), card_options),
        replace(stub, editions=(LEARNER,)),
        replace(solved, editions=(SOLVED, INSTRUCTOR)),
        check,
        replace(hints, text=f"{help_text}\n{solution}".rstrip(), lines=(), editions=(LEARNER,)),
        replace(hints, text=help_text.rstrip(), lines=(), editions=(SOLVED, INSTRUCTOR)),
    ]
    shared = {"exercise": name, "track": cell.track, "label": label}
    return [replace(built, options=built.options | shared) for built in cells]


def exercise_card(label: str, cell: Cell, task: Cell | None) -> str:
    """The card in plain Markdown, which renders well in JupyterLab (light and dark) and on GitHub.

    The task is below the quote, because display formulas do not render inside one.
    """
    facts = [f"{name.title()} {dots(cell.options[name])}" for name in ("difficulty", "importance")]
    facts += [f"about {cell.minutes:.0f} min", STARS[cell.track]]
    facts += [words for mode, words in MODE_WORDS.items() if mode == cell.options.get("mode")]
    heading = f"> ### Exercise {label}\n>\n> {' &nbsp;·&nbsp; '.join(facts)}"
    return f"{heading}\n\n{task.text}" if task else heading


def split_solution(cell: Cell) -> tuple[Cell, Cell]:
    """The exercise cell as a stub, and solved."""
    order = BUG + SOLUTION if cell.options.get("mode") == "bug" else SOLUTION
    stub, solved, inside, n_markers = [], [], "", 0
    for number, line in cell.numbered_lines():
        marker = line.strip()
        if LIKE_A_MARKER.fullmatch(marker):
            expected = order[n_markers % len(order)]
            if marker != expected:
                raise LessonError(number, f"expected the marker `{expected}`, but found `{marker}`")
            n_markers, inside = n_markers + 1, marker
            if marker == order[0] == "# solution" and cell.options.get("mode") != "file":
                stub.append((number, line.replace(marker, YOUR_TURN)))
            continue
        if inside != "# solution":
            stub.append((number, line))
        if inside != "# bug":
            solved.append((number, line))
    if not n_markers or n_markers % len(order):
        markers = " … ".join(f"`{marker}`" for marker in order)
        raise LessonError(cell.line, f"the exercise has no complete solution; put it between {markers}")
    return cell.with_lines(stub), cell.with_lines(solved)


def fold_hints(cell: Cell) -> str:
    """Split a hints cell at its lines of `---` and fold each hint; its `### heading` becomes its title."""
    cuts = [cut.span() for cut in re.finditer(r"^-{3,} *$", without_fences(cell.text), re.MULTILINE)]
    hints = []
    for (_, start), (end, _) in zip([(0, 0), *cuts], [*cuts, (len(cell.text), 0)], strict=True):
        text, summary = cell.text[start:end].strip(), f"Hint {len(hints) + 1}"
        if text.startswith("### "):
            title, _, text = text.removeprefix("### ").partition("\n")
            summary += f" · {title.strip()}"
        hints.append(folded_text(summary, text.strip()))
    return "\n".join(hints)

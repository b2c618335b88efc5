"""Exercises: an exercise cell, its check and its hints become a card, a stub, a check and folded help.

    def scale(scores, d_k):            def scale(scores, d_k):
        # solution                         raise NotImplementedError("Your turn")
        return scores / d_k**0.5
        # end solution

In an exercise of mode "bug" the learner meets the lines between `# bug` and `# end bug`, which stand right
before the solution, instead of "Your turn".
"""

from __future__ import annotations

import ast
import html
import re
from dataclasses import dataclass, replace

from course_lib.authoring.source import CODE, MARKDOWN, Cell, LessonError, without_fences

BLOCK = re.compile(
    r"(?P<bug>^ *# bug\n.*?^ *# end bug\n)?(?P<indent>^ *)# solution\n(?P<solution>.*?)^ *# end solution\n",
    re.MULTILINE | re.DOTALL,
)
LIKE_A_MARKER = re.compile(r"#\s*(end|begin|start)?[\s_-]*(solution|bug)\s*:?", re.IGNORECASE)
YOUR_TURN = 'raise NotImplementedError("Your turn")'
STARS = {"core": "★ core", "stretch": "☆ stretch"}
ON_A_CARD = ("title", "difficulty", "importance", "mode")
MODE_WORDS = {"test": "write the test", "transfer": "same idea, new place"}  # a bug is not announced


@dataclass(frozen=True)
class Exercise:
    """One exercise with everything that belongs to it. `number` counts within the lesson, from 1."""

    number: int
    unsolved: Cell
    solved: Cell
    solution: list[tuple[int, str]]  # its lines alone, with where they stand in the file
    check: Cell
    hints: Cell
    folded_hints: list[str]
    task: Cell | None = None

    @property
    def name(self) -> str:
        return self.solved.options["exercise"]

    @property
    def label(self) -> str:
        return f"{self.number} · {self.solved.options['title']}"

    @property
    def mode(self) -> str:
        return self.solved.options.get("mode", "build")

    def cells(self, solved: bool) -> list[Cell]:
        """Card, stub, check and folded hints. Solved, the solution stands in the cell and not under it."""
        facts = {name: value for name, value in self.solved.options.items() if name in ON_A_CARD}
        facts["minutes"] = self.task.minutes if self.task else 0
        card = Cell("card", MARKDOWN, self.solved.line, self.card(), (), facts)
        under = list(self.folded_hints)
        if not solved:
            under.append(folded("Solution", f"```python\n{self.solved.text}\n```"))
        hints = replace(self.hints, text="\n".join(under).rstrip(), lines=())
        cells = [card, self.solved if solved else self.unsolved, self.check, hints]
        shared = {"exercise": self.name, "track": self.solved.track}
        return [replace(cell, options=cell.options | shared) for cell in cells]

    def card(self) -> str:
        """Plain Markdown, so that it looks right in JupyterLab, light and dark, and on GitHub.

        The task stands below the quote, not in it: display formulas do not survive inside a quote.
        """
        facts = [
            f"Difficulty {dots(self.solved.options['difficulty'])}",
            f"Importance {dots(self.solved.options['importance'])}",
            f"about {self.solved.minutes:g} min",
            STARS[self.solved.track],
            *([MODE_WORDS[self.mode]] if self.mode in MODE_WORDS else []),
        ]
        heading = f"> ### Exercise {self.label}\n>\n> {' &nbsp;·&nbsp; '.join(facts)}"
        return f"{heading}\n\n{self.task.text}" if self.task else heading


def dots(level: int) -> str:
    """A level from 1 to 5 as filled dots: ●●○○○."""
    return "●" * level + "○" * (5 - level)


def folded(summary: str, body: str) -> str:
    """A Markdown text folded under one line; `code` in that line is kept, everything else is plain.

    Without the blank lines JupyterLab and GitHub show the inside as raw text. The quote is in HTML, so that
    formulas and fences inside it keep their lines as they are.
    """
    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(summary, quote=False))
    return f"<details><summary>{shown}</summary><blockquote>\n\n{body}\n\n</blockquote></details>\n"


def gather(cells: tuple[Cell, ...]) -> tuple[list[Cell | Exercise], list[LessonError]]:
    """The lesson as plain cells and whole exercises, in order, and every problem met on the way."""
    steps, problems, rest = [], [], list(cells)
    seen: dict[str, int] = {}
    while rest:
        cell, companions = rest.pop(0), []
        while cell.kind == "exercise" and len(companions) < 2 and rest and rest[0].kind in ("check", "hints"):
            companions.append(rest.pop(0))
        name = cell.options.get("exercise")
        try:
            if cell.kind != "exercise":
                check_plain(cell, name, rest)
                steps.append(cell)
                continue
            if name in seen:
                raise LessonError(cell.line, f"the exercise {name!r} is there already, on line {seen[name]}")
            seen[name] = cell.line
            is_task = steps and isinstance(steps[-1], Cell) and steps[-1].options.get("exercise") == name
            steps.append(exercise(len(seen), cell, companions, steps.pop() if is_task else None))
        except LessonError as problem:
            problems.append(problem)
    return steps, problems


def check_plain(cell: Cell, name: str | None, rest: list[Cell]) -> None:
    """A cell outside an exercise holds no solution; a task's text stands right before its exercise."""
    if cell.kind in ("check", "hints"):
        raise LessonError(cell.line, f"this {cell.kind} cell stands alone; first comes its exercise")
    if name and not (rest and rest[0].kind == "exercise" and rest[0].options["exercise"] == name):
        raise LessonError(cell.line, f"this text belongs to the exercise {name!r}, which must come next")
    for number, line in cell.numbered_lines() if cell.form == CODE else []:
        if LIKE_A_MARKER.fullmatch(line.strip()):
            raise LessonError(number, "a solution marker stands only in an exercise cell")


def exercise(number: int, cell: Cell, companions: list[Cell], task: Cell | None) -> Exercise:
    """Put an exercise together from its cells; the first slip in them is raised."""
    name = cell.options["exercise"]
    if [each.kind for each in companions] != ["check", "hints"]:
        raise LessonError(cell.line, f"right after the exercise {name!r} come its check and its hints")
    check, hints = companions
    for each in companions:
        if (other := each.options.get("exercise", name)) != name:
            raise LessonError(each.line, f"this {each.kind} cell is for the exercise {other!r}, not {name!r}")
    called = re.search(r"\bcheck\(\s*[\"'](\w+)", check.text)
    if not called:
        raise LessonError(check.line, f'the check cell does not call check("{name}", ...)')
    if called[1] != name:
        line = check.lines[check.text.count("\n", 0, called.start())]
        raise LessonError(line, f"the check names the exercise {called[1]!r}, not {name!r}")
    return Exercise(number, *split_solution(cell), check, hints, fold_hints(hints), task)


def split_solution(cell: Cell) -> tuple[Cell, Cell, list[tuple[int, str]]]:
    """The exercise cell as the learner gets it, as it is solved, and the lines of the solution alone."""
    text, lines = cell.text + "\n", cell.numbered_lines()
    bug_wanted = cell.options.get("mode") == "bug"
    unsolved, solved, solution, at = [], [], [], 0
    for block in BLOCK.finditer(text):
        first, last = text.count("\n", 0, block.start()), text.count("\n", 0, block.end())
        middle = text.count("\n", 0, block.start("solution"))
        if bug_wanted != bool(block["bug"]):
            message = 'in mode="bug", and only there, `# bug` … `# end bug` stands right before a solution'
            raise LessonError(lines[first][0], message)
        shown = [(lines[first][0], block["indent"] + YOUR_TURN)]
        unsolved += lines[at:first] + (lines[first + 1 : middle - 2] if bug_wanted else shown)
        solved += lines[at:first] + lines[middle : last - 1]
        solution += lines[middle : last - 1]
        at = last
    for number, line in [*unsolved, *solution, *lines[at:]]:
        if LIKE_A_MARKER.fullmatch(line.strip()):
            pairs = "`# solution` … `# end solution`, `# bug` … `# end bug`"
            raise LessonError(number, f"`{line.strip()}` stands alone; markers come in pairs: {pairs}")
    if not any(line.strip() for _, line in solution):
        wanted = "put it between `# solution` and `# end solution`"
        raise LessonError(cell.line, f"the exercise has no solution; {wanted}")
    stub = cell.with_lines(unsolved + lines[at:])
    check_stub(stub)
    return stub, cell.with_lines(solved + lines[at:]), solution


def check_stub(stub: Cell) -> None:
    """The learner's stub must be Python, and must not raise until its function is called."""
    try:
        tree = ast.parse(stub.text)
    except SyntaxError as error:
        line = stub.lines[min(error.lineno or 1, len(stub.lines)) - 1]
        raise LessonError(line, f"without the solution this is not Python: {error.msg}") from None
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for at, (number, line) in enumerate(stub.numbered_lines(), 1):
        if line.strip() == YOUR_TURN and not any(node.lineno <= at <= node.end_lineno for node in functions):
            raise LessonError(number, "a solution outside a function stops the unsolved notebook")


def fold_hints(cell: Cell) -> list[str]:
    """Cut a hints cell at its lines of `---` and fold each hint; its `### heading` becomes its title."""
    cuts = [cut.span() for cut in re.finditer(r"^-{3,} *$", without_fences(cell.text), re.MULTILINE)]
    hints = []
    for (_, start), (end, _) in zip([(0, 0), *cuts], [*cuts, (len(cell.text), 0)], strict=True):
        text, summary = cell.text[start:end].strip(), f"Hint {len(hints) + 1}"
        if text.startswith("### "):
            title, _, text = text.removeprefix("### ").partition("\n")
            summary += f" · {title.strip()}"
        if not text.strip():
            line = cell.lines[cell.text.count("\n", 0, start)]
            raise LessonError(line, "the hint after this line is empty; write it or take out its ---")
        hints.append(folded(summary, text.strip()))
    return hints

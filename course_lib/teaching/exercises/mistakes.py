"""Known mistakes of an exercise, each a few changed lines of its solution, in a text file.

    no-scale: the scores aren't divided by √d_k.
    - / math.sqrt(keys.shape[-1])
    +

    over-d M07: the scores are divided by d_k instead of its square root.
    - math.sqrt(keys.shape[-1])
    + keys.shape[-1]

A mistake has a name, the misconception that it proves (if it proves one), a sentence for the learner, and its
changes: after `-` what the solution has, exactly once, and after `+` what a learner writes instead. Further
lines of a change are indented like the first, and a mistake may have several changes. Lines that start with
`#` are comments. The file is `mistakes/NAME.txt` beside the module with the solution.
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.runtime import PROJECT_ROOT

if TYPE_CHECKING:
    from course_lib.teaching.exercises.exercise import Slip

HEADING = re.compile(r"(?P<name>[\w-]+)(?: (?P<misconception>M\d\d))?: (?P<message>\S.*)")
UNREPAIRED = "unrepaired"  # the mistake of an exercise of mode "bug", which the learner's cell has
FORM = "expected `name: what the learner did.`, or `name M07: …` with a misconception"


class MistakeError(ValueError):
    """A file of mistakes can't be used; the message has its name, the line, and what to do."""


@dataclass(frozen=True)
class Mistake:
    """`changes` are lines of the solution, and the lines that replace them; `where` is the file and line."""

    name: str
    message: str
    misconception: str | None
    changes: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    where: str

    def apply_to(self, text: str, solution: str) -> str:
        """The text of the solution with the changes."""
        for old, new in self.changes:
            text = _replaced(text, old, new, solution, self.where)
        return text


def known_mistakes(solution: Callable) -> tuple[Slip, ...]:
    """The slips in the file of mistakes of this solution, which is a function or a class."""
    from course_lib.teaching.exercises.exercise import Slip  # loads torch, and `build --check` only reads

    return tuple(
        Slip(mistake.name, changed(solution, mistake), mistake.message, mistake.misconception)
        for mistake in _mistakes_of(solution)
        if mistake.name != UNREPAIRED
    )


def unrepaired(solution: Callable) -> Callable:
    """What the learner gets to repair."""
    [bug] = [mistake for mistake in _mistakes_of(solution) if mistake.name == UNREPAIRED]
    return changed(solution, bug)


def _mistakes_of(solution: Callable) -> list[Mistake]:
    module = Path(sys.modules[solution.__module__].__file__)
    return read_mistakes(module.with_name("mistakes") / f"{solution.__name__}.txt")


def read_mistakes(file: Path) -> list[Mistake]:
    """The mistakes in a file.

    >>> file = PROJECT_ROOT / "lessons" / "l08_query_key_value" / "mistakes" / "scaled_attention.txt"
    >>> read_mistakes(file)[1].changes
    ((('math.sqrt(keys.shape[-1])',), ('keys.shape[-1]',)),)
    """
    name = file.relative_to(PROJECT_ROOT).as_posix() if file.is_relative_to(PROJECT_ROOT) else file.name
    if not file.exists():
        raise MistakeError(f"{name} doesn't exist; write it, or remove `known_mistakes` from the exercise")
    blocks: list[list[tuple[int, str]]] = [[]]
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            blocks.append([])
        elif not line.startswith("#"):
            blocks[-1].append((number, line))
    mistakes = [_read_mistake(block, name) for block in blocks if block]
    for number, mistake in enumerate(mistakes):
        if mistake.name in [other.name for other in mistakes[:number]]:
            raise MistakeError(f"{mistake.where}: {mistake.name!r} is there twice; give one another name")
    return mistakes


def _read_mistake(block: list[tuple[int, str]], file: str) -> Mistake:
    where = f"{file}:{block[0][0]}"
    n_words = next((i for i, (_, line) in enumerate(block) if line[0] in "-+"), len(block))
    heading = HEADING.fullmatch(" ".join(line.strip() for _, line in block[:n_words]))
    if not heading:
        raise MistakeError(f"{where}: a mistake has no name or no sentence; {FORM}")
    changes: list[tuple[list[str], list[str]]] = []
    for number, line in block[n_words:]:
        sign, text = line[0], line[2:]
        if sign not in "-+" or line[1:2].strip() or (sign == "+" and not changes):
            found = f"expected a line of the solution after `- `, or a new one after `+ `, but found {line!r}"
            raise MistakeError(f"{file}:{number}: {found}")
        if sign == "-" and (not changes or changes[-1][1]):
            changes.append(([], []))
        changes[-1]["-+".index(sign)].append(text)
    if not changes:
        raise MistakeError(
            f"{where}: {heading['name']!r} changes nothing; add a line with `- ` and one with `+ `"
        )
    pairs = tuple((tuple(old), tuple(new)) for old, new in changes)
    return Mistake(heading["name"], heading["message"], heading["misconception"], pairs, where)


def changed(solution: Callable, mistake: Mistake) -> Callable:
    """The solution with the changes, defined anew beside the other names of its module."""
    module = sys.modules[solution.__module__]
    lines, first = inspect.getsourcelines(solution)
    source = "\n" * (first - 1) + mistake.apply_to("".join(lines), solution.__name__)
    file = f"{module.__file__} ({solution.__name__}, {mistake.name})"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # for its source text
    namespace = dict(vars(module))
    try:
        exec(compile(source, file, "exec"), namespace)
    except SyntaxError as error:
        raise MistakeError(f"{mistake.where}: with {mistake.name!r}, {error.msg}: {error.text}") from None
    return namespace[solution.__name__]


def _replaced(text: str, old: tuple[str, ...], new: tuple[str, ...], solution: str, where: str) -> str:
    """The text with these lines replaced, wherever they are indented alike."""
    found = []
    for indent in {re.match(" *", line)[0] for line in text.splitlines()}:
        before, after = (f"\n{indent}".join(lines) for lines in (old, new))
        for match in re.finditer(re.escape(before), text):
            line = text[text.rfind("\n", 0, match.start()) + 1 :]
            if re.match(" *", line)[0] == indent:
                found.append((match.start(), match.end(), after))
    if len(found) != 1:
        shown, advice = f"`{old[0]}`", "copy it from there" if not found else "add what is before or after it"
        times = f"occurs {len(found)} times in the solution of `{solution}`"
        raise MistakeError(f"{where}: the line to replace {times}: {shown}; {advice}")
    [(start, end, after)] = found
    return text[:start] + after + text[end:]

"""What every exercise has: what is asked, the right answer, and the slips people make."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Slip:
    """A known wrong answer: `wrong` is the function, `message` says what seems to have happened and what to
    do. `misconception` is set only if the slip proves the belief: forgetting the scale proves none."""

    name: str
    wrong: Callable
    message: str
    misconception: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Exercise(ABC):
    """`inputs` are the names of the parameters, or a mapping by name. `library` is what later lessons use for
    a learner who has not passed; without it, the reference. `seconds` is the time limit of a whole check.
    `may_call` are functions of the course that an attempt may call in graded work. `answered_by` names the
    functions and classes of a library that do what the learner is asked to write, such as
    `torch.nn.functional.layer_norm`; in graded work, they give no points (see own_work.py)."""

    name: str
    lesson: str
    inputs: Sequence[str] | Mapping[str, Any]
    reference: Callable | Path
    library: Callable | None = None
    seconds: float = 5.0
    may_call: tuple[Callable, ...] = ()
    answered_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class FileExercise(Exercise):
    """A file to write; the attempt and the reference are paths. `examination` is its kind of Examination."""

    examination: type

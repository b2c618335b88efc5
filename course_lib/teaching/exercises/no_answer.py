"""Why a learner's function gave no answer, in words.

    >>> misuse("double_it", ["numbers"], lambda: 2).headline
    'It cannot be called with `numbers`.'

It cannot be called (`misuse`), or the call came to nothing (`mishap`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from course_lib.teaching.exercises.code_reading import ends_the_session
from course_lib.teaching.exercises.guarded_call import CallResult, Fault
from course_lib.teaching.exercises.verdict import Verdict, listed, paragraphs, wrong

EXIT = "It calls `exit`, which ends the whole session."
LEAVE = "Use `return` to leave a function."
INSIDE = "`check` stands inside the function that it checks: give it a cell of its own."

HINTS = {
    r"shapes cannot be multiplied|inconsistent tensor size|size mismatch, got|inconsistent dimensions": (
        "The shapes do not fit for `@`: is a transpose (`.T`) missing, or are the factors swapped?"
    ),
    r"The size of tensor a .* must match the size of tensor b|not broadcastable": (
        "Two tensors of different shape met: print their `.shape` just before this line. (`.T` turns all "
        "axes round; `.mT` swaps the last two.)"
    ),
    r"maximum recursion depth": "The function calls itself without end.",
    r"name '.*' is not defined|cannot access \w+ variable": (
        "Is the name spelled right, and has the cell that makes it been run?"
    ),
    r"Dimension out of range": "There is no such axis. Count from the back: the last is `dim=-1`.",
    r"to have the same dtype|expected scalar type|must have the same dtype": (
        "Two different number types met: keep everything in the inputs' type, torch.float32."
    ),
    r"Boolean value of Tensor with more than one value|a Tensor with \d+ elements cannot be converted": (
        "A whole tensor stands where one number is wanted: pick one entry, or use `torch.where`."
    ),
    r"unsupported operand type\(s\) for .*(NoneType|ellipsis)": (
        "Something here is still empty: fill in every `...`, and see that your own functions `return`."
    ),
    r"\w+\(\): argument 'input' .* must be Tensor, not (int|float)": (
        "torch's functions want tensors: for a plain number use `math.sqrt(d)`, or `d ** 0.5`."
    ),
}


def misuse(name: str, inputs: Iterable[str], attempt: Any) -> Verdict | None:
    """Whether this can be called at all with the exercise's inputs."""
    if not callable(attempt):
        usage = f'Hand over the function itself, without brackets: `check("{name}", {name})`.'
        return wrong(f"This is not a function but a {type(attempt).__name__}.", usage, "not-a-function")
    if ends_the_session(attempt):
        return wrong(EXIT, LEAVE, "exit")
    try:
        signature = inspect.signature(attempt)
    except (TypeError, ValueError):  # some built-in functions have none: calling will tell
        return None
    wanted, names = list(inputs), list(signature.parameters)
    details = f"Wanted: `{name}({', '.join(wanted)})`. Yours takes `{signature}`."
    if names != wanted and sorted(names) == sorted(wanted):
        return wrong("The parameters are in another order.", details, "parameters")
    try:
        signature.bind(*wanted)
    except TypeError:
        how = f"with {listed(wanted)}" if wanted else "without inputs"
        return wrong(f"It cannot be called {how}.", details, "parameters")
    return None


def mishap(result: CallResult, seconds: float, call_text: str) -> Verdict | None:
    """What kept a call from giving an answer."""
    fault = result.fault
    if result.took_too_long:
        where = f"It was at {fault.place}." if fault and fault.place else ""
        details = paragraphs(where, "Is there a loop that never ends?")
        return wrong(f"It was stopped after {seconds:g} seconds.", details, "too-slow")
    if fault is None:
        return None
    if result.returned:
        return wrong("What it returned cannot be read as numbers.", story(fault), "unreadable")
    if (fault.kind, fault.message) == ("NotImplementedError", "Your turn"):
        still = f"Still there: {fault.place}" if fault.place else ""
        return Verdict("", "not tried", "Write your answer, run its cell, then run this one again.", still)
    if fault.kind == "SystemExit":
        return wrong(EXIT, paragraphs(story(fault), LEAVE), "exit")
    if fault.kind == "CheckInside":
        return wrong(INSIDE, "", "check-inside")
    return wrong(f"It stopped with a `{fault.kind}`.", paragraphs(story(fault), call_text), "raises")


def story(fault: Fault) -> str:
    """What stopped a call: the learner's line, the exception, and a hint where one is known."""
    told = f"{fault.kind}: {fault.message}" if fault.message else fault.kind
    hint = next((hint for pattern, hint in HINTS.items() if re.search(pattern, fault.message)), "")
    return paragraphs(fault.place, told, hint)

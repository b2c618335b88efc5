"""An exception in a learner's code, in a few words: the line, the source, the message, a hint.

>>> print(fault_of(error).words)
line 3: `scores = queries @ keys`

RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x16 and 5x16)

The shapes do not fit for `@`: is a transpose (`.T`) missing, or are the factors swapped?
"""

from __future__ import annotations

import linecache
import re
import sysconfig
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

LONGEST_MESSAGE = 400

OUR_FILES = str(Path(__file__).resolve().parent.parent)
NOT_THE_LEARNERS = (
    OUR_FILES,
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen",
    "<__array_function__",
)

HINTS = {
    r"shapes cannot be multiplied|inconsistent tensor size|size mismatch, got|inconsistent dimensions": (
        "The shapes do not fit for `@`: is a transpose (`.T`) missing, or are the factors swapped?"
    ),
    r"The size of tensor a .* must match the size of tensor b|not broadcastable": (
        "Two tensors of different shape met: print their `.shape` just before this line. (`.T` turns all "
        "axes round; `.mT` swaps the last two.)"
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


@dataclass(frozen=True)
class Fault:
    """What stopped a call: the exception's class by name, the learner's line, and the story in words."""

    kind: str
    place: str
    words: str
    story: str = ""
    is_stub: bool = False


def fault_of(error: BaseException) -> Fault:
    """Everything worth telling about an exception; the exception itself is not kept."""
    kind, place, message = type(error).__name__, _place(error), message_of(error)
    story = f"{kind}: {message}" if message else kind
    words = "\n\n".join(filter(None, [place, story, _hint(error, message)]))
    is_stub = isinstance(error, NotImplementedError) and message == "Your turn"
    return Fault(kind, place, words, story, is_stub)


def _place(error: BaseException) -> str:
    """The innermost line that the learner wrote, not torch's or the course's: `line 3: return x @ y`."""
    walk = traceback.walk_tb(error.__traceback__)
    frames = [(frame.f_code, line) for frame, line in walk if _is_learners(frame.f_code)]
    if not frames:
        return ""
    code, line = frames[-1]
    source = linecache.getline(code.co_filename, line).strip()
    return f"line {line}: `{source}`" if source else f"line {line} of `{code.co_name}`"


def _is_learners(code: CodeType) -> bool:
    return not code.co_filename.startswith(NOT_THE_LEARNERS)


def message_of(error: BaseException) -> str:
    """What it says, cut to a readable length."""
    try:
        message = str(error).strip()
    except Exception:  # a learner's own exception class may fail even at this
        return "(its message cannot be shown)"
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + " …"


def _hint(error: BaseException, message: str) -> str | None:
    if isinstance(error, RecursionError):
        return "The function calls itself without end."
    if isinstance(error, NameError):
        return "Is the name spelled right, and has the cell that makes it been run?"
    return next((hint for pattern, hint in HINTS.items() if re.search(pattern, message)), None)

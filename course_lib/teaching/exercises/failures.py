"""Why a call of a learner's function gave no answer, and what to do about it.

>>> failure = Failure("IndexError", "line 3: `return x[n]`", "list index out of range")
>>> explain_failure(CallResult(failure=failure), seconds=5).headline
'Your function raised an `IndexError`.'
"""

from __future__ import annotations

import re

from course_lib.teaching.exercises.guarded_call import CallResult, Failure, allowed_gib, earlier_call_runs_on
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, with_article, wrong_verdict

RUNS_ON = (
    "It couldn't be stopped, because it is inside one long operation. That goes on in the background and may "
    "slow down everything else. Restart the kernel to end it."
)
ENDLESS = "Is there an infinite loop, or does it do far more work than it has to?"
EARLIER_RUNS_ON = (
    "A function from an earlier check is still running in the background, which may be the reason. Restart "
    "the kernel to end it."
)
EXIT = "Your function calls `exit`, which ends the whole session."
LEAVE = "Use `return` to leave a function early."
NO_SUPER = "A module is created without calling `super().__init__()`."
NO_SUPER_ADVICE = (
    "`nn.Module` needs its own `__init__` to run before you assign parameters or other modules to `self`. "
    "Make `super().__init__()` the first line of each `__init__`."
)
INSIDE = "Your function calls `check`. Move that call out of the function, into a cell of its own."

HINTS = {  # what to do about an exception, by a pattern of its class and message
    r"shapes cannot be multiplied|inconsistent tensor size|size mismatch, got|inconsistent dimensions": (
        "These shapes don't fit `@`. Are these the right tensors, in the right order? Is a transpose (`.T`) "
        "missing or unnecessary?"
    ),
    r"The size of tensor a .* must match the size of tensor b|not broadcastable": (
        "The shapes of these two tensors can't be broadcast. Print their `.shape` just before this line. "
        "If you transpose one: `.T` reverses all axes, `.mT` swaps only the last two."
    ),
    r"The shape of the mask .* does not match": (
        "Indexing with a boolean tensor doesn't broadcast: its shape must be that of the indexed tensor. "
        "`masked_fill` and `torch.where` do broadcast."
    ),
    r"math domain error": (
        "`math.log` needs a number above 0, and `math.sqrt` can't take a negative one. Print the argument."
    ),
    r"ZeroDivisionError": (
        "The divisor is 0. Should it be? A product of many small numbers, for example, is rounded to 0."
    ),
    r"maximum recursion depth": "The function calls itself again and again without stopping.",
    r"name '.*' is not defined|cannot access \w+ variable": (
        "Is the name spelled correctly, and have you run the cell that defines it?"
    ),
    r"Dimension out of range": "The tensor has no such axis. The last one is always `dim=-1`.",
    r"to have the same dtype|expected scalar type|must have the same dtype": (
        "Two different dtypes are mixed here. Keep everything in the dtype of the inputs, torch.float32."
    ),
    r"Boolean value of Tensor with more than one value|a Tensor with \d+ elements cannot be converted": (
        "A whole tensor is used where a single number or a condition is needed. Select one element, or use "
        "`torch.where`; instead of `max(0, x)`, write `x.clamp(min=0)`. To ask whether there is a mask at "
        "all, write `mask is not None`."
    ),
    r"first two dimensions of batch2 tensor": (
        "These shapes don't fit: the last axis of the left tensor must be as long as the second to last of "
        "the right one. To multiply every row of `x` by a matrix `w` of shape (out, in), write `x @ w.T`."
    ),
    r"batch[12] must be a 3D tensor": (
        "`torch.bmm` needs exactly one axis in front of the matrices. `@` works with any number of them."
    ),
    r"(not enough|too many) values to unpack": (
        "There are more or fewer values on the right than names on the left. Print the right-hand side."
    ),
    r"unhashable type: '(list|dict|set)'": (
        "A list can't be a key of a dictionary or an element of a set, not even inside a tuple. Use a tuple "
        "of strings or numbers: `tuple(words)`."
    ),
    r"unsupported operand type\(s\) for .*(NoneType|ellipsis)": (
        "A value is missing here. Fill in every `...`, and make sure your own functions `return` something."
    ),
    r"unsupported operand type\(s\) for .*'tuple'": (
        "A function that returns several things returns a tuple. Select the one you need: `f(x)[0]`."
    ),
    r"'Tensor' object is not callable": (
        "A tensor is called like a function. If a function is expected as an argument, pass the function "
        "(`layer` or a `lambda`), not its result (`layer(x)`)."
    ),
    r"modified by an inplace operation|in-place operation": (
        "A tensor that gradients need is changed in place: by `+=` or `x[…] = …`, or by a method that ends "
        "in `_`. Create a new one instead: `x = x + …`, `torch.where`, `masked_fill`."
    ),
    r"missing \d+ required positional argument": (
        "A function is called with fewer arguments than it needs. Compare the call with its definition; a "
        "`lambda` can supply the others: `lambda x: f(x, y)`."
    ),
    r"\.forward\(\) takes 1 positional argument but 2 were given": (
        "The first parameter of a method is `self`: `def forward(self, x):`."
    ),
    r"\w+\(\): argument 'input' .* must be Tensor, not (int|float)": (
        "torch functions expect tensors. For a plain number, use Python's `math`: `math.sqrt`, `math.exp`, …"
    ),
}


def explain_failure(result: CallResult, seconds: float, call_text: str = "") -> Verdict | None:
    """Why a call gave no answer; None if it gave one. `call_text` says what it was called with."""
    failure = result.failure
    if result.timed_out:
        position = f"It was still busy in {failure.line}." if failure and failure.line else ""
        earlier = EARLIER_RUNS_ON if earlier_call_runs_on() else ""
        reasons = (RUNS_ON,) if result.runs_on else (ENDLESS, earlier)
        details = join_paragraphs(position, *reasons)
        headline = f"Your function took longer than {seconds:g} seconds."
        return wrong_verdict(headline, details, "too-slow")
    if failure is None:
        return None
    if result.returned:
        details = describe_failure(failure)
        return wrong_verdict("The return value can't be read as numbers.", details, "unreadable")
    if (failure.exception, failure.message) == ("NotImplementedError", "Your turn"):
        stub = f"Replace {failure.line}" if failure.line else ""
        return Verdict("", "not tried", "Write your answer, run that cell, then run this one again.", stub)
    if failure.exception == "SystemExit":
        return wrong_verdict(EXIT, join_paragraphs(describe_failure(failure), LEAVE), "exit")
    if failure.exception == "CheckInside":
        return wrong_verdict(INSIDE, "", "check-inside")
    if "Module.__init__() call" in failure.message:
        return wrong_verdict(NO_SUPER, NO_SUPER_ADVICE, "no-super")
    details = join_paragraphs(describe_failure(failure), call_text)
    if failure.exception == "MemoryError" or re.search("allocate memory|not enough memory", failure.message):
        headline = f"Your function was stopped because it needs more than {allowed_gib():.2g} GiB of memory."
        advice = "Does a list grow in a loop, or does a tensor have far too many elements?"
        return wrong_verdict(headline, join_paragraphs(failure.line, advice), "too-much-memory")
    headline = f"Your function raised {with_article(f'`{failure.exception}`')}."
    return wrong_verdict(headline, details, "raises")


def describe_failure(failure: Failure) -> str:
    """The learner's line, the exception, and a hint if there is one."""
    text = f"{failure.exception}: {failure.message}" if failure.message else failure.exception
    hint = next((hint for pattern, hint in HINTS.items() if re.search(pattern, text)), "")
    return join_paragraphs(failure.line, text, hint)

"""Whether a learner's module has the parameters it should have, and if not, why.

    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.ones(3)             # a plain tensor: torch doesn't see it
    >>> compare_parameters(Scale(), {"weight": torch.ones(3)}).slip
    'plain-tensor'

Lessons 13 and 14 use it before they load trained weights with `load_state_dict(..., strict=True)`, whose own
error message is hard to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from course_lib.formatting import shape_text
from course_lib.teaching.exercises.failures import NO_SUPER, NO_SUPER_ADVICE
from course_lib.teaching.exercises.verdict import (
    Verdict,
    join_paragraphs,
    name_some,
    with_article,
    wrong_verdict,
)

MOST_NAMES = 6  # in a sentence
CONTAINERS = {list: "nn.ModuleList", tuple: "nn.ModuleList", dict: "nn.ModuleDict"}


def explain_class(name: str, attempt: Any) -> Verdict | None:
    """Why this isn't a module class at all; None if it is one."""
    usage = f'Pass the class itself, without parentheses after it: `check("{name}", {name})`.'
    if isinstance(attempt, nn.Module):
        headline = "`check` expects a class, but got an instance of one."
        return wrong_verdict(headline, usage, "instance")
    if not isinstance(attempt, type):
        headline = f"`check` expects a class, but got {with_article(type(attempt).__name__)}."
        return wrong_verdict(headline, f"Write `class {name}(nn.Module):`. {usage}", "not-a-class")
    if not issubclass(attempt, nn.Module):
        headline = f"`{attempt.__name__}` isn't a subclass of `nn.Module`."
        return wrong_verdict(headline, f"Write `class {name}(nn.Module):`.", "not-a-module")
    return None


def compare_parameters(module: nn.Module, expected: Mapping[str, Tensor]) -> Verdict | None:
    """What is wrong with the names and shapes of a module's parameters; None if all are as expected."""
    if isinstance(module, nn.Module) and "_parameters" not in vars(module):
        return wrong_verdict(NO_SUPER, NO_SUPER_ADVICE, "no-super")
    own = module.state_dict()
    missing = [name for name in expected if name not in own]
    unexpected = [name for name in own if name not in expected]
    if missing:
        for name in missing:
            if cause := _explain_missing(module, name):
                return cause
    if missing or unexpected:
        lists = {"Missing": missing, "Unexpected": unexpected}
        texts = [f"{title}: {name_some(names, MOST_NAMES)}." for title, names in lists.items() if names]
        advice = "The names come from the attributes: `self.inner = nn.Linear(…)` gives `inner.weight`."
        headline = "The names of the parameters aren't those of the trained model."
        return wrong_verdict(headline, join_paragraphs(*texts, advice), "parameter-names")
    for name, tensor in expected.items():
        if own[name].shape != tensor.shape:
            got, wanted = shape_text(own[name].shape), shape_text(tensor.shape)
            headline = f"`{name}` has shape {got}, but {wanted} is expected."
            advice = "Weight matrices are (out, in), and `nn.Linear(a, b)` maps from width a to width b."
            return wrong_verdict(headline, advice, "parameter-shape")
    return _find_untrained(module, list(expected))


def _find_untrained(module: nn.Module, names: list[str]) -> Verdict | None:
    parameters = dict(module.named_parameters(remove_duplicate=False))
    if buffers := [name for name in names if name not in parameters]:
        headline = f"{name_some(buffers)} can't be trained: it is a buffer, not a parameter."
        return wrong_verdict(headline, "Use `nn.Parameter(...)`.", "buffer")
    if frozen := [name for name in names if not parameters[name].requires_grad]:
        headline = f"{name_some(frozen)} can't be trained: `requires_grad` is False."
        return wrong_verdict(headline, "Leave `requires_grad` as it is.", "frozen")
    return None


def _explain_missing(module: nn.Module, name: str) -> Verdict | None:
    """Why a parameter isn't registered, if the attributes on the way to it explain that."""
    value, path = module, ""
    for part in name.split("."):
        if type(value) in CONTAINERS:
            kind, registered = type(value).__name__, CONTAINERS[type(value)]
            headline = f"`{path}` is a Python {kind}, so torch doesn't see the modules in it."
            return wrong_verdict(headline, f"Use `{registered}(...)`.", "unregistered-container")
        value, path = getattr(value, part, None), f"{path}.{part}".strip(".")
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        headline = f"`{path}` is a plain tensor, so torch doesn't know that it should be trained."
        details = (
            "It is neither in `parameters()` nor in `state_dict()`. Wrap it: `nn.Parameter(torch.empty(…))`."
        )
        return wrong_verdict(headline, details, "plain-tensor")
    return None

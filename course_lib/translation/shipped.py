"""A shipped system, ready to translate: what lessons load.

    >>> transformer = load_shipped("transformer")
    >>> transformer("The cat sleeps.").target
    'le chat dort'

A sentence may be typed as people type: capitals and full stops do no harm. What is not known is in `.notes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from course_lib.models.translator import Translator
from course_lib.runtime import shipped_weights
from course_lib.text.tokenizer import Tokenizer
from course_lib.training.checkpoint import load_system
from course_lib.translation.pipeline import Translation, translate


@dataclass(frozen=True)
class Shipped:
    """Call it with a sentence."""

    name: str
    model: Translator
    tokenizer: Tokenizer

    def __call__(self, text: str, *, beam: int = 1, with_weights: bool = False) -> Translation:
        (found,) = translate([text], self.model, self.tokenizer, beam=beam, with_weights=with_weights)
        return found


def load_shipped(name: str) -> Shipped:
    """The system of that name from data/checkpoints, as the museum has it: a copy of one's own."""
    saved = load_system(shipped_weights(name))
    return Shipped(name, saved.model, saved.tokenizer)


@cache
def shared(name: str) -> Shipped:
    """The same, one copy for all who only look at it."""
    return load_shipped(name)

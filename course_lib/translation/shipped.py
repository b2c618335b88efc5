"""The trained systems that come with the course, ready to translate.

    >>> transformer = load_shipped("transformer")
    >>> transformer("The cat sleeps.").target
    'le chat dort'

Capitals and punctuation are handled by `clean_text`. Unknown words are reported in `.notes`.
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
    """A trained system with its tokenizer; call it with a sentence."""

    name: str
    model: Translator
    tokenizer: Tokenizer

    def __call__(self, text: str, *, beam: int = 1, with_weights: bool = False) -> Translation:
        (translation,) = translate([text], self.model, self.tokenizer, beam=beam, with_weights=with_weights)
        return translation


def load_shipped(name: str) -> Shipped:
    """Load the system with this name from data/checkpoints; each call returns a new copy."""
    saved = load_system(shipped_weights(name))
    return Shipped(name, saved.model, saved.tokenizer)


@cache
def shared(name: str) -> Shipped:
    """`load_shipped`, cached: one copy for all callers that don't modify it."""
    return load_shipped(name)

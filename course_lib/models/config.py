"""The configuration fields that all systems share, and the checks of all fields.

    >>> Config(vocab_size=500, dropout=1.5)
    Traceback (most recent call last):
    ValueError: Expected dropout of at least 0 and below 1, but got 1.5. ...

Each system's file defines a subclass with its own sizes. A configuration contains only numbers and strings,
so it can be stored in a checkpoint's JSON.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import get_args, get_type_hints

LARGEST = 10**6  # of every size, since a stranger's checkpoint may contain any number
ACCEPTED_TYPES = {"int": (int,), "float": (int, float), "bool": (bool,)}


@dataclass(frozen=True, kw_only=True)
class Config:
    """The fields of every system.

    Both languages share one vocabulary, as in the 2017 paper; the older papers had one for each.
    With `tied`, source embeddings, target embeddings and the output layer share one matrix.
    `max_len` is the length of the longest sentence, in tokens including BOS or EOS.
    """

    vocab_size: int
    dropout: float = 0.0
    tied: bool = True
    max_len: int = 256

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if field.type in ACCEPTED_TYPES and type(value) not in ACCEPTED_TYPES[field.type]:
                raise TypeError(f"Expected {name} to be of type {field.type}, but got {value!r}.")
            if field.type == "float" and "dropout" in name and not 0 <= value < 1:
                raise ValueError(
                    f"Expected {name} of at least 0 and below 1, but got {value}. "
                    "It is the fraction of values set to 0 during training: 0.1 drops one in ten."
                )
            if field.type == "float" and "dropout" not in name and not 0 < value < math.inf:
                raise ValueError(f"Expected {name} to be a number above 0, but got {value}.")
            if field.type != "float" and type(value) is int and not 1 <= value <= LARGEST:
                bound = "at least 1" if value < 1 else f"at most {LARGEST:,}"
                raise ValueError(f"Expected {name} of {bound}, but got {value}.")
            if field.type.startswith("Literal"):
                choices = get_args(get_type_hints(type(self))[name])
                if value not in choices:
                    raise ValueError(f"Expected {name} to be one of {', '.join(choices)}, but got {value!r}.")

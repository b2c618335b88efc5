"""What every system's configuration has, and what is checked before anything is built.

    >>> Config(vocab_size=500, dropout=1.5)
    Traceback (most recent call last):
    ValueError: Expected dropout of at least 0 and below 1, but got 1.5. ...

A system's own file adds its sizes in a frozen dataclass of its own. A configuration is plain numbers
and words, so it goes into a checkpoint's JSON as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

NUMBERS = {"int": (int,), "float": (int, float), "bool": (bool,)}  # what may stand for what


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes and switches shared by all systems.

    One vocabulary serves both languages, as in the 2017 paper; the older papers had one for each.
    `tied` lets one table embed source words and target words and score the next word.
    `max_len` is the longest sentence, in tokens with BOS or EOS, that the system is built for.
    """

    vocab_size: int
    dropout: float = 0.0
    tied: bool = True
    max_len: int = 256

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type in NUMBERS and type(value) not in NUMBERS[field.type]:
                raise TypeError(f"Expected {field.name} to be of type {field.type}, but got {value!r}.")
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise ValueError(f"Expected {field.name} of at least 1, but got {value}.")
        if not 0 <= self.dropout < 1:
            raise ValueError(
                f"Expected dropout of at least 0 and below 1, but got {self.dropout}. "
                "It is the share of numbers that training drops: 0.1 drops one in ten."
            )

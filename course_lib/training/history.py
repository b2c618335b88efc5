"""What a run has been through: one record for each look at the validation set.

>>> history = History()
>>> history.add(Record(step=100, epoch=1, rate=1e-3, train_loss=3.2, loss=3.0, seconds=8.5))
>>> history.add(Record(step=200, epoch=2, rate=1e-3, train_loss=2.1, loss=3.1, seconds=16.9))
>>> history.best.step, history.looks_since_best
(100, 1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Record:
    """The state of things after a step. Losses are means over tokens, in nats.

    `train_loss` is of the batches since the last record, with dropout and smoothing on; `loss` is of the
    validation set without either. `seconds` is the time spent since the run began, pauses left out.
    """

    step: int
    epoch: int
    rate: float
    train_loss: float
    loss: float
    seconds: float
    n_tokens: int = 0
    averaged: bool = False


class History:
    """The records of a run, oldest first."""

    def __init__(self, records: Iterable[Record] = ()):
        self.records = list(records)

    def add(self, record: Record) -> None:
        self.records.append(record)

    @property
    def best(self) -> Record | None:
        """The record with the lowest validation loss; of equals the first. No number, no loss."""
        numbers = [record for record in self.records if not math.isnan(record.loss)]
        return min(numbers, key=lambda record: record.loss, default=None)

    @property
    def diverged(self) -> bool:
        """Whether the last losses, in training and on the validation set, are no numbers any more."""
        last = self.records[-1:]
        return bool(last) and not (math.isfinite(last[0].loss) or math.isfinite(last[0].train_loss))

    @property
    def looks_since_best(self) -> int:
        """How often validation was no better since."""
        return 0 if self.best is None else len(self.records) - 1 - self.records.index(self.best)

    def to_json(self) -> list[dict]:
        return [asdict(record) for record in self.records]

    @classmethod
    def from_json(cls, records: list[dict]) -> History:
        """What `to_json` made."""
        for record in records:
            if wrong := [name for name, value in record.items() if not isinstance(value, int | float)]:
                raise TypeError(f"Expected numbers in a record, but {wrong[0]} is {record[wrong[0]]!r}.")
        return cls(Record(**record) for record in records)

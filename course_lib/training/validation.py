"""Validation: the loss on sentences that are not trained on, and the records of a run, one for each.

>>> history = History()
>>> history.add(Record(step=100, epoch=1, rate=1e-3, train_loss=3.2, loss=3.0, seconds=8.5))
>>> history.add(Record(step=200, epoch=2, rate=1e-3, train_loss=2.1, loss=3.1, seconds=16.9))
>>> history.best.step, history.validations_since_best
(100, 1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice

import torch
from torch import nn

from course_lib.runtime import for_sums
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus
from course_lib.training.objective import Objective
from course_lib.training.processes import ALONE, Processes


def mean_loss(
    model: nn.Module,
    corpus: EncodedCorpus,
    objective: Objective,
    *,
    tokens_per_batch: int,
    bfloat16: bool = False,
    processes: Processes = ALONE,
) -> float:
    """The mean loss over all that counts in the corpus, without dropout; no sentence is too long for it.

    Several processes share the batches, and all get the same number: they must agree on when to stop.
    """
    was_training = model.training
    model.eval()
    device = corpus.device
    tokens_per_batch = max(tokens_per_batch, *map(max, corpus.lengths))
    total = torch.zeros(2, dtype=for_sums(device), device=device)
    try:
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
            batches = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0).one(epoch=0)
            for batch in islice(batches, processes.rank, None, processes.n):
                loss, n_counted = objective(model, batch)
                total += torch.stack([loss.to(total.dtype), n_counted.to(total.dtype)])
    finally:
        model.train(was_training)
    total = processes.add_up(total)
    return float(total[0] / total[1])


@dataclass(frozen=True, kw_only=True)
class Record:
    """One validation, after a step. Losses are means over tokens, in nats.

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
    def validations_since_best(self) -> int:
        """How often validation was no better since."""
        return 0 if self.best is None else len(self.records) - 1 - self.records.index(self.best)

    def to_json(self) -> list[dict]:
        return [asdict(record) for record in self.records]

    @classmethod
    def from_json(cls, records: list[dict]) -> History:
        """What `to_json` made."""
        return cls(Record(**record) for record in records)

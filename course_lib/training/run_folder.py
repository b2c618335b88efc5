"""The records and the state of a run, and the folder that it is saved to.

    runs/toy_transformer/
        last.safetensors        weights, optimizer state, averaged weights, history: to resume from
        best.safetensors        the weights with the lowest validation loss: to load and use

Both are written completely or not at all, `last` first. A run that is killed at any moment resumes from
`last` and ends with the same weights as an uninterrupted one. If it was killed between the two writes, `last`
holds the weights that `best` should have.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal

import torch
from filelock import FileLock, Timeout
from torch import Tensor

from course_lib.models.config import Config
from course_lib.models.registry import config_to_json
from course_lib.training.checkpoint import (
    TOKENIZERS,
    About,
    CheckpointError,
    load_checkpoint,
    machine,
    read_about,
    save_checkpoint,
    versions,
)
from course_lib.training.data import TrainingData
from course_lib.training.recipe import Recipe
from course_lib.training.step import parts_of

# A run is resumed only if these are the same. "objective" is for one that the recipe doesn't determine.
SAME = ("data", "config", "tokenizer", "recipe", "objective")
# Fields of the recipe that may differ, so that a finished run can be continued with more steps.
SCHEDULE = ("n_steps", "warm_up", "validate_every", "average_every", "patience")
DIFFERENT = {
    "data": "different data",
    "config": "a different configuration",
    "tokenizer": "a different tokenizer",
    "recipe": "different hyperparameters",
    "objective": "a different objective",
}
NEEDS = ("data", "config", "tokenizer", "recipe", "history")  # fields of the header of a run's checkpoint
STANDING = ("step", "position", "seconds", "since", "n_averaged")  # fields of a RunState saved in the header
Ended = Literal["finished", "stopped", "diverged"]
RESTART = "Choose another folder with --folder, or start again in this one with --restart."


@dataclass(frozen=True, kw_only=True)
class Record:
    """One validation, after a step. Losses are means over tokens, in nats.

    `train_loss` is that of the batches since the last record, with dropout and label smoothing; `loss` is
    that of the validation set, without either. `seconds` is the training time, without pauses. `scores` are
    additional measurements, and translations to show.
    """

    step: int
    epoch: int
    rate: float
    train_loss: float
    loss: float
    seconds: float
    n_tokens: int = 0
    averaged: bool = False
    scores: Mapping[str, float | list[str]] = field(default_factory=dict)


class History(list[Record]):
    """The records of a run, oldest first.

    >>> first = Record(step=100, epoch=1, rate=1e-3, train_loss=3.2, loss=3.0, seconds=8.5)
    >>> second = Record(step=200, epoch=2, rate=1e-3, train_loss=2.1, loss=3.1, seconds=16.9)
    >>> History([first, second]).best.step
    100
    """

    @property
    def best(self) -> Record | None:
        """The first record with the lowest validation loss; NaN doesn't count."""
        records = [record for record in self if not math.isnan(record.loss)]
        return min(records, key=lambda record: record.loss, default=None)

    @property
    def since_best(self) -> int:
        """The number of validations after the best one."""
        return len(self) - 1 - self.index(self.best) if self.best else len(self)

    @property
    def diverged(self) -> bool:
        """Whether the last training loss and the last validation loss are NaN or infinite."""
        return bool(self) and not (math.isfinite(self[-1].loss) or math.isfinite(self[-1].train_loss))

    def to_json(self) -> list[dict]:
        """The records as dicts, the inverse of `from_json`; empty scores are left out."""
        records = [asdict(record) for record in self]
        return [
            {key: value for key, value in fields.items() if key != "scores" or value} for fields in records
        ]

    @classmethod
    def from_json(cls, records: list[dict]) -> History:
        """The records that `to_json` made; fields of a later version are ignored."""
        names = {field.name for field in fields(Record)}
        return cls(Record(**{name: saved[name] for name in names & saved.keys()}) for saved in records)


@dataclass
class RunState:
    """The state of a run between two steps, without its current weights and optimizer state.

        >>> state = RunState()
        >>> state.add_to_average({"w": torch.tensor([1.0])})
        >>> state.add_to_average({"w": torch.tensor([3.0])})
        >>> state.average["w"]
        tensor([2.])

    Late in a run the weights fluctuate around a good solution, because each batch has a different gradient.
    Their mean is closer to it and often translates better than any of them.
    """

    step: int = 0
    position: tuple[int, int] = (0, 0)  # of the next batch
    seconds: float = 0.0
    since: tuple[float, float] = (0.0, 0.0)  # loss and tokens since the last record
    history: History = field(default_factory=History)
    best: dict[str, Tensor] = field(
        default_factory=dict
    )  # the weights with the lowest validation loss so far
    average: dict[str, Tensor] = field(default_factory=dict)
    n_averaged: int = 0
    ended: Ended | None = None
    n_left_out: int = 0  # pairs too long for a batch, or for the largest fixed shape

    @property
    def best_is_new(self) -> bool:
        """Whether the last validation was the best, and at the current step."""
        return self.history.best is not None and self.history.best.step == self.step

    @torch.no_grad()
    def add_to_average(self, weights: Mapping[str, Tensor]) -> None:
        """Update the running mean, which needs memory for only one set of weights."""
        self.n_averaged += 1
        for name, tensor in weights.items():
            mean = self.average.get(name, tensor).to(tensor.device)  # after loading it is on the CPU
            is_count = not tensor.is_floating_point()  # such as a number of batches, which isn't averaged
            self.average[name] = tensor.clone() if is_count else mean.lerp(tensor, 1 / self.n_averaged)


class RunFolder:
    """The folder of a run that `about` describes; a folder that holds another run is an error.

    With `restart`, the files of an earlier run stay until the new one overwrites them.
    """

    def __init__(self, folder: Path | str, about: About, *, restart: bool = False):
        self.folder, self.about, self.restart = Path(folder), about, restart
        self.last, self.best = self.folder / "last.safetensors", self.folder / "best.safetensors"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for other processes, and delete what a killed one left partly written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.folder / ".lock", timeout=0):
                for unfinished in self.folder.glob(".*.safetensors.*"):
                    unfinished.unlink()
                yield
        except Timeout:
            raise CheckpointError(
                f"Another process is training in {self.folder}. "
                "Wait for it to finish, or choose another folder."
            ) from None

    def save(self, state: RunState, tensors: Mapping[str, Tensor]) -> None:
        """Save the state, then the best weights if they are new; before any validation, the current ones."""
        named = {f"step.{name}": tensor for name, tensor in tensors.items()}
        named |= {f"average.{name}": tensor for name, tensor in state.average.items()}
        standing = {name: getattr(state, name) for name in STANDING}
        about = self.about | {"history": state.history.to_json(), "standing": standing}
        save_checkpoint(self.last, named, about)
        if state.best_is_new or not state.history:
            self.save_best(state.best or parts_of(tensors, "weights"), state.history)
        elif self.restart and state.history.best is None:  # it diverged, so this file is an earlier run's
            self.best.unlink(missing_ok=True)

    def save_best(self, weights: Mapping[str, Tensor], history: History) -> None:
        save_checkpoint(self.best, weights, self.about | {"history": history.to_json()})

    def has_best(self, record: Record) -> bool:
        """Whether the weights of this record are saved as the best ones. A damaged file is put aside."""
        if not self.best.exists():
            return False
        try:
            return _best_step(load_checkpoint(self.best, needs=NEEDS)[1]) == record.step
        except CheckpointError:
            damaged = self.best.replace(self.best.with_name("damaged_best.safetensors"))
            print(
                f"{self.best} was damaged, and is now {damaged.name}. {self.last.name} has the same weights."
            )
            return False

    def resumed_at(self) -> int:
        """The step from which this run would resume, or 0; an error if the folder holds another run."""
        if self.restart:
            return 0
        if self.last.exists():
            with _suggesting_restart():
                about = read_about(self.last, needs=NEEDS)
            if about.get("standing") is None:
                raise CheckpointError(f"{self.last} contains weights, but no run to resume. {RESTART}")
            self._check_same_run(self.last, about)
            return about["standing"]["step"]
        if self.best.exists():
            raise CheckpointError(
                f"{self.best} contains the weights of a run that can't be resumed, because {self.last.name} "
                f"is missing. They were not overwritten. {RESTART}"
            )
        return 0

    def load(self) -> tuple[RunState, dict[str, Tensor]] | None:
        """The state of the run and the tensors of its step; None if there is no run to resume."""
        if not self.resumed_at():
            return None
        with _suggesting_restart():
            tensors, about = load_checkpoint(self.last, needs=NEEDS)
        standing = about["standing"]
        state = RunState(
            **{name: standing[name] for name in STANDING},
            history=History.from_json(about["history"]),
            average=parts_of(tensors, "average"),
        )
        if state.best_is_new:
            averaged = state.history.best.averaged
            state.best = dict(state.average) if averaged else parts_of(tensors, "step.weights")
        elif state.history.best:
            with _suggesting_restart():
                state.best, about_best = load_checkpoint(self.best, needs=NEEDS)
            self._check_same_run(self.best, about_best)
            best_step = state.history.best.step
            if _best_step(about_best) != best_step:
                raise CheckpointError(
                    f"{self.best} doesn't belong to {self.last.name}, whose best step was {best_step:,}. "
                    f"{RESTART}"
                )
        if about["recipe"]["n_steps"] != self.about["recipe"]["n_steps"]:
            state.average, state.n_averaged = {}, 0  # a longer run averages weights from later steps
        return state, parts_of(tensors, "step")

    def _check_same_run(self, path: Path, about: About) -> None:
        own = json.loads(json.dumps(self.about))  # as it would come from a file
        schedule = {name: own["recipe"][name] for name in SCHEDULE}
        try:
            recipe = asdict(Recipe.from_json(about["recipe"]))
        except ValueError as error:
            raise CheckpointError(f"{path} has an invalid recipe: {error} {RESTART}") from error
        saved = about | {"recipe": recipe | schedule}
        saved["data"] = about["data"] | {"name": own["data"]["name"]}  # a moved corpus is still the same one
        for key in SAME:
            old, new = saved.get(key, {}), own.get(key, {})
            if old != new:
                differences = "; ".join(
                    f"{name}: {old.get(name)!r:.40} in the file, {new.get(name)!r:.40} now"
                    for name in {**new, **old}
                    if old.get(name) != new.get(name)
                )
                raise CheckpointError(
                    f"{path} is from a run with {DIFFERENT[key]} ({differences}). {RESTART}"
                )


@contextmanager
def _suggesting_restart() -> Iterator[None]:
    """Say how to train anyway, where a checkpoint can't be used."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{error} {RESTART}") from error


def _best_step(about: About) -> int | None:
    """The step with the lowest validation loss in a checkpoint's history."""
    best = History.from_json(about["history"]).best
    return best and best.step


def describe(name: str, config: Config, recipe: Recipe, data: TrainingData, *, command: str = "") -> About:
    """The metadata of a run and its checkpoints, without the history."""
    (kind,) = (kind for kind, cls in TOKENIZERS.items() if isinstance(data.tokenizer, cls))
    return {
        "config": config_to_json(name, config),
        "recipe": asdict(recipe),
        "tokenizer": {"kind": kind, "text": data.tokenizer.to_text()},
        "data": {"name": data.name, "fingerprint": data.fingerprint},
        "versions": versions(),
        "machine": machine(data.train.device),
        "command": command,
    }

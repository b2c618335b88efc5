"""A run between two steps: its records, its state, and the folder that keeps both.

    runs/toy_transformer/
        last.safetensors        weights, optimizer state, averaged weights, history: all to go on from here
        best.safetensors        the weights that did best on the validation set: what others load

Both are written whole or not at all, `last` first. A run that is killed at any moment goes on from `last`,
and ends with the same weights as one that never stopped. Killed between the two, it finds in `last` what
`best` should have been: the weights of a step that has just turned out the best.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import torch
from filelock import FileLock, Timeout
from torch import Tensor

from course_lib.training.checkpoint import (
    About,
    CheckpointError,
    load_checkpoint,
    read_about,
    save_checkpoint,
)
from course_lib.training.recipe import Recipe
from course_lib.training.step import parts_of

# What makes two runs one. The usual objectives follow from the recipe; one of your own may describe itself.
SAME = ("data", "config", "tokenizer", "recipe", "objective")
# Of the recipe, what a run with more steps has otherwise. It goes on, by the schedule of the longer run.
SCHEDULE = ("n_steps", "warm_up", "validate_every", "average_every")
STANDING = ("step", "position", "seconds", "since", "n_averaged")  # of a state, what the header has
Ended = Literal["finished", "stopped", "diverged"]
BEGIN_ANEW = "Choose another folder (--folder), or begin anew in this one (--restart)."


@dataclass(frozen=True, kw_only=True)
class Record:
    """One validation, after a step. Losses are means over tokens, in nats.

    `train_loss` is of the batches since the last record, with dropout and smoothing on; `loss` is of the
    validation set without either. `seconds` is the time spent since the run began, pauses left out. `scores`
    are what the run was asked to measure besides.
    """

    step: int
    epoch: int
    rate: float
    train_loss: float
    loss: float
    seconds: float
    n_tokens: int = 0
    averaged: bool = False
    scores: Mapping[str, float] = field(default_factory=dict)


class History(list[Record]):
    """The records of a run, oldest first.

    >>> first = Record(step=100, epoch=1, rate=1e-3, train_loss=3.2, loss=3.0, seconds=8.5)
    >>> second = Record(step=200, epoch=2, rate=1e-3, train_loss=2.1, loss=3.1, seconds=16.9)
    >>> History([first, second]).best.step
    100
    """

    @property
    def best(self) -> Record | None:
        """The record with the lowest validation loss; of equals the first. No number, no loss."""
        numbers = [record for record in self if not math.isnan(record.loss)]
        return min(numbers, key=lambda record: record.loss, default=None)

    @property
    def diverged(self) -> bool:
        """Whether the last losses, in training and on the validation set, are no numbers any more."""
        return bool(self) and not (math.isfinite(self[-1].loss) or math.isfinite(self[-1].train_loss))

    def to_json(self) -> list[dict]:
        """Plain numbers; `from_json` makes records of them again."""
        plain = [asdict(record) for record in self]
        return [{name: value for name, value in one.items() if name != "scores" or value} for one in plain]

    @classmethod
    def from_json(cls, kept: list[dict]) -> History:
        return cls(Record(**record) for record in kept)


@dataclass
class RunState:
    """What a run has come to between two steps, but for the weights and optimizer state of its step.

        >>> state = RunState()
        >>> state.join_average({"w": torch.tensor([1.0])})
        >>> state.join_average({"w": torch.tensor([3.0])})
        >>> state.average["w"]
        tensor([2.])

    Late in a run the weights wander around a good place, pushed about by one batch and the next. Their mean
    lies nearer to it, and often translates better than each of them.
    """

    step: int = 0
    position: tuple[int, int] = (0, 0)  # of the next batch
    seconds: float = 0.0
    since: tuple[float, float] = (0.0, 0.0)  # loss and tokens since the last record
    history: History = field(default_factory=History)
    best: dict[str, Tensor] = field(default_factory=dict)  # the weights that did best so far
    average: dict[str, Tensor] = field(default_factory=dict)
    n_averaged: int = 0
    ended: Ended | None = None
    n_left_out: int = 0  # pairs too long for a batch, or for the largest fixed shape

    @property
    def best_is_new(self) -> bool:
        """Whether the step it is at did better than all before."""
        return self.history.best is not None and self.history.best.step == self.step

    @torch.no_grad()
    def join_average(self, weights: Mapping[str, Tensor]) -> None:
        """Let one more set of weights join. The mean is kept as it grows: one copy, however many join."""
        self.n_averaged += 1
        for name, tensor in weights.items():
            mean = self.average.get(name, tensor).to(tensor.device)  # from a file it comes on the CPU
            counts = not tensor.is_floating_point()  # of batches, say: they have no mean
            self.average[name] = tensor.clone() if counts else mean.lerp(tensor, 1 / self.n_averaged)


class RunFolder:
    """Keeps a run. `about` says what it is of; a folder with another run in it is refused.

    With `restart`, what is in it is left until the new run has something to put in its place.
    """

    def __init__(self, folder: Path | str, about: About, *, restart: bool = False):
        self.folder, self.about, self.restart = Path(folder), about, restart
        self.last, self.best = self.folder / "last.safetensors", self.folder / "best.safetensors"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes here meanwhile. What a killed process has left half written is taken away."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.folder / ".lock", timeout=0):
                for unfinished in self.folder.glob(".*.safetensors.*"):
                    unfinished.unlink()
                yield
        except Timeout:
            raise CheckpointError(
                f"Somebody is training in {self.folder} just now. Wait for the end, or choose another folder."
            ) from None

    def save(self, state: RunState, tensors: Mapping[str, Tensor]) -> None:
        """Save a run: its state, then its best weights if they are new; before any record, the newest."""
        kept = {f"step.{name}": tensor for name, tensor in tensors.items()}
        kept |= {f"average.{name}": tensor for name, tensor in state.average.items()}
        standing = {name: getattr(state, name) for name in STANDING}
        save_checkpoint(
            self.last, kept, self.about | {"history": state.history.to_json(), "standing": standing}
        )
        if state.best_is_new or not state.history:
            self.save_best(state.best or parts_of(tensors, "weights"), state.history)
        elif self.restart and state.history.best is None:  # it diverged: what is there is of the run before
            self.best.unlink(missing_ok=True)

    def save_best(self, weights: Mapping[str, Tensor], history: History) -> None:
        """Save weights that others shall use."""
        save_checkpoint(self.best, weights, self.about | {"history": history.to_json()})

    def has_best(self, record: Record) -> bool:
        """Whether the weights of this record are saved as the best ones."""
        try:
            return _best_step(read_about(self.best)) == record.step
        except CheckpointError:
            return False

    def resumed_at(self) -> int:
        """The step from which a run goes on here; 0 where there is none. Another run is refused."""
        if self.restart:
            return 0
        if self.last.exists():
            about = read_about(self.last)
            if "standing" not in about:
                raise CheckpointError(f"{self.last} holds weights, but no run to go on from. {BEGIN_ANEW}")
            self._check_same_run(self.last, about)
            return about["standing"]["step"]
        if self.best.exists():
            raise CheckpointError(
                f"{self.best} holds weights of a run, but {self.last.name}, to go on from, is missing. "
                f"They shall not be overwritten. {BEGIN_ANEW}"
            )
        return 0

    def load(self) -> tuple[RunState, dict[str, Tensor]] | None:
        """What to go on with: the state of a run, and that of its step; None where none has begun."""
        if not self.resumed_at():
            return None
        tensors, about = load_checkpoint(self.last)
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
            state.best, of_best = load_checkpoint(self.best)
            self._check_same_run(self.best, of_best)
            wanted = state.history.best.step
            if _best_step(of_best) != wanted:
                raise CheckpointError(
                    f"{self.best} is of another moment of this run than {self.last.name}, by which step "
                    f"{wanted:,} did best. {BEGIN_ANEW}"
                )
        if about["recipe"]["n_steps"] != self.about["recipe"]["n_steps"]:
            state.average, state.n_averaged = {}, 0  # a longer run averages weights nearer to its own end
        return state, parts_of(tensors, "step")

    def _check_same_run(self, path: Path, about: About) -> None:
        mine = json.loads(json.dumps(self.about))  # as it would come from a file
        schedule = {name: mine["recipe"][name] for name in SCHEDULE}
        theirs = about | {"recipe": asdict(Recipe.from_json(about["recipe"])) | schedule}
        theirs["data"] = about["data"] | {"name": mine["data"]["name"]}  # its sentences count, not its path
        for key in SAME:
            there, here = theirs.get(key, {}), mine.get(key, {})
            if there != here:
                differ = "; ".join(
                    f"{name}: {there.get(name)!r:.40} there, {here.get(name)!r:.40} here"
                    for name in {**here, **there}
                    if there.get(name) != here.get(name)
                )
                raise CheckpointError(f"{path} is of another run: its {key} differs ({differ}). {BEGIN_ANEW}")


def _best_step(about: About) -> int | None:
    """The step that did best, by a checkpoint's own history."""
    best = History.from_json(about["history"]).best
    return best and best.step

"""The folder of a run: its state (`last`), and its best model (`best`).

    runs/toy_transformer/
        last.safetensors        weights, optimizer state, averaged weights, history: all to go on from here
        best.safetensors        the weights that did best on the validation set: what others load

Both are written whole or not at all, `last` first. A run that is killed at any moment goes on from `last`,
and ends with the same weights as one that never stopped. Killed between the two, it finds in `last` what
`best` should have been: the weights of a step that has just turned out the best.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

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
from course_lib.training.step import part
from course_lib.training.validation import History

SAME = ("config", "tokenizer", "data", "recipe")  # what makes two runs one
# Of the recipe, what a run with more steps has otherwise. It goes on, by the schedule of the longer run.
SCHEDULE = ("n_steps", "warm_up", "validate_every", "average_every")
BEGIN_ANEW = "Choose another folder (--folder), or begin anew in this one (--restart)."


class Average:
    """A running mean of weights: it often translates better than each of them.

        >>> mean = Average()
        >>> mean.add({"w": torch.tensor([1.0])})
        >>> mean.add({"w": torch.tensor([3.0])})
        >>> mean.weights["w"]
        tensor([2.])

    Late in a run the weights wander around a good place, pushed about by one batch and the next. Their mean
    lies nearer to it. The mean is kept as it grows, so it costs one copy of the model, however many join.
    Whole numbers (counters) are not averaged: the last one stays.
    """

    def __init__(self, weights: Mapping[str, Tensor] | None = None, n: int = 0):
        self.weights, self.n = dict(weights or {}), n

    @torch.no_grad()
    def add(self, weights: Mapping[str, Tensor]) -> None:
        """Let one more set of weights join."""
        self.n += 1
        if self.n == 1:
            self.weights = {name: tensor.detach().clone() for name, tensor in weights.items()}
            return
        for name, tensor in weights.items():
            mean = self.weights[name].to(tensor.device)  # from a file it comes on the CPU
            counts = not tensor.is_floating_point()
            self.weights[name] = mean.copy_(tensor) if counts else mean.lerp_(tensor, 1 / self.n)


@dataclass
class RunState:
    """What a run has come to between two steps, but for its weights."""

    step: int = 0
    position: tuple[int, int] = (0, 0)  # of the next batch
    seconds: float = 0.0
    history: History = field(default_factory=History)
    average: Average = field(default_factory=Average)
    since: tuple[float, float] = (0.0, 0.0)  # loss and tokens since the last record


@dataclass(frozen=True)
class SavedRun:
    """A run to go on with: its state, its weights and optimizer state, and the best weights so far."""

    state: RunState
    tensors: dict[str, Tensor]
    best: dict[str, Tensor]


class RunFolder:
    """Keeps a run. `about` says what it is of; a folder with another run in it is refused."""

    def __init__(self, folder: Path | str, about: About):
        self.folder, self.about = Path(folder), about
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

    def clear(self) -> None:
        """Forget the run that is here."""
        with self.locked():
            self.last.unlink(missing_ok=True)
            self.best.unlink(missing_ok=True)

    def save(self, state: RunState, tensors: Mapping[str, Tensor]) -> None:
        """Save the state of the run."""
        tensors = {f"step.{name}": tensor for name, tensor in tensors.items()}
        tensors |= {f"average.{name}": tensor for name, tensor in state.average.weights.items()}
        standing = {
            "step": state.step,
            "position": list(state.position),
            "seconds": state.seconds,
            "n_averaged": state.average.n,
            "since": list(state.since),
        }
        history = state.history.to_json()
        save_checkpoint(self.last, tensors, self.about | {"history": history, "standing": standing})

    def save_best(self, weights: Mapping[str, Tensor], history: History) -> None:
        """Save weights that others shall use."""
        save_checkpoint(self.best, weights, self.about | {"history": history.to_json()})

    def resumed_at(self) -> int:
        """The step from which a run goes on here; 0 where there is none. Another run is refused."""
        if self.last.exists():
            about = read_about(self.last)
            if "standing" not in about:
                raise CheckpointError(f"{self.last} is not the state of a run. {BEGIN_ANEW}")
            self._check_same_run(about)
            return about["standing"]["step"]
        if self.best.exists():
            raise CheckpointError(
                f"{self.best} holds weights of a run, but {self.last.name}, to go on from, is missing. "
                f"They shall not be overwritten. {BEGIN_ANEW}"
            )
        return 0

    def load(self) -> SavedRun | None:
        """What to go on with; None where the run has not begun. Another run is refused."""
        if not self.resumed_at():
            return None
        tensors, about = load_checkpoint(self.last)
        standing, weights = about["standing"], part(tensors, "step.weights.")
        state = RunState(
            step=standing["step"],
            position=tuple(standing["position"]),
            seconds=standing["seconds"],
            history=History.from_json(about["history"]),
            average=Average(part(tensors, "average."), standing["n_averaged"]),
            since=tuple(standing["since"]),
        )
        best = self._best_weights(state, weights)
        if about["recipe"]["n_steps"] != self.about["recipe"]["n_steps"]:
            state.average = Average()  # a longer run averages weights nearer to its own end
        return SavedRun(state, part(tensors, "step."), best)

    def _best_weights(self, state: RunState, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Of this step, they are in `last` itself; of an earlier one in their own file."""
        best = state.history.best
        if best is None:
            return {}
        if best.step == state.step:
            weights = state.average.weights if best.averaged else weights
            return {name: tensor.clone() for name, tensor in weights.items()}  # those go on changing
        tensors, about = load_checkpoint(self.best)
        there = History.from_json(about["history"]).best
        if there is None or there.step != best.step:
            raise CheckpointError(
                f"Expected in {self.best} the weights of step {best.step}, but there are others. "
                f"Was a file copied? {BEGIN_ANEW}"
            )
        return tensors

    def _check_same_run(self, about: About) -> None:
        mine = json.loads(json.dumps(self.about))  # as it would come from a file
        recipe = asdict(Recipe(**about["recipe"]))  # numbers that it could not say yet are the usual ones
        theirs = about | {"recipe": recipe | {name: mine["recipe"][name] for name in SCHEDULE}}
        for key in SAME:
            there, here = theirs[key], mine[key]
            differ = [name for name in {**here, **there} if there.get(name) != here.get(name)]
            if differ:
                values = (
                    f"{name}: {there.get(name)!r:.40} there, {here.get(name)!r:.40} here" for name in differ
                )
                raise CheckpointError(
                    f"{self.last} is of another run: its {key} differs ({'; '.join(values)}). {BEGIN_ANEW}"
                )

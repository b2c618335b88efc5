"""The folder of a run: where it stands (`last`), and its best model (`best`).

    runs/toy_transformer/
        last.safetensors        weights, Adam's memory, the average, the history: all to go on from here
        best.safetensors        the weights that did best on the validation set: what others load

Both are written whole or not at all, `last` first. A run that is killed at any moment goes on from `last`,
and ends with the same weights as one that never stopped. Killed between the two, it finds in `last` what
`best` should have been: the weights of a step that has just turned out the best.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from course_lib.training.averaging import Average
from course_lib.training.checkpoint import (
    About,
    CheckpointError,
    load_checkpoint,
    read_about,
    save_checkpoint,
)
from course_lib.training.history import History
from course_lib.training.step import part

MAY_DIFFER = ("versions", "command", "machine")  # the same run all the same


@dataclass
class Standing:
    """Where a run stands between two steps."""

    step: int = 0
    position: tuple[int, int] = (0, 0)  # of the next batch
    seconds: float = 0.0
    history: History = field(default_factory=History)
    average: Average = field(default_factory=Average)
    since: tuple[float, float] = (0.0, 0.0)  # loss and tokens since the last record


@dataclass(frozen=True)
class Found:
    """A run to go on with: where it stands, the step's own state, and the best weights so far.

    `best_is_kept` is False where the run was killed before it could write them.
    """

    standing: Standing
    state: dict[str, Tensor]
    best: dict[str, Tensor]
    best_is_kept: bool


class RunFolder:
    """Keeps a run. `about` says what it is of; a folder with another run in it is refused."""

    def __init__(self, folder: Path | str, about: About):
        self.folder, self.about = Path(folder), about

    @property
    def last(self) -> Path:
        return self.folder / "last.safetensors"

    @property
    def best(self) -> Path:
        return self.folder / "best.safetensors"

    def keep(self, standing: Standing, state: Mapping[str, Tensor]) -> None:
        """Save where the run stands."""
        tensors = {f"step.{name}": tensor for name, tensor in state.items()}
        tensors |= {f"average.{name}": tensor for name, tensor in standing.average.weights.items()}
        about = self._about(standing.history) | {
            "standing": {
                "step": standing.step,
                "position": list(standing.position),
                "seconds": standing.seconds,
                "n_averaged": standing.average.n,
                "since": list(standing.since),
            }
        }
        save_checkpoint(self.last, tensors, about)

    def keep_best(self, weights: Mapping[str, Tensor], history: History) -> None:
        """Save weights that others shall use."""
        save_checkpoint(self.best, weights, self._about(history))

    def find(self) -> Found | None:
        """What to go on with; None where the run has not begun. Another run's files are refused."""
        if not self.last.exists():
            if self.best.exists():
                self._check_same_run(self.best, read_about(self.best))
            return None
        tensors, about = load_checkpoint(self.last)
        self._check_same_run(self.last, about)
        try:
            at = about["standing"]
            standing = Standing(
                step=at["step"],
                position=tuple(at["position"]),
                seconds=at["seconds"],
                history=History.from_json(about["history"]),
                average=Average(part(tensors, "average."), at["n_averaged"]),
                since=tuple(at["since"]),
            )
        except (KeyError, TypeError) as error:
            raise CheckpointError(
                f"{self.last} does not say where the run stands ({error!r}). "
                "Choose another folder, or delete this one to begin anew."
            ) from error
        state = part(tensors, "step.")
        return Found(standing, state, *self._best_weights(standing, part(state, "weights.")))

    def tidy(self) -> None:
        """Take away what a killed process has left half written."""
        for path in (self.last, self.best):
            for unfinished in self.folder.glob(f".{path.name}.*"):
                unfinished.unlink(missing_ok=True)

    def _best_weights(self, standing: Standing, now: dict[str, Tensor]) -> tuple[dict[str, Tensor], bool]:
        """The best weights so far, and whether their file is there."""
        best, kept = standing.history.best, None
        if best is None:
            return {}, True
        if self.best.exists():
            tensors, about = load_checkpoint(self.best)
            self._check_same_run(self.best, about)
            kept = History.from_json(about.get("history", [])).best
            if kept is not None and kept.step == best.step:
                return tensors, True
        if best.step == standing.step:
            weights = standing.average.weights if best.averaged else now
            return {name: tensor.clone() for name, tensor in weights.items()}, False  # those go on changing
        raise CheckpointError(
            f"Expected in {self.best} the weights of step {best.step}, but there are "
            f"{f'those of step {kept.step}' if kept else 'none'}. Was a file copied or deleted? "
            "Delete the folder to begin anew."
        )

    def _check_same_run(self, path: Path, about: About) -> None:
        mine = json.loads(json.dumps(self.about))  # as it would come from a file
        for key in mine:
            if key not in MAY_DIFFER and about.get(key) != mine[key]:
                raise CheckpointError(
                    f"{path} is of another run: its {key} differs ({difference(about.get(key), mine[key])}). "
                    "Choose another folder, or delete this one to begin anew."
                )

    def _about(self, history: History) -> About:
        return self.about | {"history": history.to_json()}


def difference(there: object, here: object) -> str:
    """Where two values part, in few words.

    >>> difference({"n_steps": 500, "seed": 1}, {"n_steps": 900, "seed": 1})
    'n_steps: 500 there, 900 here'
    """
    if isinstance(there, dict) and isinstance(here, dict):
        keys = [key for key in {**here, **there} if there.get(key) != here.get(key)]
        return "; ".join(f"{key}: {difference(there.get(key), here.get(key))}" for key in keys)
    return f"{there!r:.40} there, {here!r:.40} here"

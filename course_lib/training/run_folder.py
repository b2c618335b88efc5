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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryFile

from filelock import FileLock, Timeout
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
from course_lib.training.recipe import Recipe
from course_lib.training.step import part

MAY_DIFFER = ("versions", "command", "machine")  # the same run all the same
# Of the recipe: what a run with more steps has otherwise. It goes on, by the schedule of the longer run.
SCHEDULE = ("n_steps", "warm_up", "validate_every", "average_every")
BEGIN_ANEW = "Choose another folder (--folder), or begin anew in this one (--restart)."
# What a recipe was before it could say so: a run from before a new number was added is still the same run.
UNSAID = {one.name: one.default for one in fields(Recipe) if one.default is not MISSING}


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

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else writes here meanwhile. That it can be written is known now, not at the first save."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=self.folder) as probe:
                probe.write(b"?")
        except OSError as error:
            raise CheckpointError(
                f"Expected a folder to keep the run in, but {self.folder} cannot be used: {error.strerror}. "
                "Choose another one, or make room."
            ) from error
        try:
            with FileLock(self.folder / ".lock", timeout=0):
                yield
        except Timeout:
            raise CheckpointError(
                f"Somebody is training in {self.folder} just now. Wait for the end, or choose another folder."
            ) from None

    def clear(self) -> None:
        """Forget the run that is here."""
        with self.held():
            for path in (self.last, self.best):
                path.unlink(missing_ok=True)

    def stands_at(self) -> int:
        """How many steps the run in this folder has made; 0 where there is none. Another run is refused."""
        if not self.last.exists():
            return 0
        about = read_about(self.last)
        self._check_same_run(self.last, about)
        return self._standing(about, Average()).step

    def find(self) -> Found | None:
        """What to go on with; None where the run has not begun. Another run's files are refused."""
        if not self.last.exists():
            if self.best.exists():
                raise CheckpointError(
                    f"{self.best} holds weights of a run, but {self.last.name}, to go on from, is missing. "
                    f"They shall not be overwritten. {BEGIN_ANEW}"
                )
            return None
        tensors, about = load_checkpoint(self.last)
        self._check_same_run(self.last, about)
        standing = self._standing(about, Average(part(tensors, "average.")))
        state = part(tensors, "step.")
        best = self._best_weights(standing, part(state, "weights."))
        if about.get("recipe", {}).get("n_steps") != self.about.get("recipe", {}).get("n_steps"):
            standing.average = Average()  # a longer run averages weights nearer to its own end
        return Found(standing, state, *best)

    def _standing(self, about: About, average: Average) -> Standing:
        """Where a checkpoint says that its run stands."""
        try:
            at = about["standing"]
            (epoch, batch), (loss, n_tokens) = at["position"], at["since"]
            average.n = int(at["n_averaged"])
            return Standing(
                step=int(at["step"]),
                position=(int(epoch), int(batch)),
                seconds=float(at["seconds"]),
                history=History.from_json(about["history"]),
                average=average,
                since=(float(loss), float(n_tokens)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self.last} does not say where the run stands ({error!r}). {BEGIN_ANEW}"
            ) from error

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
        theirs = about | {"recipe": UNSAID | about.get("recipe", {})}
        for name in SCHEDULE:
            theirs["recipe"].pop(name, None)
            mine.get("recipe", {}).pop(name, None)
        for key in mine:
            if key not in MAY_DIFFER and theirs.get(key) != mine[key]:
                how = difference(theirs.get(key), mine[key])
                raise CheckpointError(f"{path} is of another run: its {key} differs ({how}). {BEGIN_ANEW}")

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

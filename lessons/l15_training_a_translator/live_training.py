"""Training that you can watch in a notebook, stop and resume.

    run = train_live(SmallRun(short_data()), "my_translator")

A bar shows the steps, and two curves are drawn again at every validation. A run that is stopped (Kernel ▸
Interrupt, or `until`) is resumed by the same cell, from the checkpoint in the learner's own folder.
"""

from __future__ import annotations

from pathlib import Path

from IPython.display import display

from course_lib.formatting import fixed
from course_lib.runtime import user_folder
from course_lib.training.checkpoint import CheckpointError
from course_lib.training.console import bar_enabled
from course_lib.training.run_folder import History, Record, RunFolder
from course_lib.views import Part, StaticImage, panels
from lessons.l15_training_a_translator.small_run import SmallRun

OLD_FORMAT = "An earlier version of the course saved a run as {}. It can't be used, so training starts again."
ANOTHER_RUN = "The checkpoint in {} belongs to a different run, so training starts again."


def run_folder(name: str) -> Path:
    """Where the checkpoints of a run of this name are kept."""
    return user_folder() / "runs" / name


def train_live(run: SmallRun, name: str, *, until: int | None = None, anew: bool = False) -> SmallRun:
    """Train to the last step, or to step `until`, from the last checkpoint unless `anew` is set."""
    folder = run.folder(run_folder(name), restart=anew)
    n_steps, shown = run.recipe.n_steps, None
    history = History()
    if not anew:
        folder, history = _resumable(run, folder)
        if (resumed_at := folder.resumed_at()) == n_steps:
            print(f'Already trained; train_live(run, "{name}", anew=True) trains it again.')
        elif resumed_at:
            print(f"Resuming from step {resumed_at}.")

    def draw(record: Record) -> None:
        nonlocal shown
        history.append(record)
        if bar_enabled():
            picture = curves(history)
            shown = shown.update(picture) or shown if shown else display(picture, display_id=True)

    run.train(folder=folder, until=until, after_validation=draw)
    if shown is None and run.history:
        display(curves(run.history))
    if not run.finished:
        done = f"Stopped after step {run.state.step} of {n_steps}."
        print(f"{done} Run the cell again to continue.")
    return run


def _resumable(run: SmallRun, folder: RunFolder) -> tuple[RunFolder, History]:
    """The folder and its history, or an empty one if its checkpoint can't be resumed."""
    old = folder.folder.with_suffix(".safetensors")
    if old.exists() and not folder.last.exists():
        print(OLD_FORMAT.format(old))
    try:
        saved = folder.load()
    except CheckpointError:
        print(ANOTHER_RUN.format(folder.folder))
        return run.folder(folder.folder, restart=True), History()
    return folder, saved[0].history if saved else History()


def curves(history: History) -> StaticImage:
    """Both losses, and the percentage of exact matches."""
    steps, last = [record.step for record in history], history[-1]
    losses = {
        "training": [record.train_loss for record in history],
        "validation": [record.loss for record in history],
    }
    right = {"validation": [100 * record.scores["exact"] for record in history]}
    alt = f"After step {last.step} the training loss is {fixed(last.train_loss, 2)}, the validation loss "
    alt += f"{fixed(last.loss, 2)}, and {fixed(right['validation'][-1], 0)}% are translated exactly."
    return panels(
        [
            Part("Loss", steps, losses, "loss", y_limits=(0, 6.5)),
            Part("Exact match", steps, right, "%", y_limits=(-3, 103)),
        ],
        x_name="step",
        alt=alt,
    )

"""Training that you can watch in a notebook, stop and resume.

    run = train_live(TranslatorRun(short_data()), "my_translator")

A bar shows the steps. At every validation the curves are drawn again, and the translations of a few sentences
are added to a list. A run that is stopped (Kernel ▸ Interrupt, or `until`) is resumed by the same cell, from
the checkpoint in the learner's own folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from IPython.display import display

from course_lib.formatting import fixed
from course_lib.runtime import user_folder
from course_lib.training.checkpoint import CheckpointError
from course_lib.training.console import bar_enabled
from course_lib.training.run_folder import History, Record, RunFolder
from course_lib.training.step import parts_of
from course_lib.views import Part, StaticImage, panels
from lessons.l15_training_a_translator.translator_run import TranslatorRun

ANOTHER_RUN = "The checkpoint in {} belongs to a different run, so training starts again."
OTHER_PARAMETERS = (
    "The checkpoint in {} has different parameters from the model (for example {}), so training starts again."
)


def run_folder(name: str) -> Path:
    """Where the checkpoints of a run of this name are kept."""
    return user_folder() / "runs" / name


def train_live(
    run: TranslatorRun, name: str, *, until: int | None = None, anew: bool = False
) -> TranslatorRun:
    """Train to the last step, or to step `until`, from the last checkpoint unless `anew` is set."""
    folder = run.folder(run_folder(name), restart=anew)
    n_steps, shown = run.recipe.n_steps, []
    history = History()
    if not anew:
        folder, history = _resumable(run, folder)
        if (resumed_at := folder.resumed_at()) == n_steps:
            print(f'Already trained; train_live(run, "{name}", anew=True) trains it again.')
        elif resumed_at:
            print(f"Resuming from step {resumed_at}.")

    def draw(record: Record) -> None:
        history.append(record)
        if not bar_enabled():
            return
        for index, output in enumerate(outputs(history, run.watched)):
            if index < len(shown):
                shown[index].update(output, raw=isinstance(output, dict))
            else:
                shown.append(display(output, raw=isinstance(output, dict), display_id=True))

    run.train(folder=folder, until=until, after_validation=draw)
    if not shown and run.history:
        for output in outputs(run.history, run.watched):
            display(output, raw=isinstance(output, dict))
    if not run.finished:
        print(f"Stopped after step {run.state.step} of {n_steps}.{_how_to_continue(until, anew)}")
    return run


def _how_to_continue(until: int | None, anew: bool) -> str:
    if until is not None:  # the same cell would stop there again
        return ""
    return f"{' Remove anew=True and run' if anew else ' Run'} the cell again to continue."


def _resumable(run: TranslatorRun, folder: RunFolder) -> tuple[RunFolder, History]:
    """The folder and its history, or an empty one if its checkpoint can't be resumed."""
    try:
        saved = folder.load()
    except CheckpointError:
        print(ANOTHER_RUN.format(folder.folder))
        return run.folder(folder.folder, restart=True), History()
    if not saved:
        return folder, History()
    state, tensors = saved
    before = {name: tensor.shape for name, tensor in parts_of(tensors, "weights").items()}
    now = {name: tensor.shape for name, tensor in run.model.state_dict().items()}
    if before != now:  # the learner's file has changed
        different = min(name for name in before | now if before.get(name) != now.get(name))
        print(OTHER_PARAMETERS.format(folder.folder, different))
        return run.folder(folder.folder, restart=True), History()
    return folder, state.history


def outputs(history: History, sentences: Sequence[str]) -> list[StaticImage | dict[str, str]]:
    """What to display: the curves and, if there are any sentences, their translations."""
    shown = [curves(history)]
    return [*shown, {"text/plain": translations(history, sentences)}] if sentences else shown


def translations(history: History, sentences: Sequence[str]) -> str:
    """The translations of each sentence, one line for each validation."""
    blocks = []
    for index, sentence in enumerate(sentences):
        lines = [f"{record.step:>6}  {record.scores['translations'][index]}" for record in history]
        blocks.append("\n".join([f"  step  {sentence}", *lines]))
    return "\n\n".join(blocks)


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

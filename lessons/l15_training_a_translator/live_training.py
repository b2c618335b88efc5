"""Training that one can watch in a notebook, stop, and go on with.

    run = train_live(SmallRun(short_data()), "my_translator")

A bar for the steps, and two curves that are drawn again at every look. Stopped (Kernel ▸ Interrupt, or
`until`), the run stands in a file of the learner's own folder; the same cell goes on from there.
"""

from __future__ import annotations

from pathlib import Path

from IPython.display import display

from course_lib.formatting import fixed
from course_lib.runtime import user_folder
from course_lib.training.console import Stopping, steps_bar, watched
from course_lib.views import Part, Still, panels
from lessons.l15_training_a_translator.small_run import SmallRun


def run_file(name: str) -> Path:
    """Where a run of this name is kept."""
    return user_folder() / "runs" / f"{name}.safetensors"


def train_live(run: SmallRun, name: str, *, until: int | None = None, anew: bool = False) -> SmallRun:
    """Train to the last step, or to step `until`; from where the file stands unless it is to begin anew."""
    path, end = run_file(name), min(until or run.n_steps, run.n_steps)
    if not anew and run.go_on(path):
        done = run.n_done == run.n_steps
        again = f'It was trained before; train_live(run, "{name}", anew=True) trains it again.'
        print(again if done else f"Going on from step {run.n_done}.")
    shown = None
    with Stopping() as stopping, steps_bar(total=run.n_steps, start=run.n_done) as bar:
        while run.n_done < end and not stopping.asked:
            looks = len(run.history)
            run.learn()
            bar.update(1)
            bar.set_postfix(loss=f"{(run.losses or [run.history[-1]['train_loss']])[-1]:.2f}", refresh=False)
            if len(run.history) > looks:
                run.keep(path)
                if watched():
                    picture = curves(run.history)
                    shown = shown.update(picture) or shown if shown else display(picture, display_id=True)
    run.keep(path)
    if shown is None and run.history:
        display(curves(run.history))
    if run.n_done < run.n_steps:
        print(f"Stopped after step {run.n_done} of {run.n_steps}. Run the cell again: it goes on from there.")
    return run


def curves(history: list[dict[str, float]]) -> Still:
    """Both losses, and the share of sentences that are right."""
    steps = [look["step"] for look in history]
    losses = {
        "training": [look["train_loss"] for look in history],
        "validation": [look["loss"] for look in history],
    }
    right = {"validation": [100 * look["exact"] for look in history]}
    last = history[-1]
    told = f"After step {last['step']} the training loss is {fixed(last['train_loss'], 2)}, "
    told += f"the validation loss {fixed(last['loss'], 2)}, and {fixed(100 * last['exact'], 0)}% are right."
    return panels(
        [
            Part("Loss", steps, losses, "loss", y_limits=(0, 6.5)),
            Part("Right, word for word", steps, right, "%", y_limits=(-3, 103)),
        ],
        x_name="step",
        alt=told,
    )

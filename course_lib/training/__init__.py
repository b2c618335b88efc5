"""Training: one loop for every system, on a CPU in minutes, on a GPU in seconds, on several together.

    job.py              a whole run by name: what `course_lib train` does
    corpora.py          what there is to train on
    loop.py             the loop

    recipe.py           every number of a run that is not the system's own; the usual recipes
    objective.py        what a system is asked for, and how wrong it is; fused_loss.py the same on a GPU
    pronouns.py         what the sentence encoder is asked for: il or elle?
    step.py             one step, and Adam, in plain sight; by_hand.py in plain functions, for lesson 15
    graph_step.py       the same step recorded, for a GPU
    processes.py        several processes that train one model
    console.py          a progress bar, and Ctrl-C obeyed between two steps

    checkpoint.py       files of weights that are safe to read, and the system in them
    run_folder.py       the state of a run, and where it is kept and goes on from

What lessons use comes from the package; the rest from its own file:

    >>> from course_lib.training import train
"""

from course_lib.lazy import lazy

HOMES = {
    "Job": "job",
    "Recipe": "recipe",
    "run_job": "job",
    "train": "loop",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)

"""Training: one loop for every system, on a CPU, on a GPU, or on several processes.

    job.py              a complete run by name: what `course_lib train` does
    data.py             the sentences to train on
    loop.py             the training loop

    recipe.py           the hyperparameters of a run, and the usual ones for each scale
    objective.py        the loss of each kind of system; fused_loss.py is a faster version for GPUs
    step.py             one training step, with Adam
    graph_step.py       the same step as a CUDA graph
    processes.py        distributed training
    console.py          a progress bar, and Ctrl-C handled between two steps

    checkpoint.py       checkpoint files that are safe to load
    run_folder.py       the state of a run, saved to a folder and resumed from it

The names that lessons use can be imported from the package, all others from their module:

    >>> from course_lib.training import train
"""

from course_lib.lazy import lazy

HOMES = {"Job": "job", "Recipe": "recipe", "run_job": "job", "train": "loop"}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)

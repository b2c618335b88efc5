"""Training: one loop for every system, on a CPU in minutes, on a GPU in seconds, on several together.

    recipe.py           every number of a run that is not the system's own
    recipes.py          the recipes that work
    schedule.py         how large a step is: warm-up, then down
    loss.py             cross-entropy with softened labels; fused_loss.py the same in one pass, for a GPU
    objective.py        what a system is asked for, for each kind of system
    labels.py           which pronoun a sentence needs: what a classifier is asked for
    counting.py         the n-gram model, which counts and needs no steps
    kinds.py            chooses among them by the system's kind

    adam.py             how weights move by their slopes
    step.py             one step in plain sight; by_hand.py says it in plain functions, for lesson 15
    graph_step.py       the same step recorded, for a GPU
    processes.py        several processes that train one model
    train.py            the loop
    validation.py       the loss on sentences that are not trained on
    averaging.py        the mean of many checkpoints
    stopping.py         Ctrl-C, obeyed between two steps
    bar.py              a progress bar, where somebody watches
    history.py          what a run has been through

    checkpoint.py       files of weights that are safe to read, and refused when they are not right
    run_folder.py       where a run is kept, and goes on from
    saved_system.py     a trained system from its file
    corpora.py          what there is to train on
    job.py              a whole run by name

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.training.recipe import Recipe
"""

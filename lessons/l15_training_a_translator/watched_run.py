"""The run that the key picture shows: the lesson's full run, with its translations every 50 steps.

    python3 -m lessons.l15_training_a_translator.watched_run    # data/results/cpu/watched_run.json, minutes

The model is the library's Transformer; the step, the batches, the rate and the loss are the solutions' own.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from course_lib.runtime import PROJECT_ROOT, write_json
from course_lib.training.checkpoint import machine, versions
from lessons.l15_training_a_translator.by_hand import by_length, paper_rate
from lessons.l15_training_a_translator.short_sentences import full_data
from lessons.l15_training_a_translator.training_settings import FULL_RUN, SENTENCES
from lessons.l15_training_a_translator.translator_run import TranslatorRun

COMMAND = "python3 -m lessons.l15_training_a_translator.watched_run"
EVERY, SEED = 50, 0


def record() -> dict:
    """The translations before the first step and at every validation, and the losses and rates."""
    settings, own = replace(FULL_RUN, validate_every=EVERY), {"batcher": by_length, "schedule": paper_rate}
    run = TranslatorRun(full_data(), settings, seed=SEED, watched=SENTENCES, **own)
    untrained = {"step": 0, "translations": run.translations()}
    history = [
        {"step": now.step, "rate": now.rate, "loss": now.loss, "averaged": now.averaged, **now.scores}
        for now in run.train().history
    ]
    return {"sentences": SENTENCES, "seed": SEED, "history": [untrained, *history]}


def main() -> None:
    about = {"command": COMMAND, "machine": machine(torch.device("cpu")), "versions": versions()}
    write_json(PROJECT_ROOT / "data" / "results" / "cpu" / "watched_run.json", about | record())


if __name__ == "__main__":
    main()

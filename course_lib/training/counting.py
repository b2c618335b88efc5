"""Training without steps: the n-gram model counts what it has read, once.

    result = count(model, corpus, validation=validation_corpus)
    result.history.best.loss

It gives what `train` gives, and keeps the same folder, so nobody else has to know the difference: one
step, one record, one look at the validation set. Called again in its folder, it finds its counts there.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from course_lib.models.ngram import NGramLM
from course_lib.text.encoded import EncodedCorpus, encode_ids
from course_lib.training.history import History, Record
from course_lib.training.labels import target_ids
from course_lib.training.objective import language_modelling
from course_lib.training.processes import ALONE, Processes
from course_lib.training.run_folder import RunFolder, Standing
from course_lib.training.train import Result
from course_lib.training.validation import mean_loss

BUDGET = 1024  # a row of the vocabulary for each place: counts are looked up for all words at once


def count(
    model: NGramLM,
    corpus: EncodedCorpus,
    *,
    validation: EncodedCorpus,
    keeper: RunFolder | None = None,
    processes: Processes = ALONE,
    after_look: Callable[[Record], None] | None = None,
) -> Result:
    """Count the target sentences of a corpus, in place of what was counted before."""
    if keeper and (found := keeper.find()):
        if processes.leads and not found.best_is_kept:
            keeper.keep_best(found.best, found.standing.history)
        model.load_state_dict(found.best)
        model.eval()
        return Result(found.standing.history, "finished", found.standing.step, found.standing.seconds)
    started = time.perf_counter()
    sentences = target_ids(corpus)
    model.fit(sentences)
    model.eval()
    asked = language_modelling(smoothing=0.0)
    # Of what was counted as many as there are to validate on: reading is slower than counting.
    some = sentences[: len(validation)]
    known = encode_ids(some, some).to(corpus.device)
    record = Record(
        step=1,
        epoch=1,
        rate=0.0,
        train_loss=mean_loss(model, known, asked, tokens_per_batch=BUDGET),
        loss=mean_loss(model, validation, asked, tokens_per_batch=BUDGET),
        seconds=time.perf_counter() - started,
        n_tokens=sum(length for _, length in corpus.lengths),
    )
    history = History([record])
    standing = Standing(step=1, position=(1, 0), seconds=record.seconds, history=history)
    if keeper and processes.leads:
        weights = model.state_dict()
        keeper.keep(standing, {f"weights.{name}": tensor for name, tensor in weights.items()})
        keeper.keep_best(weights, history)
    if after_look and processes.leads:
        after_look(record)
    return Result(history, "finished", 1, record.seconds)

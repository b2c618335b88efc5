"""The loss on sentences that are not trained on: no dropout, no smoothing, every token once."""

from __future__ import annotations

from itertools import islice

import torch
from torch import nn

from course_lib.runtime import for_sums
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus
from course_lib.training.objective import Objective
from course_lib.training.processes import ALONE, Processes


def mean_loss(
    model: nn.Module,
    corpus: EncodedCorpus,
    objective: Objective,
    *,
    tokens_per_batch: int,
    bfloat16: bool = False,
    processes: Processes = ALONE,
) -> float:
    """The mean loss over all that counts in the corpus; no sentence is too long for it.

    Several processes share the batches, and all get the same number: they must agree on when to stop.
    """
    was_training = model.training
    model.eval()
    device = corpus.device
    tokens_per_batch = max(tokens_per_batch, *map(max, corpus.lengths))
    total = torch.zeros(2, dtype=for_sums(device), device=device)
    try:
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
            batches = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0).one(epoch=0)
            for batch in islice(batches, processes.rank, None, processes.n):
                loss, n_counted = objective(model, batch)
                total += torch.stack([loss.to(total.dtype), n_counted.to(total.dtype)])
    finally:
        model.train(was_training)
    total = processes.add_up(total)
    return float(total[0] / total[1])

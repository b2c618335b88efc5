"""Greedy decoding: say the likeliest word, read it, say the next.

    found = greedy(system, system.encode(src, src_lengths), max_len=40)
    found.ids                                               # words, EOS, then PAD

No word is ever taken back. "Un" may be likelier than "le" as the first word, and "un eau" a dead end that
only a search with more than one open sentence (`beam.py`) gets out of.
"""

from __future__ import annotations

import torch

from course_lib.layers.rows import Rows, take
from course_lib.models.translator import Translator
from course_lib.shapes import Int, Tensor
from course_lib.text.special import BOS, EOS, PAD
from course_lib.translation.decoded import Decoded, longest
from course_lib.translation.searching import (
    asks,
    in_order,
    limits,
    n_rows,
    next_words,
    ordinary,
    resting,
    split_done,
)
from course_lib.translation.weights import weights_behind


def greedy(
    system: Translator, memory: Rows, *, max_len: int | Int[Tensor, " batch"], with_weights: bool = False
) -> Decoded:
    """The sentence that always taking the likeliest word leads to, for every row of `memory`.

    A sentence ends with EOS, or without it when it has `max_len` tokens: one number for all, or one each.
    Never said: PAD, BOS and UNK (`searching.py`). Dropout is off while it runs.
    """
    limit, n_steps = limits(max_len, memory, system.config)
    batch, device = n_rows(memory), limit.device
    search: Rows = {
        "row": torch.arange(batch, device=device),
        "ids": torch.full((batch, n_steps), PAD, device=device),
        "log_probs": torch.zeros(batch, device=device),
        "token": torch.full((batch,), BOS, device=device),
        "done": torch.zeros(batch, dtype=torch.bool, device=device),
        "limit": limit,
    }
    with resting(system), torch.inference_mode():
        state, source, ready = system.start(memory), memory, []
        for step in range(n_steps):
            logits, state, _ = system.step(source, state, search["token"])
            words, ending = next_words(logits)
            score, word = words.max(dim=1)
            # The sums are compared, not the last scores: they round as in beam search.
            goes_on, ends = search["log_probs"] + score, search["log_probs"] + ending
            token = torch.where(ends > goes_on, EOS, word).masked_fill(search["done"], PAD)
            search["ids"][:, step] = search["token"] = token
            sums = torch.maximum(goes_on, ends)
            search["log_probs"] = torch.where(search["done"], search["log_probs"], sums)
            search["done"] = search["done"] | (token == EOS) | (search["limit"] == step + 1)
            if asks(step, device) and (split := split_done(search)):
                going, done = split
                ready.append(take(search, done))
                search, state, source = take(search, going), take(state, going), take(source, going)
                if len(going) == 0:
                    break
        found = in_order([*ready, search])
        ids = found["ids"][:, : longest(found["ids"])]
        weights = weights_behind(system, memory, ids) if with_weights else None
    return Decoded(ordinary(ids), ordinary(found["log_probs"]), ordinary(weights))

"""How many sentences a translator gets right: recorded by sentence length, or measured on a few."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.models.transformer import Transformer
from course_lib.results import mean_over_seeds, value_at
from course_lib.text.batch import Batch, make_batch
from course_lib.text.pair import Pair
from course_lib.text.special import PAD
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped

RANGES = (
    *(("test", words) for words in ("1–5", "6–10", "11–15", "16–20")),
    *(("long", words) for words in ("21–30", "31–40")),
)


def exact_by_length(experiment: str, variant: str) -> list[float]:
    """Recorded exact translations in percent for each range of lengths, averaged over the seeds.

    >>> [round(percent) for percent in exact_by_length("positions", "none")]
    [97, 75, 31, 6, 0, 0]
    """
    return [
        100 * mean_over_seeds(experiment, lambda run, at=at: value_at(run, "scores", *at, "exact"))[variant]
        for at in ((split, "by_length", words) for split, words in RANGES)
    ]


def percent_exact(system: Shipped, pairs: Sequence[Pair]) -> float:
    """How many of these sentences the system translates exactly, in percent."""
    outputs = translate([pair.src_text for pair in pairs], system.model, system.tokenizer)
    exact = [output.target == pair.tgt_text for output, pair in zip(outputs, pairs, strict=True)]
    return 100 * sum(exact) / len(exact)


def encode_pairs(system: Shipped, pairs: Sequence[Pair]) -> Batch:
    """These sentences as one padded batch."""
    encode = system.tokenizer.encode
    return make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])


@torch.no_grad()
def count_right(model: Transformer, batch: Batch) -> int:
    """The number of sentences in which every next word is right, given the correct words before it."""
    memory = model.encode(batch.src, batch.src_lengths)
    predicted = model.decode(memory, batch.tgt_in)[0].argmax(dim=-1)
    right = (predicted == batch.tgt_out) | (batch.tgt_out == PAD)
    return int(right.all(dim=-1).sum())

"""Corpus BLEU from one row of counts per sentence, so that sentences can be drawn again (paired bootstrap).

    >>> rows = bleu_rows([["le", "chat", "noir", "dort"]], [["le", "chat", "noir", "dort", "ici"]])
    >>> rows.tolist()                          # matches of 1- to 4-grams, and both lengths
    [[4.0, 3.0, 2.0, 1.0, 4.0, 5.0]]
    >>> round(bleu_of_rows(rows).item(), 1)    # all precisions are 1, and the brevity penalty is exp(1 − 5/4)
    77.9

This is sacreBLEU's score without smoothing: if there is no match for some n, it is 0. `draws` and
`scores_of_draws` draw many samples of the sentences at once, from such rows or from one number per sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch

from course_lib.shapes import Float, Tensor

Tokens = Sequence[str]


def grams(tokens: Tokens, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def clipped_matches(output: Tokens, reference: Tokens, n: int) -> tuple[int, int]:
    """The n-grams of a translation that its reference has as often, and all of them."""
    ours = grams(output, n)
    return (ours & grams(reference, n)).total(), ours.total()


def bleu_rows(translations: Sequence[Tokens], references: Sequence[Tokens]) -> Float[Tensor, "sentences 6"]:
    """For each sentence, given as tokens: the clipped matches for n = 1 to 4, and the two lengths."""
    return torch.tensor(
        [
            [*((grams(output, n) & grams(gold, n)).total() for n in (1, 2, 3, 4)), len(output), len(gold)]
            for output, gold in zip(translations, references, strict=True)
        ],
        dtype=torch.float32,
    ).reshape(-1, 6)


def bleu_of_rows(rows: Float[Tensor, "*batch sentences 6"]) -> Float[Tensor, "*batch"]:
    """BLEU of these sentences together, 0 to 100."""
    return bleu_of_sums(with_totals(rows.double()).sum(dim=-2)).float()


def with_totals(rows: Float[Tensor, "*batch 6"]) -> Float[Tensor, "*batch 10"]:
    """All that BLEU adds up: also the numbers of n-grams, max(0, c − n + 1) in a translation of c tokens."""
    return torch.cat([rows, (rows[..., 4:5] - torch.arange(4)).clamp(min=0)], dim=-1)


def bleu_of_sums(sums: Float[Tensor, "*batch 10"]) -> Float[Tensor, "*batch"]:
    """BLEU from the sums of such rows over the sentences."""
    matches, c, r, totals = sums[..., :4], sums[..., 4], sums[..., 5], sums[..., 6:]
    log_bleu = (matches / totals.clamp(min=1)).log().mean(dim=-1) + (1 - r / c).clamp(max=0)
    return torch.where(matches.amin(dim=-1) > 0, 100 * log_bleu.exp(), 0.0)


def draws(n: int, n_samples: int, generator: torch.Generator) -> Float[Tensor, "samples sentences"]:
    """How often each of n sentences occurs in each sample, drawn with replacement."""
    drawn = torch.randint(n, (n_samples, n), generator=generator)
    return torch.zeros(n_samples, n).scatter_add_(1, drawn, torch.ones(n_samples, n))


def scores_of_draws(
    times: Float[Tensor, "samples sentences"], rows: Float[Tensor, "sentences seeds ..."]
) -> Float[Tensor, "samples seeds"]:
    """The score of each sample for each seed: the mean of one number per sentence, or BLEU of six counts."""
    times = times.to(rows.dtype)
    if rows.ndim == 2:
        return times @ rows / len(rows)
    counts = with_totals(rows)
    return bleu_of_sums((times @ counts.flatten(1)).unflatten(1, counts.shape[1:]))

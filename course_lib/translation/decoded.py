"""What a search gives back: one sentence a row, words up to EOS, then PAD.

>>> found = Decoded(torch.tensor([[7, 8, 3], [9, 3, 0]]), torch.tensor([-1.2, -0.3]))
>>> found.lengths                                       # EOS counts
tensor([3, 2])
>>> found.finished
tensor([True, True])
"""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.shapes import Bool, Float, Int, Tensor
from course_lib.text.special import EOS, PAD


@dataclass(frozen=True, eq=False)
class Decoded:
    """`log_probs` are the system's own: what `decode` would give these very words, summed.

    `weights` are those of each word's step: row t belongs to the step that says word t. Rows of PAD are 0.
    """

    ids: Int[Tensor, "batch tgt"]
    log_probs: Float[Tensor, " batch"]
    weights: Float[Tensor, "batch layers heads tgt src"] | None = None

    @property
    def lengths(self) -> Int[Tensor, " batch"]:
        """Tokens said, EOS among them."""
        return (self.ids != PAD).sum(dim=1)

    @property
    def finished(self) -> Bool[Tensor, " batch"]:
        """Whether it came to an end by itself; else the limit cut it."""
        return (self.ids == EOS).any(dim=1)


@dataclass(frozen=True, eq=False)
class NBest:
    """The best few sentences for each source, the best one first.

    `scores` are the log-probabilities after the length penalty, by which the sentences are ranked. Where
    fewer than `n_best` were found, which takes a tiny vocabulary, the rest are PAD alone and -inf.
    """

    ids: Int[Tensor, "batch best tgt"]
    scores: Float[Tensor, "batch best"]
    log_probs: Float[Tensor, "batch best"]
    weights: Float[Tensor, "batch layers heads said src"] | None = None  # of the best one

    @property
    def best(self) -> Decoded:
        """The first of each, cut to the longest of them."""
        ids = self.ids[:, 0]
        return Decoded(ids[:, : longest(ids)], self.log_probs[:, 0], self.weights)


def longest(ids: Int[Tensor, "... tgt"]) -> int:
    """The length of the longest sentence, so that what is PAD in all of them can be cut off.

    >>> longest(torch.tensor([[7, 3, 0, 0], [3, 0, 0, 0]]))
    2
    """
    return int((ids != PAD).sum(dim=-1).max())

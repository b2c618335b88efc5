"""How far attention is from the true word alignment: the alignment error rate (AER; Och and Ney 2003).

The cat drank → le chat a bu, where the gold links are (source, target):

    >>> gold = {(0, 0), (1, 1), (2, 2), (2, 3)}
    >>> found = {(0, 0), (1, 1), (1, 2), (2, 3)}            # "a" was linked to "cat"
    >>> error_rate([found], [gold])                         # 1 - 2 · 3 right / (4 found + 4 gold)
    0.25

Attention becomes links by giving each target word the source word that got the most weight. But the
weights of which step? Step t reads word t-1 and says word t. So there are two answers:

    producing   the step that SAYS the word: row t. Where the system looked to find the word.
    reading     the step that READS the word: row t+1, one further down. Chen et al. (2020) found that a
                Transformer's attention often shows the alignment only there, once the word is known.

The last word is read by the step that says EOS, so its row serves as a reading; no EOS is ever linked,
on neither side. A target word gets one link, so where gold has two for it (of the → du) the error cannot
be 0: `floor` says what the best possible choice of one would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from course_lib.shapes import Float, Tensor

Links = Set[tuple[int, int]]


@dataclass(frozen=True)
class AlignmentError:
    """AER of the mean over all layers and heads, then of the mean over the heads of each layer."""

    producing: float
    reading: float
    floor: float
    layers_producing: tuple[float, ...]
    layers_reading: tuple[float, ...]


def links_from(
    weights: Float[Tensor, "tgt src"], *, n_source: int, n_target: int, reading: bool = False
) -> frozenset[tuple[int, int]]:
    """One link for each target word, to the source word with the most weight.

        >>> weights = torch.tensor([[0.9, 0.1, 0.0],            # says word 0
        ...                         [0.1, 0.2, 0.7],            # says word 1, looks at the source's EOS
        ...                         [0.6, 0.3, 0.1]])           # says EOS, reads word 1
        >>> sorted(links_from(weights, n_source=2, n_target=2))
        [(0, 0), (1, 1)]
        >>> sorted(links_from(weights, n_source=2, n_target=2, reading=True))
        [(0, 1), (1, 0)]

    Words are counted without EOS. What rests on the source's EOS is left out of the choice.
    """
    if weights.shape[0] < n_target + reading or weights.shape[1] < n_source or n_source < 1:
        raise ValueError(
            f"Expected weights of at least ({n_target + reading}, {n_source}), a row for each target word"
            f"{' and one more' if reading else ''} and a column for each source word (one or more), "
            f"but got {tuple(weights.shape)}."
        )
    rows = weights[int(reading) : n_target + int(reading), :n_source]
    return frozenset((source, target) for target, source in enumerate(rows.argmax(dim=1).tolist()))


def error_rate(found: Iterable[Links], gold: Iterable[Links]) -> float:
    """AER over all sentences together, all gold links being sure ones: 0 is perfect, 1 has nothing right."""
    n_right = n_all = 0
    for ours, theirs in zip(found, gold, strict=True):
        n_right += len(set(ours) & set(theirs))
        n_all += len(ours) + len(theirs)
    if n_all == 0:
        raise ValueError("Expected at least one link, but there is none, neither found nor gold.")
    return 1 - 2 * n_right / n_all


def alignment_error(
    weights: Iterable[Float[Tensor, "layers heads _ _"]],  # tgt and src, of each sentence its own
    gold: Iterable[Links],
    sizes: Iterable[tuple[int, int]],
) -> AlignmentError:
    """AER of many sentences: the weights of each, its gold links, its (source words, target words)."""
    gold, sizes = list(gold), list(sizes)
    # The mean over all stands in front of the layers': (1 + layers, tgt, src)
    looks = [[each.mean(dim=(0, 1)), *each.mean(dim=1)] for each in weights]

    def errors(*, reading: bool) -> list[float]:
        found = [
            [links_from(look, n_source=n, n_target=m, reading=reading) for look in sentence]
            for sentence, (n, m) in zip(looks, sizes, strict=True)
        ]
        return [error_rate(layer, gold) for layer in zip(*found, strict=True)]

    producing, reading = errors(reading=False), errors(reading=True)
    best = [{(source, target) for target, source in {t: s for s, t in links}.items()} for links in gold]
    return AlignmentError(
        producing=producing[0],
        reading=reading[0],
        floor=error_rate(best, gold),
        layers_producing=tuple(producing[1:]),
        layers_reading=tuple(reading[1:]),
    )

"""How far attention is from the true word alignment: the alignment error rate (AER; Och and Ney 2003).

The cat drank → le chat a bu, where the gold links are (source, target):

    >>> gold = {(0, 0), (1, 1), (2, 2), (2, 3)}
    >>> predicted = {(0, 0), (1, 1), (1, 2), (2, 3)}        # "a" was linked to "cat"
    >>> error_rate([predicted], [gold])                     # 1 - 2 · 3 right / (4 predicted + 4 gold)
    0.25

To turn attention into links, each target word is linked to the source word with the largest attention weight.
Step t takes word t-1 as input and predicts word t, so there are two candidate rows for a word:

    producing   row t, the step whose output is the word: where the system attends to predict it.
    reading     row t+1, the step whose input is the word. Chen et al. (2020) found that a Transformer's
                attention often shows the alignment only there, once the word is known.

The step that predicts EOS reads the last word. EOS itself is never linked, on either side. A target word gets
one link, so where gold has two for it (of the → du) the error can't be 0: `floor` is the lowest error that
one link per word can reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from course_lib.shapes import Float, Tensor

Links = Set[tuple[int, int]]


@dataclass(frozen=True)
class AlignmentError:
    """AER of the attention weights averaged over all layers and heads, and over the heads of each layer."""

    producing: float
    reading: float
    floor: float
    layers_producing: tuple[float, ...]
    layers_reading: tuple[float, ...]


def links_from(
    weights: Float[Tensor, "tgt src"], *, n_source: int, n_target: int, reading: bool = False
) -> frozenset[tuple[int, int]]:
    """Link each target word to the source word with the largest attention weight.

        >>> weights = torch.tensor([[0.9, 0.1, 0.0],            # predicts word 0
        ...                         [0.1, 0.2, 0.7],            # predicts word 1, attends to the source's EOS
        ...                         [0.6, 0.3, 0.1]])           # predicts EOS, reads word 1
        >>> sorted(links_from(weights, n_source=2, n_target=2))
        [(0, 0), (1, 1)]
        >>> sorted(links_from(weights, n_source=2, n_target=2, reading=True))
        [(0, 1), (1, 0)]

    `n_source` and `n_target` exclude EOS. The weight on the source's EOS is ignored.
    """
    if weights.shape[0] < n_target + reading or weights.shape[1] < n_source or n_source < 1:
        raise ValueError(
            f"Expected weights of at least ({n_target + reading}, {n_source}): a row for each target word"
            f"{' and one more' if reading else ''}, and a column for each source word (one or more), "
            f"but got {tuple(weights.shape)}."
        )
    rows = weights[int(reading) : n_target + int(reading), :n_source]
    return frozenset((source, target) for target, source in enumerate(rows.argmax(dim=1).tolist()))


def error_rate(predicted: Iterable[Links], gold: Iterable[Links]) -> float:
    """AER over all sentences, with all gold links counted as sure: 0 is perfect, 1 means no link is right."""
    n_right = n_all = 0
    for predicted_links, gold_links in zip(predicted, gold, strict=True):
        n_right += len(set(predicted_links) & set(gold_links))
        n_all += len(predicted_links) + len(gold_links)
    if n_all == 0:
        raise ValueError("Expected at least one link, but found none, neither predicted nor gold.")
    return 1 - 2 * n_right / n_all


def alignment_error(
    weights: Iterable[Float[Tensor, "layers heads _ _"]],  # tgt and src differ from sentence to sentence
    gold: Iterable[Links],
    sizes: Iterable[tuple[int, int]],
) -> AlignmentError:
    """AER of many sentences, from their attention weights, gold links and (source words, target words)."""
    gold, sizes = list(gold), list(sizes)
    # For each sentence the mean over all layers and heads, then that of each layer: (1 + layers, tgt, src)
    means = [[sentence.mean(dim=(0, 1)), *sentence.mean(dim=1)] for sentence in weights]

    def errors(*, reading: bool) -> list[float]:
        links = [
            [links_from(mean, n_source=n_source, n_target=n_target, reading=reading) for mean in sentence]
            for sentence, (n_source, n_target) in zip(means, sizes, strict=True)
        ]
        return [error_rate(layer, gold) for layer in zip(*links, strict=True)]

    producing, reading = errors(reading=False), errors(reading=True)
    best = [{(source, target) for target, source in {t: s for s, t in links}.items()} for links in gold]
    return AlignmentError(
        producing=producing[0],
        reading=reading[0],
        floor=error_rate(best, gold),
        layers_producing=tuple(producing[1:]),
        layers_reading=tuple(reading[1:]),
    )

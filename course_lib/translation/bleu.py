"""How good translations are, in one number each: BLEU, chrF, exact match.

    >>> bleu(["the cat sleeps on the mat"], ["the cat sleeps on the mat"]).value
    100.0
    >>> bleu(["the cat"], ["the cat"], lowercase=True).signature
    'nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:...'

BLEU (Papineni et al. 2002) counts which runs of one to four words the reference has too; chrF (Popović
2015) does it with runs of characters, and forgives a wrong ending. Both by sacreBLEU (Post 2018), whose
signature says how they were counted: two BLEU numbers are comparable only where the signatures agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF


@dataclass(frozen=True)
class Score:
    """A number from 0 to 100, and how it was counted."""

    value: float
    signature: str


def bleu(translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """BLEU of all sentences together; it is no mean of sentence scores. Tokenised as "13a" does."""
    # force: the toy language comes in words already, and sacreBLEU would warn of that.
    return _scored(BLEU(lowercase=lowercase, force=True), translations, references)


def chrf(translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """chrF2 of all sentences together: runs of one to six characters, recall counts twice.

    >>> round(chrf(["le chat est petit"], ["le chat est petite"]).value)
    93
    """
    return _scored(CHRF(lowercase=lowercase), translations, references)


def exact_matches(
    translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False
) -> list[bool]:
    """For each sentence whether it is the reference, word for word; white space does not count.

    >>> exact_matches(["Le  chat ", "le chien"], ["le chat", "la chienne"], lowercase=True)
    [True, False]
    """

    def words(text: str) -> list[str]:
        return (text.lower() if lowercase else text).split()

    return [words(ours) == words(theirs) for ours, theirs in zip(translations, references, strict=True)]


def _scored(metric: BLEU | CHRF, translations: Sequence[str], references: Sequence[str]) -> Score:
    if not translations or len(translations) != len(references):  # sacreBLEU would pass over the rest
        raise ValueError(
            "Expected at least one translation and as many references, "
            f"but got {len(translations)} and {len(references)}."
        )
    value = metric.corpus_score(translations, [references]).score
    # Exponentials leave 100.00000000000004 behind; what is beyond the tenth place means nothing.
    return Score(round(value, 10), str(metric.get_signature()))

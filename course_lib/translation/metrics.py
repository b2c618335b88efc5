"""How good translations are, in one number each: BLEU, chrF, exact match, pronouns.

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

from course_lib.text.pair import Pair

PRONOUNS = frozenset({"il", "elle", "ils", "elles"})


@dataclass(frozen=True)
class Metric:
    """A number from 0 to 100, and how it was counted."""

    value: float
    signature: str


def bleu(translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Metric:
    """BLEU of all sentences together; it is no mean of sentence scores. Tokenised as "13a" does."""
    # force: the toy language comes in words already, and sacreBLEU would warn of that.
    return _scored(BLEU(lowercase=lowercase, force=True), translations, references)


def chrf(translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Metric:
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


def pronouns_right(pair: Pair, translation: str) -> list[bool]:
    """For each pronoun of the pair that has its noun in the sentence, whether the translation has it right.

        >>> from course_lib.text.toy.generate import running_pair
        >>> thirsty, cold = running_pair()
        >>> cold.src_text
        'the cat drank the water because it was cold'
        >>> pronouns_right(cold, "le chat a bu l' eau parce qu' elle était froide")     # l'eau: feminine
        [True]
        >>> pronouns_right(cold, "le chat a bu l' eau parce qu' il était froid")
        [False]

    Pronouns are compared in turn: the second one of the translation with the second one of the reference.
    One that is missing is wrong. The rest of the sentence does not count. A coin gets half of them right.
    """
    said = [word for word in translation.lower().split() if word in PRONOUNS]
    expected = [place for place, word in enumerate(pair.tgt) if word in PRONOUNS]
    asked = {source for source, _ in pair.antecedents}
    return [
        turn < len(said) and said[turn] == pair.tgt[place]
        for turn, place in enumerate(expected)
        if any((source, place) in pair.links for source in asked)
    ]


def _scored(metric: BLEU | CHRF, translations: Sequence[str], references: Sequence[str]) -> Metric:
    if not translations or len(translations) != len(references):  # sacreBLEU would pass over the rest
        raise ValueError(
            "Expected at least one translation and as many references, "
            f"but got {len(translations)} and {len(references)}."
        )
    value = metric.corpus_score(translations, [references]).score
    # Exponentials leave 100.00000000000004 behind; what is beyond the tenth place means nothing.
    return Metric(round(value, 10), str(metric.get_signature()))

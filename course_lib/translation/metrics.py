"""Metrics of translation quality: BLEU, chrF, exact match, pronouns.

    >>> bleu(["the cat sleeps on the mat"], ["the cat sleeps on the mat"]).value
    100.0
    >>> bleu(["the cat"], ["the cat"], lowercase=True).signature
    'nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:...'

BLEU (Papineni et al. 2002) measures how many n-grams of one to four words also occur in the reference; chrF
(Popović 2015) uses character n-grams, so it penalises a wrong ending less. Both come from sacreBLEU (Post
2018), whose signature records the settings: two BLEU scores are comparable only if their signatures agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course_lib.text.pair import Pair

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU, CHRF

PRONOUNS = frozenset({"il", "elle", "ils", "elles"})


@dataclass(frozen=True)
class Metric:
    """A score from 0 to 100 and its sacreBLEU signature."""

    value: float
    signature: str


def bleu(translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Metric:
    """Corpus BLEU (not a mean of sentence scores), with the tokenisation "13a"."""
    from sacrebleu.metrics import BLEU  # slow to import

    # force: the toy language is already tokenised, and sacreBLEU would warn about that.
    return _scored(BLEU(lowercase=lowercase, force=True), translations, references)


def chrf(translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Metric:
    """Corpus chrF2: character n-grams up to 6, with recall weighted twice as much as precision.

    >>> round(chrf(["le chat est petit"], ["le chat est petite"]).value)
    93
    """
    from sacrebleu.metrics import CHRF  # slow to import

    return _scored(CHRF(lowercase=lowercase), translations, references)


def exact_matches(
    translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False
) -> list[bool]:
    """Whether each translation equals its reference word for word, ignoring white space.

    >>> exact_matches(["Le  chat ", "le chien"], ["le chat", "la chienne"], lowercase=True)
    [True, False]
    """

    def words(text: str) -> list[str]:
        return (text.lower() if lowercase else text).split()

    pairs = zip(translations, references, strict=True)
    return [words(translation) == words(reference) for translation, reference in pairs]


def pronouns_right(pair: Pair, translation: str) -> list[bool]:
    """Whether the translation is right for each pronoun of the pair whose antecedent is in the sentence.

        >>> from course_lib.text.toy.generate import running_pair
        >>> thirsty, cold = running_pair()
        >>> cold.src_text
        'the cat drank the water because it was cold'
        >>> pronouns_right(cold, "le chat a bu l' eau parce qu' elle était froide")     # l'eau: feminine
        [True]
        >>> pronouns_right(cold, "le chat a bu l' eau parce qu' il était froid")
        [False]

    Pronouns are compared in order: the second one of the translation with the second one of the reference.
    A missing one is wrong. The rest of the sentence doesn't count. Random guessing gets half of them right.
    """
    pronouns = [word for word in translation.lower().split() if word in PRONOUNS]
    expected = [position for position, word in enumerate(pair.tgt) if word in PRONOUNS]
    sources = {source for source, _ in pair.antecedents}
    return [
        index < len(pronouns) and pronouns[index] == pair.tgt[position]
        for index, position in enumerate(expected)
        if any((source, position) in pair.links for source in sources)
    ]


def _scored(metric: BLEU | CHRF, translations: Sequence[str], references: Sequence[str]) -> Metric:
    if not translations or len(translations) != len(references):  # sacreBLEU would ignore the rest
        raise ValueError(
            "Expected at least one translation and the same number of references, "
            f"but got {len(translations)} translations and {len(references)} references."
        )
    value = metric.corpus_score(translations, [references]).score
    # A perfect score comes out as 100.00000000000004; digits after the tenth decimal are rounding errors.
    return Metric(round(value, 10), str(metric.get_signature()))

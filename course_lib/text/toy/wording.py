"""The words of a noun with its determiner and adjectives, in both languages, and which came from which.

    >>> white = next(quality for quality in lexicon().qualities if quality.en == "white")
    >>> house = wording(lexicon().noun("house"), True, "some", None, white, False)
    >>> house.src, house.tgt
    (('some', 'white', 'houses'), ('des', 'maisons', 'blanches'))
    >>> house.links
    ((0, 0), (2, 1), (1, 2))

A few thousand of them make up all sentences, so each is worked out once and then remembered.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from course_lib.text.toy.grammar import VOWELS, grammar, starts_with_vowel
from course_lib.text.toy.lexicon import Noun, Quality

RULES = grammar()
INDEFINITE = frozenset({"a", "some", "two", "three"})


class Wording(NamedTuple):
    """Words of both languages, links between them as (place in src, place in tgt), and the rules at work."""

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    phenomena: frozenset[str]


@cache
def wording(
    noun: Noun, plural: bool, determiner: str, before: Quality | None, after: Quality | None, very: bool
) -> Wording:
    """`before` and `after` the noun stand the adjectives in French; `very` strengthens the first one."""
    english, french = noun.words[plural]
    adjectives = [quality for quality in (before, after) if quality]
    at_work = {
        "gender": noun.gender == "f",
        "plural": plural,
        "indefinites": determiner in INDEFINITE,
        "adjectives_before": before is not None,
        "adjectives_after": after is not None,
        "adverbs": very,
        "fertility": len(english) != len(french),
    }

    article = RULES.determiners[determiner]["en"][plural]
    rest = [*(["very"] if very else []), *(quality.en for quality in adjectives), *english]
    if article == "a" and rest[0][0] in VOWELS:
        article = "an"
    src = [article, *rest] if article else rest  # a bottle of water
    first = len(src) - len(rest)

    said = RULES.determiners[determiner]["fr"]["plural" if plural else noun.gender]
    if before and said == "des":
        said = "de"
    elif not before and said in RULES.before_vowel and starts_with_vowel(french[0]):
        said = RULES.before_vowel[said]  # cet oiseau
        at_work["elision"] = True
    form = (noun.gender == "f") + 2 * plural
    strengthened = [("très", (first,))] if very else []
    noun_at = tuple(range(len(src) - len(english), len(src)))
    tgt = [(said, (0,))] if said else []  # each French word, and the places of the English ones it came from
    if before:
        word = before.fr[form]
        if form == 0 and before.before_vowel and starts_with_vowel(french[0]):
            word = before.before_vowel  # un vieil homme
            at_work["elision"] = True
        tgt += [*strengthened, (word, (first + very,))]
    tgt += [(word, noun_at) for word in french]
    if after:
        tgt += [*([] if before else strengthened), (after.fr[form], (first + very + len(adjectives) - 1,))]

    return Wording(
        src=tuple(src),
        tgt=tuple(word for word, _ in tgt),
        links=tuple((left, right) for right, (_, places) in enumerate(tgt) for left in places),
        phenomena=frozenset(rule for rule, yes in at_work.items() if yes),
    )

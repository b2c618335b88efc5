"""Whether a pronoun has the gender of the noun it stands for: il or elle, where English says it.

    >>> from course_lib.text.toy.generate import running_pair
    >>> thirsty, cold = running_pair()
    >>> cold.src_text
    'the cat drank the water because it was cold'
    >>> pronouns_right(cold, "le chat a bu l' eau parce qu' elle était froide")     # l'eau: feminine
    [True]
    >>> pronouns_right(cold, "le chat a bu l' eau parce qu' il était froid")
    [False]

Who tosses a coin is right half the time.
"""

from __future__ import annotations

from course_lib.text.pair import Pair

PRONOUNS = frozenset({"il", "elle", "ils", "elles"})


def pronouns_right(pair: Pair, translation: str) -> list[bool]:
    """For each pronoun of the pair that has its noun in the sentence, whether the translation has it right.

    Pronouns are compared in turn: the second one of the translation with the second one of the reference.
    One that is missing is wrong. The rest of the sentence does not count.
    """
    said = [word for word in translation.lower().split() if word in PRONOUNS]
    expected = [place for place, word in enumerate(pair.tgt) if word in PRONOUNS]
    asked = {source for source, _ in pair.antecedents}
    judged = [place for place in expected if any((source, place) in pair.links for source in asked)]
    turns = [expected.index(place) for place in judged]
    return [
        turn < len(said) and said[turn] == pair.tgt[place] for turn, place in zip(turns, judged, strict=True)
    ]

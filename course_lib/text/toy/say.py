"""Says a tree in both languages at once, and notes which word became which.

    >>> words = lexicon()
    >>> clause = Clause(Phrase(words.noun("woman")), words.verb("drink"), Phrase(words.noun("water")))
    >>> pair = say([Part(clause)])
    >>> pair.src_text, pair.tgt_text
    ('the woman drinks the water', "la femme boit l' eau")
    >>> sorted(pair.links)
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]

English words are said in their order; the French word that belongs to each is said as soon as its turn comes
and is linked to the English ones it came from. At the very end words meet: le eau → l' eau, de le → du.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import starmap

from course_lib.text.pair import Pair
from course_lib.text.toy.grammar import Preposition, grammar, starts_with_vowel
from course_lib.text.toy.tree import Clause, Part, Phrase, Place, Pronoun, Relative, State
from course_lib.text.toy.wording import wording

RULES = grammar()
CONTRACTIONS = {tuple(two.split()): one for two, one in RULES.contractions.items()}
MAY_CHANGE = frozenset([*RULES.elision, *(first for first, _ in CONTRACTIONS)])  # if the next word asks
JOINTS = {"and": "et", "but": "mais"}


def say(parts: list[Part], question: bool = False) -> Pair:
    """The sentence and its translation, with links, phenomena and antecedents."""
    speaker = _Speaker()
    for part in parts:
        if part.joined_by:
            speaker.mark("coordination")
            speaker.fr(JOINTS[part.joined_by], speaker.en(part.joined_by))
        speaker.clause(part.clause, question)
        if part.because:
            speaker.mark("because")
            because = speaker.en("because")
            speaker.fr("parce", because)
            speaker.fr("que", because)
            speaker.clause(part.because)
    if question:
        speaker.mark("questions")
        speaker.fr("?", speaker.en("?"))
    return speaker.pair()


@cache
def _link(left: int, right: int) -> tuple[int, int]:
    """One and the same object for the same link: a million new ones would keep Python's collector busy."""
    return left, right


class _Speaker:
    def __init__(self) -> None:
        self.src: list[str] = []
        self.tgt: list[str] = []
        self.links: list[tuple[int, int]] = []
        self.phenomena: set[str] = set()
        self.antecedents: list[tuple[int, int]] = []
        self.mark = self.phenomena.add

    def en(self, word: str) -> int:
        """Says an English word; gives its place."""
        self.src.append(word)
        return len(self.src) - 1

    def fr(self, word: str, at: int) -> None:
        """Says the French word that the English one at this place became."""
        self.links.append((at, len(self.tgt)))
        self.tgt.append(word)

    def fr_of_all(self, word: str, places: Iterable[int]) -> None:
        """Says a French word that several English ones became: looks for, cherche."""
        for at in places:
            self.links.append((at, len(self.tgt)))
        self.tgt.append(word)

    # ---- noun phrases

    def phrase(self, phrase: Phrase) -> None:
        said = wording(
            phrase.noun, phrase.plural, phrase.determiner, phrase.before, phrase.after, phrase.very
        )
        n_src, n_tgt = len(self.src), len(self.tgt)
        self.src += said.src
        self.tgt += said.tgt
        self.links += [(n_src + left, n_tgt + right) for left, right in said.links]
        self.phenomena |= said.phenomena
        phrase.at = len(self.src) - 1  # an English noun comes last
        if phrase.place:
            self.place(phrase.place)
        if phrase.relative:
            self.relative(phrase, phrase.relative)

    def place(self, place: Place) -> None:
        self.mark("prepositions")
        preposition: Preposition = place.preposition
        at = [self.en(word) for word in preposition.en]
        if len(at) != len(preposition.fr):
            self.mark("fertility")
        for word in preposition.fr:
            self.fr_of_all(word, at)
        self.phrase(place.phrase)

    def relative(self, head: Phrase, relative: Relative) -> None:
        self.mark("relatives")
        if relative.head_is_object:
            self.fr("que", self.en("that"))
        else:
            self.fr("qui", self.en("who" if head.human else "that"))
        self.clause(relative.clause, head_is_object=relative.head_is_object)

    # ---- clauses

    def clause(self, clause: Clause | State, question: bool = False, head_is_object: bool = False) -> None:
        if clause.past:
            self.mark("past")
        if clause.negated:
            self.mark("negation")
        asking = self._ask(clause) if question else -1
        if not clause.silent:
            self.subject(clause.subject)
        if isinstance(clause, State):
            self.state(clause, asking)
        else:
            self.verb(clause, asking, head_is_object)

    def _ask(self, clause: Clause | State) -> int:
        """`does`, `did`, `is` at the front; French says est-ce que there."""
        word = "be" if isinstance(clause, State) else "do"
        tense = "past" if clause.past else "present"
        at = self.en(RULES.auxiliaries[word][tense][clause.subject.plural])
        self.fr("est-ce", at)
        self.fr("que", at)
        return at

    def subject(self, subject: Phrase | Pronoun) -> None:
        if isinstance(subject, Phrase):
            return self.phrase(subject)
        english, french = RULES.pronouns[subject.key]["subject"]
        self.fr(french, self._pronoun(subject, english))

    def _pronoun(self, pronoun: Pronoun, english: str) -> int:
        at = self.en(english)
        if pronoun.stands_for:
            self.antecedents.append((at, pronoun.stands_for.at))
        if pronoun.gender == "f":
            self.mark("gender")
        if pronoun.plural:
            self.mark("plural")
        return at

    def state(self, state: State, asking: int) -> None:
        self.mark("states")
        subject, quality = state.subject, state.quality
        tense, number = "past" if state.past else "present", int(subject.plural)
        auxiliaries = RULES.auxiliaries
        be = asking if asking >= 0 else self.en(auxiliaries["be"][tense][number])
        denied = self.en("not") if state.negated else -1
        very = self.en("very") if state.very else -1
        quality_at = self.en(quality.en)
        if state.negated:
            self.fr("ne", denied)
        self.fr(auxiliaries["avoir" if quality.feeling else "être"][tense][number], be)
        if state.negated:
            self.fr("pas", denied)
        if state.very:
            self.mark("adverbs")
            self.fr("très", very)
        form = 0 if quality.feeling else (subject.gender == "f") + 2 * number
        self.fr(quality.fr[form], quality_at)

    def verb(self, clause: Clause, asking: int, head_is_object: bool) -> None:
        verb, subject, thing = clause.verb, clause.subject, clause.object
        tense, number = "past" if clause.past else "present", int(subject.plural)
        # English: (did not) often see it
        helper = asking
        denied = -1
        if clause.negated:
            helper = self.en(RULES.auxiliaries["do"][tense][number])
            denied = self.en("not")
        often = self.en("often") if clause.often else -1
        form = 0 if helper >= 0 else 2 if clause.past else 0 if number else 1
        at = [self.en(verb.en[form])]
        if verb.particle:
            at.append(self.en(verb.particle))
            self.mark("fertility")
        # French: ne l' a pas souvent vue
        if clause.negated:
            self.fr("ne", denied)
        if isinstance(thing, Pronoun):
            self.mark("object_pronouns")
            english, french = RULES.pronouns[thing.key]["object"]
            self.fr(french, self._pronoun(thing, english))
        if clause.past:
            self.fr(RULES.auxiliaries[verb.aux]["present"][number], helper if helper >= 0 else at[0])
        else:
            self.fr_of_all(verb.fr[number], at)
        if clause.negated:
            self.fr("pas", denied)
        if clause.often:
            self.mark("adverbs")
            self.fr("souvent", often)
        if clause.past:
            self.fr_of_all(self._participle(clause, head_is_object), at)
        if isinstance(thing, Phrase) and not head_is_object:
            self.phrase(thing)
        if clause.place:
            self.place(clause.place)
        if clause.adverb:
            self.adverb(clause.adverb)

    def _participle(self, clause: Clause, head_is_object: bool) -> str:
        """It agrees with the subject of être, or with an object that was said before it."""
        agrees_with = None
        if clause.verb.aux == "être":
            agrees_with = clause.subject
        elif head_is_object or isinstance(clause.object, Pronoun):
            agrees_with = clause.object
        if agrees_with is None:
            return clause.verb.participle[0]
        self.mark("participle_agreement")
        return clause.verb.participle[(agrees_with.gender == "f") + 2 * agrees_with.plural]

    def adverb(self, adverb) -> None:
        self.mark("adverbs")
        if len(adverb.en) != len(adverb.fr):
            self.mark("fertility")
        at = [self.en(word) for word in adverb.en]
        for place, word in enumerate(adverb.fr):
            self.fr_of_all(word, (at[left] for left, right in adverb.links if right == place))

    # ---- where words meet

    def pair(self) -> Pair:
        self._join()
        return Pair(
            tuple(self.src),
            tuple(self.tgt),
            frozenset(starmap(_link, self.links)),
            frozenset(self.phenomena),
            tuple(self.antecedents),
        )

    def _join(self) -> None:
        """`le eau` becomes l' eau; `de le` becomes du, which then comes from both English words.

        From the end, so that in `de le eau` le has met its vowel before de looks at it.
        """
        tgt = self.tgt
        for at in reversed([at for at, word in enumerate(tgt[:-1]) if word in MAY_CHANGE]):
            word, following = tgt[at], tgt[at + 1]
            if word in RULES.elision and starts_with_vowel(following):
                tgt[at] = RULES.elision[word]
                self.mark("elision")
            elif (word, following) in CONTRACTIONS:
                tgt[at : at + 2] = [CONTRACTIONS[word, following]]
                self.links = [(left, right - (right > at)) for left, right in self.links]
                self.mark("contractions")
